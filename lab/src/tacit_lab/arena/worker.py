"""`python -m tacit_lab.arena.worker`: reads a job per line as JSON and answers with its row, until
nobody asks."""

from __future__ import annotations

import json
import sys

from tacit_lab.arena.job import Job, attempt

READY = "ready"


def main() -> None:
    # what a learner prints is no answer
    answers = sys.stdout
    sys.stdout = sys.stderr
    print(
        READY, file=answers, flush=True
    )  # the clock of the first job starts here, not with Python
    for line in sys.stdin:
        row = attempt(Job(**json.loads(line)))
        answers.write(json.dumps(row) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
