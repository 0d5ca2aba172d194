"""Who is best, apart for each kind of promise, with what was claimed and what attacks proved; and
what is lost while learning."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.audit.findings import ALARM, RISK
from tacit.errors import TacitError
from tacit_lab.arena.names import learner_named
from tacit_lab.arena.promise import Promise, protection
from tacit_lab.arena.selection import EPOCHS, OURS, Selection
from tacit_lab.arena.statistics import (
    Interval,
    Rank,
    Track,
    plus_minus,
    ranking,
    regret_share,
)
from tacit_lab.arena.study.claims import WHILE_LEARNING
from tacit_lab.arena.study.content import Study
from tacit_lab.arena.study.markdown import count, figure, listed, signed, table
from tacit_lab.arena.study.shares import difference, mean, shared_means

ATTACK = "../lab/tests/test_arena_attack.py"


def best(study: Study) -> list[str]:
    """The ranking of each promise, in the main setting."""
    selection = study.selection
    track = Track(selection.rounds, selection.epsilon, selection.environments)
    lines = [
        "## Who is best at equal promise?",
        "",
        f"After {selection.rounds:,} rounds at `eps = {selection.epsilon:g}`; the error is a share "
        "of uniform play's, averaged over the environments that all learners of one promise "
        f"played. {_winner(selection, track)}",
        "",
        *figure(study, "ranking", "Error of each learner, by what it promises"),
    ]
    for promise in Promise:
        ranks = ranking(selection.cells, track, selection.promising(promise))
        if ranks:
            lines += _group(study, promise, ranks)
    return lines


def _winner(selection: Selection, track: Track) -> str:
    """The best learner with joint privacy, and by how much."""
    ranks = ranking(selection.cells, track, selection.joint)
    if not ranks:
        return "No learner with joint privacy is in this table."
    first = ranks[0]
    words = (
        f"The best learner with joint privacy is `{first.learner}`, which leaves "
        f"{plus_minus(first.left, '.0%')}"
    )
    ours = first.learner in selection.ours()
    others = [rank for rank in ranks[1:] if (rank.learner in selection.ours()) != ours]
    if not others:
        return f"{words}."
    gap = _gap(selection, track, others[0].learner, first.learner)
    who = "that is not ours" if ours else "of ours"
    return (
        f"{words}; the best one {who} is `{others[0].learner}` with "
        f"{plus_minus(others[0].left, '.0%')}, a paired difference of {signed(gap, '+.0%')}."
    )


def _gap(selection: Selection, track: Track, one: str, other: str) -> Interval:
    """The first one's share less the other's, on what both have played."""
    keys = {
        name: [
            (name, environment, track.rounds, selection.level(name))
            for environment in track.environments
        ]
        for name in (one, other)
    }
    means = shared_means(selection, keys, track.share)
    return difference(means[one], means[other])


def _group(study: Study, promise: Promise, ranks: Sequence[Rank]) -> list[str]:
    rows = [
        [
            f"`{rank.learner}`",
            _protects(rank.learner),
            *_claim(study, rank.learner),
            plus_minus(rank.left, ".1%"),
            f"{rank.place:.1f}",
        ]
        for rank in ranks
    ]
    columns = ["learner", "protects", "eps claimed", "eps proved", "error", "mean place"]
    over = count(ranks[0].environments, "environment")
    heading = promise.value[0].upper() + promise.value[1:]
    return [f"**{heading}** ({over}):", *table(columns, rows)]


def _protects(name: str) -> str:
    try:
        kind = learner_named(name)
    except TacitError:
        return "not known"
    if kind.refuted_by is not None:
        return f"{protection(kind)}: claimed, and [refuted](../{kind.refuted_by})"
    return protection(kind)


def _claim(study: Study, name: str) -> list[str]:
    """The epsilon that was claimed under attack, and the lower bound that was proved."""
    if name not in study.selection.private:
        return ["", ""]
    if name not in study.attacks:
        return ["not attacked", ""]
    found = study.attacks[name]
    proved = f"at least {found.lower_bound:.2f}" if found.lower_bound > 0.0 else "nothing"
    return [f"{found.epsilon:g}", f"**{proved}**" if found.refuted else proved]


def private(study: Study) -> list[str]:
    """How the claims were attacked."""
    if not study.attacks:
        return []
    found = list(study.attacks.values())
    refuted = [f"`{each.learner}`" for each in found if each.refuted]
    studies = sorted(each.studies for each in found)
    private = study.selection.private
    met = len(set(private) & set(study.attacks))
    words = (
        f"A claim is no proof. {met} of {count(len(private), 'private learner')} of this table "
        f"were attacked as a whole ([the test]({ATTACK})): {studies[0]:,} to {studies[-1]:,} "
        "short studies on two data sets "
        "that differ in one round, each from a fresh seed. The attacker knows everybody else, sees "
        "what others see (later actions, decisions, released numbers), chooses on some studies "
        "where to look, and counts on the rest. What is proved is a lower bound on epsilon at "
        f"`delta = {found[0].delta:g}` with {1 - RISK:.0%} confidence: above the claim it refutes "
        "it, below it the claim stands, and the difference is what the attack left. Attacks run at "
        "an epsilon where few studies tell much; noise is made by the same code at every epsilon. "
        "The shipped mechanisms have an audit of their own ([The audit](audit.md))."
    )
    said = "No claim was refuted."
    if refuted:
        said = (
            f"Refuted were {listed(refuted)}, each with a chance of less than {ALARM:g} that a "
            "claim that is right looks so wrong."
        )
    return ["## Is it private?", "", words, "", said, ""]


def regret(study: Study) -> list[str]:
    """What is lost while learning, at the most rounds at which enough learners can be compared."""
    selection = study.selection
    rounds = _regret_rounds(selection)
    track = Track(rounds, selection.epsilon, selection.environments, regret_share)
    ranks = ranking(selection.cells, track, selection.joint)
    if not ranks:
        return []
    rows = [[f"`{rank.learner}`", plus_minus(rank.left, ".0%")] for rank in ranks]
    over = count(ranks[0].environments, "environment")
    words = (
        "While it learns, a learner that explores uniformly loses what uniform play loses: its "
        "share is one by design. "
        f"After {rounds:,} rounds at `eps = {selection.epsilon:g}` the least among learners with "
        f"joint privacy loses `{ranks[0].learner}`: {plus_minus(ranks[0].left, '.0%')} of uniform "
        f"play's regret ({over}). {_both_tracks(selection, rounds)}"
    )
    return [
        "## What does learning cost?",
        "",
        words,
        "",
        *figure(study, "regret", "Regret against rounds, learners with joint privacy"),
        *table(["learner with joint privacy", "regret, share of uniform play's"], rows),
    ]


def _regret_rounds(selection: Selection) -> int:
    """From where regret is claimed, if epochs were played there; the main setting otherwise."""
    played = {
        key[2]
        for key in selection.cells.rows
        if key[0] == EPOCHS and key[3] == selection.epsilon and key[2] >= WHILE_LEARNING.least
    }
    return min(played, default=selection.rounds)


def _both_tracks(selection: Selection, rounds: int) -> str:
    """What epochs gain in regret and lose in the last error, against one release."""
    if EPOCHS not in selection.private:
        return f"`{EPOCHS}` is not in this table."
    keys = {
        name: [(name, each, rounds, selection.epsilon) for each in selection.environments]
        for name in (OURS, EPOCHS)
    }
    means = shared_means(selection, keys)
    if not means[OURS]:
        return ""
    gap = difference(means[EPOCHS], means[OURS])
    return (
        f"Its price is the last error: `{EPOCHS}` leaves {plus_minus(mean(means[EPOCHS]), '.0%')} "
        f"of uniform play's, `{OURS}` {plus_minus(mean(means[OURS]), '.0%')} (difference "
        f"{signed(gap, '+.0%')})."
    )
