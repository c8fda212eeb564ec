"""The rows that the prototypes explain worst, and which of them chance alone could have made."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64, Indices
from protosieve.errors import InputError
from protosieve.insight._criticisms import Critic, spread
from protosieve.insight._result_with_data import ResultWithData
from protosieve.insight._sample_judge import thinned
from protosieve.kernels import Kernel
from protosieve.objectives import Coverage

_WANTED = 12
_POOL = 96  # the rows with the largest witness, of which those are taken that differ from each other
_BLOCK = 512
_COVERED = 1e-4  # of a row's similarity to itself: what is missing to it is rounding, in rows of float32
_WIDE = 256  # columns: beyond, as many rows are looked at as the mean has
_RISK = 0.05  # that any of the rows looked at is taken for more than chance, where there is nothing but chance


@dataclass(frozen=True, eq=False)
class WorstRows:
    """Rows by their place in the sample, the signed witness of each, and among how many rows they were looked for.

    ``error`` is the standard error of each witness, whose mean is that of ``judges`` rows. Of prototypes that cover the
    data there is no witness but the ``similarity`` of each row to the nearest of them.
    """

    places: Indices
    witness: Float64
    error: Float64
    looked_at: int
    judges: int
    similarity: Float64 | None = None

    @property
    def limit(self) -> Float64:
        """What a witness may come to by chance: they are the largest of all looked at, so each gets its part of 5 %."""
        return np.asarray(self.error * -ndtri(_RISK / (2 * self.looked_at)))

    @property
    def within_chance(self) -> NDArray[np.bool_]:
        return np.asarray(np.abs(self.witness) < self.limit)


def worst_rows(subject: ResultWithData) -> WorstRows | None:
    """At most twelve rows of the sample.

    The witness is taken against the mean of the judge, at most 4,096 rows of the sample: O(sample 4,096 d). None
    without a sample or a kernel, and where every row is a prototype.
    """
    sample, kernel, judge = subject.sample, subject.result.kernel, subject.judge
    if sample is None or kernel is None or judge is None:
        return None
    if isinstance(judge.objective, Coverage):
        return _least_covered(subject, kernel)
    rows = sample.numbers if kernel.nonnegative else sample.numbers.astype(np.float64)
    looked = thinned(np.arange(len(sample)), len(judge)) if rows.shape[1] > _WIDE else np.arange(len(sample))
    critic = Critic(subject.result, kernel, judge.objective.mean, _POOL)
    try:
        with one_thread():
            for start in range(0, len(looked), _BLOCK):
                critic.look(rows[looked[start : start + _BLOCK]])
            found, _ = critic.choose(min(_WANTED, len(sample)))
    except InputError:  # every row is a prototype or the copy of one
        return None
    error = standard_errors(kernel, found.rows, judge.rows, subject.n_rows)
    return WorstRows(looked[found.indices], found.witness, error, len(looked), len(judge))


def _least_covered(subject: ResultWithData, kernel: Kernel) -> WorstRows | None:
    """The rows of the sample that are least similar to any prototype, and differ from each other."""
    sample, similarity = subject.sample, subject.similarity
    assert sample is not None
    assert similarity is not None
    exact = sample.numbers.astype(np.float64)
    with one_thread():
        full = kernel.diagonal(kernel.prepare(exact))
        left = full - similarity
        pool = np.argsort(-left, kind="stable")[:_POOL]
        pool = pool[left[pool] > _COVERED * full[pool]]
        places = pool[spread(kernel, exact[pool], left[pool], min(_WANTED, len(pool)), 1.0)]
    none = np.zeros(len(places))
    return WorstRows(places, none, none, len(sample), 0, similarity[places]) if len(places) else None


def standard_errors(kernel: Kernel, rows: Array, judges: Array, population: int) -> Float64:
    """Of the mean of ``k(x, y)`` over judges ``y`` that were drawn from a population, for each row ``x``; O(rows n d).

    They are drawn without replacement, so all of the population leaves no error.
    """
    n = len(judges)
    if n < 2 or n >= population:
        return np.zeros(len(rows))
    with one_thread():
        near = kernel.block(kernel.prepare(rows.astype(np.float64)), kernel.prepare(judges.astype(np.float64)))
    return np.asarray(near.std(axis=1, ddof=1) * np.sqrt((1 - n / population) / n))


def worst_rows_sentence(found: WorstRows) -> str:
    """What they are, whether there is too little or too much of them, and whether that is certain."""
    one = len(found.places) == 1
    if found.similarity is not None:
        rows = "row" if one else f"{len(found.places):,} rows"
        least, most = f"{found.similarity.min():.2g}", f"{found.similarity.max():.2g}"
        said = f"The {rows} of {found.looked_at:,} that the prototypes cover worst{'' if one else ', chosen to differ'}"
        return f"{said}: similarity to the nearest is {least}{'' if least == most else f' to {most}'}."
    rows = "row" if one else f"{len(found.places):,} rows"
    said = f"The {rows} of {found.looked_at:,} that the prototypes explain worst{'' if one else ', chosen to differ'}."
    return " ".join(filter(None, [said, _sides(found), _certainty(found)]))


def _sides(found: WorstRows) -> str:
    all_, few, many = len(found.places), int((found.witness > 0).sum()), int((found.witness < 0).sum())
    if all_ in (few, many):
        who = "It is" if all_ == 1 else f"All {all_:,} are"
        return f"{who} from where the data has {'more' if few else 'less'} than the prototypes say."
    told = [f"{few:,} {_are(few)} from where the data has more than the prototypes say"] * (few > 0)
    told += [f"{many:,} {_are(many)} from where it has less"] * (many > 0)
    return f"{', '.join(told)}." if told else ""


def _certainty(found: WorstRows) -> str:
    """Nothing where the mean is that of all rows."""
    all_, within = len(found.places), int(found.within_chance.sum())
    if not found.error.any():
        return ""
    judges = f"{found.judges:,} rows"
    if within == all_:
        who = "It is not certain" if all_ == 1 else "None of them is certain"
        return f"{who}: with {judges} differences below {found.limit.max():.2g} cannot be told from chance."
    if within == 0:
        return "It is beyond chance." if all_ == 1 else "All are beyond chance."
    beyond = all_ - within
    return f"{beyond:,} of the {all_:,} {_are(beyond)} beyond chance; {judges} cannot tell of the others."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
