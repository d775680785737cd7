"""Which gateway is meant: flag, then environment, then default. Invariant: the same words give every program the
same absolute address, whatever its working directory is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from neocode import paths
from neocode.gateway import transport

GATEWAY_ENV = "NEOCODE_GATEWAY"


class Endpoint(msgspec.Struct, frozen=True):
    """An address and the token file that goes with it. `note` is a line for the user when the address was moved."""

    address: str
    token_file: Path
    note: str = ""


def resolve_endpoint(
    gateway: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Endpoint:
    """The endpoint for `--gateway` and `--token-file` (None: not given).

    Raises:
        ConfigError: no home directory is known, or the path fits nowhere.
    """
    env = os.environ if environ is None else environ
    chosen = gateway or env.get(GATEWAY_ENV) or transport.default_address()
    address, note = transport.fit_address(chosen)
    file = Path(os.path.abspath(token_file)) if token_file else paths.auth_file()
    return Endpoint(address, file, note)
