"""A throw-away PostgreSQL server in a temporary folder, reached through a socket in it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tacit_lab.loads.nursery import descendants, kill

DEBIAN = Path("/usr/lib/postgresql")  # one folder per version, none of them on the path
SUPERUSER = "postgres"  # of the operating system: PostgreSQL refuses to run as root
OWNER = "tacit"


class Postgres:
    """Writes to disk as a real one does: commits wait for fsync. Without `sync` they do not: where
    processes are killed and not the machine that is the same, and a start takes seconds less."""

    def __init__(self, sync: bool = True) -> None:
        self._sync = sync
        found = [path.parent for path in DEBIAN.glob("*/bin/initdb")]
        program = shutil.which("initdb")
        if not found and not program:
            raise RuntimeError("PostgreSQL is not installed: no initdb is found.")
        newest = max(found, key=lambda path: float(path.parent.name)) if found else None
        self._programs = newest or Path(str(program)).resolve().parent
        self.folder = Path(tempfile.mkdtemp(prefix="tacit-"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, SUPERUSER, SUPERUSER)
        options = ["--auth=trust", f"--username={OWNER}", "--encoding=UTF8", "--locale=C"]
        self._run("initdb", "--pgdata", self._data, "--no-sync", *options)
        self._made = 0

    def start(self) -> Postgres:
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder)}
        settings["fsync"] = "on" if self._sync else "off"
        options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())
        log = str(self.folder / "log")
        self._control("start", "--wait", "--log", log, "--options", options)
        return self

    def kill(self) -> None:
        """SIGKILL of the server and of all its processes: no checkpoint, clients cut off."""
        notes = [Path(self._data) / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")]
        server = int(notes[0].read_text().split()[0])
        os.kill(server, signal.SIGSTOP)  # from now on it starts no others
        kill(server, *descendants(server))
        for note in notes:  # a process that nobody has waited for yet would seem to run
            note.unlink()

    def remove(self) -> None:
        try:
            self.kill()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def new_url(self) -> str:
        """One more empty database."""
        self._made += 1
        name = f"study{self._made}"
        with psycopg.connect(
            host=str(self.folder), user=OWNER, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://{OWNER}@/{name}?host={self.folder}"

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "--silent", "--pgdata", self._data, *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        become = ["runuser", "-u", SUPERUSER, "--"] if os.geteuid() == 0 else []
        command = [*become, str(self._programs / program), *arguments]
        # No pipe: the server would inherit it and keep it open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                command, cwd=self.folder, stdout=output, stderr=output, check=False
            )
            output.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {output.read()}")
