"""What every file is, whatever its format: rows in pieces, from any row on, and rows that cannot be used."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve.errors import InputError, arg

__all__ = ["BadRow", "BadRows", "Piece", "Source"]


@dataclass(frozen=True)
class Piece:
    """Some rows of one file, in their order.

    ``table`` has the columns asked for, as the file has them; cells of text formats without types (CSV) are text.
    ``numbers`` are the rows' numbers in the file, from 0, headers not counted; there are gaps where rows were skipped.
    """

    table: pa.Table
    numbers: NDArray[np.int64]
    bytes_read: int  # of the file so far, as stored: for progress


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used, and why."""

    file: str
    number: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.number}: {self.problem}"


@dataclass
class BadRows:
    """What happens to rows that cannot be used: the first is an error, or all are skipped and noted."""

    skip: bool
    noted: list[BadRow] = field(default_factory=list)

    def found(self, row: BadRow) -> None:
        """Note the row, or raise `InputError`."""
        if not self.skip:
            raise InputError(f"{row}; fix the row, or skip such rows with {arg('bad_rows', 'skip')}")
        self.noted.append(row)


class Source(ABC):
    """One file of rows.

    ``name`` is what users call it; ``size`` its bytes as stored, ``None`` where that is not known (standard input);
    ``comes_once`` says that its rows cannot be read again.
    Whatever is wrong with a file as a whole (missing, truncated, of another format) is an `InputError` of one line
    that names the file, what was found and what to do.
    """

    name: str
    size: int | None
    comes_once: bool

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of the columns, found without reading more than the head of the file.

        Where a format has no types, these are guessed from the first rows: numbers, booleans, timestamps, else text.
        """

    @abstractmethod
    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        """The rows from number ``start`` on, in pieces of bounded size; of ``columns`` only, where not ``None``."""

    def groups(self) -> list[int] | None:
        """Rows of each group at which reading can begin at no cost; ``None`` where only reading would tell."""
        return None

    def row_bytes(self) -> float | None:
        """Where `groups` does not tell, the stored bytes of a row, about, by a look at the first of them."""
        return None

    @abstractmethod
    def fingerprint(self) -> dict[str, str | int] | None:
        """Name, size and time of change (nanoseconds) or tag, by which a later run can tell that the file is another.

        ``None`` where there is no way to tell: standard input.
        """
