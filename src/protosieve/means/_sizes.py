"""How many rows a calibrated mean works with: its sample, the candidates in it, its points."""

from protosieve.sampling import SampledRows, UniformSample

__all__ = ["candidates_in", "candidates_of", "judging_for", "points_for", "sample_for"]

# So many for each prototype, between two bounds (measured: docs/means.md).
_POINTS = 4, 1024, 3072
_CANDIDATES = 256, 8192, 32768
_JUDGING = 40, 2048, 32768
_NUMBERS = 2**25  # in a sample at most: some hundred megabytes
_HELD_OUT = 4  # for so many candidates one row is held out


def _for(n_prototypes: int, rule: tuple[int, int, int]) -> int:
    each, least, most = rule
    return min(max(each * int(n_prototypes), least), most)


def points_for(n_prototypes: int) -> int:
    """How many points at most: the mean they express should be finer than what the prototypes leave of it.

    P random rows leave about as much of the mean as P / 4 prototypes do; and a Cholesky factor of P columns must not
    hold up a stream.
    """
    return _for(n_prototypes, _POINTS)


def sample_for(n_prototypes: int, width: int) -> int:
    """How many rows of so many columns: those that may be chosen, and those held out."""
    candidates = min(_for(n_prototypes, _CANDIDATES), max(_CANDIDATES[1] // 2, _NUMBERS // width))
    return candidates + candidates // _HELD_OUT


def candidates_in(sample: int) -> int:
    """How many rows of a sample of this size may be chosen."""
    return sample - sample // (_HELD_OUT + 1)


def candidates_of(sample: UniformSample) -> SampledRows:
    """The rows of a sample that may be chosen: all that came, or all that are not held out."""
    sample = sample.settled()
    return sample.held if sample.is_whole else sample.held.take(slice(candidates_in(sample.size)))


def judging_for(n_prototypes: int) -> int:
    """How many rows of the sample candidates are judged by."""
    return _for(n_prototypes, _JUDGING)
