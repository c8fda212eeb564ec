"""The words that set the rows nearest to a prototype apart from all others."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import bdtrc

from protosieve._formatting import cut
from protosieve._typing import Float64
from protosieve.insight._result_with_data import ResultWithData

_MOST = 5
_LONGEST = 40  # characters
_FEWEST, _FREQUENT = 2, 0.05  # rows that have it, and of those around the prototype this share
_RISK = 0.05  # that any of the words around a prototype is there by chance


def words_of(subject: ResultWithData) -> list[list[str]]:
    """At most five for each prototype, what sets it apart most first; none where rows are not compared by texts.

    O(words of the sample), once it is known which prototype is nearest to each row.
    """
    result, sample = subject.result, subject.sample
    chosen = [list[str]() for _ in range(len(result))]
    if sample is None or result.encoding is None:
        return chosen
    found = result.encoding.words({name: sample.own.part(name) for name in sample.own.names})
    if found is None or (nearest := subject.nearest) is None:
        return chosen
    shape = len(result), len(found.spellings)
    counts = coo_array((np.ones(len(found.rows), np.int64), (nearest[found.rows], found.places)), shape).tocsr()
    different = np.diff(counts.indptr)
    which = np.repeat(np.arange(len(result)), different)
    sizes = np.bincount(nearest, minlength=len(result))[which]
    everywhere = counts.sum(axis=0)[counts.indices]
    scores = log_odds(counts.data, sizes, everywhere, len(nearest))
    # what as many rows drawn by chance would do, for each of so many words (Bonferroni)
    by_chance = different[which] * bdtrc(counts.data - 1, sizes, everywhere / len(nearest))
    apart = np.flatnonzero((by_chance < _RISK) & (counts.data >= np.maximum(_FEWEST, _FREQUENT * sizes)))
    for i in apart[np.lexsort((counts.indices[apart], -scores[apart]))].tolist():
        words, word = chosen[which[i]], cut(found.spellings[counts.indices[i]], _LONGEST)
        if len(words) < _MOST and not any(map(partial(_is_form, word), words)):
            words.append(word)
    return chosen


def _is_form(word: str, other: str) -> bool:
    """Whether one begins with the other, as forms of a word do in many languages.

    >>> _is_form("fonts", "Font"), _is_form("Go", "GOLD")
    (True, False)
    """
    short, long = sorted((word.lower(), other.lower()), key=len)
    return len(short) > 2 and long.startswith(short)


def log_odds(inside: NDArray[np.int64], size: NDArray[np.int64], everywhere: NDArray[np.int64], total: int) -> Float64:
    """By how many standard errors the odds of a word are larger inside than outside, by their logarithms.

    ``inside`` of ``size`` rows have it, and ``everywhere`` of ``total``. The prior is a row like all rows, so that a
    word of few rows is no sign (Monroe, Colaresi and Quinn, 2008, "Fightin' words", with rows in place of words). It is
    zero of a word that all rows have, and where all rows are inside.

    >>> log_odds(np.array([8, 8, 1]), np.array([10, 10, 10]), np.array([10, 800, 1]), 1000).round(1)
    array([7.3, 0. , 0.4])
    """
    prior = everywhere / total
    rest = 1 - prior
    with_it = np.stack([inside + prior, everywhere - inside + prior])
    without = np.stack([size - inside + rest, total - size - everywhere + inside + rest])
    with np.errstate(divide="ignore", invalid="ignore"):  # of a word that all rows have, which sets nothing apart
        odds = np.log(with_it) - np.log(without)
        scores = (odds[0] - odds[1]) / np.sqrt((1 / with_it + 1 / without).sum(axis=0))
    return np.asarray(np.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=0.0))
