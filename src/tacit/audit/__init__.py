"""The audit: attacks on the shipped mechanisms, which would go through if their claims were wrong.
See docs/audit.md.

| file              | what it attacks or provides                                                  |
|-------------------|------------------------------------------------------------------------------|
| `bounds.py`       | what counts prove: Clopper-Pearson, in four kinds of privacy                 |
| `evidence.py`     | an event chosen on a quarter of the runs, counted on the others              |
| `contribution.py` | the bound on one record's, or one user's, integers                           |
| `reading.py`      | one odd record beside plain ones: does it change how they are read?          |
| `crowd.py`        | those plain records; `odd_cells.py`: the odd ones, and the kinds of tables   |
| `gaussian.py`     | the noise of a release, along one direction                                  |
| `selection.py`    | permute-and-flip, the exponential mechanism, many choices and their price    |
| `prices.py`       | prices and conversions against exact worst cases from `laws.py`              |
| `end_to_end.py`   | releases and choices through a real ledger                                   |
| `cohorts.py`      | two groups of people in one ledger                                           |
| `epochs.py`       | a whole study in two epochs                                                  |
| `released.py`     | the laws of released vectors and choices, as they were charged               |
| `samplers.py`     | the laws of the samplers                                                     |
| `randomness.py`   | whether noise can be repeated                                                |
| `study.py`        | a study's own kernel and clip                                                |
| `made_up.py`      | made-up studies and records; `ledger.py`: ledgers that are gone again        |
| `run.py`          | all of it, at some `settings.py`; `plot.py` draws the findings               |

The mechanism under attack is always an argument: tests pass broken ones and must see red.
"""

from tacit.audit.findings import Check, Finding
from tacit.audit.run import FULL, QUICK, Effort, Report, run_audit
from tacit.audit.settings import Settings

__all__ = ["Check", "Effort", "FULL", "Finding", "QUICK", "Report", "Settings", "run_audit"]
