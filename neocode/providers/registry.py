"""From a provider's name to the provider: the one place that knows which kinds there are.

Invariant: a provider's module (and the SDK behind it) is imported only when that provider is made.
"""

from __future__ import annotations

from neocode.config import OFFLINE, Config
from neocode.errors import ConfigError
from neocode.providers.base import Provider


def make_provider(config: Config, name: str) -> Provider:
    """The provider called `name` in `config`; "offline" is always there. The caller closes it.

    Raises:
        ConfigError: no provider has that name, or its settings cannot be used.
    """
    if name == OFFLINE:
        from neocode.providers.offline.provider import OfflineProvider

        return OfflineProvider()
    entry = config.providers.get(name)
    if entry is None:
        known = ", ".join([OFFLINE, *sorted(config.providers)])
        raise ConfigError(f"no provider is named {name!r}", f"known: {known}; add one with `neocode provider add`")
    from neocode.providers.openai.provider import OpenAIProvider

    return OpenAIProvider(name, entry)
