"""config.yaml as types. Invariants: an unknown key is a warning, a wrong value an error that names file and key;
no secret is ever in here, only the name of the variable or file that holds it.

The file itself is `neocode/config/file.py`; what the values may be beyond their types is `neocode/config/check.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from neocode.errors import ConfigError

OFFLINE = "offline"

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]  # a time-out; an hour is beyond any real one
Name = Annotated[str, msgspec.Meta(max_length=4096)]


class ProviderConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model endpoint. Times in seconds."""

    kind: Literal["openai"] = "openai"
    base_url: Name = ""
    model: Name = ""
    api_key_env: Name = ""
    api_key_file: Name = ""
    connect_timeout_sec: Seconds = 10.0
    first_byte_timeout_sec: Seconds = 60.0
    idle_timeout_sec: Seconds = 30.0
    retry_budget_sec: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 30.0
    max_output_tokens: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 2048


class GatewayConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The daemon. `idle_timeout_sec` 0 means never."""

    idle_timeout_sec: Annotated[float, msgspec.Meta(ge=0, le=31_536_000)] = 300.0


class AskConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits of one ask and of the store of ask sessions. Bytes, calls, sessions, days.

    `max_log_bytes` stays under half of a frame (1 MiB), because JSON may double it.
    """

    max_log_bytes: Annotated[int, msgspec.Meta(ge=1024, le=512 * 1024)] = 16 * 1024
    max_concurrent: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8
    max_sessions: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1000
    max_age_days: Annotated[float, msgspec.Meta(gt=0, le=3650)] = 30.0


class AskContextConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a conversation is compacted: above `max_input_tokens` (estimated) all but `retain_turns` are summarised."""

    max_input_tokens: Annotated[int, msgspec.Meta(ge=256, le=10_000_000)] = 8000
    retain_turns: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5


class ContextConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The namespace `context.ask` of the config file."""

    ask: AskContextConfig = AskContextConfig()


class PromptsConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Files that replace the bundled prompt texts; empty means bundled."""

    system: Name = ""


class RedactConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """User patterns (regular expressions) masked besides the built-in kinds."""

    patterns: Annotated[tuple[Name, ...], msgspec.Meta(max_length=200)] = ()


class DiagConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Diagnosis in a running shell. `ignore`: programs whose non-zero exit is an answer (`!NAME`: not);
    `marker`: the line that says that an answer is being awaited.
    """

    auto: bool = True
    marker: bool = True
    ignore: Annotated[tuple[Name, ...], msgspec.Meta(max_length=500)] = ()


class ShellConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """The wrapped shell. `hotkey`: `ctrl-` and a letter that is no key of the terminal's own; `ring_kib` is how much of
    its output is remembered.
    """

    hotkey: Annotated[str, msgspec.Meta(pattern=r"^ctrl-[abe-hklnoprt-y]$")] = "ctrl-g"
    ring_kib: Annotated[int, msgspec.Meta(ge=64, le=65536)] = 1024


class Config(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole file. `provider` is the one in use: "offline" or a key of `providers`."""

    provider: Name = OFFLINE
    providers: dict[str, ProviderConfig] = {}
    gateway: GatewayConfig = GatewayConfig()
    ask: AskConfig = AskConfig()
    context: ContextConfig = ContextConfig()
    prompts: PromptsConfig = PromptsConfig()
    redact: RedactConfig = RedactConfig()
    diag: DiagConfig = DiagConfig()
    shell: ShellConfig = ShellConfig()


class LoadedConfig(msgspec.Struct, frozen=True):
    """A config and what was odd about its file, one line each."""

    config: Config
    warnings: tuple[str, ...] = ()


def from_mapping(data: dict[str, Any], source: str) -> LoadedConfig:
    """The parsed file as types. A key without a value counts as absent, as where all below it is commented out.

    Raises:
        ConfigError: a value has the wrong type or is out of range; names `source` and the dotted key.
    """
    warnings: list[str] = []
    config: Config = _build(Config, data, "", source, warnings)
    return LoadedConfig(config, tuple(warnings))


def field_types(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The keys that `struct` knows, with their types."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


def is_struct(kind: Any) -> bool:
    """Whether `kind` (a type as `field_types` gives it) holds further keys that are known."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _build(struct: type[Any], data: Any, path: str, source: str, warnings: list[str]) -> Any:
    types = field_types(struct)
    values: dict[str, Any] = {}
    for key, value in _items(data, path, source):
        dotted = f"{path}.{key}" if path else str(key)
        if key not in types:
            warnings.append(f"{source}: unknown key {dotted}{_hint(str(key), list(types))}")
        elif value is not None:
            values[key] = _value(types[key], value, dotted, source, warnings)
    return struct(**values)


def _value(kind: Any, value: Any, path: str, source: str, warnings: list[str]) -> Any:
    if is_struct(kind):
        return _build(kind, value, path, source, warnings)
    if get_origin(kind) is dict:
        inner = get_args(kind)[1]
        return {
            str(name): _value(inner, {} if entry is None else entry, f"{path}.{name}", source, warnings)
            for name, entry in _items(value, path, source)
        }
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wanted = str(error).replace("`", "").partition(" - at ")[0]
        raise ConfigError(f"{source}: {path}: {wanted[:1].lower()}{wanted[1:]}") from None


def _items(data: Any, path: str, source: str) -> Any:
    if not isinstance(data, dict):
        where = f"{source}: {path}" if path else source
        raise ConfigError(f"{where}: expected keys and values, got {type(data).__name__}")
    return data.items()


def _hint(key: str, known: list[str]) -> str:
    """Why a key may be unknown: it holds a secret, or it is a typing error."""
    if key in ("api_key", "apikey", "key", "token", "api_key_value"):
        return "; a key is never read from here: use api_key_env or api_key_file"
    from difflib import get_close_matches  # only for a mistake

    near = get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
