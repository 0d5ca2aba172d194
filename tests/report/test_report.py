"""The report: one page about a policy that stands alone, is made of released numbers only, and says
what is true."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tacit
from helpers import BUDGET, build_design, records, small_design, sqlite
from tacit import Policy, Problem
from tacit._typing import Floats
from tacit.charts.formatting import clean, listed, number, percent
from tacit.domains import Ball, Box, Catalogue, Categories, Mixed, Simplex
from tacit.errors import InputError
from tacit.kernels import RBF, Categorical, Joint, Kernel, Linear, Matern, Product, Separable, Sum
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.policy.comparison import Comparer, Play
from tacit.policy.health import random_play
from tacit.policy.visitors import spread as spread_points
from tacit.report import Findings, guarantee, provenance, sentences, write_findings
from tacit.report.advantage import Comparison, baseline_play
from tacit.report.choices import Menu
from tacit.report.frames import Frame
from tacit.report.importance import columns, reward_at_stake
from tacit.report.page import render
from tacit.report.provenance import toml_lines
from tacit.report.rewards import three
from tacit.report.view import View

pytestmark = pytest.mark.usefixtures("coarse_fits")
FOREIGN = ("http", "src=", "@import", "<script", "<link", "<image", "<img")


def own_kernel(A: Any, B: Any) -> Any:
    squares = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.exp(-np.maximum(squares, 0.0))


PEOPLE = Box([18, 40], [95, 140], ["age", "weight"])
ITEMS = Catalogue(np.random.default_rng(0).random((20, 2)), [f"item {i}" for i in range(20)])
KINDS = {
    "one number, one context": Problem(Box([0.0], [9.0], ["price"]), Box([0.0], [60.0], ["days"])),
    "balls": Problem(Ball([0, 0], 1.0, ["u", "v"]), Ball([5, 5], 2.0, ["east", "north"]), RBF(0.8)),
    "shares": Problem(
        Simplex(3, ["tv", "web", "print"]),
        Mixed([Simplex(2, ["young", "old"]), Simplex(3, ["x", "y", "z"])]),
        RBF(0.8),
    ),
    "catalogue": Problem(ITEMS, PEOPLE, RBF(0.8), reward_range=(-10, 10)),
    "categories": Problem(
        Categories(["none", "one"], "copies"),
        Mixed([Categories(["p", "q", "r"], "kind"), Box([0.0], [1.0], ["load"])]),
        Separable(Categorical(0.2), RBF(0.6)),
    ),
    "numbers and labels": Problem(
        Mixed([Box([0.0], [1.0], ["dose"]), Categories(["oral", "iv"], "way")]),
        Mixed([PEOPLE, Catalogue([[0, 1], [1, 0], [1, 0]], ["a", "b", "c"], ["site"])]),
        RBF(0.8),
    ),
    "joint": Problem(Box([0.0], [1.0], ["dose"]), PEOPLE, Joint(Matern(2.5, 0.6))),
    "own kernel": Problem(Box([0.0], [1.0], ["dose"]), PEOPLE, own_kernel),
    "six contexts": Problem(
        Box([0.0], [1.0], ["dose"]),
        Box([0.0] * 6, [1.0] * 6, list("abcdef")),
        Separable(
            RBF(0.4), Sum((RBF(0.5).on("a", "b"), Linear().on("c"), RBF(0.7).on("d", "e", "f")))
        ),
        advantage=True,
    ),
}


def simulated(problem: Problem, n: int = 1500) -> Policy:
    """A policy from rewards that fall with the distance of the action from the first context."""
    rng = np.random.default_rng(1)
    design = build_design(
        problem, horizon=n, budget=BUDGET, rng=0, rank=20, tau=10.0, public_points=2000
    )
    points = problem.public_points(n, rng)
    d = problem.actions.dimension
    reward = 1.0 - 2.0 * np.abs(points[:, :d] - points[:, [d]]).mean(axis=1)
    statistic = design.statistic()
    statistic.add_points(points, reward)
    return statistic.simulate_release(np.random.default_rng(2))


@pytest.fixture(scope="module")
def policy() -> Policy:
    """Rewards that depend on the age and not on the weight. That is to be learned, for which
    coarse designs have too few points."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tacit.design.choices.POOL", 4096)
        monkeypatch.setattr("tacit.design.building.CLIP_POINTS", 8192)
        design = small_design(horizon=20_000, rank=40)
        return design.statistic().add(*records(20_000)).simulate_release(np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(policy: Policy) -> Findings:
    return Findings.of(policy)


@pytest.fixture(scope="module")
def page(found: Findings, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_findings(
        found, tmp_path_factory.mktemp("report") / "deep" / "report.html"
    ).read_text(encoding="utf-8")


def text_of(policy: Policy, folder: Path) -> str:
    path = folder / "deep" / "report.html"
    assert policy.report(str(path)) == path
    return path.read_text(encoding="utf-8")


# -- the page -------------------------------------------------------------------------------------


def again_from_a_file(policy: Policy, folder: Path, kernel: Any = None) -> Findings:
    found = Findings.of(Policy.load(policy.save(folder / "policy"), kernel=kernel))
    assert found.to_json() == Findings.of(policy).to_json()
    return found


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"joint", "own kernel"}))
def test_the_page_is_a_function_of_the_saved_policy_and_stands_alone(
    kind: str, tmp_path: Path
) -> None:
    policy = simulated(KINDS[kind])
    found = again_from_a_file(policy, tmp_path)
    made = write_findings(found, tmp_path / "report.html").read_text(encoding="utf-8")
    if kind == "categories":  # drawing takes its time
        assert text_of(policy, tmp_path) == made
    assert not [foreign for foreign in FOREIGN if foreign in made]
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', made))
    assert "$" not in made  # every blank was filled in
    assert not re.search(r"\bnan\b", made)
    for axis in (*found.view.actions.axes, *found.view.contexts.axes):
        assert axis.title in made


