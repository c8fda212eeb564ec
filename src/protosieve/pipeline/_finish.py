"""From the end of a run to its result: weights, shares, the users' own rows, and where all of it came from."""

import dataclasses
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from protosieve._blas import one_thread
from protosieve._prototypes import OURS, Certificate, DataSample, Prototypes, Trace
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, ProtosieveWarning
from protosieve.kernels._stored import as_plain
from protosieve.means import FixedMean, Judge
from protosieve.objectives import KernelMean
from protosieve.pipeline._run import Run
from protosieve.pipeline._unlike import by_all_rows
from protosieve.preprocess import Layout
from protosieve.report._pictures import folders_of
from protosieve.selectors import StreamSelector
from protosieve.weights import NonNegativeQP

__all__ = ["finish", "snapshot", "typed"]

_BLOCK = 512
_LONG = r"^-?[0-9]{16,}$"  # a whole number that float64 may not hold


def finish(run: Run, files: list[str]) -> Prototypes:
    """The result of a run that has seen all rows; ``files`` are the names of its inputs."""
    return _result(by_all_rows(run), files, run.n_rows)


def snapshot(run: Run, files: list[str]) -> Prototypes | None:
    """What the result would be if no more rows came: for a look at a run on its way, which it does not change.

    None before a selector has judged rows, where none of them is of use so far, and while members are weighed: what
    they were before still holds. It costs what a result costs, a second or so.
    """
    if run.random is None or not run.selector._stream.n_judged or run.weighing is not None:
        return None
    with warnings.catch_warnings(), suppress(InputError):
        warnings.simplefilter("ignore", ProtosieveWarning)  # of a choice that is not the last
        return _result(by_all_rows(run), files, run.random.seen)
    return None


def _result(run: Run, files: list[str], n_seen: int) -> Prototypes:
    with one_thread():
        judge = run.selector._known_mean()
        chosen = _weighed(run, judge, run.selector.result_)
        rows, sources, theirs = run.records.of(chosen.result.indices)
        ours = {
            "row": rows,
            "file": [files[i] for i in sources],
            "weight": chosen.result.weights,
            "share": chosen.shares,
        }
        result = replace(
            chosen.result,
            indices=rows,
            n_seen=n_seen,
            random_state=run.options.random_state,
            feature_names=tuple(run.encoded.names),
            shares=chosen.shares,
            table=_table(run, ours, typed(theirs, run.layout)),
            encoding=run.encoding,
            sample=_shown(run),
            folders=(".", *folders_of(file["name"] for file in run.files)),
        )
        if run.unlike is not None and run.unlike.chosen_from is not None:  # along the stream it was another choice
            result = replace(result, trace=Trace(np.array([n_seen]), np.array([result.objective])))
        random = _random_residual(run, judge)
        return replace(result, provenance=_provenance(run, result, _renamed(theirs.column_names), random))


@dataclass(frozen=True)
class _Chosen:
    result: Prototypes
    shares: Float64


def _weighed(run: Run, judge: KernelMean, result: Prototypes) -> _Chosen:
    """The result with its shares; by exact means, where there was a pass for these."""
    if run.weighing is not None:
        weights = _solve(run.selector, judge, result, run.weighing.similarity / run.weighing.rows)
        return _sorted(_judged(run, judge, result, weights), run.weighing.nearest / run.weighing.rows)
    sample = _sample(run, judge)
    counts = np.bincount(run.selector.predict(sample), minlength=len(result))
    return _sorted(_judged(run, judge, result, result.weights), counts / len(sample))


def _solve(selector: StreamSelector[Any, Any], judge: KernelMean, result: Prototypes, mu: Float64) -> Float64:
    return selector._weigh(judge, result.rows, result.weights, mu).weights


def _judged(run: Run, judge: KernelMean, result: Prototypes, weights: Float64) -> Prototypes:
    """The result at these weights."""
    certificate = _certificate(run, judge, result.rows, weights)
    return replace(
        result,
        weights=weights,
        objective=certificate.value,
        residual=certificate.residual,
        mmd=certificate.mmd,
        certificate=certificate,
    )


def _certificate(run: Run, judge: KernelMean, rows: Array, weights: Float64) -> Certificate:
    """By all rows of the target; where only a sample of it was kept, by what that says of all."""
    sampled = judge.sampled()
    if run.target is not None and run.n_target > len(run.target):
        sampled = FixedMean.over(judge.kernel, run.target, run.n_target).sampled()
        if sampled is not None and run.weighing is not None:
            sampled = sampled._replace(is_fitted=False)  # weights are those of all rows
    if sampled is not None:
        return Certificate.by(Judge(sampled), rows, weights)
    return Certificate(judge.weighed(rows, weights).value, judge.upper_bound(_BLOCK))


