"""How a Windows program reads its command line: CommandLineToArgvW, for tests of what writes them."""

from __future__ import annotations


def split_command_line(line: str) -> list[str]:
    r"""The argv of `line`, after learn.microsoft.com's "Parsing C++ command-line arguments".

    The program comes first and knows quotes only. In the arguments 2n backslashes before a quote are n and the quote
    is syntax; 2n+1 are n and a quote that is text; within quotes `""` is a quote too.
    """
    at = 0
    if line.startswith('"'):
        closing = line.find('"', 1)
        closing = len(line) if closing < 0 else closing
        words = [line[1:closing]]
        at = closing + 1
    else:
        words = [line.split(None, 1)[0] if line.strip() else ""]
        at = len(words[0])
    while at < len(line):
        if line[at] in " \t":
            at += 1
            continue
        word, at = _argument(line, at)
        words.append(word)
    return words


def _argument(line: str, at: int) -> tuple[str, int]:
    word, quoted = "", False
    while at < len(line) and (quoted or line[at] not in " \t"):
        backslashes = 0
        while at + backslashes < len(line) and line[at + backslashes] == "\\":
            backslashes += 1
        at += backslashes
        if at < len(line) and line[at] == '"':
            word += "\\" * (backslashes // 2)
            if backslashes % 2:
                word += '"'
            elif quoted and line[at + 1 : at + 2] == '"':
                word += '"'
                at += 1
            else:
                quoted = not quoted
            at += 1
        elif backslashes:
            word += "\\" * backslashes
        else:
            word += line[at]
            at += 1
    return word, at
