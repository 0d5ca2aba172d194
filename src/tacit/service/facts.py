"""Public and released facts of a study, as answers. None depends on how many rewards came."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tacit.core import Ledger
from tacit.core.ledger import measured_in
from tacit.service.schemas import ChargeAnswer, EpochAnswer, LedgerAnswer, StudyAnswer
from tacit.study import EpochStudy, Study


def about(name: str, study: Study, law: str) -> StudyAnswer:
    """Where a study stands."""
    state = study.state
    return StudyAnswer(
        name=name,
        kind="epochs" if isinstance(study, EpochStudy) else "study",
        stage=state.stage,
        asked=state.asked,
        horizon=state.horizon,
        epoch=state.epoch,
        epochs=state.epochs,
        policy=law,
        unit=state.unit,
        budget=state.budget,
        spent=state.spent_text,
        left=state.left_text,
        actions=list(study.problem.actions.names),
        contexts=list(study.problem.contexts.names),
        missing=study.missing if isinstance(study, EpochStudy) else "",
    )


def history(study: Study) -> list[EpochAnswer]:
    """Every epoch so far; none of a study of one release."""
    if not isinstance(study, EpochStudy):
        return []
    return [_epoch_answer(asdict(epoch)) for epoch in study.history]


def ledger_of(ledger: Ledger) -> LedgerAnswer:
    """What was spent, what is left, and on what."""
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
