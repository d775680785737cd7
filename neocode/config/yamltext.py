"""YAML text -> mapping and back, with limits.

Invariant: whatever the text is, it ends in a mapping or a ConfigError.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import Node
from ruamel.yaml.tokens import AliasToken

from neocode.errors import ConfigError

MAX_ALIASES = 20  # enough to share settings; too few to blow up when expanded (3 ** (20 / 3) copies at the worst)
NEVER_FOLD = 2**20  # columns; a folded line would be a changed line


def parse(text: str, source: str) -> dict[str, Any]:
    """The mapping in `text` (YAML 1.2); empty for an empty text.

    Raises:
        ConfigError: not YAML, or no mapping; names `source` and the line.
    """
    yaml = YAML(typ="safe", pure=True)
    _guarded(lambda: _require_few_aliases(yaml, text, source), source)
    data = _guarded(lambda: yaml.load(text), source)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{source}: expected keys and values, got {type(data).__name__}")
    return data


def compose(text: str, source: str) -> Node | None:
    """The nodes of `text` with their places in it; None for an empty text. Raises ConfigError like `parse`."""
    node: Node | None = _guarded(lambda: YAML(typ="safe", pure=True).compose(text), source)
    return node


def commented(text: str, source: str) -> Any:
    """The mapping in `text` with its comments attached, for `dump`. Raises ConfigError like `parse`."""
    data = _guarded(lambda: _round_trip().load(text), source)
    return CommentedMap() if data is None else data


def dump(data: Any) -> str:
    """`data` as YAML, keys in their order."""
    stream = io.StringIO()
    _round_trip().dump(data, stream)
    return stream.getvalue()


def _round_trip() -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = NEVER_FOLD
    return yaml


def _require_few_aliases(yaml: YAML, text: str, source: str) -> None:
    if text.count("*") <= MAX_ALIASES:
        return
    if sum(isinstance(token, AliasToken) for token in yaml.scan(text)) > MAX_ALIASES:
        raise ConfigError(f"{source}: more than {MAX_ALIASES} aliases (*name)", "write the values out")


def _guarded(read: Callable[[], Any], source: str) -> Any:
    try:
        return read()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        problem = " ".join((error.problem or error.context or "it cannot be read").split("\n")[0].split())
        raise ConfigError(f"{source}{line}: not valid YAML: {problem[:200]}") from None
    except YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {' '.join(str(error).split())[:200]}") from None
    except RecursionError:
        raise ConfigError(f"{source}: nested too deeply") from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError, AssertionError) as error:
        # the parser's own faults on odd input (an impossible date, a bad %YAML line)
        raise ConfigError(f"{source}: not valid YAML: {type(error).__name__}") from None
