"""config.yaml as types. Invariants: an unknown key is a warning, a wrong value an error that names file and key;
no secret is ever in here, only the name of the variable or file that holds it.

Writing (comments kept, atomic, 0600) is `neocode/configfile.py`; this half is what every start-up loads.
"""

from __future__ import annotations

from typing import Literal

import msgspec

OFFLINE = "offline"


class ProviderConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model endpoint. Times in seconds."""

    kind: Literal["openai"] = "openai"
    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    api_key_file: str = ""
    connect_timeout_sec: float = 10.0
    first_byte_timeout_sec: float = 60.0
    idle_timeout_sec: float = 30.0
    retry_budget_sec: float = 30.0
    max_output_tokens: int = 2048


class GatewayConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The daemon. `idle_timeout_sec` 0 means never."""

    idle_timeout_sec: float = 300.0


class AskConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits of one ask and of the store of ask sessions. Bytes, calls, sessions, days."""

    max_log_bytes: int = 16 * 1024
    max_concurrent: int = 8
    max_sessions: int = 1000
    max_age_days: float = 30.0


class AskContextConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a conversation is compacted: above `max_input_tokens` (estimated) all but `retain_turns` are summarised."""

    max_input_tokens: int = 8000
    retain_turns: int = 5


class ContextConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The namespace `context.ask` of the config file."""

    ask: AskContextConfig = AskContextConfig()


class PromptsConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Files that replace the bundled prompt texts; empty means bundled."""

    system: str = ""


class RedactConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """User patterns (regular expressions) masked besides the built-in kinds."""

    patterns: tuple[str, ...] = ()


class Config(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole file. `provider` is the one in use: "offline" or a key of `providers`."""

    provider: str = OFFLINE
    providers: dict[str, ProviderConfig] = {}
    gateway: GatewayConfig = GatewayConfig()
    ask: AskConfig = AskConfig()
    context: ContextConfig = ContextConfig()
    prompts: PromptsConfig = PromptsConfig()
    redact: RedactConfig = RedactConfig()


class LoadedConfig(msgspec.Struct, frozen=True):
    """A config and what was odd about its file, one line each."""

    config: Config
    warnings: tuple[str, ...] = ()
