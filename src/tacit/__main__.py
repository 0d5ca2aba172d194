"""`python -m tacit`: the same as `tacit`."""

from __future__ import annotations

from tacit.cli import main

main()
