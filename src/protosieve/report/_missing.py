"""What the prototypes miss: criticisms among the sample."""

import warnings
from dataclasses import dataclass

import numpy as np

from protosieve._criticisms import criticisms
from protosieve._typing import Float64, Indices
from protosieve.errors import InputError, ProtosieveWarning
from protosieve.report._judge import thinned
from protosieve.report._material import Material

__all__ = ["Missed", "criticised", "criticism_sentence"]

_WANTED = 12
_POOL = 96  # the rows with the largest witness, of which those are taken that differ from each other
_MEAN = 4096
_WIDE = 256  # columns: beyond, as many rows are looked at as the mean has


@dataclass(frozen=True, eq=False)
class Missed:
    """Rows by their place in the sample, the signed witness of each, and among how many rows they were looked for."""

    places: Indices
    witness: Float64
    looked_at: int


def criticised(material: Material) -> Missed | None:
    """At most twelve rows of the sample.

    The witness is taken against the mean of at most 4,096 rows of the sample: O(sample 4,096 d). None without a
    sample or a kernel, and where every row is a prototype.
    """
    sample, result = material.sample, material.result
    if sample is None or result.kernel is None:
        return None
    some = thinned(np.arange(len(sample)), _MEAN)
    looked = some if sample.rows.shape[1] > _WIDE else np.arange(len(sample))
    wanted = min(_WANTED, len(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)  # the sentence says how many there are
        try:
            found = criticisms(result, sample.rows[looked], wanted, target=sample.rows[some], pool_size=_POOL)
        except InputError:  # every row is a prototype or the copy of one
            return None
    return Missed(looked[found.indices], found.witness, len(looked))


def criticism_sentence(found: Missed) -> str:
    """What they are, and whether there is too little or too much of them."""
    few, many = int((found.witness > 0).sum()), int((found.witness < 0).sum())
    one = len(found.places) == 1
    rows = "row" if one else f"{len(found.places):,} rows"
    said = f"The {rows} of {found.looked_at:,} that the prototypes explain worst{'' if one else ', chosen to differ'}."
    told = [f"{few:,} from where the data has more than the prototypes say"] * (few > 0)
    told += [f"{many:,} from where it has less"] * (many > 0)
    return f"{said} {'; '.join(told).capitalize()}." if told else said
