"""The application's side of a wrapped shell: its settings, and its assistant on the gateway."""
