"""`python -m tacit_lab.arena.worker`: reads a job per line as JSON and answers with its row, until
nobody asks."""

from __future__ import annotations

import json
import sys

from tacit_lab.arena.job import Job, attempt

READY = "ready"


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a learner prints is no answer
    # the clock of the first job starts here, not with Python
    print(READY, file=answers, flush=True)
    for line in sys.stdin:
        row = attempt(Job(**json.loads(line)))
        answers.write(json.dumps(row) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