@pytest.mark.parametrize(("kind", "kernel"), [("joint", None), ("own kernel", own_kernel)])
def test_so_are_the_findings_whatever_the_kernel(kind: str, kernel: Any, tmp_path: Path) -> None:
    """Without drawing them: pages of other kernels look the same."""
    again_from_a_file(simulated(KINDS[kind]), tmp_path, kernel)


def test_the_page_would_show_another_number_in_the_policy(
    policy: Policy, page: str, tmp_path: Path
) -> None:
    other = replace(
        policy, posterior=replace(policy.posterior, weights=1.01 * policy.posterior.weights)
    )
    assert text_of(other, tmp_path) != page


def test_drawings_are_whole_and_have_a_text_for_those_who_cannot_see_them(page: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) == page.count("<figcaption>") == 8
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert len(root.get("aria-label") or "") > 20
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(#|href="#)([^")]*)', page)) <= set(ids)


def test_a_simulation_is_marked_loudly(page: str) -> None:
    assert "<title>NOT PRIVATE" in page
    assert '<div class="alarm" role="alert"><strong>NOT PRIVATE</strong>' in page
    assert "@top-right" in page  # on every printed sheet
    assert "<th>Private</th><td>NO</td>" in page
    assert "joint differential privacy per record" not in page


def test_a_private_policy_shows_its_guarantee_and_receipt(tmp_path: Path) -> None:
    ledger = tacit.Ledger.create(sqlite(tmp_path), BUDGET)
    policy = (
        small_design(rank=10)
        .statistic()
        .add(*records(500))
        .release(ledger=ledger, request="study 1")
    )
    made = text_of(policy, tmp_path)
    assert "NOT PRIVATE" not in made
    assert "not private" not in made
    assert str(policy.guarantee).replace("'", "&#x27;") in made
    assert policy.receipt is not None
    for part in (policy.receipt["ledger"], "study 1", "number 1", "docs/guarantee.md", ">500<"):
        assert str(part) in made


def test_words_of_the_guarantee_are_its_numbers(policy: Policy) -> None:
    # docs/guarantee.md: at epsilon = 1 and delta = 1e-6 the odds grow 2.718-fold, and 73 % are 55 %
    # for a policy
    private = replace(policy, guarantee=replace(policy.guarantee, private=True))
    said = " ".join(guarantee.meaning(private))
    for part in ("any one round in", "at most 2.72 times", "1 in 1,000,000", "at most 54.7 %"):
        assert part in said
    assert "is not private" in guarantee.meaning(policy)[0]
    whole = replace(private, guarantee=replace(private.guarantee, unit="user"))
    assert "any one person, with all of their rounds," in guarantee.meaning(whole)[0]


def test_names_and_labels_cannot_become_markup(tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>"
    odd = [evil, "$x$ & y", "\\1 \x00 {0}", "剤型", "n\nn" * 40]
    problem = Problem(
        Categories(odd, 'a"b'),
        Mixed([Box([0.0], [1.0], ["<b>"]), Categories(odd, "c&d")]),
        RBF(0.8),
    )
    made = text_of(simulated(problem), tmp_path)
    assert "<script" not in made
    assert "<b>?" not in made
    for shown in ("&lt;script&gt;", "$x$ &amp; y", "剤型", "&lt;b&gt;", "c&amp;d"):
        assert shown in made
    for drawing in re.findall(r"<svg.*?</svg>", made, flags=re.DOTALL):
        ElementTree.fromstring(drawing)


def test_the_page_needs_no_matplotlib(
    found: Findings, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    again = write_findings(found, tmp_path / "report.html").read_text(encoding="utf-8")
    assert again == page


def test_a_kernel_that_cannot_be_written_down_is_no_obstacle(policy: Policy) -> None:
    problem = replace(policy.problem, kernel=Separable(tacit.kernels.Custom(own_kernel), RBF(0.5)))
    with pytest.raises(InputError):
        problem.spec()
    assert "cannot be written down" in provenance.problem_text(replace(policy, problem=problem))


# -- what it says ---------------------------------------------------------------------------------


def test_the_context_that_matters_comes_first_and_the_other_hardly_matters(
    found: Findings, page: str
) -> None:
    assert [importance.axis.name for importance in found.importances] == ["age", "weight"]
    assert [importance.axis.name for importance in found.negligible] == ["weight"]
    assert "<b>age matters most</b>" in page
    assert "Of hardly any consequence: weight." in page
    dose = found.view.actions.axes[0]
    # The right dose falls by 38.5 from the youngest to the oldest.
    assert found.importances[0].action_change(dose) == pytest.approx(38.5, abs=8)
    assert found.importances[1].action_change(dose) < 8


def test_the_stake_is_what_the_value_of_somebody_else_costs() -> None:
    """With one context: against a loop over all pairs of people."""
    policy = simulated(KINDS["one number, one context"])
    people = np.linspace(0.0, 1.0, 12)[:, None]
    view = View(replace(policy, visitors=people))
    chosen = view.decide(people)
    costs = []
    for own in people:
        right = view.mean(view.decide(own[None]), own[None])
        costs.append(right - view.mean(chosen, np.repeat(own[None], len(people), axis=0)))
    expected = float(np.mean(costs))
    axis = view.contexts.axes[0]
    measured = reward_at_stake(view, axis, 400)
    assert measured == pytest.approx(expected, rel=0.03)
    assert measured > 0.05


def test_what_matters_is_what_matters_to_the_people_who_came(policy: Policy) -> None:
    """The right dose falls with age. To people of one age it does not matter."""
    rng = np.random.default_rng(5)
    people = rng.random((300, 2))
    found = Findings.of(replace(policy, visitors=people))
    assert found.importances[0].axis.name == "age"
    people[:, 0] = 0.5
    same_age = Findings.of(replace(policy, visitors=people))
    stakes = {each.axis.name: each.reward_at_stake for each in same_age.importances}
    assert stakes["age"] == 0.0
    assert same_age.importances[0].axis.name == "weight"
    dose = found.view.actions.axes[0]
    assert np.ptp(same_age.drawn(dose)) < 0.5 * np.ptp(found.drawn(dose))


def test_the_page_says_whom_it_is_about(policy: Policy, page: str, tmp_path: Path) -> None:
    assert policy.visitors is None  # a plain design counts nobody
    assert "the people in the data" not in page
    assert "evenly drawn contexts" in page
    counted = replace(policy, visitors=np.random.default_rng(0).random((200, 2)))
    made = text_of(counted, tmp_path)
    assert "of the people in the data" in made
    assert "Black bars along the axes" in made
    assert "Black bars along the axes" not in page
    assert "evenly drawn contexts" not in made


def test_a_policy_that_treats_everybody_alike_says_so(policy: Policy) -> None:
    flat = replace(
        policy, posterior=replace(policy.posterior, weights=0.0 * policy.posterior.weights)
    )
    assert "No context matters much" in sentences.what_matters(Findings.of(flat))


def test_a_page_about_advantages_shows_the_policys_own() -> None:
    policy = simulated(KINDS["six contexts"])
    view = View(policy)
    rng = np.random.default_rng(3)
    X = policy.problem.actions.sample_points(20, rng)
    C = policy.problem.contexts.sample_points(20, rng)
    at = (policy.problem.actions.decode(X), policy.problem.contexts.decode(C))
    assert view.quantity == "advantage"
    assert np.allclose(view.mean(X, C), policy.advantage(*at), atol=1e-9)
    assert np.allclose(view.std(X, C), policy.advantage_std(*at), atol=1e-6)
    assert not np.allclose(view.mean(X, C), policy.mean(*at), atol=0.1)


def test_mean_and_deviation_are_the_policys_own(policy: Policy) -> None:
    view = View(policy)
    rng = np.random.default_rng(3)
    X = policy.problem.actions.sample_points(50, rng)
    C = policy.problem.contexts.sample_points(50, rng)
    doses = policy.problem.actions.decode(X)
    people = policy.problem.contexts.decode(C)
    assert np.allclose(view.mean(X, C), policy.mean(doses, people), atol=1e-9)
    assert np.allclose(view.std(X, C), policy.std(doses, people), atol=1e-6)


def dense_advantage(
    view: View, C: Floats, X: Floats, correlated: bool = True
) -> tuple[Floats, Floats, float, float]:
    """The same from the whole posterior covariance of every point: v k(w, w') - k_U(w) reduction
    k_U(w')'."""
    p = view.policy.posterior
    k = p.kernel
    others = random_play(view.policy).actions
    W = np.vstack(
        [
            np.hstack([np.vstack([x, others]), np.tile(c, (len(others) + 1, 1))])
            for x, c in zip(X, C, strict=True)
        ]
    )
    h = np.array([1.0] + [-1.0 / len(others)] * len(others))
    H = np.kron(np.eye(len(C)), h)
    k_U = k(W, p.landmarks)
    covariance = p.scale * k(W, W) - k_U @ p.reduction @ k_U.T
    if not correlated:
        covariance = np.diag(np.diag(covariance))
    law = H @ covariance @ H.T
    mean = H @ k_U @ p.weights
    unit = view.half_range
    return (
        mean * unit,
        np.sqrt(np.diag(law)) * unit,
        float(mean.mean()) * unit,
        float(np.sqrt(law.mean())) * unit,
    )


@pytest.mark.parametrize("kind", ["balls", "joint", "catalogue"])
def test_the_advantage_is_that_of_the_whole_posterior(kind: str) -> None:
    view = View(simulated(KINDS[kind]))
    C = spread_points(view.policy.problem.contexts, 6)
    X = view.decide(C)
    over = Comparer(view.policy.posterior, C, view.half_range)
    measured = over.compare(Play.of_each(X), random_play(view.policy))
    dense = dense_advantage(view, C, X)
    assert np.allclose(measured.mean, dense[0], atol=1e-9)
    assert np.allclose(measured.std, dense[1], rtol=1e-4)
    assert (measured.average, measured.average_std) == pytest.approx(dense[2:], rel=1e-4)
    # Forgetting that rewards of near points go together would be seen.
    forgetful = dense_advantage(view, C, X, correlated=False)
    assert not np.allclose(measured.std, forgetful[1], rtol=0.05)


def test_a_policy_that_learned_is_sure_and_one_that_did_not_is_not(found: Findings) -> None:
    assert found.advantage.share_sure > 0.95
    assert found.advantage.average > 10 * found.advantage.average_std > 0
    assert np.all(
        (found.advantage.probability_better > 0.9)
        == (found.advantage.mean > 1.2816 * found.advantage.std)
    )
    p = found.policy.posterior
    nothing = replace(
        found.policy, posterior=replace(p, weights=0.0 * p.weights, reduction=0.0 * p.reduction)
    )
    assert Findings.of(nothing).advantage.share_sure == 0.0


KERNELS = [
    Matern(2.5, 0.3),
    Joint(RBF([0.1, 0.2, 0.3])),
    Separable(RBF(0.4), Sum((RBF(0.5).on("weight"), RBF(0.6)))),
    Separable(Linear(), Product((Categorical(0.5).on("age"), Matern(1.5, 0.5).on("weight")))),
]


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_lengthscale_is_of_the_column_that_it_is_said_to_be(kernel: Kernel) -> None:
    k = spread(Problem(Box([0.0], [1.0], ["dose"]), PEOPLE, kernel).k, 3)
    scales = lengthscales(k)
    at = list(columns(k, range(3)))
    assert len(scales) == len(at)
    middle = np.full((1, 3), 0.6)
    for i, column in enumerate(at):
        longer = [scale * (2.0 if j == i else 1.0) for j, scale in enumerate(scales)]
        for moved in range(3):
            point = middle.copy()
            point[0, moved] = 0.3
            changed = (
                abs(with_lengthscales(k, longer)(middle, point) - k(middle, point))[0, 0] > 1e-6
            )
            assert changed == (moved == column)


def test_lengthscales_are_named_as_the_problem_names_them(found: Findings) -> None:
    assert [(scale.name, scale.action) for scale in found.inverse_lengthscales] == [
        ("dose", True),
        ("age", False),
        ("weight", False),
    ]
    assert [scale.design for scale in found.inverse_lengthscales] == [2.0, 2.0, 2.0]
    assert [1 / scale.found for scale in found.inverse_lengthscales] == pytest.approx(
        found.policy.posterior.lengthscales
    )
    # two features of one name
    catalogue = Findings.of(simulated(KINDS["catalogue"])).inverse_lengthscales
    assert [scale.name for scale in catalogue] == ["item", "age", "weight"]
    assert Findings.of(simulated(KINDS["own kernel"])).inverse_lengthscales == []


# -- whom figures are about -----------------------------------------------------------------------


class Sick(View):
    """Treats those whose columns add up to more than two; the middle of all ranges adds up to 4."""

    def decide(self, C: Floats) -> Floats:
        menu = self.policy.problem.actions.candidate_points(2)
        return menu[(C.sum(axis=1) > 2.0).astype(int)]


@pytest.fixture(scope="module")
def eight_columns() -> Findings:
    """Two arms and eight columns with long tails: most people are far below the middle."""
    problem = Problem(
        Categories(["none", "treat"], "arm"),
        Box([0.0] * 8, [100.0] * 8, [f"c{i}" for i in range(8)]),
        Separable(Categorical(0.2), RBF(0.8)),
    )
    people = np.random.default_rng(3).beta(1.0, 4.0, (300, 8))
    found = Findings.of(replace(simulated(problem), visitors=people))
    return replace(found, view=Sick(found.policy))


def test_curves_are_over_people_and_not_in_the_middle_where_nobody_is(
    eight_columns: Findings,
) -> None:
    """In the middle of the ranges all are treated, whichever column moves."""
    view = eight_columns.view
    middle, _ = view.contexts.place(
        view.contexts.middle, (view.contexts.axes[0], np.linspace(0, 1, 9)[:, None])
    )
    arm = view.actions.axes[0]
    assert set(arm.values(view.decide(middle))) == {1.0}
    people = view.people[: view.detail.averaged]
    for curve in eight_columns.curves:
        at = curve.ruler.axis.columns.start
        menu = Menu.of(arm, np.array([0.0, 1.0]))
        shares = menu.shares(curve.values(arm))
        assert np.allclose(shares.sum(axis=0), 100.0)
        rest = people.sum(axis=1) - people[:, at]
        for place, share in zip(curve.ruler.places[::10, 0], shares[1, ::10], strict=True):
            assert share == pytest.approx(100.0 * np.mean(rest + place > 2.0))
        assert shares[1, 0] < 40.0 < 60.0 < shares[1, -1]


def test_maps_hold_what_does_not_move_as_for_somebody_typical(eight_columns: Findings) -> None:
    people = eight_columns.policy.visitors
    assert people is not None
    typical = eight_columns.view.typical
    assert (people == typical).all(axis=1).any()
    medians = np.median(people, axis=0)
    off = np.abs(people - medians).sum(axis=1)
    assert np.abs(typical - medians).sum() < np.quantile(off, 0.05)
    still = [importance.axis.columns.start for importance in eight_columns.importances[2:]]
    plane = eight_columns.plane.contexts
    assert np.array_equal(plane[:, still], np.repeat(typical[:, still], len(plane), axis=0))
    said = sentences.typical(eight_columns)
    assert f"typical visitor: c0 {eight_columns.view.contexts.axes[0].says(typical[0, :1])}" in said
    assert "nobody" in said
    assert eight_columns.to_json()["typical_context"]["c0"] == pytest.approx(100 * typical[0, 0])
    moving = [importance.axis for importance in eight_columns.importances[:1]]
    assert "as for the typical visitor." in sentences.holding(eight_columns, moving)


def test_without_people_maps_hold_the_middle_and_say_so(found: Findings, page: str) -> None:
    assert np.array_equal(found.view.typical, found.view.contexts.middle)
    said = (
        "in the middle of their ranges, since nothing is known of the records' contexts: age 56.5"
    )
    assert said in page
    assert "typical visitor" not in page


def test_slices_are_where_people_are(policy: Policy, found: Findings) -> None:
    assert three(found).places[:, 0].tolist() == [0.1, 0.5, 0.9]
    people = np.random.default_rng(0).random((400, 2)) ** 3
    among = three(Findings.of(replace(policy, visitors=people)))
    at = among.axis.columns
    assert np.allclose(among.places, np.quantile(people[:, at], [0.1, 0.5, 0.9], axis=0), atol=0.02)


def test_somebody_typical_has_the_commonest_labels_and_may_lack_what_most_lack() -> None:
    domain = Mixed.of(
        age=(18, 95),
        stage=["i", "ii", "iii"],
        dose=tacit.Range(0, 10, missing="indicator"),
        load=tacit.Range(0, 10, missing="indicator"),
    )
    n = 200
    rng = np.random.default_rng(0)
    columns = {
        "age": rng.uniform(18, 95, n),
        "stage": np.where(rng.random(n) < 0.6, "iii", "i"),
        "dose": np.where(rng.random(n) < 0.9, np.nan, 5.0),
        "load": np.where(rng.random(n) < 0.3, np.nan, rng.uniform(0, 2, n)),
    }
    points = domain.encode(domain.read(columns).columns)
    frame = Frame.of(domain)
    typical = frame.typical(points)
    assert (points == typical).all(axis=1).any()
    said = {axis.name: axis.says_of(typical[0]) for axis in frame.axes}
    assert said["stage"] == "stage iii"
    assert said["dose"] == "dose missing"
    assert "missing" not in said["load"]
    assert float(domain.decode(typical)["load"][0]) == pytest.approx(1.0, abs=0.3)
    dose = next(axis for axis in frame.axes if axis.name == "dose")
    moved, _ = frame.place(typical, (dose, np.array([[0.25]])))
    assert domain.decode(moved)["dose"].tolist() == [2.5]


# -- points and words -----------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [Simplex(4), Ball([0.0, 1.0, 2.0], 3.0)])
def test_what_is_held_stays_and_the_rest_gives_way(domain: tacit.Simplex | tacit.Ball) -> None:
    frame = Frame.of(domain)
    base = domain.sample_points(200, np.random.default_rng(4))
    for axis in frame.axes[:2]:
        for place in (0.0, 0.3, 1.0):
            points, inside = frame.place(base, (axis, np.full((200, 1), place)))
            assert inside.all()
            assert np.allclose(points[:, axis.columns], place)
            assert np.allclose(domain.project_points(points), points, atol=1e-9)
    corner = [(axis, np.full((1, 1), 1.0)) for axis in frame.axes[:2]]
    assert not frame.place(frame.middle, *corner)[1].any()


def test_the_middle_is_what_a_policy_takes_a_missing_context_for() -> None:
    problem = KINDS["numbers and labels"]
    table = problem.contexts.read({"age": [None], "weight": [np.nan], "site": ["nowhere"]})
    assert np.array_equal(problem.context_points(table), Frame.of(problem.contexts).middle)


def test_the_problem_is_shown_as_toml() -> None:
    for problem in KINDS.values():
        spec = problem.spec()
        if len(getattr(problem.actions, "labels", ())) <= 12:
            assert tomllib.loads("\n".join(toml_lines(spec))) == spec
    assert "# 20 in all" in "\n".join(toml_lines(KINDS["catalogue"].spec()))


def test_numbers_and_lists_read_well() -> None:
    assert [number(v, 77.0) for v in (56.5, 18.0, -3.25)] == ["56.5", "18", "−3.2"]
    assert [number(v, 1.0) for v in (0.0739, -0.0001, 1.0)] == ["0.07", "0", "1"]
    assert number(30.0, 20.0, trim=False) == "30.0"
    assert [number(12345.6, 1e5), number(1e-7, 1e-6), number(1e12, 1e11)] == [
        "12,346",
        "1e-07".replace("-", "−"),
        "1e+12",
    ]
    assert [listed("a"), listed("ab"), listed("abc")] == ["a", "a and b", "a, b and c"]
    assert [percent(v) for v in (0.0, 0.001, 0.5, 0.999, 1.0)] == [
        "0 %",
        "less than 1 %",
        "50 %",
        "more than 99 %",
        "100 %",
    ]
    assert clean("a\tb\x00\n c") == "a b c"
    assert len(clean("x" * 99)) == 28


def test_the_page_says_how_many_releases_it_took(policy: Policy, found: Findings) -> None:
    assert "through one release of" in sentences.lead(found)
    twice = Findings.of(replace(policy, facts=policy.facts | {"passes": 2}))
    assert "through two releases of" in sentences.lead(twice)


# -- comparisons ----------------------------------------------------------------------------------


def test_gains_are_those_of_the_health(found: Findings) -> None:
    health = found.policy.health()
    measured = found.gains
    assert health.gain_over_random == (
        measured.over_random.average,
        measured.over_random.average_std,
    )
    assert health.gain_over_fixed == (measured.over_fixed.average, measured.over_fixed.average_std)
    assert found.to_json()["health"]["verdict"] == health.verdict == "ok"


def test_the_best_fixed_action_is_better_than_all_others(found: Findings) -> None:
    view = found.view
    C = view.people

    def value(x: Floats) -> float:
        return float(view.mean(np.repeat(x[None], len(C), axis=0), C).mean())

    tried = [value(x) for x in np.linspace(0.0, 1.0, 101)[:, None]]
    assert value(found.gains.fixed[0]) >= max(tried) - 1e-6
    expected = float(view.mean(view.chosen, C).mean()) - max(tried)
    assert found.gains.over_fixed.average == pytest.approx(expected, abs=1e-3)
    # Everybody's right dose is 90 - age / 2, so the best for all is in the middle of them.
    assert found.fixed["dose"] == pytest.approx(62, abs=6)


def test_a_baseline_may_be_a_policy_an_action_or_a_function(policy: Policy) -> None:
    def gained(baseline: Any) -> Comparison:
        measured = Findings.of(policy, baseline).gains.over_baseline
        assert measured is not None
        return measured

    itself = gained(policy)
    assert abs(itself.average) < 1e-12
    assert itself.average_std < 1e-6
    found = Findings.of(policy)
    fixed = gained(found.fixed)
    assert fixed.average == pytest.approx(found.gains.over_fixed.average)
    assert gained([found.fixed["dose"]]).average == pytest.approx(fixed.average)
    right = gained(lambda people: {"dose": 90 - people["age"] / 2})
    assert abs(right.average) < 0.02 < fixed.average
    assert gained(lambda people: 100 - people["age"]).average > right.average


def test_a_baseline_that_cannot_be_read_is_refused(policy: Policy) -> None:
    C = View(policy).people
    with pytest.raises(InputError, match="missing or unknown: dose must be"):
        baseline_play(policy, {"dose": "plenty"}, C)
    with pytest.raises(InputError, match="one action for each of 512 contexts"):
        baseline_play(policy, lambda people: [[1.0], [2.0]], C)
    with pytest.raises(InputError, match="dose"):
        baseline_play(policy, {"amount": 3.0}, C)


def test_the_page_shows_the_comparisons(policy: Policy, found: Findings, page: str) -> None:
    assert f"The best fixed action is {sentences.fixed_action(found)}" in page
    assert "stated baseline" not in page
    said = " ".join(sentences.in_short(Findings.of(policy, {"dose": 0.0})))
    assert "Compared with the stated baseline" in said


def test_a_bad_verdict_stands_before_the_headline(policy: Policy, page: str) -> None:
    assert "Verdict: ok." in page
    flat = replace(
        policy, posterior=replace(policy.posterior, weights=0.0 * policy.posterior.weights)
    )
    said = render(Findings.of(flat))
    assert "<strong>NOTHING LEARNED</strong>" not in page
    alarm = said.index('<div class="alarm" role="alert"><strong>NOTHING LEARNED</strong>')
    assert alarm < said.index("<h1>")
    assert "promises a gain even where there is none (verdict: nothing learned)" in said
    assert not said[said.index("<main>") + len("<main>") : alarm].strip()


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            {"play_check": {"contradicted": True}},
            "it would rest on a play that the released counts contradict (verdict: play "
            "contradicted)",
        ),
        (
            {"usable": {"share": 0.1, "std": 0.01}},
            "it would be about the few records that could be read (verdict: no usable records)",
        ),
    ],
)
def test_what_a_bad_verdict_contradicts_is_not_stated(
    policy: Policy, page: str, facts: dict[str, Any], says: str
) -> None:
    """The numbers are those of a policy that is sure of itself."""
    stated = ("at least 95\N{NO-BREAK SPACE}% sure", "The best fixed action is", "matters most</b>")
    assert all(statement in page for statement in stated)
    found = Findings.of(replace(policy, facts=policy.facts | facts))
    assert found.advantage.share_sure > 0.9
    said = render(found)
    assert not any(statement in said for statement in stated)
    assert said.count(says) == 3  # in short, how sure it is, which context matters
    assert "That is not to be relied on" in said
    assert "That is not to be relied on" not in page
