"""What the tasks of a pass sent back."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from protosieve import _state
from protosieve.errors import InputError
from protosieve.spark._tasks import not_the_same, title_of


class Returned:
    """The values of all partitions, as the bytes they came in; one at a time is made a value again.

    `InputError` where a partition sent one: the first in the order of the partitions.
    """

    def __init__(self, title: str, cells: pa.Table) -> None:
        self.title = title
        self._cells = cells.sort_by([("partition", "ascending"), ("piece", "ascending")])
        self._raise_first()
        self.digests: dict[int, bytes] = dict(zip(self._column("partition"), self._column("digest"), strict=True))

    def values(self) -> Iterator[tuple[int, Any]]:
        """Each partition's number and value, in their order."""
        numbers = self._cells.column("partition").to_numpy()
        for number in self.digests:
            first, last = np.searchsorted(numbers, [number, number + 1])
            pieces = self._cells.column("state").slice(first, last - first).to_pylist()
            yield number, _state.loads(b"".join(pieces), title_of(self.title, number))

    def check_all(self, numbers: Iterable[int]) -> None:
        """Every one of these partitions, which were there before."""
        missing = [number for number in numbers if number not in self.digests]
        if missing:
            raise not_the_same(title_of(self.title, missing[0]), "it is not there any more")

    def _raise_first(self) -> None:
        errors = [error for error in self._column("error") if error is not None]
        if errors:
            raise InputError(errors[0])

    def _column(self, name: str) -> list[Any]:
        found: list[Any] = self._cells.column(name).to_pylist()
        return found
