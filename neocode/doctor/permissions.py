"""What of ours is on disk: can it be written, is it the user's alone, is the store whole. Nothing stays behind."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from neocode import paths
from neocode.doctor.check import Check, Situation
from neocode.errors import NeocodeError

# of the disk or of the user's share of it; Windows has no quota of that name
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
LOW_BYTES = 16 * 1024 * 1024  # logs, a store, sessions: a few MiB
STORE_SEC = 1.0


def permissions(situation: Situation) -> Iterator[Check]:
    """Our home, what is in it, the token, the store."""
    home = paths.home()
    yield _writable(home)
    yield from _private(home)
    yield _token(Path(situation.token_file) if situation.token_file else paths.auth_file())
    yield _store(paths.state_dir() / "ask.db")


def _writable(home: Path) -> Check:
    """Made by doing it: modes alone do not tell of read-only file systems, quotas and full disks."""
    place = next((each for each in (paths.run_dir(), home, *home.parents) if os.path.lexists(each)), home)
    probe = place / f".neocode-doctor-{os.getpid()}"
    try:
        fd = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(fd, b"x" * 512)
        finally:
            os.close(fd)
            os.unlink(probe)
    except OSError as error:
        full = error.errno in FULL
        do = "make room on that disk" if full else "check owner, mode and mount"
        return Check("home", "broken", f"{place} cannot be written: {error.strerror}", f"{do}, or set {paths.HOME_ENV}")
    free = shutil.disk_usage(place).free
    if free < LOW_BYTES:
        return Check("home", "warn", f"{free // (1 << 20)} MiB are left at {place}", "make room on that disk")
    return Check("home", "ok", str(home) if home.is_dir() else f"{home} will be made when it is needed")


def _ours(home: Path) -> Iterator[tuple[Path, int]]:
    """Our directories and files with the mode that they may have at most."""
    yield home, 0o700
    for name in ("run", "state", "logs"):
        yield home / name, 0o700
        try:
            entries = sorted(os.scandir(home / name), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            yield Path(entry.path), 0o700 if entry.is_dir(follow_symlinks=False) else 0o600
    yield home / "auth.json", 0o600
    yield home / "config.yaml", 0o644


def _private(home: Path) -> Iterator[Check]:
    wrong = [found for path, wanted in _ours(home) if (found := _fault(path, wanted))]
    for what, do in wrong:
        yield Check("permissions", "broken", what, do)
    if not wrong:
        yield Check("permissions", "ok", "what is ours is yours alone")


if sys.platform == "win32":

    def _fault(path: Path, wanted: int) -> tuple[str, str] | None:
        """Who else than the user and the administrators may use it, or change it where reading does no harm."""
        from conpty import sddl, security

        try:
            text = security.read_sddl(str(path))
        except FileNotFoundError:
            return None
        me = security.current_sid()
        if sddl.is_foreign(text, me):
            return f"{path} belongs to {sddl.owner(text)}", f'takeown /f "{path}"'
        others = sddl.strangers(text, me, sddl.WRITE if wanted & 0o044 else sddl.READ | sddl.WRITE)
        if others:
            inherit = "(OI)(CI)" if path.is_dir() else ""
            return (
                f"{path} is open to {', '.join(others)}",
                f'icacls "{path}" /inheritance:r /grant:r "%USERNAME%:{inherit}F"',
            )
        return None

else:

    def _fault(path: Path, wanted: int) -> tuple[str, str] | None:
        try:
            info = os.lstat(path)
        except OSError:
            return None
        if info.st_uid != os.geteuid():
            return f"{path} belongs to uid {info.st_uid}", f"chown {os.geteuid()} {path}"
        if stat.S_IMODE(info.st_mode) & ~wanted & 0o077:
            return f"{path} is open to others ({stat.S_IMODE(info.st_mode):o})", f"chmod {wanted:o} {path}"
        return None


def _token(path: Path) -> Check:
    from neocode.gateway.auth import TokenMissing, read_token

    try:
        read_token(path)
    except TokenMissing:
        return Check("token", "ok", f"no {path} yet; the gateway makes it")
    except NeocodeError as error:
        return Check("token", "broken", error.message, error.hint)
    return Check("token", "ok", str(path))


def _store(path: Path) -> Check:
    """Read only: a damaged one is moved aside by the gateway, not by us."""
    import sqlite3

    if not path.exists():
        return Check("store", "ok", f"no {path} yet")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=STORE_SEC)
        try:
            connection.execute("SELECT count(*) FROM sessions").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        return Check("store", "warn", f"{path}: {error}", "the gateway may be using it; else neocode gateway restart")
    except sqlite3.DatabaseError as error:
        return Check(
            "store", "broken", f"{path} is damaged ({error})", "neocode gateway restart moves it aside and begins anew"
        )
    return Check("store", "ok", str(path))
