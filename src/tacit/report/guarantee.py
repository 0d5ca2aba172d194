"""The guarantee of a policy for people who have to answer for it."""

from __future__ import annotations

import math
from html import escape

from tacit.policy import Policy

SEEDED = (
    "This policy was made by a simulation with a seed. Whoever knows the seed can take the noise "
    "off again, so <b>nothing about it is protected</b>. It is for rehearsals and for made-up "
    "data. The figures of epsilon, delta and rho below are what a real release with the same "
    "settings would promise."
)
UNITS = {"record": "one round of the study", "user": "one person with all of their rounds"}


def banner(policy: Policy) -> str:
    """The guarantee in one sentence, or that there is none."""
    if policy.private:
        return f'<blockquote class="promise">{escape(str(policy.guarantee))}</blockquote>'
    return f'<div class="alarm" role="alert"><strong>NOT PRIVATE</strong><p>{SEEDED}</p></div>'


def tiles(policy: Policy) -> list[str]:
    """The three figures at the top of the page."""
    g = policy.guarantee
    records = policy.facts.get("records")
    if policy.private:
        first = ("own", "Private", f"protects any {UNITS.get(g.unit, escape(g.unit))}")
    else:
        first = ("bad", "Not private", "a simulation with a seed")
    shown = [
        first,
        ("", f"&epsilon; = {g.epsilon:.3g}", f"&delta; = {g.delta:.3g}, &rho; = {g.rho:.3g}"),
        (
            "",
            "unknown" if records is None else f"{records:,}",
            "records that it was learned from",
        ),
    ]
    return [
        f'<li class="{kind}"><strong>{value}</strong><span>{says}</span></li>'
        for kind, value, says in shown
    ]


def rows(policy: Policy) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each part of the guarantee."""
    g = policy.guarantee
    factor = _odds_factor(policy)
    guess = _best_guess(policy)
    private = ("Private", "NO", "the noise has a seed")
    if g.private:
        private = ("Private", "yes", "the noise has no seed")
    return [
        private,
        ("Epsilon", f"{g.epsilon:.4g}", f"the odds of any suspicion grow at most {factor}-fold"),
        (
            "Delta",
            f"{g.delta:.3g}",
            f"that factor may be exceeded with a chance of 1 in {1 / g.delta:,.0f}",
        ),
        (
            "Rho",
            f"{g.rho:.4g}",
            f"mu = sqrt(2 rho): a guess between two equal chances is right in at most {guess}",
        ),
        ("Unit", escape(g.unit), UNITS.get(g.unit, "")),
        ("Neighbours", "", escape(g.relation)),
        ("Mechanism", "", escape(g.mechanism)),
        ("Receipt", *_receipt(policy)),
    ]


def meaning(policy: Policy) -> list[str]:
    """What the guarantee means, in paragraphs."""
    g = policy.guarantee
    factor = _odds_factor(policy)
    guess = _best_guess(policy)
    who = "any one person, with all of their rounds,"
    if g.unit == "record":
        who = "any one round"
    opening = "<b>This policy is not private.</b> With a real release it would mean: "
    if policy.private:
        opening = ""
    return [
        f"{opening}Think of {who} in the data, and put any other context and reward in its place. "
        "This policy, every decision ever made with it, and this page would have come out almost "
        f"the same. Whatever somebody concludes from them becomes at most {factor} times as likely "
        f"or as unlikely, apart from a chance of 1 in {1 / g.delta:,.0f}. Somebody who knows "
        "everything else, and only wonders which of two equally likely records was the true one, "
        f"would guess right at most {guess} of the time after seeing the policy, where tossing a "
        "coin gives 50 %.",
        "It holds whatever the records were and however often the policy is used, and for ever. It "
        "does not rest on the model being right: a wrong kernel or a wrong guess of who would come "
        "makes a policy worse, never less private.",
        "It does not hide that a round took place, how many there were, or facts about everybody, "
        "which are what a study is for. It does not protect against whoever can read the machine "
        "on which the study ran, nor a visitor's own decision from showing something of the "
        "visitor's own context. It speaks for this release: if the same records paid for other "
        "releases, the ledger's budget is what was promised.",
        "The full statement, the attacker it is about and the proofs are in docs/guarantee.md, "
        "which comes with Tacit.",
    ]


def _odds_factor(policy: Policy) -> str:
    """How much the odds of a suspicion may grow: e^epsilon."""
    return f"{math.exp(min(policy.guarantee.epsilon, 700.0)):.3g}"


def _best_guess(policy: Policy) -> str:
    """How often a guess between two records can be right at most: Phi(mu / 2), mu = sqrt(2 rho), by
    the best test of two normal laws that are mu apart."""
    mu = math.sqrt(2.0 * policy.guarantee.rho)
    return f"{100 * 0.5 * math.erfc(-mu / 2.0 / math.sqrt(2.0)):.1f} %"


def _receipt(policy: Policy) -> tuple[str, str]:
    if policy.receipt:
        entries = ", ".join(f"{key} {value}" for key, value in policy.receipt.items())
        return "yes", f"{escape(entries)}: check it with <code>tacit ledger check</code>"
    if policy.private:
        return "none", "this policy does not name its ledger"
    return "none", "no ledger was charged"
