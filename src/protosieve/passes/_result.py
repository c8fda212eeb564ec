"""From a selection to a result: shares, the users' own rows, a comparison with random rows, and provenance."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._typing import Array, Float64
from protosieve.insight import folders_of
from protosieve.kernels import as_plain
from protosieve.means import candidates_in
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes._blocks import LeftOut
from protosieve.passes._job import Job
from protosieve.passes._tables import Records, typed
from protosieve.preprocess import Encoding
from protosieve.result import OURS, Certificate, DataSample, Origin, Prototypes, Trace, free_name
from protosieve.selectors import StreamSelector, certificate_of

Chosen: TypeAlias = tuple[Prototypes, KernelMean | Coverage]  # and who judges them

OF_GROUPS = ("group_weight", "group_share")
_BLOCK = 512


@dataclass(frozen=True)
class UnlikeHead:
    """How the first rows of a stream, which settled its encoding, differ from all of them."""

    rows: int
    differences: list[str]
    chosen_from: int | None  # rows of the sample that was chosen from again,
    why_not: str | None  # or why it was not


@dataclass(frozen=True, eq=False)
class Grouped:
    """What is known besides of prototypes that were chosen for each value of a column."""

    weights: Float64  # within its group, of each prototype,
    shares: Float64  # and the group's share of the rows that are represented
    random: Certificate  # of as many random rows
    figures: dict[str, Any]  # of the groups


@dataclass(frozen=True, eq=False)
class Selected:
    """The prototypes of a run, and what a result is made of besides."""

    job: Job
    encoding: Encoding
    n_prototypes: int  # that were looked for
    n_rows: int
    n_target: int
    skipped: LeftOut
    result: Prototypes  # whose indices are row numbers in the whole input
    judge: KernelMean | Coverage  # by which it was
    records: Records  # of the prototypes
    represented: Array  # encoded rows: a uniform sample of the target
    random: Array  # as many random rows as there may be prototypes
    shown: DataSample
    unlike: UnlikeHead | None = None
    beyond: list[str] = field(default_factory=list)  # what the target has and the inputs do not
    groups: Grouped | None = None

    @property
    def ours(self) -> tuple[str, ...]:
        """The columns of the table that are not the users'."""
        return OURS if self.groups is None else (*OURS, *OF_GROUPS)


def result_of(found: Selected) -> Prototypes:
    """The result, with all that is known of it. O(sample m d)."""
    found.skipped.warn(found.n_rows)
    with one_thread():
        result, records = found.result, found.records
        covers = found.job.options.covers  # weights are shares then, and there should not be two of them
        shares = result.weights if covers else _shares(result, found.represented)
        names = [*found.job.names, *found.job.aside.keep.names]
        ours = {
            "row": result.indices,
            "file": [names[i] for i in records.files],
            "weight": result.weights,
            "share": shares,
        }
        random = random_rows(found.random, result, found.judge) if found.groups is None else found.groups.random
        source = Origin(
            shares=shares,
            table=_table(found, ours, typed(records.table, found.encoding.layout)),
            encoding=found.encoding,
            provenance=_provenance(found, _renamed(records.table.column_names, found.ours), random.residual),
            sample=found.shown,
            folders=(".", *folders_of(names)),
        )
        return replace(
            result,
            n_seen=found.n_rows,
            random_state=found.job.options.random_state,
            feature_names=tuple(found.encoding.names),
            source=source,
        )


def by_sample(selector: StreamSelector[Any, Any], rows: Array, population: int, aside: Mapping[str, Array]) -> Chosen:
    """The result of a fit to these rows, judged for the ``population`` they are a uniform sample of; and the judge.

    Rows that cover the target are chosen from four fifths, and judged by the others. The trace is one point: on its
    way the selector saw the sample only. O(sample^2 d), unless it holds all rows.
    """
    n = len(rows)
    order = np.random.default_rng(0).permutation(n)
    holds_out = selector.objective is not None and population > n
    some = np.sort(order[: candidates_in(n)]) if holds_out else np.arange(n)
    fitted = selector.fit(rows[some], **aside)
    chosen, judge = numbered(some, fitted.result_), fitted.known_comparison()
    if population <= n:
        return chosen, judge
    with one_thread():
        judge = judge.for_sample(rows[order].astype(chosen.rows.dtype, copy=False), population)
        weighed = judge.weighed(chosen.rows, chosen.weights)
        keep = chosen.rows[~chosen.is_new]
        certificate = certificate_of(judge, chosen.rows, weighed, _BLOCK, selector.n_prototypes, keep)
    trace = Trace(np.array([population]), np.array([certificate.value]))
    return replace(chosen, certificate=certificate, trace=trace), judge


