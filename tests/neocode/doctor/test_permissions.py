"""What the doctor says of our directory on disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from neocode.doctor.check import Situation
from neocode.doctor.permissions import permissions


@pytest.mark.parametrize(
    ("number", "do"),
    [
        (errno.ENOSPC, "make room on that disk, or set NEOCODE_HOME"),
        (errno.EDQUOT, "make room on that disk, or set NEOCODE_HOME"),
        (errno.EROFS, "check owner, mode and mount, or set NEOCODE_HOME"),
    ],
)
def test_a_disk_that_takes_nothing_is_told_from_one_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, do: str
) -> None:
    """A full disk lets files be made and refuses their first byte."""
    monkeypatch.setenv("NEOCODE_HOME", str(tmp_path))

    def refuse(fd: int, data: bytes) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refuse)
        home = next(iter(permissions(Situation())))
    assert (home.status, home.do) == ("broken", do)
    assert home.what == f"{tmp_path} cannot be written: {os.strerror(number)}"
    assert list(tmp_path.iterdir()) == []
