"""HTTP/1.1 on a raw socket: a load must cost less than what it loads."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"


@dataclass
class Timings:
    """Of the requests of one run, in seconds, and how many had another status."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    wall: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall if self.wall else 0.0

    def percentile(self, share: float) -> float:
        """In seconds; no request is left out of it."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class Wire:
    """One connection, kept open. Only addresses of this machine are ever connected to."""

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        if not ipaddress.ip_address(host).is_loopback:
            raise ValueError("a load is for this machine only.")
        self._host = host
        self._port = port

    async def open(self) -> Wire:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        status = int(lines[9:12])
        at = lines.find(b"content-length:")
        if at < 0:
            return status, b""
        length = int(lines[at + 15 : lines.index(b"\r\n", at)])
        return status, await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


Requests = Callable[[], Iterator[tuple[str, str, bytes]]]


async def closed_loop(port: int, requests: Requests, connections: int, seconds: float) -> Timings:
    """Each connection sends its next request when the one before was answered."""
    timings = Timings()
    started = time.perf_counter()
    until = started + seconds

    async def one() -> None:
        wire = await Wire(port).open()
        for method, path, body in requests():
            begun = time.perf_counter()
            if begun > until:
                break
            status, _ = await wire.send(method, path, body)
            timings.seconds.append(time.perf_counter() - begun)
            timings.failed += not 200 <= status < 300
        wire.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    timings.wall = time.perf_counter() - started
    return timings


async def at_rate(port: int, requests: Requests, rate: float, seconds: float) -> Timings:
    """Requests come at fixed moments, whether or not those before were answered. Time counts from
    the moment at which a request was due, so that a stall is seen by everybody who waits."""
    timings = Timings()
    free: asyncio.LifoQueue[Wire] = asyncio.LifoQueue()
    started = time.perf_counter()
    source = requests()

    async def one(due: float) -> None:
        wire = free.get_nowait() if not free.empty() else await Wire(port).open()
        request = next(source)
        try:
            status, _ = await wire.send(*request)
        except (asyncio.IncompleteReadError, ConnectionError):  # it was idle for too long
            wire = await Wire(port).open()
            status, _ = await wire.send(*request)
        timings.seconds.append(time.perf_counter() - due)
        timings.failed += not 200 <= status < 300
        free.put_nowait(wire)

    tasks = []
    for i in range(int(rate * seconds)):
        due = started + i / rate
        pause = due - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
    timings.wall = time.perf_counter() - started
    while not free.empty():
        free.get_nowait().close()
    return timings
