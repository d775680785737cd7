"""Which skill an id means, and what a bad file or id costs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.ask.types import AskRefused
from neocode.skills.registry import MAX_SKILLS, SkillRegistry, parse_skill
from neocode.skills.textfile import MAX_BYTES, UnreadableText


def write(directory: Path, skill_id: str, content: str | bytes) -> Path:
    path = directory / skill_id / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_the_bundled_skill_is_there_without_its_front_matter(tmp_path: Path) -> None:
    registry = SkillRegistry(tmp_path / "none")
    body = registry.instructions("terminal-diagnosis")
    assert body is not None
    assert body.startswith("# Terminal diagnosis")
    assert "description:" not in body
    assert registry.known() == ["terminal-diagnosis"]
    assert registry.refresh() == []


def test_the_users_skill_wins_and_is_read_again_when_changed(tmp_path: Path) -> None:
    registry = SkillRegistry(tmp_path)
    bundled = registry.instructions("terminal-diagnosis")
    path = write(tmp_path, "terminal-diagnosis", "---\nname: terminal-diagnosis\n---\nMine.\n")
    assert registry.instructions("terminal-diagnosis") == "Mine."
    path.write_text("---\nname: terminal-diagnosis\n---\nThen.\n")
    os.utime(path, ns=(5, 5))
    assert registry.instructions("terminal-diagnosis") == "Then."
    path.unlink()
    assert registry.instructions("terminal-diagnosis") == bundled


def test_an_unknown_id_is_refused_and_the_known_ones_are_named(tmp_path: Path) -> None:
    write(tmp_path, "docker", "Know docker.")
    registry = SkillRegistry(tmp_path)
    registry.check(("docker", "terminal-diagnosis"))
    with pytest.raises(AskRefused) as refused:
        registry.check(("docker", "podman"))
    assert refused.value.message == "unknown skill 'podman' (known: docker, terminal-diagnosis)"
    with pytest.raises(AskRefused, match="too many"):
        registry.check(("docker",) * (MAX_SKILLS + 1))


@pytest.mark.parametrize("skill_id", ["../secret", "..", ".", "", "a/b", "a\\b", "/etc", "a\x00b", "x" * 65, "é", "-a"])
def test_an_id_never_leaves_its_directory(tmp_path: Path, skill_id: str) -> None:
    (tmp_path / "SKILL.md").write_text("secret")
    write(tmp_path, "secret", "secret")
    registry = SkillRegistry(tmp_path / "skills")
    (tmp_path / "skills").mkdir()
    assert registry.instructions(skill_id) is None
    with pytest.raises(AskRefused):
        registry.check((skill_id,))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"---\nname: x\n---\n\xff\xfe", "not UTF-8"),
        ("---\nname: [x\n---\nbody", "line 3: the front matter is not YAML"),
        ("---\nname: x\nbody", "no closing ---"),
        ("---\n- a\n- b\n---\nbody", "not a mapping"),
        ("---\nname: x\n---\n \n", "no instructions"),
        ("", "no instructions"),
        ("x" * (MAX_BYTES + 1), "larger than"),
        ("---\na: &a [*a, *a]\nb: !!python/object/apply:os.system [id]\n---\nbody", "not YAML"),
    ],
)
def test_an_unreadable_skill_is_skipped_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | bytes, fault: str
) -> None:
    path = write(tmp_path, "terminal-diagnosis", content)
    registry = SkillRegistry(tmp_path)
    for _ in range(3):
        body = registry.instructions("terminal-diagnosis")
        assert body is not None
        assert body.startswith("# Terminal diagnosis")
    (message,) = [record.getMessage() for record in caplog.records]
    assert fault in message
    assert str(path) in message
    (warning,) = registry.refresh()
    assert warning == message
    path.write_text("Repaired.")
    assert registry.instructions("terminal-diagnosis") == "Repaired."
    assert registry.refresh() == []


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and modes of POSIX")
def test_a_pipe_or_a_directory_in_a_skills_place_does_not_hold_us_up(tmp_path: Path) -> None:
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    (tmp_path / "dir" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "file").write_text("not a directory")
    registry = SkillRegistry(tmp_path)
    assert [registry.instructions(name) for name in ("pipe", "dir", "file")] == [None, None, None]
    assert len(registry.refresh()) == 2
    assert registry.known() == ["terminal-diagnosis"]


def test_a_file_with_dos_line_ends_and_a_bom_is_read(tmp_path: Path) -> None:
    write(tmp_path, "dos", b"\xef\xbb\xbf---\r\nname: dos\r\n---\r\nLine one.\r\nLine two.\r\n")
    assert SkillRegistry(tmp_path).instructions("dos") == "Line one.\nLine two."


@given(st.text("-: \nab[]{}#&*!\"'\t", max_size=120))
def test_any_text_is_either_instructions_or_unreadable(text: str) -> None:
    with contextlib.suppress(UnreadableText):
        body = parse_skill(text, Path("x"), check_yaml=True)
        assert body
        assert body == body.strip()
        assert body in text


def test_the_common_path_needs_no_yaml_parser() -> None:
    code = (
        "import sys; from pathlib import Path; from neocode.skills.registry import SkillRegistry;"
        "SkillRegistry(Path('/nonexistent')).check(('terminal-diagnosis',));"
        "sys.exit([name for name in sys.modules if name.startswith('ruamel')] != [])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=50).returncode == 0
