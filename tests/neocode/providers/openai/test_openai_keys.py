"""Where the key comes from, and keys that are not used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeServer, answers

from neocode.config import ProviderConfig
from neocode.errors import ProviderError
from neocode.providers.openai.keys import ApiKey, read_key

Ask = Callable[..., Any]
KEY = "sk-test-0123456789abcdef"
unix = pytest.mark.skipif(sys.platform == "win32", reason="modes and owners of Unix files")


def key_file(path: Path, content: bytes = KEY.encode() + b"\n", mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def refusal(config: ProviderConfig) -> str:
    with pytest.raises(ProviderError) as caught:
        read_key(config)
    assert KEY not in caught.value.one_line()
    return caught.value.one_line()


def test_the_key_of_the_variable_is_sent_and_read_anew_for_each_call(
    server: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script(answers("Hello"))
    for key in (KEY, "sk-other-key-0123456789"):
        monkeypatch.setenv("WORK_KEY", f" {key}\n")
        ask(api_key_env="WORK_KEY")
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer sk-other-key-0123456789"]


def test_a_missing_variable_names_itself_and_the_daemon(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORK_KEY", raising=False)
    error = ask(api_key_env="WORK_KEY").failed
    assert "WORK_KEY" in error.message
    assert "daemon's environment" in error.message
    assert "neocode gateway restart" in error.hint
    assert "--api-key-file" in error.hint


def test_a_key_file_is_read_and_wins_over_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_KEY", "from-the-variable")
    path = key_file(tmp_path / "key", b"\xef\xbb\xbf  " + KEY.encode() + b"\r\n")
    key = read_key(ProviderConfig(api_key_file=str(path), api_key_env="WORK_KEY"))
    assert key is not None
    assert key.reveal() == KEY


def test_a_key_file_written_by_powershell_is_read(tmp_path: Path) -> None:
    path = key_file(tmp_path / "key", f"{KEY}\r\n".encode("utf-16"))
    key = read_key(ProviderConfig(api_key_file=str(path)))
    assert key is not None
    assert key.reveal() == KEY


def test_home_and_relative_paths_mean_the_users_own_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("NEOCODE_HOME", str(tmp_path / "neo"))
    (tmp_path / "neo").mkdir()
    key_file(tmp_path / "a")
    key_file(tmp_path / "neo" / "b")
    for configured in ("~/a", "b"):
        assert read_key(ProviderConfig(api_key_file=configured)) is not None


@unix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path / "key", mode=mode)
    assert f"chmod 600 {path}" in refusal(ProviderConfig(api_key_file=str(path)))


@unix
def test_a_link_to_the_users_own_file_is_followed_and_to_anothers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = key_file(tmp_path / "key")
    link = tmp_path / "link"
    link.symlink_to(path)
    config = ProviderConfig(api_key_file=str(link))
    assert read_key(config) is not None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "another user" in refusal(config)


BAD_FILES = {
    "empty": (b"", "empty"),
    "only white space": (b" \n", "empty"),
    "a line break inside": (KEY.encode() + b"\nX-Evil: 1", "no API key"),
    "a NUL": (KEY.encode() + b"\0", "no API key"),
    "an escape": (b"\x1b[31m" + KEY.encode(), "no API key"),
    "not ASCII": ("schlüssel".encode(), "no API key"),
    "bad UTF-8": (b"\xff\xfe\xfd\xfc", "no API key"),
    "too big": (b"x" * 20_000, "too big"),
}


@pytest.mark.parametrize(("content", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal(ProviderConfig(api_key_file=str(key_file(tmp_path / "key", content))))


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(ProviderConfig(api_key_file=str(tmp_path / "none")))
    assert refusal(ProviderConfig(api_key_file=str(tmp_path)))


@unix
def test_a_pipe_in_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    assert "regular file" in refusal(ProviderConfig(api_key_file=str(tmp_path / "key")))


def test_a_variable_that_could_break_out_of_a_header_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_KEY", f"{KEY}\r\nX-Evil: 1")
    assert "WORK_KEY" in refusal(ProviderConfig(api_key_env="WORK_KEY"))


def test_a_key_does_not_show_itself() -> None:
    key = ApiKey(KEY, "the variable WORK_KEY")
    assert KEY not in repr(key)
    assert KEY not in f"{key} {[key]}"
