"""Ask mode: one question in, one provider call, the answer streamed out, the turn remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neocode.ask.types import AskPort
from neocode.config import Config, LoadedConfig
from neocode.providers.base import Provider

MakeProvider = Callable[[Config, str], Provider]
LoadConfig = Callable[[], LoadedConfig]


async def open_ask_service(
    load_config: LoadConfig,
    make_provider: MakeProvider,
    *,
    state_dir: Path | None = None,
    skills_dir: Path | None = None,
) -> AskPort:
    """Load the config, open the store and return the service; None means the directories of `neocode.paths`.

    Raises:
        ConfigError: the config file cannot be used. (A store that cannot be used is a warning in the log.)
    """
    raise NotImplementedError
