"""What the user allowed for a remote provider, and how it is kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from neocode.errors import ConfigError
from neocode.shell.consent import FILE_NAME, Consent


def test_nothing_is_allowed_until_somebody_says_so(tmp_path: Path) -> None:
    consent = Consent(tmp_path / "state")
    assert not consent.allowed("work", "https://a")
    consent.allow("work", "https://a", True)
    assert consent.allowed("work", "https://a")
    assert not consent.allowed("work", "https://b")  # the same name at another address
    assert not consent.allowed("other", "https://a")
    assert Consent(tmp_path / "state").allowed("work", "https://a")


def test_two_shells_agree(tmp_path: Path) -> None:
    one, two = Consent(tmp_path), Consent(tmp_path)
    one.allow("work", "https://a", True)
    two.allow("more", "https://b", True)
    assert two.allowed("work", "https://a")
    two.allow("work", "https://a", False)
    assert not one.allowed("work", "https://a")
    assert one.allowed("more", "https://b")


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_file_is_the_users_alone(tmp_path: Path) -> None:
    Consent(tmp_path / "state").allow("work", "https://a", True)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"allowed": 7}', b"\xff\xfe", b'{"version":1}'])
def test_a_broken_file_allows_nothing_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    consent = Consent(tmp_path)
    assert not consent.allowed("work", "https://a")
    consent.allow("work", "https://a", True)
    assert Consent(tmp_path).allowed("work", "https://a")


def test_what_cannot_be_written_holds_in_this_shell(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the directory should be")
    consent = Consent(tmp_path / "state")
    with pytest.raises(ConfigError):
        consent.allow("work", "https://a", True)
    assert consent.allowed("work", "https://a")
    with pytest.raises(ConfigError):
        consent.allow("work", "https://a", False)
    assert not consent.allowed("work", "https://a")
