"""Mutants of accounts, cohorts, the exact curve and of who may see a batch, by name (see
`test_mutants.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import test_cohorts as cohorts
from core import test_gaussian_curve as curve
from core import test_trusted_release as way_out
from core import test_trusted_sums as way_in
from helpers import BUDGET, sqlite
from mutation import Mutant, failure_under
from reading import test_reading as reading
from tacit import Cohort, Ledger, StateError


def test_cohorts_that_overlap_have_no_two_budgets(tmp_path: Path) -> None:
    ledger = Ledger.create(sqlite(tmp_path, "overlap.db"), BUDGET)
    ledger.add_cohort(Cohort("first", 0, 100))
    for name, first, last in (
        ("second", 99, 200),
        ("second", 0, 1),
        ("second", 50, 60),
        ("first", 200, 300),
    ):
        with pytest.raises(StateError, match="one cohort"):
            ledger.add_cohort(Cohort(name, first, last))
    assert len(ledger.accounts()) == 1


MUTANTS = [
    Mutant(
        "the curve takes rho for mu^2",
        "tacit.core.curve.gaussian_delta",
        "math.sqrt(2.0 * rho)",
        "math.sqrt(rho)",
        way_out.test_the_noise_keeps_what_the_budget_promises,
    ),
    Mutant(
        "the curve lacks its first tail",
        "tacit.core.curve.gaussian_delta",
        "near * (1.0 + ROUNDING) -",
        "near * 0.5 -",
        way_out.test_the_noise_keeps_what_the_budget_promises,
    ),
    Mutant(
        "single decisions have a price on the curve of Gaussian noise",
        "tacit.core.events.price",
        "if measure == GAUSSIAN:",
        "if False:",
        curve.test_single_decisions_have_no_price_on_the_curve_of_gaussian_noise,
    ),
    Mutant(
        "the rule of an account is chosen after its first answer",
        "tacit.core.accounts.Account.paying",
        "if self.spent:",
        "if False:",
        curve.test_a_ledger_that_begins_with_a_release_has_no_room_for_decisions,
    ),
    Mutant(
        "an account that begins with a decision keeps the larger cap",
        "tacit.core.accounts.Account.paying",
        "min(self.cap, cap_of(budget, ZCDP))",
        "self.cap",
        curve.test_a_ledger_that_begins_with_a_decision_is_counted_in_zcdp,
    ),
    Mutant(
        "a returning user is counted in two cohorts",
        "tacit.core.accounts.enrol",
        "if any(row.cohort != cohort.name for row in known):",
        "if False:",
        cohorts.test_a_returning_user_is_counted_in_one_cohort,
    ),
    Mutant(
        "nobody's cohort is written down",
        "tacit.core.accounts.enrol",
        "",
        "members = ()",
        cohorts.test_a_returning_user_is_counted_in_one_cohort,
    ),
    Mutant(
        "the records of another cohort are taken",
        "tacit.core.cohorts.Cohort.require",
        "",
        "return",
        cohorts.test_a_record_of_another_cohort_is_refused_before_anything_is_added,
    ),
    Mutant(
        "a record counts twice in its cohort",
        "tacit.core.cohorts.joined",
        "if together and start < together[-1][1]:",
        "if False:",
        cohorts.test_a_record_counts_once_in_its_cohort,
    ),
    Mutant(
        "cohorts overlap",
        "tacit.core.cohorts.Cohort.overlaps",
        "",
        "return False",
        test_cohorts_that_overlap_have_no_two_budgets,
    ),
    Mutant(
        "every kernel sees the batch",
        "tacit.kernels.rows.sees_batches",
        "",
        "return True",
        way_in.test_the_sum_is_the_sum_of_its_records_alone,
    ),
    Mutant(
        "every domain sees the batch",
        "tacit.domains.records.sees_batches",
        "",
        "return True",
        reading.test_only_domains_that_are_exactly_ours_see_batches,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_guard_fails_when(mutant: Mutant, tmp_path: Path) -> None:
    reason = failure_under(mutant, tmp_path)
    assert reason
    print(reason)  # why it fails, for `pytest -rP`