def numbered(numbers: NDArray[np.int64], chosen: Prototypes) -> Prototypes:
    """Prototypes that were chosen from rows of these numbers, under these; rows to keep have numbers of their own."""
    found = chosen.indices.copy()
    found[chosen.is_new] = numbers[found[chosen.is_new]]
    return replace(chosen, indices=found)


def _shares(result: Prototypes, rows: Array) -> Float64:
    """Of the target, nearest to each prototype."""
    kernel = result.kernel
    assert kernel is not None
    nearest = kernel.nearest(rows.astype(result.rows.dtype, copy=False), result.rows)
    return np.bincount(nearest, minlength=len(result)) / len(rows)


def random_rows(random: Array, result: Prototypes, judge: KernelMean | Coverage) -> Certificate:
    """Of as many random rows, beside those chosen before, with the best weights."""
    rows = np.concatenate([random.astype(result.rows.dtype, copy=False), result.rows[~result.is_new]])
    return certificate_of(judge, rows, judge.weigh(rows, np.zeros(len(rows))), _BLOCK)


def _table(found: Selected, ours: dict[str, Any], theirs: pa.Table) -> pa.Table:
    """Ours first, then ids, label and group, then the users' other columns, as they are in their files."""
    options = found.job.options
    columns = {name: pa.array(values) for name, values in ours.items()}
    first = list(dict.fromkeys([*options.id, *(name for name in (options.label, options.per) if name)]))
    names = _renamed(theirs.column_names, found.ours)
    columns |= {names.get(name, name): theirs.column(name) for name in first}
    if found.groups is not None:
        columns |= zip(OF_GROUPS, map(pa.array, (found.groups.weights, found.groups.shares)), strict=True)
    columns |= {names.get(name, name): theirs.column(name) for name in theirs.column_names if name not in first}
    return pa.table(columns)


def _renamed(names: list[str], ours: tuple[str, ...]) -> dict[str, str]:
    """What users' columns are called that are called like one of ours."""
    renamed: dict[str, str] = {}
    for name in ours:
        if name in names:
            renamed[name] = free_name(name, [*names, *renamed.values()])
    return renamed


def _provenance(found: Selected, renamed: dict[str, str], random_residual: float) -> dict[str, Any]:
    options, result = found.job.options, found.result
    sampling = result.certificate.sampling
    parameters = {
        field.name: getattr(options, field.name) for field in dataclasses.fields(options) if field.name != "kernel"
    }
    return {
        "command": found.job.command or options.call(),
        "version": result.version,
        "parameters": {**parameters, "kernel": repr(options.kernel)},
        "seed": found.job.seed,
        "files": [_named(file) for file in found.job.files],
        "target_files": [_named(file) for file in found.job.target_files],
        "rows": found.n_rows,
        "rows_of_target": found.n_target,
        "rows_left_out": dataclasses.asdict(found.skipped),
        "beyond_input": found.beyond,
        "unlike_head": None if found.unlike is None else dataclasses.asdict(found.unlike),
        "encoding": found.encoding.as_dict(),
        "renamed": renamed,
        "selector": result.selector,
        "n_prototypes": found.n_prototypes,
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
            "whole": result.certificate.whole,
            "best": None if result.certificate.best is None else dataclasses.asdict(result.certificate.best),
        },
        "trace": {name: None if of is None else of.tolist() for name, of in vars(result.trace).items()},
        "residual_of_random_rows": random_residual,
        "groups": None if found.groups is None else found.groups.figures,
    }


def _named(file: dict[str, Any]) -> dict[str, Any]:
    return {"name": file["name"], "size": file["size"]}
