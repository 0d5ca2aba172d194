"""Studies and measurements: `python -m tacit_lab.benchmarks.NAME --help`.

Every module is such a command but `pages` (tables in documentation pages), `odd_values` and
`odd_problems` (what `adversarial` is made of).
"""
