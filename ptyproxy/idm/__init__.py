"""The `@ai` mode: what has screen and keyboard between two commands of the shell. See `mode.Mode`."""
