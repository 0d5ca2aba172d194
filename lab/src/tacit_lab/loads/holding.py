"""What callers of a service were told, held against its database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tacit import Study
from tacit.core.budget import UNITS
from tacit.study import EpochStudy
from tacit_lab.loads.callers import Notes


def broken(url: str, notes: Notes) -> tuple[list[str], int]:
    """Promises that were broken, in words, and how many epochs were released."""
    study = Study.open(url)
    assert isinstance(study, EpochStudy)
    epochs = study._epochs.epochs()
    found = [*notes.wrong, *_rounds(study, notes), *_ledger(study, epochs)]
    return found, sum(epoch.released is not None for epoch in epochs)


def _rounds(study: EpochStudy, notes: Notes) -> Iterator[str]:
    """Every acknowledged decision and reward is there once, and rounds have no gaps."""
    rows = {row.id: row for _, page in study._epochs.rounds(0, study.asked) for row in page}
    if sorted(row.number for row in rows.values()) != list(range(1, study.asked + 1)):
        yield "rounds have gaps"
    if study.asked > sum(study.sizes):
        yield "there are more rounds than the horizon"
    for id, answer in notes.decisions.items():
        if id not in rows or not _same(study, rows[id], answer):
            yield f"decision {id} is lost"
    for id in notes.activated:
        if id not in rows:
            yield f"the activation of {id} is lost"
    for id, value in notes.rewards.items():
        scaled = float(study.problem.scale_reward(np.array([value]))[0])
        if id not in rows or rows[id].reward != scaled:
            yield f"the reward of {id} is lost"


def _same(study: EpochStudy, row: Any, answer: dict[str, Any]) -> bool:
    point = np.frombuffer(bytes(row.action), dtype="<f8")[None, :]
    action = float(study.problem.actions.decode(point)["dose"][0])
    return action == answer["action"]["dose"] and row.counts_in == answer["epoch"]


def _ledger(study: EpochStudy, epochs: list[Any]) -> Iterator[str]:
    """Every release was charged, once, and no account is overdrawn."""
    charges = study.ledger.charges()
    requests = [charge.request for charge in charges]
    if len(set(requests)) != len(requests):
        yield "a release was charged twice"
    accounts = {a.cohort.name: a for a in study.ledger.accounts() if a.cohort}
    for epoch in epochs:
        name = f"epoch {epoch.number}"
        paid = any(each.request == name and each.answered for each in charges)
        if epoch.released is not None and not paid:
            yield f"{name} is released and not paid"
        spent = sum(c.cost for c in charges if c.parameters.get("cohort") == name)
        kept = accounts[name].spent / UNITS if name in accounts else 0.0
        if abs(spent - kept) >= 1e-9:
            yield f"{name}: charges and account differ"
        if name in accounts and accounts[name].remaining < 0:
            yield f"{name} is overdrawn"
