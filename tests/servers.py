"""Real servers on loopback for tests, each on a temporary folder and a free port."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class QuietHandler(BaseHTTPRequestHandler):
    """Responds to every request by the one method that a test writes, and writes no log."""

    def respond(self):
        raise NotImplementedError

    def do_POST(self):
        self.respond()

    do_GET = do_POST  # noqa: N815

    def answer(self, status, content=b"", headers=(), size=None):
        """Send an answer, which may say another size than it has."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", size or str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Write nothing."""


class LocalServer(ThreadingHTTPServer):
    """An HTTP server on a free port of loopback, or a given one, which a test enters and leaves."""

    daemon_threads = True

    def __init__(self, handler, port=0):
        super().__init__(("127.0.0.1", port), handler)
        self.root = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        """Say nothing of clients that went away."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def cannot_start(reason):
    """Skip on a user's machine; in CI a server that is missing is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def postgres_program(name):
    found = shutil.which(name)
    if found:
        return found
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not installed:
        cannot_start(f"PostgreSQL's {name} is not installed (Debian: apt install postgresql)")
    return str(installed[-1])


def execute_on(server, statement):
    """Execute SQL that no transaction can hold."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def new_database(server, name=None, *, more=""):
    """Create a database in PostgreSQL, by default with a name of its own; returns its address."""
    name = name or f"test_{uuid.uuid4().hex[:12]}"
    execute_on(server, f"create database {name} {more}")
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@dataclass(frozen=True)
class Postgres:
    """A server that a test may stop and start again; ``url`` is of its maintenance database."""

    folder: Path
    control: tuple[str, ...]
    port: int

    @property
    def url(self):
        return f"postgresql+psycopg://monitor@127.0.0.1:{self.port}/postgres"

    def stop(self):
        """End it as a crash does: no client is told, nothing is written out."""
        stopping = [*self.control, "-m", "immediate", "stop"]
        subprocess.run(stopping, check=False, capture_output=True)

    def start(self):
        if start(self.folder, self.control, self.port) is None:
            message = f"PostgreSQL did not start again: {(self.folder / 'log').read_text()[-500:]}"
            raise AssertionError(message)


@contextmanager
def postgres():
    """Run a PostgreSQL server; yields the address of its maintenance database."""
    with stoppable_postgres() as server:
        yield server.url


@contextmanager
def stoppable_postgres():
    """Run a PostgreSQL server of the test's own.

    initdb refuses root, so then it runs as the user `postgres` that Debian's package makes. Its
    folder is not one of pytest's: a second pytest takes other users' access to those away.
    """
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        yield from _postgres_in(Path(folder))


def _postgres_in(folder):
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    control = (*as_user, postgres_program("pg_ctl"), "-D", str(data), "-w")
    subprocess.run(
        [*as_user, postgres_program("initdb"), "-D", str(data), "-U", "monitor", "-A", "trust"],
        check=True,
        capture_output=True,
    )
    port = start(folder, control) or start(folder, control)
    if port is None:
        cannot_start(f"PostgreSQL did not start: {(folder / 'log').read_text()[-500:]}")
    server = Postgres(folder, control, port)
    try:
        yield server
    finally:
        server.stop()


def start(folder, control, port=None):
    """Start PostgreSQL and return its port; None where another program was given that one too."""
    port = port or free_port()
    options = f"-c port={port} -c listen_addresses=127.0.0.1 -c max_connections=200"
    options += f" -c unix_socket_directories={folder} -c fsync=off -c full_page_writes=off"
    options += " -c autovacuum=off -c jit=off"  # for hundreds of databases, each of which is small
    command = [*control, "-o", options, "-l", str(folder / "log"), "start"]
    quiet = subprocess.DEVNULL  # a pipe would stay open as long as the server
    done = subprocess.run(command, check=False, stdout=quiet, stderr=quiet)
    return port if done.returncode == 0 else None


def mariadb_program(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin")
    if found is None:
        cannot_start(
            f"MariaDB's {name} is not installed (Debian: apt install mariadb-server-core "
            "mariadb-client-core)"
        )
    return found


@contextmanager
def mariadb():
    """Run a MariaDB server; yields the address of its database ``test`` for user ``root``."""
    with tempfile.TemporaryDirectory(prefix="mariadb-", ignore_cleanup_errors=True) as folder:
        yield from _mariadb_in(Path(folder))


def _mariadb_in(folder):
    server = mariadb_program("mariadbd")
    setup = mariadb_program("mariadb-install-db")
    user = f"--user={pwd.getpwuid(os.geteuid()).pw_name}"
    data = f"--datadir={folder / 'data'}"
    temporary = f"--tmpdir={folder}"  # two servers that begin at once would share names in /tmp
    rules = ["--force", "--auth-root-authentication-method=normal"]  # also where no name resolves
    words = [setup, "--no-defaults", user, data, temporary, *rules]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    port = free_port()
    options = [f"--socket={folder / 'socket'}", f"--port={port}", "--bind-address=127.0.0.1"]
    options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [server, "--no-defaults", user, data, temporary, *options], stdout=log, stderr=log
        )
    try:
        url = f"mariadb+pymysql://root@127.0.0.1:{port}/test"
        _wait_for_mariadb(process, port, folder)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _wait_for_mariadb(process, port, folder):
    give_up = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < give_up:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    cannot_start(f"MariaDB did not start: {(folder / 'log').read_text()[-500:]}")
