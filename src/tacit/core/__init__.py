"""The trusted core: what the privacy guarantee rests on, and nothing else.

| file              | what it does                                                              |
|-------------------|---------------------------------------------------------------------------|
| `contribution.py` | one record becomes integers with an exact bound on their norm              |
| `sums.py`         | their int64 sum, which hides itself                                        |
| `noise.py`        | discrete Gaussian noise from OpenDP                                        |
| `budget.py`       | epsilon, delta, rho and the exchange rates between them                    |
| `ledger.py`       | budgets that cannot be spent twice, on `database.py`                       |
| `release.py`      | charge, then draw, then store, then return                                 |

It imports no kernel, no design, no linear algebra: those may be fast, approximate or wrong without
costing anybody's privacy.
"""

from tacit.core.budget import Budget, Guarantee
from tacit.core.contribution import Encoding
from tacit.core.ledger import Charge, Ledger
from tacit.core.release import Released, release_gaussian, simulate_gaussian
from tacit.core.sums import PrivateSum

__all__ = [
    "Budget",
    "Charge",
    "Encoding",
    "Guarantee",
    "Ledger",
    "PrivateSum",
    "Released",
    "release_gaussian",
    "simulate_gaussian",
]
