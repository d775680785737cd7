"""Dotted keys of the configuration (`context.ask.retain_turns`), typed by the structs of `neocode.config`.

Invariant: a key resolves only to a place that the structs know; a provider's name may hold dots itself.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Annotated, Any, get_args, get_origin

import msgspec

from neocode.config import Config, ProviderConfig, field_types, is_struct
from neocode.errors import UsageError

PROVIDERS = "providers"


class Key(msgspec.Struct, frozen=True):
    """A resolved key: its parts from the top and the type of what is there."""

    dotted: str
    path: tuple[str, ...]
    kind: Any


def resolve(dotted: str, config: Config) -> Key:
    """The place that `dotted` names. Raises UsageError, naming near keys or the providers there are."""
    first, _, rest = dotted.partition(".")
    if first == PROVIDERS and rest:
        return _provider_key(dotted, rest, config)
    kind: Any = Config
    path = tuple(dotted.split("."))
    for part in path:
        kind = field_types(kind).get(part) if is_struct(kind) else None
    if kind is None:
        raise UsageError(f"unknown key {dotted!r}", _near(dotted))
    return Key(dotted, path, kind)


def value_at(config: Config, key: Key) -> Any:
    """The value in effect at `key`."""
    value: Any = config
    for part in key.path:
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


def plain(value: Any) -> Any:
    """Structs and tuples as dicts and lists, defaults included."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple) else value


def parse_value(key: Key, text: str) -> Any:
    """`text` as the key's type. Raises UsageError; the range is left to the check of the whole file."""
    if is_struct(key.kind) or key.dotted == PROVIDERS:
        below = sorted(name for name in all_keys() if name.startswith(key.dotted + "."))
        inside = below or [f"{key.dotted}.{name}" for name in field_types(ProviderConfig)]
        raise UsageError(f"{key.dotted} holds further keys", f"set one of {', '.join(inside)}")
    try:
        if text.lstrip().startswith("[") and _is_list(key.kind):
            return plain(msgspec.json.decode(text, type=key.kind))
        return plain(msgspec.convert([text] if _is_list(key.kind) else text, key.kind, strict=False))
    except msgspec.MsgspecError as error:
        wanted = str(error).replace("`", "").partition(" - at ")[0]
        raise UsageError(f"{key.dotted}: {wanted[:1].lower()}{wanted[1:]}") from None


def put_value(data: MutableMapping[str, Any], key: Key, value: Any) -> None:
    """Set `value` at `key` in the file's mapping; missing or empty levels are made. Raises UsageError."""
    for part in key.path[:-1]:
        if data.get(part) is None:
            data[part] = {}
        if not isinstance(data[part], MutableMapping):
            raise UsageError(f"{part} in the file holds {data[part]!r}, not keys and values", "correct it by hand")
        data = data[part]
    data[key.path[-1]] = value


def all_keys() -> list[str]:
    """Every dotted key but those of providers."""
    found: list[str] = []
    _collect(Config, "", found)
    return found


def _collect(struct: Any, prefix: str, found: list[str]) -> None:
    for name, kind in field_types(struct).items():
        if is_struct(kind):
            _collect(kind, f"{prefix}{name}.", found)
        elif name != PROVIDERS:
            found.append(prefix + name)


def _provider_key(dotted: str, rest: str, config: Config) -> Key:
    types = field_types(ProviderConfig)
    name, _, last = rest.rpartition(".")
    if rest in config.providers:
        return Key(dotted, (PROVIDERS, rest), ProviderConfig)
    if name in config.providers and last in types:
        return Key(dotted, (PROVIDERS, name, last), types[last])
    if name in config.providers:
        raise UsageError(f"unknown key {dotted!r}", f"a provider has {', '.join(types)}")
    known = ", ".join(sorted(config.providers)) or "none yet"
    raise UsageError(f"no provider of that name in {dotted!r}", f"known: {known}; add one with neocode provider add")


def _is_list(kind: Any) -> bool:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return get_origin(bare) is tuple


def _near(dotted: str) -> str:
    from difflib import get_close_matches

    keys = all_keys()
    last = dotted.rpartition(".")[2]
    near = [key for key in keys if key.rpartition(".")[2] == last] or get_close_matches(dotted, keys, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else "neocode config get shows all keys"
