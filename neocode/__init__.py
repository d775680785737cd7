"""NeoCode Shell: the application. The terminal side lives in `ptyproxy`, which never imports this package."""

__version__ = "0.1.0"
