"""A mapping's changes written into its YAML text. Invariants: no line that need not change does, so comments, quotes
and alignment stay byte for byte; the result parses to exactly the wanted mapping.

Edits go by the places of the composed nodes. Where that cannot work (flow style, anchors) the text is laid out anew by
ruamel.yaml, comments kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from neocode.config.yamltext import commented, compose, dump, parse
from neocode.errors import ConfigError

Mutate = Callable[[MutableMapping[str, Any]], None]

_GONE = object()


class Change(NamedTuple):
    """The value at `path` becomes `value`, or goes away when that is `_GONE`."""

    path: tuple[str, ...]
    value: Any


class NotInPlace(Exception):
    """A change that cannot be made line by line."""


def edited(text: str, mutate: Mutate, source: str) -> str:
    """`text` (line ends `\\n`) after `mutate` changed its mapping.

    Raises:
        ConfigError: `text` is no YAML mapping, or no edit of it gives what `mutate` wants.
    """
    try:
        return _edited(text, mutate, source)
    except RecursionError:  # an alias inside its own anchor
        raise ConfigError(f"{source} holds an alias to itself", "edit it by hand") from None


def _edited(text: str, mutate: Mutate, source: str) -> str:
    before = parse(text, source)
    wanted = copy.deepcopy(before)
    mutate(wanted)
    changes = list(_changes(before, wanted, ()))
    try:
        result = text
        for change in changes:
            result = _in_place(result, change, source)
        if parse(result, source) == wanted:
            return result
    except (NotInPlace, ConfigError):
        pass
    data = commented(text, source)
    for change in changes:
        _apply(data, change)
    result = dump(data)
    if parse(result, source) != wanted:
        raise ConfigError(f"{source} is written in a way that cannot be edited here", "edit it by hand")
    return result


def _changes(before: dict[str, Any], wanted: dict[str, Any], path: tuple[str, ...]) -> Iterator[Change]:
    for key in before:
        if key not in wanted:
            yield Change((*path, key), _GONE)
    for key, value in wanted.items():
        old = before.get(key, _GONE)
        if isinstance(old, dict) and isinstance(value, dict) and old and value:
            yield from _changes(old, value, (*path, key))
        elif old is _GONE or old != value or type(old) is not type(value):
            yield Change((*path, key), value)


def _apply(data: Any, change: Change) -> None:
    *parents, key = change.path
    for parent in parents:
        data = data[parent]
    if change.value is _GONE:
        del data[key]
    else:
        data[key] = change.value


def _in_place(text: str, change: Change, source: str) -> str:
    root = compose(text, source)
    if root is None or _is_empty(root):
        return _with_end(text) + dump({change.path[0]: change.value})
    parent = _block(_find(root, change.path[:-1]))
    entry = next(((key, value) for key, value in parent.value if key.value == change.path[-1]), None)
    if entry is None:
        line, column = _last_line(parent) + 1, parent.value[0][0].start_mark.column
        return _inserted(text, line, column, change)
    key, value = entry
    if change.value is not _GONE and isinstance(value, ScalarNode) and not isinstance(change.value, (dict, list)):
        return _with_scalar(text, key, value, change.value)
    lines = text.splitlines(keepends=True)
    del lines[key.start_mark.line : _last_line_of(key, value) + 1]
    rest = "".join(lines)
    if change.value is _GONE:
        return rest
    return _inserted(rest, key.start_mark.line, key.start_mark.column, change)


def _find(node: Node, path: tuple[str, ...]) -> Node:
    for name in path:
        node = next((value for key, value in _block(node).value if key.value == name), node)
    return node


def _block(node: Node) -> MappingNode:
    if not isinstance(node, MappingNode) or node.flow_style or not node.value:
        raise NotInPlace
    return node


def _last_line(node: Node) -> int:
    """The last line (from 0) with content of `node`: a block's own end mark lies behind the comments that follow it."""
    if isinstance(node, MappingNode) and node.value and not node.flow_style:
        return _last_line_of(*node.value[-1])
    if isinstance(node, SequenceNode) and node.value and not node.flow_style:
        return max(_last_line(node.value[-1]), int(node.value[-1].start_mark.line))
    mark = node.end_mark
    return int(mark.line - 1 if mark.column == 0 and mark.line > node.start_mark.line else mark.line)


def _last_line_of(key: Node, value: Node) -> int:
    return int(key.end_mark.line) if _is_empty(value) else _last_line(value)


def _is_empty(node: Node) -> bool:
    """A value that is not there (`key:`); its marks are those of whatever comes next."""
    return isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index


def _inserted(text: str, line: int, column: int, change: Change) -> str:
    lines = _with_end(text).splitlines(keepends=True)
    block = dump({change.path[-1]: change.value}).splitlines(keepends=True)
    lines[line:line] = [" " * column + each for each in block]
    return "".join(lines)


def _with_scalar(text: str, key: Node, node: Node, value: Any) -> str:
    shown = dump({"k": value}).removeprefix("k:").strip()
    if "\n" in shown:
        raise NotInPlace
    if _is_empty(node):
        at = text.index(":", key.end_mark.index) + 1
        return f"{text[:at]} {shown}{text[at:]}"
    return text[: node.start_mark.index] + shown + text[node.end_mark.index :]


def _with_end(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
