"""Tells what a control sequence on the way in is: a key, or the terminal speaking for itself.

Sources: xterm ctlseqs, the kitty keyboard protocol, microsoft/terminal#4999 (win32-input-mode).
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal[
    "text", "enter", "key", "hotkey", "paste-begin", "paste", "paste-end", "reply", "focus", "mouse", "release"
]

_REPLY = re.compile(
    rb"\[(?:"
    rb"[?>=][0-9;]*c"  # DA1, DA2, DA3
    rb"|\??[0-9]+;[0-9]+(?:;[0-9]+)?R"  # CPR; at row 1 also F3 with a modifier, which we would rather lose
    rb"|\??[0-9;]*n"  # DSR, colour scheme
    rb"|\??[0-9;]+\$y"  # DECRPM
    rb"|\?[0-9]*u"  # kitty keyboard flags
    rb"|[0-9;:]+t"  # window size reports
    rb"|\?[0-9;]*S"  # sixel and ReGIS geometry
    rb"|[?>][0-9;:]*m"  # XTQMODKEYS
    rb"|[0-9;]*\x2ay|[0-9;]*x"  # DECRQCRA, DECREQTPARM
    rb")"
).fullmatch
_MOUSE = re.compile(rb"\[(?:M.{3}|<[0-9;]+[Mm]|[0-9]+;[0-9]+;[0-9]+M)", re.DOTALL).fullmatch
_KITTY = re.compile(rb"\[([0-9]+)(?::[0-9]*)*(?:;([0-9]*)(?::([0-9]+))?)?(?:;[0-9:]*)?u").fullmatch
# other keys of the kitty protocol with an event type: 1 press, 2 repeat, 3 release
_RELEASED = re.compile(rb"\[[0-9]*;[0-9]*:3[A-Z~]").fullmatch
_WIN32 = re.compile(rb"\[([0-9]*);([0-9]*);([0-9]*);([0-9]*);([0-9]*);([0-9]*)_").fullmatch

_KITTY_ENTER, _KITTY_CTRL, _KITTY_LOCKS = 13, 4, 64 | 128
_KITTY_MODIFIERS = range(57441, 57455)  # the modifier keys themselves; caps, num and scroll lock precede them
_KITTY_LOCK_KEYS = range(57358, 57361)
# VK_SHIFT, VK_CONTROL, VK_MENU, VK_CAPITAL, VK_NUMLOCK, VK_SCROLL, VK_LWIN, VK_RWIN: no key by themselves
_VK_MODIFIERS = frozenset({16, 17, 18, 20, 144, 145, 91, 92})


def classify(sequence: bytes, hotkey: int) -> Kind:
    """What a complete sequence (ESC and all) is; `hotkey` is a control character's code, such as 0x07 for Ctrl+G."""
    body = sequence[1:]
    if body in (b"[I", b"[O"):
        return "focus"
    if body == b"[200~":
        return "paste-begin"
    if body[:1] in (b"]", b"P", b"_") and len(body) > 1:
        return "reply"
    if _MOUSE(body):
        return "mouse"
    if _REPLY(body):
        return "reply"
    if _RELEASED(body):
        return "release"
    if match := _KITTY(body):
        return _kitty(int(match[1][:9]), int(match[2] or 1), match[3] == b"3", hotkey)
    if match := _WIN32(body):
        return _win32([int(group[:9] or 0) for group in match.groups()], hotkey)
    return "key"


def _kitty(code: int, modifiers: int, released: bool, hotkey: int) -> Kind:
    held = max(0, modifiers - 1) & ~_KITTY_LOCKS
    if released or code in _KITTY_MODIFIERS or code in _KITTY_LOCK_KEYS:
        return "release"
    if code == _KITTY_ENTER and not held:
        return "enter"
    return "hotkey" if held == _KITTY_CTRL and code == hotkey + 0x60 else "key"


def _win32(fields: list[int], hotkey: int) -> Kind:
    virtual_key, _, character, down, _, _ = fields
    if not down or (character == 0 and virtual_key in _VK_MODIFIERS):
        return "release"
    if character == 0x0D:
        return "enter"
    return "hotkey" if character == hotkey else "key"
