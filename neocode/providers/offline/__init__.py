"""Diagnosis by rules: no network, no key, instant. Rules are data (FORMAT.md); the engine never runs a command."""
