"""Bytes of kept lines -> text. Invariant: every line becomes readable text, no byte sequence raises.

The decision, made once over all kept lines that are not UTF-8 (UTF-16 was recognised before): the encoding that the
caller knows programs here to write (a Windows console's code page); else GBK when they decode as such and nearly all
of their double bytes lie where common characters do; else cp1252, with its five undefined bytes as U+FFFD. Two
languages of one byte each cannot be told apart without a dictionary; the few bytes of a wrong guess stay readable
around them. A line with NUL or many control bytes is no text: of it the printable runs stay, as `strings` shows them.
"""

from __future__ import annotations

from collections.abc import Sequence

from neocode.logs.pattern import compiled

# Of the double bytes, so many in GB 2312's rows: real GBK text has nearly all there, Western text by chance a third.
GBK_SHARE = 0.75
# Control bytes beyond which a line is binary.
CONTROL_SHARE = 0.1
SHORTEST_RUN = 4


def decode_lines(lines: Sequence[bytes], legacy_known: str = "") -> tuple[list[str], str]:
    """The lines as text, and the encoding of most of them: "utf-8", "binary", `legacy_known`, else "gbk", "cp1252"."""
    texts: list[str] = []
    legacy: list[int] = []
    binary = 0
    for i, line in enumerate(lines):
        if _is_binary(line):
            binary += 1
            texts.append(_printable_runs(line))
            continue
        try:
            texts.append(line.decode())
        except UnicodeDecodeError:
            legacy.append(i)
            texts.append("")
    encoding = "utf-8"
    if legacy:
        encoding = legacy_known or legacy_encoding([lines[i] for i in legacy])
        for i in legacy:
            texts[i] = lines[i].decode(encoding, "replace")
    return texts, "binary" if binary * 2 > len(lines) else encoding


def legacy_encoding(lines: Sequence[bytes]) -> str:
    """ "gbk" or "cp1252" for lines that are not UTF-8."""
    data = b"\n".join(lines)
    pairs = compiled(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]").findall(data)
    alone = len(compiled(rb"[\x80-\xff]").findall(compiled(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]").sub(b"", data)))
    common = sum(0xA1 <= pair[0] <= 0xF7 and pair[1] >= 0xA1 for pair in pairs)
    return "gbk" if pairs and common >= GBK_SHARE * (len(pairs) + alone) else "cp1252"


def _is_binary(line: bytes) -> bool:
    if b"\0" in line:
        return True
    if line.isascii() and not compiled(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]").search(line):
        return False
    controls = len(compiled(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]").findall(line))
    return controls > CONTROL_SHARE * len(line)


def _printable_runs(line: bytes) -> str:
    """Text without its NULs, else the runs of printable characters. NUL between `name=value` or paths (`env -0`,
    `find -print0`) becomes a space; a terminal shows none of the others, so tokens go on over them."""
    parts = line.strip(b"\0").split(b"\0")
    listed = len(parts) > 1 and all(b"=" in part or b"/" in part for part in parts)
    line = (b" " if listed else b"").join(parts)
    if not compiled(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]").search(line):
        try:
            return line.decode()
        except UnicodeDecodeError:
            pass
    runs = compiled(rb"[\t\x1b -~]{%d,}" % SHORTEST_RUN).findall(line)
    return "[binary] " + b" ".join(runs).decode("ascii")
