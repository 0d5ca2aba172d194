"""One line about each environment."""

from __future__ import annotations

from tacit_lab.arena.environments.pooled import COLUMNS
from tacit_lab.arena.environments.rkhs import KERNELS, SIZES

FORMULA = {
    "matern12": "Matern-1/2",
    "matern32": "Matern-3/2",
    "matern52": "Matern-5/2",
    "rbf": "squared exponential",
}
FIXED = "one action is best for everybody"


def _of_kernel(kernel: str, actions: int, contexts: int) -> str:
    lengthscale, bumps = SIZES[actions, contexts]
    plural = "s" if contexts > 1 else ""
    return (
        f"a function of a known {FORMULA[kernel]} kernel, lengthscale {lengthscale:g}, "
        f"{bumps} bumps; {actions} action and {contexts} context dimension{plural}"
    )


def _pooled(columns: int, kind: str) -> str:
    rewards = "rewards of -1 or 1" if kind else "continuous rewards"
    return f"one action that matters, {columns} columns of which few matter, and little; {rewards}"


ABOUT: dict[str, str] = (
    {
        f"{kernel}-{actions}+{contexts}": _of_kernel(kernel, actions, contexts)
        for actions, contexts in SIZES
        for kernel in KERNELS
    }
    | {
        f"pooled-1+{columns}{kind}": _pooled(columns, kind)
        for columns in COLUMNS
        for kind in ("", "-binary")
    }
    | {
        "branin": "Branin: action x1, context x2",
        "hartmann4": "Hartmann-4: actions 3 and 4, contexts 1 and 2, as in the USCA paper's figure",
        "hartmann6": "Hartmann-6: actions 5 and 6, contexts 1 to 4",
        "ackley": f"Ackley in 4 dimensions: actions 1 and 2, contexts 3 and 4; {FIXED}",
        "levy": f"Levy in 4 dimensions: actions 1 and 2, contexts 3 and 4; {FIXED}",
        "bump": f"the Bump of Zenati et al. 2022: 1 action, 5 context dimensions; {FIXED}",
        "dosing": "weekly warfarin dose of simulated patients, by the IWPC formula",
        "pricing": "personalised prices: shoppers buy or do not, the reward is the revenue",
        "catalogue": "60 items with features, visitors click or do not",
        "features-33+4": "300 items with 33 features, of which few count; visitors click or do not",
        "diabetes": "442 real patients: a number near the progression of their disease",
        "wine": "178 real wines, 13 columns: which of three cultivars?",
        "cancer": "569 real tumours, 30 columns: malignant or benign?",
        "digits": "1797 real images in 16 columns: which digit?",
        "warfarin": "weekly warfarin dose of the real IWPC patients (needs --data)",
        "jester": "90 jokes, real ratings of Jester's visitors (needs --data)",
    }
)
