"""The trusted core: what the privacy guarantee rests on, and nothing else.

| file              | what it does                                                               |
|-------------------|----------------------------------------------------------------------------|
| `contribution.py` | one record becomes integers with an exact bound on their norm              |
| `sums.py`         | their int64 sum, which hides itself                                        |
| `saved.py`        | the same as arrays, for files and machines that are as trusted as the data |
| `noise.py`        | discrete Gaussian noise from OpenDP                                        |
| `selection.py`    | one candidate by exact integer scores and OpenDP's noisy max               |
| `events.py`       | what a release is, and its price as an exact rational                      |
| `budget.py`       | epsilon, delta, rho and the conversions between them                       |
| `curve.py`        | the exact curve of Gaussian releases; `search.py` inverts it               |
| `cohorts.py`      | groups of people, each with a budget of its own                            |
| `parts.py`        | the people of a log in two groups, by a keyed hash                         |
| `ledger.py`       | budgets that cannot be spent twice, in `accounts.py`, on `database.py`     |
| `release.py`      | charge, then draw, then store, then return                                 |

It imports no kernel, no design, no linear algebra: those may be fast, approximate or wrong without
costing anybody's privacy.
"""

from tacit.core.accounts import Account
from tacit.core.budget import Budget, Guarantee
from tacit.core.cohorts import Cohort
from tacit.core.contribution import Encoding
from tacit.core.ledger import Charge, Ledger, as_ledger
from tacit.core.parts import Part
from tacit.core.release import Released, release_event, release_gaussian, simulate_gaussian
from tacit.core.selection import integer_weights, release_choice
from tacit.core.sums import PrivateSum, private_sum

__all__ = [
    "Account",
    "Budget",
    "Charge",
    "Cohort",
    "Encoding",
    "Guarantee",
    "Ledger",
    "Part",
    "PrivateSum",
    "Released",
    "as_ledger",
    "integer_weights",
    "private_sum",
    "release_choice",
    "release_event",
    "release_gaussian",
    "simulate_gaussian",
]
