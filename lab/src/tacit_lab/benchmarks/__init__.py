"""Studies and measurements, each a command: `python -m tacit_lab.benchmarks.NAME --help`."""
