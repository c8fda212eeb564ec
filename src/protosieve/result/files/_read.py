"""Result files, read back: .parquet and .arrow."""

import io
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from protosieve._typed import are_rows, fits, require
from protosieve._typing import Array
from protosieve.errors import InputError, arg
from protosieve.kernels import from_plain
from protosieve.means import SamplingError
from protosieve.preprocess import Encoding
from protosieve.result._certificate import BestOfSize, Certificate
from protosieve.result._origin import Origin, own_names
from protosieve.result._prototypes import Prototypes
from protosieve.result._trace import Trace
from protosieve.result.files._write import ENCODED, KEY, READ_BACK

# What a file says of its run is checked: files are sent around, and edited.
_LARGEST, _SEEDS = 1 << 63, ("seed", "random_state")  # of counts, sizes and figures; seeds may be larger
_RUN = {
    "command": str | None,
    "version": str,
    "seed": int,
    "files": list[dict[str, Any]],
    "target_files": list[dict[str, Any]],
    "rows": int,
    "rows_left_out": dict[str, Any],
    "unlike_head": dict[str, Any] | None,
    "parameters": dict[str, Any],
    "encoding": dict[str, Any],
    "renamed": dict[str, str],
    "selector": str,
    "n_prototypes": int,
    "residual": float,
    "residual_of_random_rows": float | None,
}
_FILE = {"name": str, "size": int | None}
_LEFT_OUT = {"count": int, "first": list[str]}
_UNLIKE_HEAD = {"rows": int, "differences": list[str], "chosen_from": int | None, "why_not": str | None}
_GROUPS = {"column": str, "split": str, "values": list[dict[str, Any]]}
_GROUP = {"value": str | None, "rows": int, "share": float, "prototypes": int, "residual": float | None}
_PARAMETERS = {
    "id": list[str],
    "label": str | None,
    "target": list[str] | None,
    "image": str | None,
    "image_shape": str | None,
    "text": str | list[str] | None,
    "coordinates": list[str] | None,
    "format": str | None,
    "bad_rows": str,
    "partition_rows": int,
    "random_state": int | None,
    "half_life": int | None,
}


def read_prototypes(path: str | os.PathLike[str]) -> Prototypes:
    """The result in a file that `select` wrote; see `Prototypes.read`. O(file), and O(m d) to encode its rows."""
    table, provenance = read_result(path)
    try:
        return _prototypes(table, provenance)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError, pa.ArrowException) as error:
        missing = "it does not say " * isinstance(error, KeyError)
        raise InputError(
            f"{os.fspath(path)}: is damaged, was changed or is of another version ({missing}{str(error)[:300]}); write "
            "it again with this version's select"
        ) from error


def read_result(path: str | os.PathLike[str]) -> tuple[pa.Table, dict[str, Any]]:
    """The table and the provenance of a file that `write_table` wrote; `InputError` for any other or damaged file."""
    name = os.fspath(path)
    if Path(name).suffix.lower() not in READ_BACK:
        raise InputError(
            f"{name}: its format does not say how a result was made; write the result to a file that ends in "
            ".parquet or .arrow, and give that one"
        )
    try:
        table = _table(Path(name).read_bytes(), name.lower().endswith(".parquet"))
        provenance = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
        require({"command", "version", "encoding"} <= set(provenance), "it does not say how it was made")
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}; give a result file") from error
    except Exception as error:  # damage has many names; the user needs one
        raise InputError(
            f"{name}: not a result of protosieve, or a damaged one ({type(error).__name__}: {str(error)[:200]}); "
            f"give a file that select wrote with {arg('output')}"
        ) from error
    return table.replace_schema_metadata(None), provenance


def _table(data: bytes, is_parquet: bool) -> pa.Table:
    if is_parquet:
        return pq.read_table(io.BytesIO(data))
    with pa.ipc.open_file(pa.py_buffer(data)) as reader:
        return reader.read_all()


