"""Mutants of the trusted path, by name: each is applied, and its guard must fail.

A mutant is one mistake in one function of the library, and any of them could be fatal for privacy.
Its guard is an ordinary test of `test_trusted_*.py`, which the suite also runs on the intact code.
When a function is rewritten and a mutant no longer fits, its test says so: adapt it, so that the
same mistake is made in the new code.

Mechanisms with mistakes that the *audit* must see are in `test_broken_mechanisms.py`.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core import test_trusted_release as way_out
from core import test_trusted_sums as way_in
from mutation import Mutant, applied, failure_under
from study import test_trusted_study as study
from tacit.core.contribution import Encoding

pytestmark = pytest.mark.usefixtures("coarse_fits")
NORMAL = (
    "np.rint(np.random.default_rng({seed}).normal(0.0, event.scale, len(total))).astype(np.int64)"
)
CLOCK = "__import__('time').time_ns()"
REPLACE = "__import__('dataclasses').replace"

NOISE = [
    Mutant(
        "the last coordinate gets no noise",
        "tacit.core.noise.discrete_gaussian",
        "np.asarray(measurement(argument), dtype=np.int64)",
        "np.array([*measurement(argument)[:-1], argument[-1]], dtype=np.int64)",
        way_out.test_every_coordinate_has_noise_of_its_own,
    ),
    Mutant(
        "the last coordinate is stored without its noise",
        "tacit.core.release.release_gaussian",
        'discrete_gaussian(total._value(), event).astype("<i8")',
        "np.append(discrete_gaussian(total._value(), event)[:-1], total._value()[-1])"
        '.astype("<i8")',
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "all coordinates get the same noise",
        "tacit.core.noise.discrete_gaussian",
        "np.asarray(measurement(argument), dtype=np.int64)",
        "total + (measurement(argument)[0] - argument[0])",
        way_out.test_every_coordinate_has_noise_of_its_own,
    ),
    Mutant(
        "noise comes from NumPy's generator, with the right law",
        "tacit.core.noise.discrete_gaussian",
        "np.asarray(measurement(argument), dtype=np.int64)",
        "total + " + NORMAL.format(seed=""),
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "noise comes from NumPy's generator, beside a draw of OpenDP's that is thrown away",
        "tacit.core.noise.discrete_gaussian",
        "np.asarray(measurement(argument), dtype=np.int64)",
        "(measurement(argument), total + np.random.normal(0, event.scale, "
        "len(total)).astype(np.int64))[1]",
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "noise comes from a generator that is seeded by the clock",
        "tacit.core.noise.discrete_gaussian",
        "np.asarray(measurement(argument), dtype=np.int64)",
        "total + " + NORMAL.format(seed=CLOCK),
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "noise comes from Python's generator, seeded by the clock",
        "tacit.core.release.release_gaussian",
        "discrete_gaussian(total._value(), event).astype",
        f"np.array([int(v + __import__('random').Random({CLOCK}).gauss(0, event.scale)) "
        "for v in total._value()]).astype",
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "the sum is released without noise",
        "tacit.core.release.release_gaussian",
        'np.frombuffer(stored, dtype="<i8").astype(np.int64)',
        "total._value()",
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "less noise is drawn than is charged",
        "tacit.core.release.release_gaussian",
        "discrete_gaussian(total._value(), event).astype",
        "discrete_gaussian(total._value(), Gaussian(event.sensitivity, event.scale / 2)).astype",
        way_out.test_what_is_released_is_what_opendp_drew,
    ),
    Mutant(
        "OpenDP is not asked whether its domain holds the sum",
        "tacit.core.noise.discrete_gaussian",
        "if not measurement.input_domain.member(argument):",
        "if False:",
        way_out.test_noise_is_drawn_only_where_opendp_says_that_its_domain_holds_the_sum,
    ),
    Mutant(
        "OpenDP is not asked what the noise costs",
        "tacit.core.noise.discrete_gaussian",
        "rel_tol=1e-9",
        "rel_tol=1e9",
        way_out.test_noise_whose_price_opendp_disputes_is_not_drawn,
    ),
    Mutant(
        "a simulation is marked private",
        "tacit.core.release.simulate_gaussian",
        "private=False",
        "private=True",
        way_out.test_a_simulation_says_that_it_is_not_private,
    ),
]

ORDER = [
    Mutant(
        "noise is drawn before the charge",
        "tacit.core.release.release_gaussian",
        'draw=lambda: discrete_gaussian(total._value(), event).astype("<i8").tobytes()',
        'draw=discrete_gaussian(total._value(), event).astype("<i8").tobytes().__bytes__',
        way_out.test_a_release_is_charged_on_disk_before_its_noise_is_drawn,
    ),
    Mutant(
        "a choice is drawn before the charge",
        "tacit.core.selection.release_choice",
        'draw=lambda: noisy_max(theta @ total._value(), event, delta).to_bytes(8, "little")',
        'draw=noisy_max(theta @ total._value(), event, delta).to_bytes(8, "little").__bytes__',
        way_out.test_a_choice_is_charged_on_disk_before_it_is_drawn,
    ),
    Mutant(
        "the ledger draws before it charges",
        "tacit.core.ledger.Ledger.spend",
        "",
        "draw = draw().__bytes__",
        way_out.test_a_release_is_charged_on_disk_before_its_noise_is_drawn,
    ),
    Mutant(
        "the account is charged nothing",
        "tacit.core.ledger.Ledger._charge",
        "min(cost, LARGEST)",
        "0 * cost",
        way_out.test_a_release_is_charged_on_disk_before_its_noise_is_drawn,
    ),
    Mutant(
        "the cap is twice the budget",
        "tacit.core.ledger.Ledger.establish",
        '"cap": cap,',
        '"cap": 2 * cap,',
        way_out.test_a_budget_cannot_be_passed,
    ),
    Mutant(
        "only the last charge counts as spent",
        "tacit.core.ledger.Ledger._charge",
        ".c.spent + min(cost",
        ".c.spent * 0 + min(cost",
        way_out.test_a_budget_cannot_be_passed,
    ),
    Mutant(
        "a repeated request draws again",
        "tacit.core.ledger.Ledger.spend",
        "if stored is not None:",
        "if False:",
        way_out.test_a_repeated_request_is_answered_from_the_ledger,
    ),
    Mutant(
        "who is overtaken while drawing stores a second answer",
        "tacit.core.ledger.Ledger._store",
        " & _charges.c.result.is_(None)",
        "",
        way_out.test_a_repeated_request_is_answered_from_the_ledger,
    ),
    Mutant(
        "who is overtaken while drawing returns an answer of their own",
        "tacit.core.ledger.Ledger._store",
        "return bytes(connection.execute(stored).scalar_one())",
        "return result",
        way_out.test_a_repeated_request_is_answered_from_the_ledger,
    ),
    Mutant(
        "a request is answered under other terms",
        "tacit.core.ledger.Ledger._charge",
        "if any(getattr(row, key) != value for key, value in charge.items()):",
        "if False:",
        way_out.test_a_request_is_refused_under_other_terms,
    ),
    Mutant(
        "the request does not name the number of records",
        "tacit.core.release.release_gaussian",
        '"records": total.records, ',
        "",
        way_out.test_a_release_of_more_records_is_another_request,
    ),
    Mutant(
        "a choice is not bound to its visitor",
        "tacit.single_decision.decision.release_decision",
        'hashlib.blake2b(visitor.astype("<f8").tobytes(), digest_size=16).hexdigest()',
        '""',
        study.test_a_decision_is_not_given_to_another_visitor,
    ),
    Mutant(
        "SQLite does not wait for the disk",
        "tacit.core.database._sqlite",
        "synchronous=FULL",
        "synchronous=OFF",
        way_out.test_every_connection_waits_until_a_commit_is_on_disk,
    ),
    Mutant(
        "SQLite waits for the disk now and then",
        "tacit.core.database._sqlite",
        "synchronous=FULL",
        "synchronous=NORMAL",
        way_out.test_every_connection_waits_until_a_commit_is_on_disk,
    ),
    Mutant(
        "PostgreSQL may acknowledge what is not on disk",
        "tacit.core.database._server",
        "set_config('synchronous_commit', 'on', false)",
        "set_config('synchronous_commit', 'off', false)",
        way_out.test_a_server_that_commits_asynchronously_is_told_not_to,
    ),
    Mutant(
        "the ledger's file may be read by others",
        "tacit.core.database._sqlite",
        "0o600",
        "0o644",
        way_out.test_the_file_of_a_ledger_is_for_its_owner_alone,
    ),
    Mutant(
        "errors of the database show what was being written",
        "tacit.core.database._sqlite",
        "hide_parameters=True",
        "hide_parameters=False",
        way_out.test_an_error_of_the_database_hides_what_was_written,
    ),
]

PRICES = [
    Mutant(
        "epsilon is converted without the term of delta",
        "tacit.core.budget.epsilon_of_rho",
        "- (math.log(delta) + math.log1p(x)) / x",
        "- math.log1p(x) / x",
        way_out.test_rho_is_never_converted_to_less_epsilon_than_it_is,
    ),
    Mutant(
        "epsilon is converted from half of rho",
        "tacit.core.budget.epsilon_of_rho",
        "rho + x * rho + t",
        "rho / 2 + x * rho / 2 + t",
        way_out.test_rho_is_never_converted_to_less_epsilon_than_it_is,
    ),
    Mutant(
        "an exponential choice costs half",
        "tacit.core.events.price",
        "(8 if isinstance(event, Exponential) else 2)",
        "(16 if isinstance(event, Exponential) else 2)",
        way_out.test_choices_cost_what_their_composition_needs,
    ),
    Mutant(
        "permute-and-flip costs as little as the exponential mechanism",
        "tacit.core.events.price",
        "(8 if isinstance(event, Exponential) else 2)",
        "8",
        way_out.test_choices_cost_what_their_composition_needs,
    ),
    Mutant(
        "a pure ledger charges rho",
        "tacit.core.events.price",
        "return epsilon\n",
        "return epsilon**2 / 2\n",
        way_out.test_choices_cost_what_their_composition_needs,
    ),
    Mutant(
        "costs are rounded down",
        "tacit.core.ledger.cost_of",
        "math.ceil(",
        "math.floor(",
        way_out.test_costs_are_rounded_up_and_budgets_down,
    ),
    Mutant(
        "budgets are rounded up",
        "tacit.core.budget._whole_units",
        "math.floor(Fraction(amount)",
        "math.ceil(Fraction(amount)",
        way_out.test_costs_are_rounded_up_and_budgets_down,
    ),
    Mutant(
        "a second pass is not part of the promise",
        "tacit.policy.promise._to_these",
        "sum(release.released.guarantee.rho for release in releases)",
        "last.rho",
        study.test_two_passes_together_keep_what_the_budget_promises,
    ),
    Mutant(
        "a second pass hides that the first was simulated",
        "tacit.policy.policy.Policy.from_release",
        "private=promise.private and design.private",
        "private=release.released.guarantee.private",
        study.test_a_second_pass_after_a_simulated_one_is_not_private,
    ),
]

CHOICES = [
    Mutant(
        "permute-and-flip is drawn where the exponential mechanism is charged",
        "tacit.core.selection.release_choice",
        "noisy_max(theta @ total._value(), event, delta)",
        "noisy_max(theta @ total._value(), PermuteAndFlip(event.epsilon), delta)",
        way_out.test_a_choice_is_drawn_by_the_mechanism_that_is_charged,
    ),
    Mutant(
        "every choice is made by OpenDP's permute-and-flip",
        "tacit.core.selection.selection_measurement",
        "composed = isinstance(event, Exponential)",
        "composed = False",
        way_out.test_a_choice_is_drawn_by_the_mechanism_that_is_charged,
    ),
    Mutant(
        "OpenDP is not asked whether its domain holds the scores",
        "tacit.core.selection.noisy_max",
        "if not measurement.input_domain.member(argument):",
        "if False:",
        way_out.test_a_choice_is_drawn_only_where_opendp_says_that_its_domain_holds_the_scores,
    ),
    Mutant(
        "the best candidate is returned, not the one that was drawn",
        "tacit.core.selection.noisy_max",
        "int(measurement(argument))",
        "int(np.argmax(argument) if measurement(argument) is not None else 0)",
        way_out.test_a_choice_is_drawn_by_the_mechanism_that_is_charged,
    ),
    Mutant(
        "a choice comes from NumPy's generator",
        "tacit.core.selection.noisy_max",
        "int(measurement(argument))",
        "int(np.argmax(scores + np.random.default_rng().gumbel(scale=2 * delta / event.epsilon, "
        "size=len(scores))))",
        way_out.test_a_choice_is_drawn_by_the_mechanism_that_is_charged,
    ),
    Mutant(
        "a choice has half the noise",
        "tacit.core.selection.release_choice",
        "delta = sensitivity(theta, total.encoding)",
        "delta = sensitivity(theta, total.encoding) // 2",
        way_out.test_the_noise_of_a_choice_covers_every_pair_of_candidates,
    ),
    Mutant(
        "the diameter of many candidates is taken for their radius",
        "tacit.core.selection.sensitivity",
        "4 * _largest_norm2(theta - middle)",
        "_largest_norm2(theta - middle)",
        way_out.test_the_sensitivity_of_scores_is_at_least_what_any_pair_can_move,
    ),
    Mutant(
        "the sensitivity of scores is rounded down",
        "tacit.core.selection.sensitivity",
        "math.isqrt(max(0, diameter2 * encoding.bound**2 - 1)) + 1",
        "math.isqrt(diameter2) * encoding.bound",
        way_out.test_the_sensitivity_of_scores_is_at_least_what_any_pair_can_move,
    ),
]

SUMS = [
    Mutant(
        "the sensitivity is the bound, not twice the bound",
        "tacit.core.contribution.Encoding.sensitivity",
        "return 2 * self.bound",
        "return self.bound",
        way_in.test_the_sensitivity_is_the_distance_of_opposite_records,
    ),
    Mutant(
        "the noise is for half of the sensitivity",
        "tacit.core.contribution.Encoding.sensitivity",
        "return 2 * self.bound",
        "return self.bound",
        way_out.test_the_noise_keeps_what_the_budget_promises,
    ),
    Mutant(
        "entries are not clipped",
        "tacit.core.contribution.Encoding.encode",
        "xp.clip(rows, -1.0, 1.0)",
        "rows",
        way_in.test_no_record_leaves_the_ball,
    ),
    Mutant(
        "norms are not clipped",
        "tacit.core.contribution.Encoding.shrink",
        "if not bool(xp.any(over)):",
        "if True:",
        way_in.test_no_record_leaves_the_ball,
    ),
    Mutant(
        "shrinking divides by the norm rounded down",
        "tacit.core.contribution.Encoding.shrink",
        "(_isqrt(xp, norm2)[:, None] + 1)",
        "_isqrt(xp, norm2)[:, None]",
        way_in.test_integers_from_anywhere_are_shrunk_into_the_ball,
    ),
    Mutant(
        "shrinking rounds up",
        "tacit.core.contribution.Encoding.shrink",
        "xp.abs(integers) * self.bound // (_isqrt(xp, norm2)[:, None] + 1)",
        "-(-xp.abs(integers) * self.bound // (_isqrt(xp, norm2)[:, None] + 1))",
        way_in.test_no_record_leaves_the_ball,
    ),
    Mutant(
        "rows that hold no number are clipped like any other",
        "tacit.core.contribution.Encoding.encode",
        "(xp.isfinite(low) & xp.isfinite(high))[:, None]",
        "(low == low)[:, None]",
        way_in.test_no_record_leaves_the_ball,
    ),
    Mutant(
        "a user is not shrunk",
        "tacit.core.sums.UserSum._value",
        "self.encoding.shrink(self._rows).sum(0)",
        "self._rows.sum(0)",
        way_in.test_all_records_of_a_user_together_stay_in_the_ball,
    ),
    Mutant(
        "a user in two sums counts as two",
        "tacit.core.sums.UserSum._absorb",
        "self._places(list(other._index))",
        "self._places([f'{user} of another sum' for user in other._index])",
        way_in.test_all_records_of_a_user_together_stay_in_the_ball,
    ),
    Mutant(
        "an id written in two ways counts as two users",
        "tacit.core.sums.UserSum._collect",
        "",
        "users = [repr(user) for user in users]",
        way_in.test_all_records_of_a_user_together_stay_in_the_ball,
    ),
    Mutant(
        "a merged sum can be merged again",
        "tacit.core.sums.PrivateSum.merge",
        "other._merged = True",
        "other._merged = False",
        way_in.test_a_sum_that_was_merged_is_spent,
    ),
    Mutant(
        "a sum can be merged with itself",
        "tacit.core.sums.PrivateSum.merge",
        "if other is self:",
        "if False:",
        way_in.test_a_sum_that_was_merged_is_spent,
    ),
    Mutant(
        "records are not counted, and more fit in than the horizon",
        "tacit.core.sums.PrivateSum.add",
        "self._records += records",
        "self._records += 0",
        way_in.test_no_more_records_than_the_horizon_fit_into_a_sum,
    ),
    Mutant(
        "a sum shows itself",
        "tacit.core.sums.PrivateSum.__repr__",
        "(<private>,",
        "({self._total},",
        way_in.test_a_sum_does_not_show_itself,
    ),
    Mutant(
        "a sum is pickled",
        "tacit.core.sums.PrivateSum.__reduce_ex__",
        "",
        "return object.__reduce_ex__(self, protocol)",
        way_in.test_a_sum_does_not_show_itself,
    ),
]

RECORDS = [
    Mutant(
        "the shares of a row add up to more than 1: the mean square comes on top",
        "tacit.design.layout.Layout.influence_share",
        "self.square_share,",
        "",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the shares of a row add up to more than 1: the histogram of rewards comes on top",
        "tacit.design.layout.Layout.influence_share",
        "self.histogram_share,",
        "",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the shares of a row add up to more than 1: counts of played actions come on top",
        "tacit.design.layout.Layout.influence_share",
        "self.play_share,",
        "",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the shares of a row add up to more than 1: every column counts in full",
        "tacit.design.layout.Layout._weights",
        "self.context_share / columns",
        "self.context_share",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the shares of a row add up to more than 1: pairs of columns come on top",
        "tacit.design.layout.Layout.influence_share",
        "self.pair_share,",
        "",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the shares of a row add up to more than 1: every pair of columns counts in full",
        "tacit.design.layout.Layout._weights",
        "self.pair_share / self.pairs.size",
        "self.pair_share",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the shares of a row add up to more than 1: every column of the actions counts in full",
        "tacit.design.layout.Layout._weights",
        "self.play_share / actions",
        "self.play_share",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "a reward counts in full in the bin of the histogram, and in its neighbours too",
        "tacit.numerics.histogram.hat",
        "float(NODES[1] - NODES[0])",
        "float(NODES[2] - NODES[0])",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "a record counts as played in every group of contexts",
        "tacit.design.played.PlayCells.onehot",
        "(group * size + cell)[:, None] == places[None, :]",
        "cell[:, None] == places[None, :] % size",
        way_in.test_the_shares_of_a_row_add_up_to_one,
    ),
    Mutant(
        "the histogram forgets the weights of a log",
        "tacit.design.layout.Layout.rows",
        'weights["histogram"] * known * weight',
        'weights["histogram"] * known',
        way_in.test_no_reward_residual_or_weight_makes_a_row_longer,
    ),
    Mutant(
        "the reward beside a residual counts twice",
        "tacit.design.layout.Layout.rows",
        "weight * rewards",
        "2.0 * weight * rewards",
        way_in.test_no_reward_residual_or_weight_makes_a_row_longer,
    ),
    Mutant(
        "records that are not known count as played",
        "tacit.design.layout.Layout.rows",
        'weights["play"] * known * weight',
        'weights["play"] * weight',
        way_in.test_no_reward_residual_or_weight_makes_a_row_longer,
    ),
    Mutant(
        "the shares of marginals add up to more than 1",
        "tacit.contexts.marginals._Counts._column_weight",
        "(1.0 - self._share) / self.cells.columns",
        "1.0 / self.cells.columns",
        way_in.test_the_marginals_of_a_table_fit_into_the_ball_before_the_core_looks,
    ),
    Mutant(
        "influences are not clipped",
        "tacit.design.features.shrinkage",
        "max=1.0",
        "min=1.0",
        way_in.test_what_records_write_fits_into_the_ball_before_the_core_looks,
    ),
    Mutant(
        "residuals of a second pass are not clipped",
        "tacit.design.design.Design._writer",
        "clip(r, -1.0, 1.0)",
        "clip(r, -1e9, 1e9)",
        way_in.test_what_records_write_fits_into_the_ball_before_the_core_looks,
    ),
    Mutant(
        "rare actions count with any weight",
        "tacit.statistic.propensity_weights",
        "np.minimum(actions.uniform_density / np.where(good, p, 1.0), max_weight) / max_weight",
        "actions.uniform_density / np.where(good, p, 1.0) / max_weight",
        way_in.test_a_weighted_record_writes_no_more_than_one_of_weight_one,
    ),
    Mutant(
        "weights are taken as they come",
        "tacit.statistic.Statistic._add_block",
        "known & (weights >= 0.0) & (weights <= 1.0)",
        "known",
        way_in.test_a_weighted_record_writes_no_more_than_one_of_weight_one,
    ),
    Mutant(
        "blocks are not padded",
        "tacit.statistic.Statistic._add_block",
        "if n < on.rows:",
        "if False:",
        way_in.test_every_block_of_records_has_the_same_height,
    ),
    Mutant(
        "a built-in kernel centres its batch",
        "tacit.kernels.stationary.Stationary.squared_distance",
        "A = A - 0.5",
        "A = A - A.mean(axis=0)",
        way_in.test_every_row_of_a_kernel_is_about_its_own_point,
    ),
    Mutant(
        "a built-in kernel centres its batch and its landmarks alike, which shows in the last bits "
        "only",
        "tacit.kernels.stationary.Stationary.squared_distance",
        "A = A - 0.5\n    B = B - 0.5",
        "middle = A.mean(axis=0)\n    A = A - middle\n    B = B - middle",
        way_in.test_every_row_of_a_kernel_is_about_its_own_point,
    ),
    Mutant(
        "a linear kernel standardises its batch",
        "tacit.kernels.other.Linear.__call__",
        "(2.0 * A - 1.0)",
        "(2.0 * A / A.max() - 1.0)",
        way_in.test_every_row_of_a_kernel_is_about_its_own_point,
    ),
    Mutant(
        "advantages are centred over the batch",
        "tacit.kernels.centred.Centred._parts",
        "P = xp.asarray(self.points, dtype=A.dtype, device=_device(A))",
        "P = A",
        way_in.test_every_row_of_a_kernel_is_about_its_own_point,
    ),
    Mutant(
        "a kernel of somebody's own is shown the whole batch",
        "tacit.design.design.Design._writer",
        " else partial(",
        " else (lambda _, kernel: kernel)(",
        way_in.test_the_sum_is_the_sum_of_its_records_alone,
    ),
    Mutant(
        "a domain centres its batch",
        "tacit.domains.box.Box.encode",
        "np.clip(values, self.low, self.high)",
        "np.clip(values - values.mean(axis=0), self.low, self.high)",
        way_in.test_every_row_of_a_domain_is_about_its_own_record,
    ),
    Mutant(
        "threads count blocks that others count too",
        "tacit.numerics.engine.Engine.parallel",
        "items[i::count]",
        "items[i:]",
        way_in.test_threads_share_the_blocks_and_count_each_once,
    ),
    Mutant(
        "CSV types are guessed",
        "tacit.logs.reading._csv",
        "column_types={name: pa.binary() for name in columns.in_file},",
        "",
        way_in.test_cells_of_a_csv_file_are_read_as_they_are_written,
    ),
    Mutant(
        "pieces of a log overlap",
        "tacit.logs.reading._exactly",
        "table.slice(rows).to_batches()\n            count -= rows",
        "table.slice(rows - 1).to_batches()\n            count -= rows - 1",
        way_in.test_every_row_of_a_log_counts_once,
    ),
    Mutant(
        "rows that are counted can be counted again",
        "tacit.logs.counting.Work.take",
        "",
        "self._counted = {path: rows for path, rows in self._counted.items() if rows != [(0, "
        "span.file.rows)]}",
        way_in.test_every_row_of_a_log_counts_once,
    ),
    Mutant(
        "marginals of users are labelled as protected",
        "tacit.contexts.marginals._Counts.learned",
        "released.guarantee,",
        f'{REPLACE}(released.guarantee, unit="user"),',
        way_in.test_marginals_promise_records_and_nothing_about_users,
    ),
    Mutant(
        "an error about shapes quotes the records",
        "tacit.statistic.Statistic.add",
        "must have as many rows, got",
        "must have as many rows, {actions} and {contexts}, got",
        way_in.test_an_error_about_shapes_shows_no_value,
    ),
]

STUDY = [
    Mutant(
        "a study's second design is made from the private sum",
        "tacit.study.study.Study._following",
        "refine(policy, ",
        f"refine(Policy.from_release({REPLACE}(policy.releases[-1], released="
        f"{REPLACE}(policy.releases[-1].released, "
        "values=self._statistic(self.asked)._sum._value()))), ",
        study.test_a_study_designs_its_second_pass_from_the_first_release_alone,
    ),
    Mutant(
        "a study's second design is seeded by its rounds",
        "tacit.study.study.Study._following",
        "refine(policy, ",
        "refine(policy, rng=abs(hash(str([y for _, y, _ in self._store.rounds(self.asked)]))), ",
        study.test_a_study_designs_its_second_pass_from_the_first_release_alone,
    ),
    Mutant(
        "a fit's second design is made from the private sum",
        "tacit.logs.file_fit.FileFit._following",
        "self.job.next_design(policy)",
        "self.job.next_design(Policy.from_release("
        f"{REPLACE}(policy.releases[-1], released={REPLACE}("
        "policy.releases[-1].released, values=work.statistic._sum._value()))))",
        study.test_a_fit_designs_its_second_pass_from_the_first_release_alone,
    ),
    Mutant(
        "policy.json carries the exact sum in its receipt",
        "tacit.core.release.release_gaussian",
        "ledger.receipt(request)",
        'ledger.receipt(request) | {"sum": total._value().tolist()}',
        study.test_a_saved_policy_holds_no_number_of_the_exact_sum,
    ),
    Mutant(
        "policy.json carries the exact sum among its facts, in units of a record",
        "tacit.statistic.Statistic.release",
        "self._policy(released)",
        f"(lambda policy: {REPLACE}(policy, facts=policy.facts | "
        '{"sum": (self._sum._value() / 2.0**24).tolist()}))'
        "(self._policy(released))",
        study.test_a_saved_policy_holds_no_number_of_the_exact_sum,
    ),
    Mutant(
        "policy.npz carries the exact sum in the place of a landmark",
        "tacit.statistic.Statistic.release",
        "self._policy(released)",
        f"(lambda policy: {REPLACE}(policy, posterior={REPLACE}(policy.posterior, "
        "landmarks=np.append(policy.posterior.landmarks.ravel(), self._sum._value()))))"
        "(self._policy(released))",
        study.test_a_saved_policy_holds_no_number_of_the_exact_sum,
    ),
    Mutant(
        "policy.npz holds weights that are decoded from the exact sum",
        "tacit.statistic.Statistic.release",
        "self._policy(released)",
        f"self._policy({REPLACE}(released, values=self._sum._value()))",
        study.test_a_saved_policy_depends_on_records_through_the_release_alone,
    ),
    Mutant(
        "the ledger shows a part of the exact sum",
        "tacit.core.release.release_gaussian",
        '"unit": total.unit}',
        '"unit": total.unit, "first": int(total._value()[0])}',
        study.test_a_saved_policy_depends_on_records_through_the_release_alone,
    ),
    Mutant(
        "release_decision reads rounds twice",
        "tacit.study.study.Study.release_decision",
        "self._statistic(state.asked)",
        "self._statistic(state.asked).merge(self._statistic(state.asked))",
        study.test_a_decision_counts_every_round_once,
    ),
    Mutant(
        "a study reads its rounds twice",
        "tacit.study.study.Study._statistic",
        "in self._store.rounds(rounds):",
        "in [*self._store.rounds(rounds), *self._store.rounds(rounds)]:",
        study.test_a_release_counts_every_round_once_in_each_pass,
    ),
    Mutant(
        "a page of rounds overlaps the next",
        "tacit.study.store.Store.rounds",
        "rounds_table.c.number < min(",
        "rounds_table.c.number <= min(",
        study.test_a_release_counts_every_round_once_in_each_pass,
    ),
    Mutant(
        "a page of rounds begins before the last one ends",
        "tacit.study.store.Store.rounds",
        "range(1, last + 1, PAGE)",
        "range(1, last + 1, PAGE - 1)",
        study.test_a_decision_counts_every_round_once,
    ),
    Mutant(
        "the last page holds rounds that came later",
        "tacit.study.store.Store.rounds",
        "min(start + PAGE, last + 1)",
        "start + PAGE",
        study.test_only_the_rounds_asked_for_are_read,
    ),
    Mutant(
        "the rounds of one user come back as those of many",
        "tacit.study.store.Store.rounds",
        "[r.user for r in rows]",
        "[f'{r.user} {i}' for i, r in enumerate(rows)]",
        study.test_the_rounds_of_a_user_together_stay_in_the_ball,
    ),
    Mutant(
        "a study of users is summed by records",
        "tacit.core.sums.private_sum",
        "UNITS_OF_PRIVACY[unit](encoding",
        "PrivateSum(encoding",
        study.test_the_rounds_of_a_user_together_stay_in_the_ball,
    ),
    Mutant(
        "played actions depend on the context",
        "tacit.study.store.Store.ask",
        "",
        "actions[:] = np.sqrt(actions * np.nan_to_num(contexts[:, :1], nan=1.0))",
        study.test_actions_do_not_depend_on_contexts,
    ),
    Mutant(
        "played actions are the context's hash",
        "tacit.study.store.Store.ask",
        "",
        "actions[:] = np.random.default_rng(abs(hash(contexts.tobytes()))).random(actions.shape)",
        study.test_every_question_has_fresh_coins,
    ),
    Mutant(
        "played actions are always the same coins",
        "tacit.domains.box.Box.sample_points",
        "",
        "rng = np.random.default_rng(0)",
        study.test_every_question_has_fresh_coins,
    ),
    Mutant(
        "played actions come from a stream that a fork would copy",
        "tacit.study.study.Study.__init__",
        "self._rng: np.random.Generator | None = None",
        "self._rng = np.random.default_rng()",
        study.test_every_question_has_fresh_coins,
    ),
    Mutant(
        "an error about a round quotes its reward",
        "tacit.study.store.Store.tell",
        "raise told_before(id)",
        "raise told_before(f'{id}, with {reward},')",
        study.test_an_error_about_a_round_shows_no_reward,
    ),
]

MUTANTS = [*NOISE, *ORDER, *PRICES, *CHOICES, *SUMS, *RECORDS, *STUDY]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_guard_fails_when(mutant: Mutant, tmp_path: Path) -> None:
    reason = failure_under(mutant, tmp_path)
    assert reason
    print(reason)  # why it fails, for `pytest -rP`


def test_every_guard_is_a_test_that_the_suite_runs_on_the_intact_code() -> None:
    for mutant in MUTANTS:
        assert mutant.guard.__module__.rpartition(".")[2].startswith("test_")
        assert mutant.guard.__name__.startswith("test_")
        assert set(inspect.signature(mutant.guard).parameters) <= {"tmp_path"}
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)


# -- the harness itself ---------------------------------------------------------------------------


def doubled() -> None:
    assert Encoding(size=1, horizon=1).sensitivity == 2**25


SOUND = Mutant(
    "a test",
    "tacit.core.contribution.Encoding.sensitivity",
    "2 * self.bound",
    "3 * self.bound",
    doubled,
)


def test_a_mutant_is_undone(tmp_path: Path) -> None:
    with applied(SOUND):
        assert Encoding(size=1, horizon=1).sensitivity == 3 * 2**24
    doubled()
    assert isinstance(failure_under(SOUND, tmp_path), AssertionError)
    doubled()


@pytest.mark.parametrize(
    "changed",
    [
        {"old": "a fragment that is not there"},
        {"old": "self"},
        {"target": "tacit.core.contribution.Encoding.gone"},
        {"target": "tacit.core.nowhere.function"},
        {"target": "tacit.core.contribution.DEFAULT_BITS", "old": "25", "new": "3"},
    ],
)
def test_a_mutant_that_no_longer_applies_says_so(tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="the mutant no longer applies: adapt it"):
        failure_under(replace(SOUND, **changed), tmp_path)


def test_a_mutant_that_survives_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the mutant survives"):
        failure_under(replace(SOUND, new="2 * self.bound  # the same"), tmp_path)


def test_a_guard_that_crashes_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        failure_under(replace(SOUND, new="1 // 0"), tmp_path)
