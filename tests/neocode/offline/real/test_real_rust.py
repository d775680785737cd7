"""What cargo and rustc really print."""

from __future__ import annotations

from typing import Any

import pytest

MANIFEST = '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'

SOURCES = [
    ("rust-crate-missing", "use serde::Serialize;\nfn main() {}\n"),
    ("rust-unresolved-import", "use std::colections::HashMap;\nfn main() {}\n"),
    ("rust-moved-value", 'fn main() { let s = String::from("a"); let t = s; println!("{} {}", s, t); }\n'),
    ("rust-borrow", 'fn main() { let mut v = vec![1]; let a = &v[0]; v.push(2); println!("{}", a); }\n'),
    ("rust-type-mismatch", 'fn main() { let _x: i32 = "a"; }\n'),
    ("rust-name-unknown", "fn main() { foo(); }\n"),
    ("rust-trait-missing", 'struct A; fn main() { println!("{}", A); }\n'),
    ("rust-compile-error", 'fn f() -> &str { "" }\nfn main() { f(); }\n'),
    ("rust-syntax", "fn main() { let x = 1 let y = 2; }\n"),
]


@pytest.mark.parametrize(("rule", "source"), SOURCES, ids=[rule for rule, _ in SOURCES])
def test_the_compiler_gives_the_rule(rule: str, source: str, tools: Any) -> None:
    tools.write({"Cargo.toml": MANIFEST, "src/main.rs": source})
    tools.expect(rule, ["cargo", "check"])


COMMANDS = [
    ("cargo-no-manifest", {}, "cargo build"),
    ("cargo-no-command", {}, "cargo biuld"),
    ("cargo-crate-not-found", {"Cargo.toml": MANIFEST + '[dependencies]\nserde_jsn = "1"\n'}, "cargo check"),
    ("cargo-feature-missing", {"Cargo.toml": MANIFEST}, "cargo check --features nope"),
    ("cargo-manifest-invalid", {"Cargo.toml": "[package\n"}, "cargo check"),
    ("cargo-rustc-too-old", {"Cargo.toml": MANIFEST + 'rust-version = "1.999"\n'}, "cargo check"),
    ("rustup-toolchain-missing", {"Cargo.toml": MANIFEST}, "cargo +nosuch-1.2.3 check"),
]


@pytest.mark.parametrize(("rule", "files", "command"), COMMANDS, ids=[rule for rule, _, _ in COMMANDS])
def test_cargo_gives_the_rule(rule: str, files: dict[str, str], command: str, tools: Any) -> None:
    tools.write({**files, "src/main.rs": "fn main() {}\n"})
    tools.expect(rule, command.split())


def test_a_misspelt_command_is_put_right(tools: Any) -> None:
    assert tools.expect("cargo-no-command", ["cargo", "biuld"]).fix[0] == "cargo build"


def test_a_stale_lock_file_is_told(tools: Any) -> None:
    tools.write({"Cargo.toml": MANIFEST, "src/main.rs": "fn main() {}\n"})
    tools.expect("cargo-lock-outdated", ["cargo", "check", "--locked"])


def test_a_target_that_is_not_installed_is_told(tools: Any) -> None:
    tools.write({"Cargo.toml": MANIFEST, "src/main.rs": "fn main() {}\n"})
    target = "sparcv9-sun-solaris"
    assert tools.expect("rust-target-missing", ["cargo", "check", "--target", target]).fix == (
        f"rustup target add {target}",
    )


def test_a_panic_names_its_line(tools: Any) -> None:
    tools.write({"Cargo.toml": MANIFEST, "src/main.rs": "fn main() { let v: Option<i32> = None; v.unwrap(); }\n"})
    assert "src/main.rs" in tools.expect("rust-panic", ["cargo", "run"]).cause
