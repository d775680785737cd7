"""Foreign text (a model, a gateway error, a file name) made safe to show. Invariant: what comes out holds no control
character but newline and tab, and nothing invisible; what was there is shown as `\\x1b` or `\\u{202e}`.

Kept although invisible: joiners where a script or an emoji needs them, between characters that they join. Commands
are strict and keep none.
"""

from __future__ import annotations

import re
from functools import cache

# Every character that is looked at: C0 but \t \n, DEL, C1, surrogates, and whatever has no ink of its own or
# reorders text (Unicode: Default_Ignorable_Code_Point, Bidi_Control, line/paragraph separators, noncharacters).
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U00013430-\U0001343f\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SUSPECT = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff" + _INVISIBLE
# In a command a space that is not a space, a newline (it executes) and a tab (it completes) matter too.
_SUSPECT_IN_COMMAND = _SUSPECT + "\t\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"

_JOINERS = "\u200c\u200d"
_VARIATION = "\ufe0e\ufe0f"
# Held back at the end of a piece: what can only be judged with the next character.
_UNDECIDED = "\r" + _JOINERS + _VARIATION
_CONTEXT = 2
ELLIPSIS = "…"

_NAMES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


@cache
def _pattern(chars: str) -> re.Pattern[str]:
    return re.compile(f"[{chars}]")


@cache
def _joined_scripts() -> re.Pattern[str]:
    """Letters of scripts that spell with ZWNJ and ZWJ: Arabic and kin, Indic, Khmer, Myanmar, Mongolian."""
    return re.compile(
        "[\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06ee-\u06ff\u0710-\u074f\u0750-\u077f\u08a0-\u08e1\u08e3-\u08ff"
        "\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u1878\ufb50-\ufdcf\ufe70-\ufefc]"
    )


@cache
def _pictographs() -> re.Pattern[str]:
    """Emoji bases and skin tones (Extended_Pictographic and Emoji_Modifier, by block)."""
    return re.compile(
        "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
        "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    )


def _visible(char: str) -> str:
    named = _NAMES.get(char)
    if named:
        return named
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that did not decode (PEP 383): shown as that byte
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def _joins(text: str, index: int) -> bool:
    """Whether the joiner or variation selector at `index` belongs to the characters beside it."""
    before = text[index - 1 : index]
    after = text[index + 1 : index + 2]
    char = text[index]
    if char in _VARIATION:
        if before and before in "0123456789#*":
            return after == "\u20e3"
        return bool(before) and bool(_pictographs().match(before))
    if before and after and _joined_scripts().match(before) and _joined_scripts().match(after):
        return True
    if char != "\u200d" or not after or not _pictographs().match(after):
        return False
    base = text[index - 2 : index - 1] if before == "\ufe0f" else before
    return bool(base) and bool(_pictographs().match(base))


def _replace(match: re.Match[str]) -> str:
    char = match.group()
    index = match.start()
    text = match.string
    if char == "\r" and text[index + 1 : index + 2] == "\n":
        return ""
    if (char in _JOINERS or char in _VARIATION) and _joins(text, index):
        return char
    return _visible(char)


def _one_character(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _pair_surrogates(text: str) -> str:
    """Two halves of one character, as JSON strings cut in between deliver them, become that character."""
    if not _pattern("\ud800-\udbff").search(text):
        return text
    return re.sub("[\ud800-\udbff][\udc00-\udfff]", _one_character, text)


def sanitize(text: str) -> str:
    """`text` safe to write to a terminal; newlines and tabs stay, CRLF becomes LF, a lone CR is shown as `\\r`."""
    if text.isascii() and text.isprintable():
        return text
    text = _pair_surrogates(text)
    return _pattern(_SUSPECT).sub(_replace, text)


def sanitize_line(text: str, limit: int) -> str:
    """`text` as one safe line of at most `limit` characters: white space folded, the cut end shown as `…`."""
    line = sanitize(" ".join(text.split()))
    return line if len(line) <= limit else line[: max(0, limit - 1)] + ELLIPSIS


def clean_command(text: str) -> tuple[str, bool]:
    """`text` as a command to show, and whether it needed cleaning: then it must not be offered for insertion.

    Stricter than `sanitize`: joiners, newlines, tabs and spaces that are not U+0020 are shown too.
    """
    if text.isascii() and text.isprintable():
        return text, False
    text = _pair_surrogates(text)
    shown = _pattern(_SUSPECT_IN_COMMAND).sub(lambda m: _visible(m.group()), text)
    return shown, shown != text


class Sanitizer:
    """`sanitize` for text that comes in pieces: the pieces' results add up to `sanitize` of the whole."""

    def __init__(self) -> None:
        self._context = ""  # decided characters that a joiner may still look back at
        self._held = ""

    def feed(self, text: str) -> str:
        """The safe form of what `text` decides; at most two characters stay back."""
        text = _pair_surrogates(self._context + self._held + text)
        stop = len(text)
        if stop and "\ud800" <= text[stop - 1] <= "\udbff":
            stop -= 1
        if stop and text[stop - 1] in _UNDECIDED:
            stop -= 1
        return self._emit(text, max(stop, len(self._context)))

    def flush(self) -> str:
        """The safe form of what was held back. The text ends here; the next piece starts a new one."""
        text = self._context + self._held
        shown = self._emit(text, len(text))
        self._context = ""
        return shown

    def _emit(self, text: str, stop: int) -> str:
        start = len(self._context)
        self._context, self._held = text[max(0, stop - _CONTEXT) : stop], text[stop:]
        parts: list[str] = []
        for match in _pattern(_SUSPECT).finditer(text, start, stop):
            parts += text[start : match.start()], _replace(match)
            start = match.end()
        parts.append(text[start:stop])
        return "".join(parts)
