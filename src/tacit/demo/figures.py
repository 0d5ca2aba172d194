"""The report's figures. They show released numbers and fresh simulated patients, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.demo import patients as people
from tacit.demo.patients import Patients
from tacit.demo.study import NORMAL_95, DemoResult
from tacit.report.canvas import ACCENT, HIGH, INK, LOW, MIDDLE, MUTED, OTHER, PAPER, blank

GENES = dict(zip(people.VKORC1, (HIGH, MIDDLE, LOW), strict=True))
SHOWN = 600  # patients in a scatter
AGES = np.linspace(30.0, 89.9, 600)
WEIGHTS = np.linspace(45.0, 130.0, 86)


@dataclass(frozen=True)
class Example:
    """One patient to look at closely."""

    title: str
    age: float
    height: float
    weight: float
    vkorc1: str
    cyp2c9: str

    def columns(self, n: int = 1, **changes: Any) -> Patients:
        """This patient `n` times over, with some columns replaced."""
        names = ("age", "height", "weight", "vkorc1", "cyp2c9")
        columns = {name: getattr(self, name) for name in names} | changes
        return {name: np.broadcast_to(np.asarray(value), (n,)) for name, value in columns.items()}


EXAMPLES = (
    Example("Needs much", 48, 182, 98, "G/G", "*1/*1"),
    Example("Needs a usual dose", 63, 168, 76, "A/G", "*1/*1"),
    Example("Needs little", 78, 158, 58, "A/A", "*1/*3"),
)
TYPICAL = EXAMPLES[1]


def comparison(result: DemoResult) -> Any:
    """Mean reward of each way of dosing, with 95 % intervals."""
    figure = blank(8.4, 2.7)
    _bars(figure.subplots(), result)
    return figure


def agreement(result: DemoResult) -> Any:
    """The learned dose against the formula's, and against the dose that proved right."""
    figure = blank(8.4, 3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    _scatter(left, result, result.tested.formula, "The formula's dose, mg/week")
    _scatter(right, result, result.tested.right, "The dose that proved right, mg/week")
    left.set_title("Learned dose and formula")
    right.set_title("Learned dose and truth")
    left.set_ylabel("The policy's dose, mg/week")
    _legend_of_genes(figure)
    return figure


def doses(result: DemoResult) -> Any:
    """The dose across age, weight and the second gene, by genotype: the policy and the formula."""
    figure = blank(8.4, 4.0)
    by_age, by_weight, by_gene = figure.subplots(1, 3, sharey=True)
    _dose_lines(by_age, result, "age", AGES, "Age, years")
    _dose_lines(by_weight, result, "weight", WEIGHTS, "Weight, kg")
    _dose_marks(by_gene, result)
    by_age.set_ylabel("Dose, mg/week")
    for axes, title in (
        (by_age, "By age"),
        (by_weight, "By weight"),
        (by_gene, "By the gene CYP2C9"),
    ):
        axes.set_title(title)
    _legend_of_lines(figure)
    return figure


def curves(result: DemoResult) -> Any:
    """What the policy believes about three patients: the reward of every dose, and how sure it
    is."""
    figure = blank(8.4, 4.3)
    for axes, example in zip(figure.subplots(1, 3, sharey=True), EXAMPLES, strict=True):
        _curve(axes, result, example)
    figure.axes[0].set_ylabel("Reward")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    return figure


def picture(result: DemoResult) -> Any:
    """Bars and dose curves side by side, for a page that has room for one image."""
    figure = blank(10.4, 3.9)
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.0])
    _bars(left, result, short=True)
    left.set_title(f"Reward on fresh patients, {result.rounds:,} rounds, ε = {result.epsilon:g}")
    _dose_lines(right, result, "age", AGES, "Age, years")
    right.set_title("Weekly dose by age and VKORC1 genotype")
    right.set_ylabel("Dose, mg/week")
    ends = _apart([float(_learned(result, "age", AGES[-1:], gene)[0]) for gene in GENES], gap=4.0)
    for (gene, colour), end in zip(GENES.items(), ends, strict=True):
        right.annotate(
            gene,
            (AGES[-1], end),
            (6, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            weight="bold",
        )
    handles = _line_handles()[-2:]
    right.legend(handles=handles, loc="upper right", fontsize=9)
    return figure


# -- axes -----------------------------------------------------------------------------------------


def _bars(axes: Any, result: DemoResult, short: bool = False) -> None:
    fixed = f"Best fixed dose ({result.best_fixed_dose:g} mg)"
    label = "Mean reward on fresh patients (1 is the right dose for everyone)"
    if short:
        fixed = fixed.replace(" (", "\n(")
        label = "Mean reward"
    rows = [
        ("Random doses", result.uniform, OTHER),
        (fixed, result.best_fixed, OTHER),
        ("Private policy", result.private, ACCENT),
        ("Published formula", result.formula, OTHER),
    ][::-1]
    for y, (_, way, colour) in enumerate(rows):
        axes.barh(y, way.reward, height=0.62, color=colour)
        axes.errorbar(
            way.reward, y, xerr=way.margin, color=INK, capsize=3, linewidth=1.1, capthick=1.1
        )
        strong = "bold" if way is result.private else "normal"
        at = way.reward + way.margin
        axes.annotate(
            f"{way.reward:.3f}",
            (at, y),
            (7, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            weight=strong,
        )
    axes.set_yticks(range(len(rows)), [row[0] for row in rows], color=INK)
    axes.set_xlim(0.0, max(row[1].reward for row in rows) * 1.16)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _scatter(axes: Any, result: DemoResult, against: Floats, label: str) -> None:
    shown = slice(0, SHOWN)
    wide = people.LARGEST_DOSE
    high = 70.0
    axes.plot([0, wide], [0, wide], color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
    for gene, colour in GENES.items():
        own = result.tested.patients["vkorc1"][shown] == gene
        axes.scatter(
            against[shown][own],
            result.tested.chosen[shown][own],
            s=11,
            color=colour,
            alpha=0.55,
            linewidth=0,
        )
    axes.set(xlim=(0, wide), ylim=(0, high), xlabel=label)
    axes.set_xticks(range(0, 101, 20))
    axes.set_yticks(range(0, 61, 20))
    axes.set_box_aspect(high / wide)


def _dose_lines(axes: Any, result: DemoResult, column: str, values: Floats, label: str) -> None:
    for gene, colour in GENES.items():
        axes.plot(values, _learned(result, column, values, gene), color=colour, linewidth=2.2)
        formula = people.formula_dose(TYPICAL.columns(len(values), **{column: values}, vkorc1=gene))
        axes.plot(values, formula, color=colour, linewidth=1.1, linestyle=(0, (3, 2)))
    axes.set(xlabel=label, ylim=(0, 70), xlim=(values[0], values[-1]))


def _dose_marks(axes: Any, result: DemoResult) -> None:
    levels = list(people.CYP2C9)
    x = np.arange(len(levels))
    for gene, colour in GENES.items():
        asked = TYPICAL.columns(len(levels), vkorc1=gene, cyp2c9=levels)
        axes.plot(x, result.policy.decide(asked)["dose"], "o", color=colour, markersize=6)
        axes.plot(
            x, people.formula_dose(asked), "_", color=colour, markersize=12, markeredgewidth=1.6
        )
    axes.set_xticks(x, [level.replace("/", "\n") for level in levels])
    axes.set(xlim=(-0.6, len(levels) - 0.4), xlabel="Genotype (the last three are rare)")
    axes.grid(visible=False, axis="x")


def _curve(axes: Any, result: DemoResult, example: Example) -> None:
    dose = np.linspace(0.0, people.LARGEST_DOSE, 201)
    mean = np.asarray(result.policy.mean({"dose": dose}, example.columns(len(dose))))
    band = NORMAL_95 * np.asarray(result.policy.std({"dose": dose}, example.columns(len(dose))))
    patient = example.columns()
    chosen = float(result.policy.decide(patient)["dose"][0])
    formula = float(people.formula_dose(patient)[0])
    axes.fill_between(
        dose, mean - band, mean + band, color=ACCENT, alpha=0.16, linewidth=0, label="95 % band"
    )
    axes.plot(dose, mean, color=ACCENT, linewidth=2.2, label="Learned reward")
    axes.plot(
        dose,
        _true_reward(example, dose),
        color=MUTED,
        linewidth=1.2,
        linestyle=(0, (3, 2)),
        label="True reward",
    )
    top = float(np.interp(chosen, dose, mean))
    axes.plot(
        [chosen],
        [top],
        "o",
        color=ACCENT,
        markersize=7,
        markeredgecolor=PAPER,
        label="The policy's choice",
    )
    axes.set_title(example.title, pad=50)
    about = (
        f"{example.age:g} years, {example.height:g} cm, {example.weight:g} kg\n"
        f"{example.vkorc1}, {example.cyp2c9}\n"
        f"policy {chosen:.0f} mg, formula {formula:.0f} mg"
    )
    axes.text(
        0.0,
        1.03,
        about,
        transform=axes.transAxes,
        va="bottom",
        fontsize=8.5,
        color=MUTED,
        linespacing=1.35,
    )
    axes.set(xlabel="Dose, mg/week", xlim=(0, 100), ylim=(-0.3, 1.1))
    axes.set_xticks(range(0, 100, 20))


def _learned(result: DemoResult, column: str, values: Floats, gene: str) -> Floats:
    asked = TYPICAL.columns(len(values), **{column: values}, vkorc1=gene)
    return np.asarray(result.policy.decide(asked)["dose"])


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights for labels: from the lowest up, each at least `gap` above the one before."""
    placed = dict.fromkeys(range(len(heights)), 0.0)
    floor = -np.inf
    for i in np.argsort(heights).tolist():
        floor = max(heights[i], floor + gap)
        placed[i] = floor
    return list(placed.values())


def _true_reward(example: Example, dose: Floats) -> Floats:
    """The expected reward of each dose for such a patient, over 2000 draws of the right dose."""
    right = people.right_dose(example.columns(2000), np.random.default_rng(0))
    return np.array([people.reward(x, right).mean() for x in dose])


# -- legends --------------------------------------------------------------------------------------


def _line_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    genes = [
        Line2D([], [], color=colour, linewidth=2.2, label=f"VKORC1 {gene}")
        for gene, colour in GENES.items()
    ]
    policy = Line2D([], [], color=MUTED, linewidth=2.2, label="private policy")
    formula = Line2D([], [], color=MUTED, linewidth=1.1, linestyle=(0, (3, 2)), label="formula")
    return [*genes, policy, formula]


def _legend_of_lines(figure: Any) -> None:
    figure.legend(handles=_line_handles(), loc="outside lower center", ncols=5, fontsize=9)


def _legend_of_genes(figure: Any) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=colour, marker="o", linestyle="", markersize=5, label=f"VKORC1 {gene}")
        for gene, colour in GENES.items()
    ]
    equal = Line2D([], [], color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), label="equal doses")
    figure.legend(handles=[*marks, equal], loc="outside lower center", ncols=4, fontsize=9)


ALL: Sequence[Callable[[DemoResult], Any]] = (comparison, agreement, doses, curves)
