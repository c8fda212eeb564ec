"""The users' own columns of rows that may be chosen."""

import numpy as np
import pyarrow as pa

from protosieve.passes import HeldRows


def test_rows_that_are_held_keep_no_values_of_rows_that_were_let_go():
    held = HeldRows()
    for block in range(20):
        names = pa.array([f"{block} {k}" for k in range(50)]).dictionary_encode()
        new = np.arange(50) + 50 * block
        places = np.column_stack([new, new, np.zeros_like(new)])
        held.update(np.array([0, 7, *new]), places, pa.table({"name": names}))
    (chunk,) = held.of(np.array([7, 999]))[2]["name"].chunks
    assert chunk.to_pylist() == ["0 7", "19 49"]
    assert len(chunk.dictionary) == 52
