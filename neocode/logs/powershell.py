"""What Windows PowerShell 5.1 makes of a program's stderr in `2>&1`: the first line becomes the message of an error
record, with a position and two lines about itself around it. Invariant: the program's own words stay as they were; any
other record, which says something, is left alone.

The position line is localised and therefore known by its place only.
"""

from __future__ import annotations

from neocode.logs.pattern import compiled

MARK = b"NativeCommandError"
MAX_MESSAGE_LINES = 6  # of one line of a program, wrapped at the console's width
MAX_ABOUT_LINES = 6  # the two about itself, wrapped likewise

_CATEGORY = rb"[ ]+\+ CategoryInfo[ ]+: NotSpecified: "
_ID = rb"[ ]+\+ FullyQualifiedErrorId : NativeCommandError(?:Message)?[ ]*\r?"
_HEAD = rb"[^\s:][^:\r]{0,259} : "
_WORD_START, _WORD_END = rb"(?<![^\s'\"(\[<>:])", rb"(?=[\s'\").,;:\]<>]|$)"


def unwrap_records(block: bytes) -> bytes:
    """`block` (whole lines, ASCII-compatible) with each such record replaced by its message."""
    lines = block.split(b"\n")
    kept: list[bytes] = []
    at = 0
    while at < len(lines):
        end = _end_of_record(lines, at)
        if end and _reduce_to_message(kept):
            at = end
        else:
            kept.append(lines[at])
            at += 1
    return b"\n".join(kept)


def _end_of_record(lines: list[bytes], at: int) -> int:
    """The line behind the record whose CategoryInfo is line `at`; 0 when there is none."""
    if not compiled(_CATEGORY).match(lines[at]):
        return 0
    for index in range(at + 1, min(at + MAX_ABOUT_LINES, len(lines))):
        if compiled(_ID).fullmatch(lines[index]):
            after = index + 1
            return after + (after < len(lines) - 1 and not lines[after].strip())
    return 0


def _reduce_to_message(kept: list[bytes]) -> bool:
    """Drop the quoted command and the position from the end of `kept`, and the program's name before the message."""
    quoted = 0
    while quoted < len(kept) and kept[-1 - quoted].startswith(b"+ "):
        quoted += 1
    position = len(kept) - 1 - quoted
    if not quoted or position < 1:
        return False
    for head in range(position - 1, max(-1, position - 1 - MAX_MESSAGE_LINES), -1):
        found = compiled(_HEAD).match(kept[head])
        if found:
            kept[head] = kept[head][found.end() :]
            del kept[position:]
            return True
    return False


def lost_characters(text: str) -> bool:
    """Whether `text` looks as if `?` stood for characters that its pipe could not carry (`$OutputEncoding` of 5.1 is
    ASCII): nothing in it is beyond ASCII, and a word has `?` within, or is made of them."""
    if not text.isascii() or "?" not in text:
        return False
    found = compiled(_WORD_START + rb"(?:[A-Za-z]+\?+[A-Za-z]+\?*|\?{1,3}[A-Za-z]{2,}\?*|\?{4,})" + _WORD_END)
    return found.search(text.encode("ascii")) is not None
