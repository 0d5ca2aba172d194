"""`python -m tacit_lab.bench`: `tacit bench --json` for machines without OpenDP, Arrow and Typer."""

from __future__ import annotations

import argparse
import json
import sys

from tacit_lab.bench.run import measure

parser = argparse.ArgumentParser(description=__doc__)
for name, default in (
    ("rank", 1000),
    ("rows", 100_000),
    ("points", None),
    ("most", 1_000_000),
    ("growth-rank", 100),
):
    parser.add_argument(f"--{name}", type=int, default=default)
parser.add_argument("--device")
parser.add_argument("--no-peers", dest="compare", action="store_false")
given = vars(parser.parse_args())
sys.stdout.write(
    json.dumps(measure(given.pop("rank"), given.pop("rows"), **given), indent=2) + "\n"
)
