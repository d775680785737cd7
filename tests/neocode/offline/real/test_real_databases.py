"""What psql, the PostgreSQL server and sqlite3 really print."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

START_LIMIT = 50  # seconds for initdb or the start of the server on a busy machine


def is_root() -> bool:
    return bool(getattr(os, "geteuid", lambda: 1)() == 0)


class Server(NamedTuple):
    """A PostgreSQL server of this test: the role postgres has the password pw."""

    directory: Path
    port: int

    def environment(self, password: str = "pw") -> dict[str, str]:
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "postgres", "PGPASSWORD": password}


def _as_nobody() -> dict[str, Any]:
    # the server refuses to run as root
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if is_root() else {}


def _run(argv: list[str], directory: Path) -> None:
    subprocess.run(argv, cwd=directory, check=True, capture_output=True, timeout=START_LIMIT, **_as_nobody())


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        pytest.skip("the PostgreSQL server is not installed")
    directory = Path(tempfile.mkdtemp(prefix="neocode-pg-", dir="/tmp"))  # short: it holds a socket
    try:
        if is_root():
            shutil.chown(directory, "nobody")
        (directory / "pw").write_text("pw\n")
        (directory / "pw").chmod(0o644)
        _run(["initdb", "-D", "data", "-A", "md5", "-U", "postgres", "--pwfile=pw", "--no-sync"], directory)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = (
            f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off "
            "-c max_connections=4 -c superuser_reserved_connections=1 -c max_wal_senders=0"
        )
        _run(["pg_ctl", "-D", "data", "-w", "-o", options, "-l", "log", "start"], directory)
        yield Server(directory, port)
        _run(["pg_ctl", "-D", "data", "-m", "immediate", "stop"], directory)
    finally:
        shutil.rmtree(directory)


def test_a_server_that_is_not_there_is_told(tools: Any, closed_port: int) -> None:
    fault = tools.expect("pg-refused", ["psql", "-h", "127.0.0.1", "-p", str(closed_port)])
    assert fault.check == (f"pg_isready -h 127.0.0.1 -p {closed_port}",)


def test_a_socket_that_is_not_there_is_told(tools: Any) -> None:
    tools.expect("pg-socket-missing", ["psql", "-h", str(tools.directory)])


def test_a_wrong_password_is_told(tools: Any, server: Server) -> None:
    tools.expect("pg-password", ["psql", "-c", "select 1"], **server.environment("bad"))


def test_a_missing_password_is_told(tools: Any, server: Server) -> None:
    environment = server.environment()
    del environment["PGPASSWORD"]
    tools.expect("pg-password", ["psql", "-w", "-c", "select 1"], **environment)


def test_a_missing_database_is_told(tools: Any, server: Server) -> None:
    fault = tools.expect("pg-database-missing", ["psql", "-d", "shop", "-c", "select 1"], **server.environment())
    assert fault.fix == ("createdb shop",)
    assert "psql -l" in fault.check


@pytest.mark.parametrize(
    ("rule", "statement"),
    [
        ("pg-relation-missing", "select * from nosuch"),
        ("pg-statement", "selec 1"),
        ("pg-statement", "create temp table t(a int primary key); insert into t values (1), (1)"),
    ],
)
def test_a_refused_statement_is_told(rule: str, statement: str, tools: Any, server: Server) -> None:
    tools.expect(rule, ["psql", "-d", "postgres", "-c", statement], **server.environment())


def test_a_database_in_use_is_told(tools: Any, server: Server) -> None:
    tools.run(["createdb", "busy"], **server.environment())
    holder = subprocess.Popen(
        ["psql", "-d", "busy", "-Atq"],
        env={**os.environ, **server.environment()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(b"select 'connected';\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == b"connected\n"
    tools.expect("pg-in-use", ["dropdb", "busy"], **server.environment())
    holder.communicate(timeout=START_LIMIT)


def test_a_second_server_in_the_same_directory_is_told(rules: Any, server: Server) -> None:
    done = subprocess.run(
        ["postgres", "-D", "data", "-p", "1"],
        cwd=server.directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=START_LIMIT,
        **_as_nobody(),
    )
    assert rules.log(done.stderr)[0].rule_id == "pg-server-start"


def test_a_server_started_as_root_is_told(tools: Any) -> None:
    if not is_root():
        pytest.skip("only root is refused")
    tools.expect("pg-server-start", ["postgres", "-D", str(tools.directory)])


SQLITE = [
    ("sqlite-file", "sqlite3.connect('nosuchdir/app.db').execute('create table t(a)')"),
    (
        "sqlite-file",
        "open('x.db', 'wb').write(b'no database' * 100); sqlite3.connect('x.db').execute('select 1 from t')",
    ),
    ("sqlite-statement", "sqlite3.connect(':memory:').execute('select * from users')"),
    (
        "sqlite-statement",
        "sqlite3.connect(':memory:').executescript('create table t(a unique); insert into t values(1),(1)')",
    ),
    (
        "sqlite-locked",
        "a = sqlite3.connect('x.db', isolation_level=None); a.execute('begin exclusive'); "
        "sqlite3.connect('x.db', timeout=0).execute('create table t(a)')",
    ),
]


@pytest.mark.parametrize(("rule", "code"), SQLITE)
def test_sqlite_in_python_gives_the_rule(rule: str, code: str, tools: Any) -> None:
    tools.expect(rule, ["python3", "-c", f"import sqlite3; {code}"])


def test_sqlite_of_the_command_line_gives_the_rule(tools: Any) -> None:
    tools.expect("sqlite-statement", ["sqlite3", ":memory:", "select * from users"])
    tools.expect("sqlite-file", ["sqlite3", "nosuchdir/app.db", "select 1"])
