"""`python -m neocode`, and the console script. Invariant: Ctrl-C never shows a traceback, not even while we import."""

import signal
from typing import NoReturn


def entry() -> NoReturn:
    """Run the command line. Until it can turn Ctrl-C into an exit code, Ctrl-C just ends the process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from neocode.cli.main import entry as run

    run()


if __name__ == "__main__":
    entry()
