"""What a service serves: a study in its database, or a released policy alone."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tacit.core.ledger import measured_in
from tacit.errors import InputError, StateError
from tacit.policy.archives import Released
from tacit.quiet import quiet
from tacit.service.batcher import Batcher
from tacit.service.doors import Door
from tacit.service.keys import Keys, Ring
from tacit.service.problems import NotFoundError
from tacit.service.schemas import (
    ChargeAnswer,
    DecisionAnswer,
    DecisionRequest,
    EpochAnswer,
    LedgerAnswer,
    StudyAnswer,
)
from tacit.service.supervisor import Supervisor
from tacit.service.work import Work, Works
from tacit.service.writer import Writer
from tacit.study import EpochStudy, Study
from tacit.study.desk import Activate, Answer, Ask, Desk, Tell
from tacit.study.study import item
from tacit.tables import records

LOOK_SECONDS = 0.4  # between two looks at a study: replicas notice within a second
PATIENCE = 20.0  # seconds that a request waits for its transaction
log = logging.getLogger("tacit.service")


class Reply:
    """A decision, and whether it was given before."""

    __slots__ = ("answer", "replayed")

    def __init__(self, answer: DecisionAnswer, replayed: bool = False) -> None:
        self.answer = answer
        self.replayed = replayed


class Served:
    """Something that decides, under a name."""

    name: str
    kind: str
    door: Door
    released: Released | None
    problem: Any
    by_user = False  # whether every request says whose it is
    counts = False  # whether decisions are rounds of a study

    @property
    def columns(self) -> list[str]:
        return list(self.problem.actions.names)

    @property
    def context_names(self) -> list[str]:
        return list(self.problem.contexts.names)

    def start(self) -> None:
        """Begins to serve."""

    def stop(self) -> None:
        """Ends, after what was begun."""

    @property
    def ready(self) -> bool:
        return True

    async def decide(self, request: DecisionRequest) -> Reply:
        raise AssertionError("abstract")

    async def reward(self, id: str, value: float) -> None:
        """Takes the reward of a round."""
        raise NotFoundError("a policy alone takes no rewards: serve a study.")

    async def activate(self, id: str) -> None:
        """Counts a round that was deferred."""
        raise NotFoundError("a policy alone has no rounds: serve a study.")

    def about(self) -> StudyAnswer:
        raise AssertionError("abstract")

    def listen(self) -> asyncio.Queue[tuple[str, dict[str, Any]]]:
        """News, as they come: see `forget`."""
        return asyncio.Queue()

    def forget(self, queue: Any) -> None:
        """The end of `listen`."""


class ServedPolicy(Served):
    """A released policy. Nothing that it decides is kept: every decision is free."""

    kind = "policy"

    def __init__(self, name: str, policy: Any) -> None:
        self.name = name
        self.problem = policy.problem
        self.released = Released(name, policy)
        self.door = Door(Ring({}, b"tacit"))
        self._decider = PolicyDecider(self.released)

    async def decide(self, request: DecisionRequest) -> Reply:
        return await self._decider.decide(request)

    def about(self) -> StudyAnswer:
        assert self.released is not None
        policy = self.released.policy
        promise = policy.guarantee if hasattr(policy, "guarantee") else policy.policy.guarantee
        problem = policy.problem
        return StudyAnswer(
            name=self.name,
            kind=self.kind,
            stage="released",
            asked=0,
            horizon=0,
            epoch=None,
            epochs=0,
            policy=self.name,
            unit="record",
            budget=str(promise),
            spent=str(promise),
            left="nothing",
            actions=list(problem.actions.names),
            contexts=list(problem.contexts.names),
            missing="",
        )


class PolicyDecider:
    """Decides by a released policy, many requests at a time."""

    def __init__(self, released: Released) -> None:
        self.released = released
        self._batcher = Batcher(self._decided)

    async def decide(self, request: DecisionRequest) -> Reply:
        require_columns(self.released.policy.problem, request.context)
        action, propensity = await self._batcher.submit(request.context)
        answer = DecisionAnswer(
            event_id=request.event_id or secrets.token_hex(12),
            action=action,
            mode="exploit",
            propensity=propensity,
            density=False,
            epoch=None,
            policy=self.released.name,
            reward_until=None,
        )
        return Reply(answer)

    @quiet()
    def _decided(self, contexts: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        policy = self.released.policy
        problem = policy.problem
        table = records(list(contexts), problem.contexts.names, "contexts")
        C = problem.context_points(table)
        X = policy.decide_points(C)
        columns = problem.actions.decode(X)
        likely = np.ones(len(X))
        if hasattr(policy, "probability_points"):
            likely = policy.probability_points(X, C)
        return [
            ({name: item(column[i]) for name, column in columns.items()}, float(likely[i]))
            for i in range(len(X))
        ]


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

    async def decide(self, request: DecisionRequest) -> Reply:
        ask = Ask(request.context, request.user, request.event_id, defer=request.defer_activation)
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
        rows = study._epochs.epochs()
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

    # -- public facts ------------------------------------------------------------------------------

    def about(self) -> StudyAnswer:
        study = self.study
        state = study.state
        return StudyAnswer(
            name=self.name,
            kind="epochs" if self._in_epochs else "study",
            stage=state.stage,
            asked=state.asked,
            horizon=state.horizon,
            epoch=state.epoch,
            epochs=state.epochs,
            policy=self._law_name(self.desk.law),
            unit=state.unit,
            budget=state.budget,
            spent=state.spent_text,
            left=state.left_text,
            actions=list(study.problem.actions.names),
            contexts=list(study.problem.contexts.names),
            missing=study.missing if isinstance(study, EpochStudy) else "",
        )

    def history(self) -> list[EpochAnswer]:
        if not isinstance(self.study, EpochStudy):
            return []
        return [_epoch_answer(asdict(epoch)) for epoch in self.study.history]

    def ledger(self) -> LedgerAnswer:
        ledger = self.study.ledger
        least = min(ledger.accounts(), key=lambda account: account.remaining)
        spent, left = least.texts(ledger.budget)
        names = ChargeAnswer.__struct_fields__
        return LedgerAnswer(
            budget=str(ledger.budget),
            counted_in=measured_in(ledger.budget),
            spent=ledger.spent,
            remaining=ledger.remaining,
            spent_text=spent,
            left_text=left,
            charges=[
                ChargeAnswer(**{name: getattr(charge, name) for name in names})
                for charge in ledger.charges()
            ],
        )


def _epoch_answer(facts: dict[str, Any]) -> EpochAnswer:
    names = [name for name in EpochAnswer.__struct_fields__ if name != "more"]
    more = {name: value for name, value in facts.items() if name not in names}
    return EpochAnswer(**{name: facts[name] for name in names}, more=more)


def require_columns(problem: Any, context: Mapping[str, Any]) -> None:
    """Fails if a context lacks a column."""
    missing = [name for name in problem.contexts.names if name not in context]
    if missing:
        raise InputError(f"the context lacks {', '.join(map(repr, missing))}.")
