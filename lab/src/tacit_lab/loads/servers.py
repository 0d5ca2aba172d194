"""Servers in processes of their own, on free ports of this machine."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def answers(port: int, path: str) -> bool:
    """Whether there is a server on this port that is not in trouble."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Server:
    """One process that answers on a port."""

    def __init__(self, arguments: Sequence[str], port: int, path: str, log: Path | None) -> None:
        self.port = port
        self._path = path
        self._log = open(log, "ab") if log else None  # noqa: SIM115
        output = self._log or subprocess.DEVNULL
        command = [sys.executable, *arguments]
        self.process = subprocess.Popen(command, stdout=output, stderr=output)

    def wait(self) -> Server:
        """Returns once it answers."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}.")
            if self.answers():
                return self
            time.sleep(0.03)
        raise RuntimeError("the server does not answer.")

    def answers(self) -> bool:
        return answers(self.port, self._path)

    def kill(self) -> None:
        """Without a chance to do anything."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._close()

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self._close()
        return code

    def memory(self) -> float:
        """Resident, in MiB."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu(self) -> float:
        """Seconds of all its threads so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _close(self) -> None:
        if self._log:
            self._log.close()


def service(arguments: Sequence[str], port: int | None = None, log: Path | None = None) -> Server:
    """`tacit serve` with these arguments."""
    port = port or free_port()
    command = ["-m", "tacit", "serve", *arguments, "--port", str(port)]
    return Server(command, port, "/livez", log)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    try:
        yield server.wait()
    finally:
        if server.process.poll() is None:
            server.stop()


def empty_server() -> Server:
    port = free_port()
    return Server(["-m", "tacit_lab.loads.empty", str(port)], port, "/", None)
