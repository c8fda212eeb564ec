"""Where the prototypes of a run over files or tables come from."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64

OURS = ("row", "file", "weight", "share")  # the first columns of a result's table, before the user's own


@dataclass(frozen=True, eq=False)
class DataSample:
    """A uniform random sample of the rows that prototypes represent, for the report and the plots.

    Attributes
    ----------
    indices : array of int
        Row numbers in ascending order: in the target where there is one, else in the input.
    rows : array of shape (n, d)
        The rows as numbers, encoded as those of the prototypes are.
    table : pyarrow.Table, or None
        The rows as they stand in their files, with all columns under the users' own names.
    n_rows : int
        How many rows it is a sample of.
    is_target : bool
        Whether these are rows of a target rather than of the input.
    folders : tuple of str
        The folders of the files it was drawn from, where a caller named these.
    """

    indices: NDArray[np.int64]
    rows: Array
    table: Any
    n_rows: int
    is_target: bool
    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.indices, self.rows):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"DataSample({len(self):,} of {self.n_rows:,} rows of the {'target' if self.is_target else 'input'})"


@dataclass(frozen=True, eq=False)
class Origin:
    """What only the result of a run over files or tables knows.

    Attributes
    ----------
    shares : array of float64
        How much of the target is nearest to each prototype.
    table : pyarrow.Table
        The prototypes as they stand in their files, with all columns, beside ``row``, ``file``, ``weight`` and
        ``share``, and the index of a pandas frame they come from.
    encoding : Encoding
        How the columns of files became the numbers in ``rows``; ``encoding.encode(frame)`` does it to new rows.
    provenance : mapping
        Command, version, parameters, files and figures of the run, as they are written to its output.
    sample : DataSample, or None
        Some of the rows the prototypes represent, drawn at random, with all of their columns; none in a result that
        was read from a file.
    folders : tuple of str
        Those of the files that the run was given, and the working folder: a report may show pictures that lie there.
        Empty in a result that was read from a file, which is not trusted to name folders.
    """

    shares: Float64
    table: Any
    encoding: Any
    provenance: Mapping[str, Any]
    sample: DataSample | None = None
    folders: tuple[str, ...] = ()


def free_name(name: str, taken: Container[str], prefix: str = "input_") -> str:
    """The name, or where it is taken the first with so many prefixes that is not.

    >>> free_name("row", ["row", "input_row"]), free_name("x", ["row"])
    ('input_input_row', 'x')
    """
    while name in taken:
        name = prefix + name
    return name


def own_names(names: Sequence[str], renamed: Mapping[str, str]) -> dict[int, str]:
    """The users' columns by their place in a result's table: one called like a column of ours was ``renamed`` there.

    >>> own_names(["row", "file", "weight", "share", "input_row", "x"], {"row": "input_row"})
    {4: 'row', 5: 'x'}

    So it is with those of groups, which stand further on.
    """
    back = {new: name for name, new in renamed.items()}
    has_ours = tuple(names[: len(OURS)]) == OURS
    return {
        i: back.get(names[i], names[i])
        for i in range(len(OURS) if has_ours else 0, len(names))
        if names[i] not in renamed
    }
