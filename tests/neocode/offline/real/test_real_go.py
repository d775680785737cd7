"""What the go command and its programs really print."""

from __future__ import annotations

import getpass
import tempfile
from pathlib import Path
from typing import Any

import pytest

GO_MOD = "module demo\n\ngo 1.21\n"

FAILURES = [
    ("go-no-module", {}, "go build"),
    ("go-unknown-command", {}, "go biuld"),
    ("go-no-such-file", {"go.mod": GO_MOD}, "go run main.go"),
    ("go-not-in-std", {"go.mod": GO_MOD, "main.go": 'package main\nimport "utils/log"\nfunc main(){}\n'}, "go build"),
    ("go-unused", {"go.mod": GO_MOD, "main.go": "package main\nfunc main(){ x := 1 }\n"}, "go build"),
    ("go-undefined", {"go.mod": GO_MOD, "main.go": "package main\nfunc main(){ foo() }\n"}, "go build"),
    ("go-type-mismatch", {"go.mod": GO_MOD, "main.go": 'package main\nvar x int = "a"\nfunc main(){}\n'}, "go build"),
    ("go-syntax", {"go.mod": GO_MOD, "main.go": "package main\nfunc main(){\n x := \n}\n"}, "go build"),
    ("go-packages-mixed", {"go.mod": GO_MOD, "a.go": "package main\n", "b.go": "package other\n"}, "go build ."),
    ("go-toolchain-old", {"go.mod": "module demo\n\ngo 1.999\n", "main.go": "package main\n"}, "go build"),
    (
        "go-import-cycle",
        {
            "go.mod": GO_MOD,
            "a/a.go": 'package a\nimport _ "demo/b"\n',
            "b/b.go": 'package b\nimport _ "demo/a"\n',
        },
        "go build ./...",
    ),
    (
        "go-module-not-required",
        {"go.mod": GO_MOD, "main.go": 'package main\nimport "example.com/nope/nope"\nfunc main(){ nope.X() }\n'},
        "go build",
    ),
    (
        "go-missing-sum",
        {
            "go.mod": GO_MOD + "require example.com/x v1.0.0\n",
            "main.go": 'package main\nimport _ "example.com/x"\nfunc main(){}\n',
        },
        "go build",
    ),
    (
        "go-nil-pointer",
        {"go.mod": GO_MOD, "main.go": "package main\nfunc main(){ var p *struct{A int}; println(p.A) }\n"},
        "go run .",
    ),
    (
        "go-panic",
        {"go.mod": GO_MOD, "main.go": 'package main\nfunc main(){ var m map[string]int; m["a"] = 1 }\n'},
        "go run .",
    ),
    (
        "go-deadlock",
        {"go.mod": GO_MOD, "main.go": "package main\nfunc main(){ c := make(chan int); c <- 1 }\n"},
        "go run .",
    ),
]


@pytest.fixture(scope="session")
def go_cache() -> str:
    """One build cache for all workers and runs: without it each would compile the run time anew."""
    path = Path(tempfile.gettempdir()) / f"neocode-go-cache-{getpass.getuser()}"
    path.mkdir(mode=0o700, exist_ok=True)
    assert not path.is_symlink()
    return str(path)


@pytest.mark.parametrize(("rule", "files", "command"), FAILURES, ids=[rule for rule, _, _ in FAILURES])
def test_go_gives_the_rule(rule: str, files: dict[str, str], command: str, tools: Any, go_cache: str) -> None:
    tools.write(files)
    tools.expect(rule, command.split(), GOCACHE=go_cache)


def test_a_missing_c_compiler_is_named(tools: Any, go_cache: str) -> None:
    tools.write({"go.mod": GO_MOD, "main.go": 'package main\nimport "C"\nfunc main(){}\n'})
    fault = tools.expect("go-cgo-compiler", ["go", "build"], GOCACHE=go_cache, CC="nosuch-cc", CGO_ENABLED="1")
    assert "nosuch-cc" in fault.cause
