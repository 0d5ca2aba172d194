"""A study behind HTTP."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tacit.errors import StateError
from tacit.policy.archives import Released
from tacit.service import facts
from tacit.service.doors import Door
from tacit.service.keys import Keys
from tacit.service.schemas import DecisionAnswer, DecisionRequest, StudyAnswer
from tacit.service.served import Reply, Served
from tacit.service.served_policy import PolicyDecider
from tacit.service.supervisor import Supervisor
from tacit.service.work import Work, Works
from tacit.service.writer import Writer
from tacit.study import EpochStudy, Study
from tacit.study.desk import Activate, Answer, Ask, Desk, Tell

LOOK_SECONDS = 0.4  # between two looks at a study: replicas notice within a second
PATIENCE = 20.0  # seconds that a request waits for its transaction
log = logging.getLogger("tacit.service")


@dataclass(frozen=True)
class Seen:
    """What the last look at a study found. Public."""

    epoch: int
    stages: tuple[Any, ...]
    finished: bool


class ServedStudy(Served):
    """A study in its database. One thread writes, another one looks for what others have done."""

    kind = "study"
    counts = True

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url
        self.study = Study.open(url)
        self.problem = self.study.problem
        self.desk = Desk(self.study)
        self.by_user = self.desk.by_user
        self.keys = Keys(self.desk.store.engine)
        self.door = Door(self.keys.ring())
        self.released: Released | None = None
        self.seen: Seen | None = None
        self._by_policy: PolicyDecider | None = None
        self._wait = 0.0
        if isinstance(self.study, EpochStudy):
            self._wait = self.study.wait.total_seconds()
        self._writer = Writer(self.desk.serve, name)
        self._looker = threading.Thread(target=self._watch, name=f"watch of {name}", daemon=True)
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[tuple[str, dict[str, Any]]]] = set()
        self._answers = False
        self.works = Works(self.desk.store.engine)
        self._supervisor = Supervisor(self.works, url)

    @property
    def _in_epochs(self) -> bool:
        return isinstance(self.study, EpochStudy)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.look()
        self._answers = True
        self._writer.start()
        self._looker.start()
        self._tick()

    def stop(self) -> None:
        self._stopping.set()
        self._writer.stop()
        if self._looker.is_alive():
            self._looker.join(timeout=10)
        self._supervisor.stop()

    @property
    def ready(self) -> bool:
        return self._answers and self._writer.alive

    # -- decisions ---------------------------------------------------------------------------------

    async def decide(self, request: DecisionRequest, caller: str = "") -> Reply:
        deferred = request.defer_activation
        ask = Ask(request.context, request.user, request.event_id, deferred, caller)
        self.desk.require(ask)
        if self._finished and request.event_id is None:
            return await self._decide_by_policy(request)
        try:
            answer = await self._writer.submit(ask)
        except StateError:
            await asyncio.to_thread(self.look)
            if not self._finished:
                raise
            return await self._decide_by_policy(request)
        return Reply(self._told(answer, request), answer.replayed)

    async def _decide_by_policy(self, request: DecisionRequest) -> Reply:
        """The last epoch was released: the policy decides, and nothing is counted."""
        assert self._by_policy is not None
        return await self._by_policy.decide(request)

    async def reward(self, id: str, value: float) -> None:
        await self._writer.submit(Tell(id, value))

    async def activate(self, id: str) -> None:
        await self._writer.submit(Activate(id))

    def _tick(self) -> None:
        """Once a second, on the event loop."""
        self._writer.give_up(PATIENCE)
        if self._loop is not None and not self._stopping.is_set():
            self._loop.call_later(1.0, self._tick)

    def _told(self, answer: Answer, request: DecisionRequest) -> DecisionAnswer:
        until = None
        if self._wait and not request.defer_activation and answer.epoch is not None:
            until = datetime.fromtimestamp(answer.asked + self._wait, UTC).isoformat()
        return DecisionAnswer(
            event_id=answer.id,
            action=answer.action,
            mode=answer.mode,
            propensity=answer.propensity,
            density=answer.density,
            epoch=answer.epoch,
            policy=self._law_name(answer.law),
            reward_until=until,
        )

    def _law_name(self, law: int) -> str:
        """An epoch is played by what the epochs before it have taught."""
        return f"law-{law}"

    @property
    def _finished(self) -> bool:
        return self.seen is not None and self.seen.finished and self._by_policy is not None

    def begin(self, kind: str, parameters: dict[str, Any], key: str | None) -> Work:
        """Writes long work down. Fails at once if the study does not know such work."""
        if kind == "release" and self._in_epochs:
            raise StateError("this study goes on in epochs, which are released by advance.")
        if kind == "validate" and not self._in_epochs:
            raise StateError("a study of one release has no epochs that validate it.")
        if kind == "extend" and not self._in_epochs:
            raise StateError("a study of one release cannot be extended: create one in epochs.")
        return self.works.begin(kind, parameters, key)

    # -- what others have done ---------------------------------------------------------------------

    def look(self) -> None:
        """Looks at the study, and takes over what is new."""
        self.door.ring = self.keys.ring()
        found = self._found()
        if found == self.seen:
            return
        before = self.seen
        if isinstance(self.study, EpochStudy):
            self.study.warm(found.epoch)  # loads the law before it is needed
        self.desk.refresh()
        self._take_policy()
        self.seen = found
        if before is not None:
            log.info("study %s: epoch %d is played", self.name, found.epoch)
            self._publish(before, found)

    def _found(self) -> Seen:
        study = self.study
        if not isinstance(study, EpochStudy):
            released = study.state.released
            return Seen(1, (released,), released)
        rows = study._reader.rows()
        sizes = study.sizes
        stages = tuple((row.number, row.closed, row.released) for row in rows)
        finished = rows[-1].released is not None and rows[-1].number >= len(sizes)
        return Seen(rows[-1].number, stages, finished)

    def _take_policy(self) -> None:
        try:
            policy = self.study.policy
        except StateError:
            return
        number = policy.facts.get("epoch", {}).get("number", 1) if policy.facts else 1
        name = f"epoch-{number}" if self._in_epochs else "release"
        if self.released is None or self.released.name != name:
            self.released = Released(name, policy)
            self._by_policy = PolicyDecider(self.released)

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            try:
                self.look()
                self._supervisor.look()
                self._answers = True
            except Exception as error:  # a database that is away for a while
                if self._answers:
                    log.error("study %s cannot be looked at: %s", self.name, type(error).__name__)
                self._answers = False

    def _publish(self, before: Seen, found: Seen) -> None:
        news: list[tuple[str, dict[str, Any]]] = []
        if found.epoch != before.epoch:
            news.append(("epoch", {"study": self.name, "epoch": found.epoch}))
        if self.released is not None and found.stages != before.stages:
            about = {"study": self.name, "policy": self.released.name, "etag": self.released.etag}
            news.append(("policy", about))
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._spread, news)

    def _spread(self, news: list[tuple[str, dict[str, Any]]]) -> None:
        for queue in self._listeners:
            for each in news:
                queue.put_nowait(each)

    def listen(self) -> asyncio.Queue[tuple[str, dict[str, Any]]]:
        queue: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self._listeners.add(queue)
        return queue

    def forget(self, queue: Any) -> None:
        self._listeners.discard(queue)

    def about(self) -> StudyAnswer:
        return facts.about(self.name, self.study, self._law_name(self.desk.law))
