"""The exceptions a user can meet, and the exit codes they end in.

    NeocodeError                     one line for stderr, an exit code, a hint
    ├── UsageError              2    the command line is wrong
    ├── ConfigError             2    config.yaml, a key file or a path cannot be used
    ├── ShellTargetError        3    no shell, several shells, or a busy one
    ├── GatewayUnreachable      4    no daemon could be reached or started
    ├── DiagnosisFailed         1    the ask ended in ask_error
    └── ProviderError           1    a model call failed; `code` is the wire's ask_error code

Every message says what happened; `hint` says what to do. Neither ever holds a secret or a traceback.
"""

from __future__ import annotations

from typing import Literal

AskErrorCode = Literal["TIMEOUT", "CANCELED", "RATE_LIMITED", "PROVIDER_ERROR", "INTERNAL_ERROR"]

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NO_SHELL = 3
EXIT_GATEWAY = 4
EXIT_INTERRUPTED = 130


class NeocodeError(Exception):
    """Base of what we report ourselves: `message` (what happened), `hint` (what to do, may be empty)."""

    exit_code: int = EXIT_FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def one_line(self) -> str:
        """The line for stderr: `message; hint`, newlines folded."""
        text = f"{self.message}; {self.hint}" if self.hint else self.message
        return " ".join(text.split())


class UsageError(NeocodeError):
    """The command line or an argument's value is wrong."""

    exit_code = EXIT_USAGE


class ConfigError(NeocodeError):
    """A file of ours (config, key, token, socket directory) cannot be used as it is."""

    exit_code = EXIT_USAGE


class ShellTargetError(NeocodeError):
    """No running shell answers to the request, or more than one, or it is busy."""

    exit_code = EXIT_NO_SHELL


class GatewayUnreachable(NeocodeError):
    """No gateway accepts at the address and none could be started."""

    exit_code = EXIT_GATEWAY


class DiagnosisFailed(NeocodeError):
    """An ask ended in `ask_error`; `code` as on the wire."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.code = code


class ProviderError(NeocodeError):
    """A model call failed. `partial` is true when text had already been streamed and the answer was cut."""

    def __init__(self, code: AskErrorCode, message: str, hint: str = "", *, partial: bool = False) -> None:
        super().__init__(message, hint)
        self.code: AskErrorCode = code
        self.partial = partial
