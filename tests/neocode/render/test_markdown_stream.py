"""What a terminal shows, and when."""

from __future__ import annotations

from neocode.render.markdown import MarkdownStream

ANSWER = """\
## Cause
The registry at `127.0.0.1:4873` **refused** the connection.
It is a *local* one.

Nothing listens there, see [the docs](https://docs.npmjs.com/) or <https://verdaccio.org>.

## Fix
```sh
verdaccio   # start it
    npm config set registry https://registry.npmjs.org/ --location=a-very-long-line-that-is-code
```
1. First a step that is long enough to need a second line here.
   - nested
2. Then the next.

> quoted words
> in two lines

| a | b |
|---|---|
---
![logo](http://h/i.png)
## Confidence
high - the log says so
"""

PLAIN = """\
Cause
The registry at 127.0.0.1:4873 refused
the connection. It is a local one.

Nothing listens there, see the docs
(https://docs.npmjs.com/) or
https://verdaccio.org.

Fix
  verdaccio   # start it
      npm config set registry https://registry.npmjs.org/ --location=a-very-long-line-that-is-code
1. First a step that is long enough to
   need a second line here.
   - nested
2. Then the next.

│ quoted words in two lines

| a | b |
|---|---|
---
logo (http://h/i.png)

Confidence
high - the log says so
"""


def rendered(text: str, width: int = 40, color: bool = False) -> str:
    out: list[str] = []
    stream = MarkdownStream(width, color, out.append)
    stream.feed(text)
    stream.finish()
    return "".join(out)


def test_an_answer_without_colour() -> None:
    assert rendered(ANSWER) == PLAIN


def test_windows_line_ends_change_nothing() -> None:
    assert rendered(ANSWER.replace("\n", "\r\n")) == PLAIN


def test_an_answer_in_colour() -> None:
    text = "## Cause\nA **bold `code`** word.\n> said\n```\nls\n```\n"
    assert rendered(text, color=True) == (
        "\x1b[1mCause\x1b[0m\n"
        "A \x1b[1mbold \x1b[0m\x1b[1;36mcode\x1b[0m word.\n"
        "│ \x1b[2msaid\x1b[0m\n"
        "  \x1b[36mls\x1b[0m\n"
    )


def test_each_line_of_a_wrapped_bold_text_has_its_own_colour() -> None:
    lines = rendered("**" + "word " * 12 + "end**", 20, color=True).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("\x1b[1m") and line.endswith("\x1b[0m") for line in lines)


def test_a_block_is_written_when_it_is_complete_and_code_line_by_line() -> None:
    out: list[str] = []
    stream = MarkdownStream(40, False, out.append)
    seen: list[str] = []
    for delta in ["## Cau", "se\nThe", " disk\nis full.", "\n", "\n```sh\ndf", " -h\nls", "\n```"]:
        stream.feed(delta)
        seen.append("".join(out))
        out.clear()
    stream.finish()
    assert seen == ["", "Cause\n", "", "", "The disk is full.\n", "\n  df -h\n", "  ls\n"]
    assert out == []


def test_chinese_and_japanese_wrap_between_characters_and_keep_punctuation_off_the_line_start() -> None:
    """urwid/urwid#468: width tables disagree; ours is one, and no line is wider than asked."""
    assert rendered("连接被拒绝，因为没有程序在监听这个端口。", 20) == "连接被拒绝，因为没有\n程序在监听这个端口。\n"
    assert rendered("一二三四五六七八九十，一", 20) == "一二三四五六七八九\n十，一\n"
    assert rendered("第一行\n第二行 and\nEnglish", 40) == "第一行第二行 and English\n"


def test_a_combining_accent_stays_with_its_letter() -> None:
    word = "e\u0301" * 25
    assert rendered(word, 20) == "e\u0301" * 20 + "\n" + "e\u0301" * 5 + "\n"


def test_a_word_longer_than_the_line_is_broken() -> None:
    assert rendered("x" * 45, 20) == "x" * 20 + "\n" + "x" * 20 + "\n" + "x" * 5 + "\n"


def test_windows_paths_keep_their_back_slashes() -> None:
    assert (
        rendered("See C:\\Users\\me\\.npmrc and C:\\_x\\*.log", 60) == "See C:\\Users\\me\\.npmrc and C:\\_x\\*.log\n"
    )


def test_setext_headings_and_hard_breaks() -> None:
    assert rendered("Cause\n-----\none  \ntwo\n") == "Cause\none\ntwo\n"


def test_an_unclosed_fence_ends_at_the_next_section() -> None:
    assert rendered("## Fix\n```sh\nls\n# comment\n## Check\ntext") == "Fix\n  ls\n  # comment\n\nCheck\ntext\n"


def test_sequences_hidden_in_entities_and_links_do_not_come_to_life() -> None:
    """langchain-ai/openwiki#540, vercel/ai#20052: model text reached the terminal raw."""
    text = (
        "&#27;[2J &#x9b;2J <http://x/%1b[2J> [a](http://x/%1b%5d52;c;x%07) [b](<\x1b]8;;y\x07>) `\x1b[2J` ![\x1b[1m](x)"
    )
    for color in (False, True):
        shown = rendered(text, 200, color).replace("\x1b[4m", "").replace("\x1b[36m", "").replace("\x1b[0m", "")
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\x9b" not in shown


def test_a_carriage_return_cannot_overwrite_what_was_shown() -> None:
    """topcheer/ggcode#2478."""
    assert rendered("safe words\rrm -rf /", 60) == "safe words\\rrm -rf /\n"


def test_a_very_long_line_is_shown_in_parts_and_completely() -> None:
    text = "".join(f"{number:06d} " for number in range(3000))
    assert "".join(rendered(text, 80).split()) == "".join(text.split())
