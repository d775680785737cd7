"""`python -m neocode`."""

from neocode.cli.main import entry

entry()
