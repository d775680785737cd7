"""The vocabulary of terminal streams: pieces that shells, programs and attackers write, for tests and fuzzing."""

from __future__ import annotations

from ptyproxy.stream.osc import ST, build_mark, build_marks

NONCE = "0123456789abcdef0123456789abcdef"
OTHER_NONCE = "f" * 32

A = build_mark("A")
B = build_mark("B")
PROMPT = A + b"$ " + B


def command(line: str, nonce: str = NONCE, end: bytes = b"\x07") -> bytes:
    """The C mark or marks of a command line."""
    return b"".join(build_marks("C", nonce, "cmd", line, end=end))


def done(code: int, cwd: str = "/home/me", nonce: str = NONCE) -> bytes:
    """The D mark or marks of an ended command."""
    return b"".join(build_marks("D", nonce, "cwd", cwd, exit=str(code)))


OURS = [
    A,
    B,
    PROMPT,
    command("ls"),
    command("echo '本'; false", end=ST),
    command("x" * 700),
    command("é😀%;" * 60),
    done(0),
    done(1, "/tmp/" + "名" * 60),
    build_mark("D", NONCE),
    build_mark("K", NONCE, buf="empty"),
    build_mark("C", NONCE, part="2/3", cmd="late"),
]
FORGED = [
    command("rm -rf /", OTHER_NONCE),
    done(0, "/", OTHER_NONCE),
    build_mark("D", exit="0"),
    build_mark("K"),
    b"\x1b]7781;neocode;D;exit=0;nc=\x07",
    b"\x1b]7781;neocode;Z\x07",
    b"\x1b]7781;other;A\x07",
    b"\x1b]7781;neocode;D;nc=" + NONCE.encode(),
]
FOREIGN = [
    b"\x1b]133;A\x07",
    b"\x1b]133;A;k=s\x07",
    b"\x1b]133;P;k=i\x1b\\",
    b"\x1b]133;A;aid=7;cl=m\x07",
    b"\x1b]133;B\x07",
    b"\x1b]133;C\x07",
    b"\x1b]133;C;cmdline=ls\\ -l\\;x\x07",
    b"\x1b]133;C;cmdline_url=ls%20-l;aid=7\x07",
    b"\x1b]133;D\x07",
    b"\x1b]133;D;1\x1b\\",
    b"\x1b]133;D;0;aid=9\x07",
    b"\x1b]633;A\x07",
    b"\x1b]633;C\x07",
    b"\x1b]633;D;2\x07",
    b"\x1b]633;E;echo a\\x3b\\\\b;n\x07",
    b"\x1b]633;E;;\x07",
    b"\x1b]633;P;Cwd=/a\\x3bb\x07",
    b"\x1b]7;file://host/a%20b\x07",
    b"\x1b]7;kitty-shell-cwd://host/a%20b\x07",
    b'\x1b]9;9;"C:\\x"\x07',
    b"\x1b]1337;CurrentDir=/x\x07",
]
MODES = [
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b[?47h",
    b"\x1b[?1047l",
    b"\x1b[?2004h",
    b"\x1b[?2004l",
    b"\x1b[?1000;1006h",
    b"\x1b[?1003l",
    b"\x1b[?25l",
    b"\x1b[?25h",
    b"\x1b[?1h\x1b=",
    b"\x1b[?1l\x1b>",
    b"\x1b[>1u",
    b"\x1b[<u",
    b"\x1b[<9u",
    b"\x1b[=5;1u",
    b"\x1b[>4;2m",
    b"\x1b[>4m",
    b"\x1b[4 q",
    b"\x1b[0 q",
    b"\x1b(0",
    b"\x1b(B",
    b"\x0e",
    b"\x0f",
    b"\x1b[!p",
    b"\x1bc",
    b"\x1b[?9001h",
]
TEXT = [
    b"plain text\r\n",
    b"\x1b[31mred\x1b[0m \x1b[K",
    "日本語 text 😀\r\n".encode(),
    b"\xe6\x9c",
    b"\xac\x9c\x90\x9d",
    b"\x07",
    b"\x1b",
    b"\x1b\x1b",
    b"\\",
    b"\x1b]0;title",
    b"\x1b]0;title\x07",
    "\x1b]2;本\x1b\\".encode(),
    b"\x1bPq#1;2;3",
    b"\x1bP1$r0m\x1b\\",
    b"\x1bPtmux;\x1b",
    b"\x1b\x1b\\",
    b"\x1b_Gi=1;",
    b"\x1b]8;;http://x\x07link\x1b]8;;\x07",
    b"\x1b]133;C;cmdline=" + b"y" * 5000,
    b"\x18",
    b"\x1b[?",
    b"\x1b[2",
    b"\x1b]7",
    b"\x1b]133;",
    b"\r\n",
]
OUTPUT_PIECES = [*OURS, *FORGED, *FOREIGN, *MODES, *TEXT]

INPUT_PIECES = [
    b"ls -l",
    "日本語é😀".encode(),
    b"\r",
    b"\n",
    b"\x07",
    b"\x03",
    b"\x7f",
    b"\x1b",
    b"\x1b\r",
    b"\x1bb",
    "\x1bé".encode(),
    b"\x1b\x1b[A",
    b"\x1b[A",
    b"\x1bOP",
    b"\x1b[1;5C",
    b"\x1b[3~",
    b"\x1b[[A",
    b"\x1b[97;5u",
    b"\x1b[13u",
    b"\x1b[103;5u",
    b"\x1b[97;1:3u",
    b"\x1b[65;30;97;1;0;1_",
    b"\x1b[16;42;0;1;16;1_",
    b"\x1b[65;30;97;0;0;1_",
    b"\x1b[200~",
    b"\x1b[201~",
    b"\x1b[200~pasted\x07\r\x1b[A text\x1b[201~",
    b"\x1b[I",
    b"\x1b[O",
    b"\x1b[<0;10;20M",
    b"\x1b[<0;10;20m",
    b"\x1b[M !!",
    b"\x1b[35;10;20M",
    b"\x1b[?62;1;6;22c",
    b"\x1b[>41;354;0c",
    b"\x1b[12;40R",
    b"\x1b[0n",
    b"\x1b[?997;1n",
    b"\x1b[?2026;2$y",
    b"\x1b[?5u",
    b"\x1b[8;24;80t",
    b"\x1b]11;rgb:1111/2222/3333\x07",
    b"\x1b]10;rgb:1/2/3\x1b\\",
    b"\x1b]52;c;" + b"QUJD" * 1100 + b"\x07",
    b"\x1bP1+r544e=78\x1b\\",
    b"\x1bP>|XTerm(370)\x1b\\",
    b"\x1b_Gi=31;OK\x1b\\",
    b"\x1b]",
    b"\x1bP",
    b"\x1b_",
    b"\x1bO",
    b"\x1b[",
    b"\x1b]11;rgb",
]
