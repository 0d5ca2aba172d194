"""One line about each environment."""

from __future__ import annotations

from tacit_lab.arena.environments.rkhs import KERNELS, SIZES

FORMULA = {
    "matern12": "Matern-1/2",
    "matern32": "Matern-3/2",
    "matern52": "Matern-5/2",
    "rbf": "squared exponential",
}
ABOUT: dict[str, str] = {
    f"{kernel}-{x}+{c}": (
        f"a function of a known {FORMULA[kernel]} kernel, lengthscale {SIZES[x, c][0]:g}, "
        f"{SIZES[x, c][1]} bumps; "
        f"{x} action and {c} context dimension{'s' if c > 1 else ''}"
    )
    for x, c in SIZES
    for kernel in KERNELS
} | {
    "branin": "Branin: action x1, context x2",
    "hartmann4": "Hartmann-4: actions 3 and 4, contexts 1 and 2, as in the USCA paper's figure",
    "hartmann6": "Hartmann-6: actions 5 and 6, contexts 1 to 4",
    "ackley": "Ackley in 4 dimensions: actions 1 and 2, contexts 3 and 4; one action is best for everybody",
    "levy": "Levy in 4 dimensions: actions 1 and 2, contexts 3 and 4; one action is best for everybody",
    "bump": "the Bump of Zenati et al. 2022: 1 action, 5 context dimensions; one action is best for everybody",
    "dosing": "weekly warfarin dose of simulated patients, by the IWPC formula",
    "pricing": "personalised prices: shoppers buy or do not, the reward is the revenue",
    "catalogue": "60 items with features, visitors click or do not",
    "warfarin": "weekly warfarin dose of the real IWPC patients (needs --data)",
    "jester": "90 jokes, real ratings of Jester's visitors (needs --data)",
}
