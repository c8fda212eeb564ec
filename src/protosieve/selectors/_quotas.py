"""One choice of rows that has at least so many, and at most so many, of each group."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Indices
from protosieve.errors import InputError, arg
from protosieve.sampling import SampledRows
from protosieve.selectors._beside import Beside
from protosieve.selectors._covering import Covering
from protosieve.selectors._matching import Matching
from protosieve.selectors._protobasic import Best
from protosieve.selectors._selector import Selection

_ROUNDS = 3  # of choosing the rows of one group beside those of all others


@dataclass(frozen=True, eq=False)
class Quotas:
    """The group of every candidate, as a number, and how many rows of each group are chosen at least and at most."""

    groups: NDArray[np.int64]
    names: list[str]
    least: NDArray[np.int64]
    most: NDArray[np.int64]

    def take(self, which: Indices) -> "Quotas":
        """The same of some candidates."""
        return replace(self, groups=self.groups[which])

    def counts(self, chosen: NDArray[np.int64], m: int) -> NDArray[np.int64]:
        """How many of each group, as near as can be to those that were ``chosen`` without quotas: as many in all, or
        more if quotas ask for more, but no more than ``m``.
        """
        there = np.bincount(self.groups, minlength=len(self.names))
        short = np.flatnonzero(there < self.least)
        if len(short):
            name, wanted, found = self.names[short[0]], self.least[short[0]], there[short[0]]
            raise InputError(
                f"{arg('quota')}: at least {wanted:,} of {name} are asked for, and {found:,} may be chosen; ask for "
                "fewer"
            )
        most = np.minimum(self.most, there)
        counts, wanted = np.clip(chosen, self.least, most), min(m, max(int(chosen.sum()), int(self.least.sum())))
        while counts.sum() > wanted:  # from the group that has most beside what it had
            share = (counts - chosen) / np.maximum(chosen, 1)
            counts[np.argmax(np.where(counts > self.least, share, -np.inf))] -= 1
        while counts.sum() < min(wanted, most.sum()):
            counts[np.argmax(np.where(counts < most, (chosen + 1) / (2 * counts + 1), -np.inf))] += 1
        return counts


def chosen_within(quotas: Quotas, by: Matching | Covering, drawn: SampledRows) -> Selection:
    """A choice without quotas says how many of each group; then each group chooses its own anew, beside those of all
    others, a few times over.
    """
    beside = by.beside or Beside(drawn.rows[:0], drawn.rows[:0])
    allowed = np.flatnonzero(beside.allowed(drawn.rows))
    drawn, quotas = drawn.take(allowed), quotas.take(allowed)
    free, m = by.chosen(drawn, Best.none(drawn.rows)), len(quotas.names)
    place = {number: at for at, number in enumerate(drawn.numbers.tolist())}
    of_free = np.array([place[number] for number in free.indices[free.indices >= 0].tolist()], np.intp)
    natural = np.bincount(quotas.groups[of_free], minlength=m)
    counts = quotas.counts(natural, by.m)
    if np.array_equal(counts, natural):
        return free
    chosen = [of_free[quotas.groups[of_free] == group][: counts[group]] for group in range(m)]
    for _ in range(_ROUNDS):
        before = [np.sort(rows) for rows in chosen]
        for group in np.argsort(-counts, kind="stable").tolist():
            others = np.concatenate([rows for at, rows in enumerate(chosen) if at != group])
            own = np.flatnonzero(quotas.groups == group)
            keep = np.concatenate([beside.keep, drawn.rows[others]])
            chosen[group] = _chosen_of(own, int(counts[group]), by, drawn, Beside(keep, beside.exclude))
        if all(map(np.array_equal, before, map(np.sort, chosen))):
            break
    rows = np.sort(np.concatenate(chosen))
    return Selection(drawn.numbers[rows], drawn.rows[rows], np.zeros(len(rows))).beside(beside.keep)


def _chosen_of(own: Indices, count: int, by: Matching | Covering, drawn: SampledRows, beside: Beside) -> Indices:
    """So many of a group's rows; where fewer add anything, the first of the others make up the number."""
    some = drawn.take(own)
    found = np.zeros(0, np.intp)
    if count and beside.allowed(some.rows).any():
        chosen = replace(by, m=count, beside=beside).chosen(some, Best.none(some.rows))
        found = own[np.isin(some.numbers, chosen.indices)]
    rest = own[~np.isin(own, found)]
    return np.concatenate([found, rest[: count - len(found)]])
