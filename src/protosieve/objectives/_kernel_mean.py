"""The kernel mean objective: match the mean embedding of the target."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from protosieve._state import storable
from protosieve._threads import ahead_of
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Kernel
from protosieve.means import Calibrated, FixedMean, MeanState, Sampled
from protosieve.objectives._base import Block, Need, Objective, Weighed
from protosieve.weights import NonNegativeQP, free_weights

_BLOCK = 512


@storable
@dataclass(eq=False)
class KernelMean(Objective):
    """``l(w) = w'mu - w'K w / 2``: ``K`` is the kernel between members, ``mu`` their mean similarity to the target.

    With the norm of the kernel's space, ``2 l(w) = |mu|^2 - |mu - sum_i w_i phi_i|^2``: maximising ``l`` minimises the
    maximum mean discrepancy (MMD) between the target and the weighted prototypes, and ``|mu|^2 / 2`` bounds every
    selection of any size.
    """

    offers: ClassVar[tuple[Need, ...]] = (Need.VALUES, Need.GRADIENTS, Need.EXCHANGES)
    pull_means: ClassVar[str] = "mean similarity to the target"

    kernel: Kernel
    mean: MeanState
    signed: bool = False  # only where something else than a mean is matched, as least squares are
    rule: Kernel | None = None  # the kernel as it was given, if the stream's sample may resolve it anew

    def fade(self, half_life: int) -> None:
        """Before the first row: let those of the stream weigh half as much after so many more."""
        self.mean.fade(half_life)

    def whole(self) -> None:
        return None

    def remedy(self) -> str:
        if self.kernel.nonnegative:
            return "All rows are too far from the target for this width: choose a larger one"
        return "Do not centre the rows, or use MultiScale()"

    def describe(self) -> str:
        return repr(self.kernel)

    @property
    def in_threads(self) -> bool:
        return self.kernel.in_threads and self.mean.in_threads

    def rows_ahead(self) -> int:
        return self.mean.rows_ahead()

    def observe(self, block: Block) -> None:
        self.mean.observe(block.rows, np.arange(block.first, block.first + len(block)), block.sums)

    def refresh(self) -> bool:
        """Where the rows so far have another median distance than those the width was learnt from, as where a stream
        is sorted, the width follows.
        """
        sample = self.mean.stream_sample()
        if self.rule is not None and sample is not None:
            kernel = self.rule.resolve_anew(sample.settled().rows, self.kernel)
            if kernel is not self.kernel:
                self.kernel = kernel
                self.mean.change_kernel(kernel)
        return self.mean.refresh()

    def at_zero(self, rows: Array) -> Float64:
        return self.mean.at(self.kernel.prepare(rows))

    def sampled(self) -> Sampled | None:
        return self.mean.sampled()

    def own(self) -> None:
        self.mean.own()

    def fixed_over(self, rows: Array) -> FixedMean | None:
        return self.mean if isinstance(self.mean, FixedMean) and self.mean.rows is rows else None

    def block(self, first: int, rows: Array) -> Block:
        """O(B size_of_mean d) for B rows."""
        with np.errstate(all="ignore"):
            points = self.kernel.prepare(rows)
            mu, sums = self.mean.meet(points)
            diagonal = self.kernel.diagonal(points).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(mu + diagonal))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"row {first + row}: its similarity to the target under {self.kernel!r} is {mu[row]}, to itself "
                f"{diagonal[row]}; scale the columns or choose a width that {rows.dtype} can hold"
            )
        wrong = np.flatnonzero((diagonal < 0) | ((diagonal == 0) & (mu != 0)))
        if len(wrong):
            row = int(wrong[0])
            raise InputError(
                f"row {first + row}: its similarity to itself under {self.kernel!r} is {diagonal[row]:g}, to the "
                f"target {mu[row]:g}; no kernel does that. A distance d becomes one as exp(-d)"
            )
        return Block(first, rows, points, mu, diagonal, self.signed, sums)

    def for_sample(self, rows: Array, population: int) -> "KernelMean":
        """The objective for a target of which these rows are a uniform sample. O(rows^2 d) for its bound."""
        return KernelMean(self.kernel, FixedMean.over(self.kernel, rows, population))

    def for_rows(self) -> "KernelMean":
        """A calibrated mean judges rows by its points, without the sample."""
        return replace(self, mean=self.mean.quick) if isinstance(self.mean, Calibrated) else self

    def weigh(self, rows: Array, start: Float64) -> Weighed:
        """O(q^2 d + q size_of_mean d + q^3)."""
        gram, mu = self.exact(rows)
        if self.signed:
            return Weighed(*free_weights(gram, mu))
        qp = NonNegativeQP.from_gram(gram, mu, start)
        return Weighed(qp.weights, qp.value)

    def singles(self, block: Block) -> Float64:
        """The root of ``mu^2 / (2 k_jj)``."""
        return np.asarray(np.maximum(block.mu, 0.0) / np.sqrt(2 * np.where(block.diagonal > 0, block.diagonal, np.inf)))

    def weighed(self, rows: Array, weights: Float64) -> Weighed:
        """Rows at given weights."""
        gram, mu = self.exact(rows)
        return Weighed(weights, float(weights @ mu - weights @ gram @ weights / 2))

    def exact(self, rows: Array) -> tuple[Float64, Float64]:
        """Gram matrix and means of rows in float64, whatever their dtype; O(q^2 d + q size_of_mean d)."""
        return self.gram(rows), self.mean.exactly_at(self.kernel.prepare(rows.astype(np.float64)))

    def means(self, rows: Array) -> Float64:
        """The means of many rows in their own dtype, well enough to choose from them; O(n size_of_mean d)."""
        known = self.mean.at_candidates(rows)
        if known is not None:
            return known
        starts = range(0, len(rows), _BLOCK)

        def at(start: int) -> Float64:
            return self.mean.at(self.kernel.prepare(rows[start : start + _BLOCK]))

        return np.concatenate([np.zeros(0), *ahead_of(at, starts, in_threads=self.in_threads)])

    def gram(self, rows: Array) -> Float64:
        points = self.kernel.prepare(rows.astype(np.float64))
        K = self.kernel.block(points, points)
        K = (K + K.T) / 2
        np.fill_diagonal(K, self.kernel.diagonal(points))
        return K

    def upper_bound(self, step: int) -> float:
        """``|mu|^2 / 2``: no weights on any number of rows give more."""
        return self.mean.squared_norm(step) / 2

    def running_bound(self, step: int) -> float:
        return self.mean.judged_norm(step) / 2

    def moving_bound(self, step: int) -> float | None:
        return None if self.mean.is_fixed else self.running_bound(step)
