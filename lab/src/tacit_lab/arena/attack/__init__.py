"""The attack on whole learners: is a claim of privacy too good to be true?

For each private learner many short studies are run on two neighbouring data sets, from fresh seeds.
The attacker knows all but one person, sees what others see, chooses on some studies where to look,
and counts on the rest. What comes out is a lower bound on epsilon that holds with stated
confidence. It proves that a claim is wrong, never that one is right.

| file            | what it has                                                       |
|-----------------|-------------------------------------------------------------------|
| `neighbours.py` | pairs of data sets that differ in one round                       |
| `views.py`      | what others see of a study                                        |
| `studies.py`    | many short studies of one learner                                 |
| `attack.py`     | where to look, how often it tells, and what that proves           |
| `table.py`      | the findings on disk                                              |

The bounds are those of `tacit.audit`.
"""

from tacit_lab.arena.attack.attack import Attack, Effort, attack, usual_effort
from tacit_lab.arena.attack.table import read_attacks, write_attack

__all__ = ["Attack", "Effort", "attack", "read_attacks", "usual_effort", "write_attack"]
