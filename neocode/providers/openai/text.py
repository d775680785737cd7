"""Text from a server made fit for an error message: no part of the API key, no control character, one short line."""

from __future__ import annotations

MAX_MESSAGE_CHARS = 300  # what one line on a terminal can bear
MAX_FOREIGN_CHARS = 16 * 1024  # more of a server's text is not even looked at
KEY_WINDOW = 8  # a shared run this long is taken for an echo of the key; vendors' public prefixes are shorter
MASK = "[key]"


def one_line(text: str, key: str = "", limit: int = MAX_MESSAGE_CHARS) -> str:
    """`text` without the key, printable, on one line, at most `limit` characters."""
    text = mask_key(text[:MAX_FOREIGN_CHARS], key)
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def mask_key(text: str, key: str) -> str:
    """`text` with the key, and every piece of it of `KEY_WINDOW` characters or more in either case, masked."""
    if not key:
        return text
    if len(key) < KEY_WINDOW:
        return text.replace(key, MASK)
    if len(text.lower()) != len(text):  # a few capitals grow when lowered, which would shift every offset
        text = text.encode("ascii", "replace").decode("ascii")
    low, low_key = text.lower(), key.lower()
    windows = {low_key[i : i + KEY_WINDOW] for i in range(len(low_key) - KEY_WINDOW + 1)}
    out: list[str] = []
    at = 0
    while at < len(text):
        if low[at : at + KEY_WINDOW] in windows:
            end = at + KEY_WINDOW
            while end < len(text) and low[end - KEY_WINDOW + 1 : end + 1] in windows:
                end += 1
            out.append(MASK)
            at = end
        else:
            out.append(text[at])
            at += 1
    return "".join(out)
