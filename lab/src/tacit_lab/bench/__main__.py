"""`python -m tacit_lab.bench`: `tacit bench --json` where there is no OpenDP, Arrow or Typer."""

from __future__ import annotations

import argparse
import json
import sys

from tacit_lab.bench.run import measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--points", type=int)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--growth-rank", type=int, default=100)
    parser.add_argument("--device")
    parser.add_argument("--no-peers", dest="compare", action="store_false")
    result = measure(**vars(parser.parse_args()))
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
