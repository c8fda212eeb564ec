"""Result files, read back: the table of prototypes and how it was made."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from protosieve.errors import InputError, arg
from protosieve.io._output import KEY

__all__ = ["read_result"]

Result = tuple[pa.Table, dict[str, Any]]


def read_result(path: str | os.PathLike[str]) -> Result:
    """The table and the provenance of a file that `write_table` wrote: .parquet or .arrow.

    `InputError` for any other file, and for a damaged one. O(file) time and memory.
    """
    name = os.fspath(path)
    ending = Path(name).suffix.lower()
    if ending not in _READERS:
        raise InputError(
            f"{name}: its format does not say how a result was made; write the result to a file that ends in "
            f"{', '.join(_READERS)}, and give that one"
        )
    try:
        table, provenance = _READERS[ending](Path(name).read_bytes())
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}; give a result file") from error
    except Exception as error:  # damage has many names; the user needs one
        raise InputError(
            f"{name}: not a result of protosieve, or a damaged one ({type(error).__name__}: {str(error)[:200]}); "
            f"give a file that select wrote with {arg('output')}"
        ) from error
    return table.replace_schema_metadata(None), provenance


def _ours(text: str | bytes | None) -> dict[str, Any]:
    found = {} if text is None else json.loads(text)
    if not isinstance(found, dict) or not {"command", "version", "encoding"} <= set(found):
        raise ValueError("it does not say how it was made")
    return found


def _parquet(data: bytes) -> Result:
    table = pq.read_table(io.BytesIO(data))
    return table, _ours((table.schema.metadata or {}).get(KEY))


def _arrow(data: bytes) -> Result:
    with pa.ipc.open_file(pa.py_buffer(data)) as reader:
        table = reader.read_all()
    return table, _ours((table.schema.metadata or {}).get(KEY))


_READERS: dict[str, Callable[[bytes], Result]] = {".parquet": _parquet, ".arrow": _arrow}
