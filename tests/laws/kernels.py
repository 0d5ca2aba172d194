"""What every kernel promises."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import array_api_strict
import numpy as np
import pytest

from tacit import kernels
from tacit._typing import Floats
from tacit.kernels import Kernel
from tacit.kernels.against import against
from tacit.kernels.ard import lengthscales, spread, with_lengthscales
from tacit.kernels.slopes import with_slopes
from tacit.spec import dump, load


class KernelLaws:
    """Supply a `kernel` fixture; `points` and `has_spec` too, if the defaults do not suit it."""

    has_spec: ClassVar[bool] = True

    @pytest.fixture
    def kernel(self) -> Kernel:
        raise NotImplementedError("supply the kernel that must keep the laws")

    @pytest.fixture
    def points(self) -> Floats:
        """Points of the unit cube with everything that is awkward: corners, twins, near twins,
        labels."""
        rng = np.random.default_rng(0)
        scattered = rng.random((30, 3))
        labels = rng.integers(3, size=(10, 3)) / 2
        corners = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
        return np.vstack([scattered, scattered[:3], scattered[3:5] + 1e-7, labels, corners])

    def test_it_is_symmetric(self, kernel: Kernel, points: Floats) -> None:
        K = kernel(points, points)
        assert K.shape == (len(points), len(points))
        assert np.allclose(K, K.T, rtol=0, atol=1e-12)

    def test_it_is_positive_semidefinite(self, kernel: Kernel, points: Floats) -> None:
        K = kernel(points, points)
        assert np.linalg.eigvalsh((K + K.T) / 2).min() >= -1e-8

    def test_the_diagonal_is_that_of_the_matrix_and_at_most_one(
        self, kernel: Kernel, points: Floats
    ) -> None:
        diagonal = kernel.diagonal(points)
        assert diagonal.shape == (len(points),)
        assert np.allclose(diagonal, np.diag(kernel(points, points)), rtol=0, atol=1e-10)
        assert (diagonal <= 1 + 1e-12).all()
        assert (diagonal >= 0).all()

    def test_no_entry_exceeds_its_diagonals(self, kernel: Kernel, points: Floats) -> None:
        """Cauchy and Schwarz: k(a, b)^2 <= k(a, a) k(b, b)"""
        diagonal = kernel.diagonal(points)
        assert (kernel(points, points) ** 2 <= np.outer(diagonal, diagonal) + 1e-10).all()

    def test_every_entry_is_about_its_own_pair(self, kernel: Kernel, points: Floats) -> None:
        K = kernel(points, points[:7])
        assert K.shape == (len(points), 7)
        single = [[float(kernel(a[None], b[None])[0, 0]) for b in points[:7]] for a in points[:5]]
        assert np.allclose(K[:5], single, rtol=0, atol=1e-12)

    def test_arguments_are_left_alone(self, kernel: Kernel, points: Floats) -> None:
        before = points.copy()
        kernel(points, points)
        kernel.diagonal(points)
        assert np.array_equal(points, before)

    def test_any_standard_array_library_gives_the_same_numbers(
        self, kernel: Kernel, points: Floats
    ) -> None:
        A, B = (self.strict(rows) for rows in (points, points[:7]))
        assert np.allclose(self.plain(kernel(A, B)), kernel(points, points[:7]), rtol=0, atol=1e-12)
        assert np.allclose(
            self.plain(kernel.diagonal(A)), kernel.diagonal(points), rtol=0, atol=1e-12
        )

    def test_it_is_the_same_against_points_that_stay(self, kernel: Kernel, points: Floats) -> None:
        B = points[:7]
        of = against(kernel, B)
        K = kernel(points, B)
        for _ in range(2):  # nothing is left behind by the first call,
            found = of(points)
            assert np.allclose(found, K, rtol=0, atol=1e-12)
            found *= 0.0  # nor by whoever overwrites what it returned
        assert np.allclose(of(points[3:4]), K[3:4], rtol=0, atol=1e-12)
        strict = against(kernel, self.strict(B))(self.strict(points))
        assert np.allclose(self.plain(strict), K, rtol=0, atol=1e-12)

    def test_single_precision_stays_single(self, kernel: Kernel, points: Floats) -> None:
        A = points.astype(np.float32)
        K = kernel(A, A)
        assert K.dtype == kernel.diagonal(A).dtype == np.float32
        assert np.allclose(K[:30, :30], kernel(points, points)[:30, :30], rtol=0, atol=1e-3)

    def test_its_slopes_are_those_of_the_matrix(self, kernel: Kernel, points: Floats) -> None:
        """d sum(W k) / d log lengthscale, against a small step to both sides."""
        own = spread(kernel, points.shape[1])
        step = 1e-5
        W = np.random.default_rng(1).normal(size=(len(points), len(points)))
        W += W.T
        K, slopes = with_slopes(own, points)
        assert np.allclose(K, own(points, points), rtol=0, atol=1e-12)
        scales = np.array(lengthscales(own))
        found = slopes(W)
        assert len(found) == len(scales)
        for j, slope in enumerate(found):
            move = np.exp(step * (np.arange(len(scales)) == j))
            up, down = (
                with_lengthscales(own, list(scales * m))(points, points) for m in (move, 1 / move)
            )
            assert slope == pytest.approx(np.vdot(W, up - down) / (2 * step), rel=1e-4, abs=1e-3)

    def test_spec_describes_the_same_kernel(self, kernel: Kernel, points: Floats) -> None:
        if not self.has_spec:
            pytest.skip("holds a function, which no file can")
        twin = load(json.loads(json.dumps(dump(kernel))), kernels.REGISTRY, "kernel")
        assert twin == kernel
        assert np.array_equal(twin(points, points), kernel(points, points))
        assert np.array_equal(twin.diagonal(points), kernel.diagonal(points))

    @staticmethod
    def strict(rows: Floats) -> Any:
        return array_api_strict.asarray(rows)

    @staticmethod
    def plain(array: Any) -> Floats:
        assert type(array).__module__.startswith("array_api_strict")
        return np.asarray(array)