def _prototypes(table: pa.Table, known: dict[str, Any]) -> Prototypes:
    require(len(table), "it holds no prototypes")
    encoded = known.pop(ENCODED, None)
    check_provenance(known)
    encoding, kernel = Encoding.from_dict(known["encoding"]), from_plain(known["kernel_parameters"])
    seed = known["parameters"]["random_state"]
    if encoded is None:
        own = own_names(table.column_names, known["renamed"])
        rows = encoding.encode(pa.table([table.column(i) for i in own], names=list(own.values())))
    else:
        rows, table = _rows(table.column(encoded), len(encoding.names)), table.drop_columns(encoded)
    if kernel is not None:
        kernel.prepare(rows)  # a kernel for rows of another width fails here
    return Prototypes(
        indices=_column(table, "row", np.int64),
        rows=rows,
        weights=_column(table, "weight", np.float64),
        certificate=_certificate(known["certificate"]),
        trace=_trace(known["trace"]),
        kernel=kernel,
        selector=known["selector"],
        parameters={"n_prototypes": known["n_prototypes"], "kernel": kernel, "random_state": seed},
        n_seen=known["rows"],
        random_state=seed,
        version=known["version"],
        feature_names=tuple(encoding.names),
        source=Origin(_column(table, "share", np.float64), table, encoding, known),
    )


def _rows(column: pa.ChunkedArray, width: int) -> Array:
    rows = np.frombuffer(b"".join(column.to_pylist()), "<f4").astype(np.float32).reshape(len(column), -1)
    require(are_rows(rows, width), "rows of other columns")
    return rows


def _column(table: pa.Table, name: str, dtype: Any) -> Any:
    column = table.column(name)
    require(not column.null_count, f"column {name!r} has nulls")
    return np.array(column.to_numpy(), dtype)


def _number(value: Any, none: float = math.nan) -> float:
    """JSON has no NaN and no infinity: they are null there."""
    return none if value is None else float(value)


def _certificate(known: Mapping[str, Any]) -> Certificate:
    of, error = known["sampling"], None
    if of is not None:
        errors = (_number(of[name], math.inf) for name in ("standard_error", "of_squared_mmd"))
        error = SamplingError(int(of["rows"]), int(of["population"]), *errors)
    whole = known.get("whole")  # earlier versions could only match
    require(isinstance(whole, str | None), f"whole is {whole!r:.60}")
    best = _best(known.get("best"))
    return Certificate(_number(known["value"]), _number(known["upper_bound"]), error, whole, best)


def _best(known: Mapping[str, Any] | None) -> BestOfSize | None:
    if known is None:
        return None
    size, candidates, judges, population = (int(known[name]) for name in ("size", "candidates", "judges", "population"))
    value, bound, error = (_number(known[name], math.inf) for name in ("value", "bound", "standard_error"))
    unseen = _number(known.get("unseen", 0.0))
    return BestOfSize(size, candidates, value, bound, judges, population, error, unseen)


def _trace(known: Mapping[str, Any]) -> Trace:
    counts = ("rows_seen", "accepted", "exchanged")
    kinds = {name: np.int64 if name in counts else np.float64 for name in (*counts, "objective", "bound")}
    found: dict[str, Any] = {
        name: np.array(known[name], kind) for name, kind in kinds.items() if known[name] is not None
    }
    require({found["rows_seen"].shape} == {of.shape for of in found.values()}, "points of its trace differ in number")
    return Trace(**found)


def check_provenance(known: Mapping[str, Any]) -> None:
    """Raise `ValueError` that names the first value of a wrong type, `KeyError` for one that is not there.

    The report, the summary and `draw_sample` can then rely on it. O(files).

    >>> check_provenance({"command": 7})
    Traceback (most recent call last):
    ValueError: command is 7
    """
    _check(known, _RUN)
    _check(known["parameters"], _PARAMETERS)
    _check(known["rows_left_out"], _LEFT_OUT)
    for file in [*known["files"], *known["target_files"]]:
        _check(file, _FILE)
    if known["unlike_head"]:
        _check(known["unlike_head"], _UNLIKE_HEAD)
    if known.get("groups"):  # earlier versions had none
        _check(known["groups"], _GROUPS)
        for group in known["groups"]["values"]:
            _check(group, _GROUP)
    require(known["n_prototypes"] and known["parameters"]["partition_rows"], "a number of rows is 0")
    require(len(known["parameters"]["coordinates"] or "xy") == 2, "coordinates are two columns")


def _check(known: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name, kind in types.items():
        value = known[name]
        is_small = not isinstance(value, int | float) or 0 <= value < _LARGEST or (name in _SEEDS and value >= 0)
        require(fits(value, kind) and is_small, f"{name} is {value!r:.60}")
