"""What processes do at desks of studies in races (see `databases.race`)."""

from __future__ import annotations

import itertools
import multiprocessing
from typing import Any

from tacit.study import Study
from tacit.study.desk import Answer, Ask, Desk

HERE = {"c": 0.5}


def desk_at(url: str) -> Desk:
    return Desk(Study.open(url))


def ask_at_a_desk(url: str, name: str, shared: bool) -> list[list[Any]]:
    """Ids, actions and epochs of what this process was answered."""
    desk = desk_at(url)
    found: list[Any] = []
    for i in range(12):
        calls = [Ask(HERE, id=f"{'' if shared else name}{i}-{j}") for j in range(i % 3 + 1)]
        found += desk.serve(calls)
    return [[each.id, each.action, each.epoch] for each in found if isinstance(each, Answer)]


def ask_after_fork(url: str) -> list[int]:
    """What children of a process with open connections ask, and what the parent asks meanwhile."""
    desk = desk_at(url)
    desk.serve([Ask(HERE)])
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()

    def child() -> None:
        found = [desk.serve([Ask(HERE)])[0] for _ in range(5)]
        answers.put([isinstance(each, Answer) for each in found])

    children = [fork.Process(target=child) for _ in range(3)]
    for each in children:
        each.start()
    mine = [isinstance(desk.serve([Ask(HERE)])[0], Answer) for _ in range(5)]
    for each in children:
        each.join()
    told = [answers.get() for _ in children]
    return [sum(itertools.chain(mine, *told)), *(each.exitcode or 0 for each in children)]
