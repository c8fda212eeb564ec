"""The users' own columns of rows that may be chosen."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from protosieve.passes import HeldRows, Records
from protosieve.passes._tables import joined


def test_rows_that_are_held_keep_no_values_of_rows_that_were_let_go():
    held = HeldRows()
    for block in range(20):
        names = pa.array([f"{block} {k}" for k in range(50)]).dictionary_encode()
        new = np.arange(50) + 50 * block
        held.update(np.array([0, 7, *new]), new, Records(new, np.zeros_like(new), pa.table({"name": names})))
    (chunk,) = held.records.table["name"].chunks
    assert len(chunk.dictionary) == 52
    found = held.of(np.array([7, 999]))
    assert found.numbers.tolist() == [7, 999]
    assert found.table["name"].to_pylist() == ["0 7", "19 49"]


@given(st.permutations([[1, None], [2.5, 3.0], ["x", "4"], [True]]))
def test_cells_of_several_types_are_the_same_text_however_tables_are_joined(parts):
    """A run that goes on has joined some of them before it was cut short."""
    tables = [pa.table({"a": pa.array(part)}) for part in parts]
    together = joined(tables)["a"].to_pylist()
    for cut in range(1, len(tables)):
        assert joined([joined(tables[:cut]), *tables[cut:]])["a"].to_pylist() == together
        assert joined([*tables[:cut], joined(tables[cut:])])["a"].to_pylist() == together
