"""What the release of a study spends: what was planned, a stated part of it, or what is left."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

from tacit.core import Budget, Ledger, release_event
from tacit.core.accounts import NOTHING, cost_of
from tacit.core.budget import PURE, UNITS
from tacit.design import Design
from tacit.design.choices import pass_budget
from tacit.errors import BudgetError, InputError, RequestConflictError, StateError
from tacit.passes import requests, require_room
from tacit.study.store import Store

RELEASE = "release"  # the request of the last pass, under which the policy is stored


@dataclass(frozen=True, eq=False)
class Spending:
    """What the release of a study spends. It is written down before anything is charged, so that
    all processes spend the same."""

    store: Store
    ledger: Ledger
    design: Design  # of the first pass, as it was planned

    def budget(self) -> Budget:
        """What the release was begun with, or would spend now."""
        return self.begun().total_budget if self.store.closed() else self.now()

    def spent(self) -> Budget:
        """What a finished release spent: what it was begun with, unless decisions that were under
        way then have left less for its later passes."""
        design = self.begun()
        planned = requests(design, RELEASE)
        measure = self.ledger.accounts()[0].measure
        events = [release_event(design.encoding, each, measure) for each in planned.values()]
        most = sum(cost_of(event, measure) for event in events) / UNITS
        costs = [each.cost for each in self.ledger.charges() if each.request in planned]
        return design.total_budget if sum(costs) >= most else Budget(rho=sum(costs))

    def charged(self) -> list[str]:
        """The requests of the passes that were charged, in order."""
        names = requests(self.begun(), RELEASE)
        return [name for name in names if self.ledger.receipt(name) is not None]

    def finished(self) -> bool:
        """Whether all passes that can be paid for were released: the last one, or some of them and
        nothing is left for others."""
        rest = self.rest()  # first: another process may charge the last pass in the meantime
        charged = self.charged()
        ended = RELEASE in charged or rest is None
        return bool(charged) and ended and self.ledger.stored(charged[-1]) is not None

    def now(self) -> Budget:
        """What a release would spend now: what was planned, or all that is left if that is less."""
        planned = self.design.total_budget
        divided = self.ledger.accounts()[0].cohort is not None  # a release of all says why not
        if planned.pure or divided or self.has_room(*requests(self.design, RELEASE).values()):
            return planned
        # where nothing is left, the refusal of what was planned says so
        return self.rest() or planned

    def rest(self) -> Budget | None:
        """What is left, as a budget; None if that is nothing but rounding."""
        account = min(self.ledger.accounts(), key=lambda account: account.remaining)
        if account.remaining <= NOTHING or account.measure == PURE:
            return None
        rho = account.remaining / UNITS
        if Fraction(rho) * UNITS > account.remaining:  # above 2^53 units
            rho = math.nextafter(rho, 0.0)
        return Budget(rho=rho)

    def has_room(self, *budgets: Budget) -> bool:
        """Whether the ledger has room for releases that spend so much."""
        measure = self.ledger.account().measure
        events = [release_event(self.design.encoding, budget, measure) for budget in budgets]
        try:
            self.ledger.require_room(*events)
        except BudgetError:
            return False
        return True

    def settle(self, budget: Budget | None) -> Design:
        """The design of the first pass, with what the release spends written down. A refusal leaves
        an open study open."""
        if budget is not None and not isinstance(budget, Budget):
            raise InputError(
                f"budget must be a tacit.Budget, got {budget!r}: write release(Budget(0.5, 1e-6))."
            )
        if not self.store.closed():
            self._close(budget or self.now())
        design = self.begun()
        if self.never_paid(design):
            kept = self.store.design_of_pass(1)
            spends = asdict(budget or self.now())
            self.store.keep_design_of_pass(1, spends, {}, instead_of=kept and kept[0])
            design = self.begun()
        if budget is not None and budget != design.total_budget:
            raise RequestConflictError(
                f"the release of this study was begun with {design.total_budget}, not with "
                f"{budget}: call release() without a budget to go on with it."
            )
        return design

    def _close(self, budget: Budget) -> None:
        """Closes the study for a release that spends so much, unless another process closes it."""
        planned = self.design.total_budget
        try:
            require_room(self.ledger, _with_budget(self.design, budget), RELEASE)
        except BudgetError:
            if self.store.closed():
                return
            raise
        self.store.close(None if budget == planned else asdict(budget))

    def begun(self) -> Design:
        """The design of the first pass of a study that is closed."""
        kept = self.store.design_of_pass(1)
        if kept is None:
            return self.design
        return _with_budget(self.design, Budget(**kept[0]))

    def never_paid(self, design: Design) -> bool:
        """Whether the pass of this design was not charged and never can be: what was spent only
        grows. A decision that was begun before the study was closed may have taken what the pass
        was to spend.

        The order matters: there may be no room because another process has charged this pass.
        """
        has_room = self.has_room(design.budget)
        request = next(iter(requests(design, RELEASE)))
        return not has_room and self.ledger.receipt(request) is None


def _with_budget(design: Design, budget: Budget) -> Design:
    """The design of a first pass, for passes that spend another budget together."""
    if budget == design.total_budget:
        return design
    return replace(design, budget=pass_budget(budget, design.passes_left + 1), total_budget=budget)


def in_words(budget: Budget, stated: Budget) -> str:
    """A budget as text, in the words in which the ledger's budget was stated."""
    if budget.rho is None or not stated.delta:
        return str(budget)
    epsilon = budget.as_epsilon(stated.delta)
    return f"epsilon={epsilon:.4g} at delta={stated.delta:g} ({budget})"


def require_release(ledger: Ledger, design: Design) -> None:
    """Fails unless the ledger can pay for the release of a study that is new."""
    used = [name for name in requests(design, RELEASE) if ledger.receipt(name) is not None]
    if used:
        raise StateError(
            f"the ledger in this database has a request {used[0]!r} already, which is the study's: "
            "choose another database."
        )
    require_room(ledger, design, RELEASE)
