"""Other ways to do the same work, timed in the same run on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit._typing import Floats
from tacit.design import Design
from tacit.numerics.engine import NUMPY
from tacit_lab.bench import work

PAPER_ROUNDS = 200


def peers(rank: int, rows: int) -> list[dict[str, Any]]:
    """Microseconds a row, and how many times as long as Tacit's statistic. What is not installed is
    left out."""
    design = work.design(rank, rows, 4096, NUMPY)
    pieces = list(work.records(rows, NUMPY))
    points = np.concatenate([piece for piece, _ in pieces])
    y = np.concatenate([rewards for _, rewards in pieces])
    ours = work.seconds(lambda: design.statistic().add_points(points, y), 2) / rows
    found = [
        {
            "peer": "tacit statistic",
            "rows": rows,
            "rank": rank,
            "us_per_row": 1e6 * ours,
            "times_tacit": 1.0,
        }
    ]
    for name, time in (
        ("scikit-learn Nystroem + Ridge", _sklearn),
        ("GPyTorch sparse GP, one pass", _gpytorch),
        ("tacit.paper (USCA as published)", _paper),
    ):
        timed = time(design, points, y, rank)
        if timed is not None:
            n, seconds = timed
            row = {"peer": name, "rows": n, "rank": rank, "us_per_row": 1e6 * seconds / n}
            found.append(row | {"times_tacit": seconds / n / ours})
    return found


def _sklearn(design: Design, points: Floats, y: Floats, rank: int) -> tuple[int, float] | None:
    """Features of an RBF kernel on as many random landmarks, then ridge regression on them: one
    batch fit."""
    try:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
    except ImportError:
        return None

    def fit() -> None:
        features = Nystroem(kernel="rbf", gamma=5.0, n_components=rank, random_state=0)
        Ridge(alpha=10.0, solver="cholesky").fit(features.fit_transform(points), y)

    return len(points), work.seconds(fit)


def _gpytorch(design: Design, points: Floats, y: Floats, rank: int) -> tuple[int, float] | None:
    """One epoch of a variational sparse GP with as many inducing points."""
    try:
        import gpytorch
        import torch
    except ImportError:
        return None
    few = min(len(points), 8192)
    X = torch.as_tensor(points[:few])
    Y = torch.as_tensor(y[:few])

    class Sparse(gpytorch.models.ApproximateGP):  # type: ignore[misc]
        def __init__(self) -> None:
            law = gpytorch.variational.CholeskyVariationalDistribution(rank)
            super().__init__(gpytorch.variational.VariationalStrategy(self, X[:rank].clone(), law))
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5))

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    def epoch() -> None:
        model = Sparse().double()
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        objective = gpytorch.mlls.VariationalELBO(likelihood, model, few)
        steps = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
        for start in range(0, few, 1024):
            steps.zero_grad()
            loss = -objective(model(X[start : start + 1024]), Y[start : start + 1024])
            loss.backward()
            steps.step()

    return few, work.seconds(epoch)


def _paper(design: Design, points: Floats, y: Floats, rank: int) -> tuple[int, float] | None:
    """The published formula factors a matrix with T^2 / gamma_T rows: only a small T can be had at
    all."""
    from tacit.paper import Estimator, approximation_points, maximal_information_gain

    rng = np.random.default_rng(0)
    problem = design.problem
    n = min(PAPER_ROUNDS, len(points))
    gamma = maximal_information_gain(problem.k, problem.public_points(2000, rng), n, 1.0)

    def fit() -> None:
        K, Z = approximation_points(problem, n, gamma, rng)
        Estimator(problem.k, Z, K, 1.0).add(points[:n], y[:n])

    return n, work.seconds(fit)
