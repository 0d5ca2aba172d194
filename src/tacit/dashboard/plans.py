"""Plans of the studio: what a study of these rounds, this epsilon and so many epochs will be worth.
Free: nothing here has seen any data."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from tacit.core import Budget
from tacit.planning import Plan, ValidationPlan, plan, plan_epochs
from tacit.problem import Problem
from tacit.progress import Progress
from tacit.study import Study

MORE = 2000  # people: what would these buy?
KEPT = 4  # plans whose landmarks are remembered
_plans: OrderedDict[str, Plan] = OrderedDict()


def problem_of(job: dict[str, Any]) -> Problem:
    """The problem that a job names: that of a study, or as it is written down."""
    return Study.open(job["url"]).problem if "url" in job else Problem.from_spec(job["problem"])


def planned(job: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """The answers of the plan page as plain data."""
    budget = Budget(job["epsilon"], job["delta"])
    if job["epochs"] > 1:
        return _in_epochs(job, budget, progress)
    made = _plan(job, budget, progress)
    rounds = job["rounds"]
    progress("drawing studies", 1, 3)
    now = made.at(rounds, budget)
    progress("drawing studies", 2, 3)
    extra = int(job.get("more") or MORE)
    more = made.at(rounds + extra, budget)
    gain = now.uniform_error - now.expected_error
    return {
        "error": now.expected_error,
        "band": list(now.band),
        "uniform_error": now.uniform_error,
        "nonprivate_error": now.nonprivate_error,
        "value": gain,
        "value_band": [now.uniform_error - end for end in reversed(now.band)],
        "limited_by": now.limited_by,
        "more": extra,
        "more_error": more.expected_error,
        "more_band": list(more.band),
        "epochs": [],
        **_power(job, made.problem, budget, gain),
    }


def _plan(job: dict[str, Any], budget: Budget, progress: Progress) -> Plan:
    """A plan whose landmarks are those of the study: questions about other rounds are cheap."""
    key = json.dumps([job.get("url"), job.get("problem"), job["horizon"]], sort_keys=True)
    found = _plans.get(key)
    if found is None:
        found = plan(problem_of(job), horizon=job["horizon"], budget=budget, progress=progress)
        _plans[key] = found
        while len(_plans) > KEPT:
            _plans.popitem(last=False)
    return found


def _in_epochs(job: dict[str, Any], budget: Budget, progress: Progress) -> dict[str, Any]:
    problem = problem_of(job)
    found = plan_epochs(problem, job["rounds"], budget, job["epochs"], progress=progress)
    gain = found.uniform_error - found.final_error
    progress("drawing studies with more people", 1, 2)
    more = plan_epochs(problem, job["rounds"] + MORE, budget, job["epochs"], progress=progress)
    low, high = found.band
    return {
        "error": found.final_error,
        "band": [low, high],
        "uniform_error": found.uniform_error,
        "nonprivate_error": None,
        "value": gain,
        "value_band": [found.uniform_error - high, found.uniform_error - low],
        "limited_by": "",
        "more": MORE,
        "more_error": more.final_error,
        "more_band": list(more.band),
        "epochs": [
            {
                "number": each.number,
                "rounds": each.rounds,
                "regret": each.regret,
                "regret_share": each.regret_share,
                "error": each.error,
            }
            for each in found.epochs
        ],
        **_power(job, problem, budget, gain),
    }


def _power(job: dict[str, Any], problem: Problem, budget: Budget, gain: float) -> dict[str, Any]:
    """How likely a validation epoch of `MORE` rounds shows the gain over random play, for rewards
    that vary as much as they can."""
    if gain <= 0 or budget.pure:
        return {"power": None, "power_rounds": MORE, "detectable": None}
    checked = ValidationPlan(budget, problem.reward_range)
    return {
        "power": checked.power(MORE, gain),
        "power_rounds": MORE,
        "detectable": checked.half_width(MORE),
    }