def _sorted(result: Prototypes, shares: Float64) -> _Chosen:
    """The largest weight first."""
    order = np.lexsort((result.indices, -result.weights))
    best_first = replace(result, indices=result.indices[order], rows=result.rows[order], weights=result.weights[order])
    return _Chosen(best_first, shares[order])


def _sample(run: Run, judge: KernelMean) -> Array:
    """Rows of the target: those it was sampled by, or the stream's own."""
    if run.target is not None:
        return run.target
    sample = judge.mean.stream_sample()
    assert sample is not None
    return sample.settled().rows


def _shown(run: Run) -> DataSample | None:
    """Rows to look at; none where the run began before there were any to keep."""
    if run.gallery is None:
        return None
    numbers, rows, table = run.gallery.light()
    rows = run.encoded.transform(rows) if run.follows_stream else rows
    return DataSample(numbers, rows, typed(table, run.layout), run.gallery.seen, run.options.target is not None)


def _random_residual(run: Run, judge: KernelMean) -> float:
    """What as many random rows of the input leave, at their best weights."""
    assert run.random is not None
    rows = run.random.sample
    weights = NonNegativeQP.from_gram(*judge.exact(rows)).weights
    return _certificate(run, judge, rows, weights).residual


def _table(run: Run, ours: dict[str, Any], theirs: pa.Table) -> pa.Table:
    """Ours first, then ids and label, then the users' other columns, as they are in their files."""
    columns = {name: pa.array(values) for name, values in ours.items()}
    first = list(dict.fromkeys([*run.options.id, *([run.options.label] if run.options.label else [])]))
    names = _renamed(theirs.column_names)
    for name in [*first, *(name for name in theirs.column_names if name not in first)]:
        columns[names.get(name, name)] = theirs.column(name)
    return pa.table(columns)


def _renamed(names: list[str]) -> dict[str, str]:
    """What users' columns are called that are called like one of ours."""
    renamed: dict[str, str] = {}
    for name in OURS:
        if name in names:
            renamed[name] = _free(name, [*names, *renamed.values()])
    return renamed


def typed(table: pa.Table, layout: Layout) -> pa.Table:
    """Number columns of text formats as numbers; all other text stays what it is."""
    numbers = {column.name for column in layout.items if column.kind == "number"}
    columns = [
        _numbers(cells) if field.name in numbers and pa.types.is_string(field.type) else cells
        for field, cells in zip(table.schema, table.columns, strict=True)
    ]
    fields = [field.with_type(cells.type) for field, cells in zip(table.schema, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def _numbers(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers with all their digits, or as the text they are."""
    trimmed = pc.ascii_trim_whitespace(cells)
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return trimmed.cast(kind)
    if not pc.any(pc.match_substring_regex(trimmed, _LONG)).as_py():
        with suppress(pa.ArrowInvalid):
            return trimmed.cast(pa.float64())
    return cells


def _free(name: str, taken: list[str]) -> str:
    free = f"input_{name}"
    while free in taken:
        free = f"input_{free}"
    return free


def _provenance(run: Run, result: Prototypes, renamed: dict[str, str], random_residual: float) -> dict[str, Any]:
    options, sampling = run.options, result.certificate.sampling
    parameters = {
        field.name: getattr(options, field.name) for field in dataclasses.fields(options) if field.name != "kernel"
    }
    return {
        "command": run.command or options.call(),
        "version": result.version,
        "parameters": {**parameters, "kernel": repr(options.kernel)},
        "seed": run.seed,
        "files": [_named(file) for file in run.files],
        "target_files": [_named(file) for file in run.target_files],
        "rows": result.n_seen,
        "rows_of_target": run.n_target,
        "rows_left_out": dataclasses.asdict(run.left_out),
        "unlike_head": None if run.unlike is None else dataclasses.asdict(run.unlike),
        "encoding": run.encoded.as_dict(),
        "renamed": renamed,
        "selector": result.selector,
        "n_prototypes": run.selector.n_prototypes,
        "kernel": repr(result.kernel),
        "kernel_parameters": as_plain(result.kernel),
        "kept": len(result),
        "objective": result.objective,
        "residual": result.residual,
        "mmd": result.mmd,
        "certificate": {
            "value": result.certificate.value,
            "upper_bound": result.certificate.upper_bound,
            "ratio": result.certificate.ratio,
            "sample": result.certificate.sample,
            "standard_error": result.certificate.standard_error,
            "mmd_bound": result.certificate.mmd_bound(),
            "sampling": None if sampling is None else dataclasses.asdict(sampling),
        },
        "trace": {name: None if of is None else of.tolist() for name, of in vars(result.trace).items()},
        "residual_of_random_rows": random_residual,
    }


def _named(file: dict[str, Any]) -> dict[str, Any]:
    return {"name": file["name"], "size": file["size"]}
