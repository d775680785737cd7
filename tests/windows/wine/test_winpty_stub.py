"""Our stub for `winpty`, which ships no types that mypy takes, says what the wheel's own says."""

from __future__ import annotations

import ast
from pathlib import Path

import winpty

OURS = Path(__file__).resolve().parents[3] / "stubs" / "winpty" / "__init__.pyi"
THEIRS = Path(winpty.__file__).with_name("_winpty.pyi")


def signatures(path: Path) -> dict[str, str]:
    """Every name that a stub declares -> its type, or its arguments and its result, without the defaults' values."""
    found: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign):
            found[ast.unparse(node.target)] = ast.unparse(node.annotation)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = ", ".join(map(ast.unparse, node.bases))
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    found[f"{node.name}.{method.name}"] = signature(method)
    return found


def signature(method: ast.FunctionDef) -> str:
    arguments = method.args.args
    required = len(arguments) - len(method.args.defaults)
    words = [
        f"{argument.arg}: {kind(argument.annotation)}{' = ...' if at >= required else ''}"
        for at, argument in enumerate(arguments)
        if argument.arg != "self"
    ]
    decorators = "".join(f"@{ast.unparse(decorator)} " for decorator in method.decorator_list)
    return f"{decorators}({', '.join(words)}) -> {kind(method.returns)}"


def kind(annotation: ast.expr | None) -> str:
    """One spelling of a type; theirs leaves out what returns nothing."""
    text = "None" if annotation is None else ast.unparse(annotation)
    return f"{text[len('Optional[') : -1]} | None" if text.startswith("Optional[") else text


def test_our_stub_equals_the_wheel_s() -> None:
    assert signatures(OURS) == signatures(THEIRS)


def test_what_the_stub_declares_is_there() -> None:
    for name in signatures(OURS):
        target: object = winpty
        for part in name.split("."):
            if part != "__init__":
                target = getattr(target, part)
