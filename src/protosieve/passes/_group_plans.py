"""A plan for each value of a column, and one result of what was chosen by them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from protosieve._blas import one_thread
from protosieve._formatting import counted, cut
from protosieve._typing import Array, Float64
from protosieve.errors import InputError, arg, warn
from protosieve.means import SamplingError, candidates_of
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes._groups import GroupSamples, Name, names_in
from protosieve.passes._options import Options
from protosieve.passes._partitions import Numbering
from protosieve.passes._plan import Plan
from protosieve.passes._result import Chosen, Grouped, random_rows
from protosieve.passes._survey import Summary
from protosieve.result import Certificate, Prototypes, Trace
from protosieve.sampling import SampledRows, UniformSample, hashes
from protosieve.selectors import Beside, NothingToChooseError, ProtoSwap, Quotas

_NAMED, _LONGEST = 3, 60  # groups in a note, and characters of a name


@dataclass(frozen=True, eq=False)
class Group:
    """The rows of one value of the column: its plan, and its ``share`` of the rows that prototypes represent."""

    name: Name
    plan: Plan
    share: float

    @property
    def title(self) -> str:
        """What to call it in a message."""
        return f"{self.plan.job.options.per} {shown_name(self.name)}"


def shown_name(name: Name) -> str:
    """The value of a group in words.

    >>> shown_name("setosa"), shown_name(None)
    ("'setosa'", '(null)')
    """
    return "(null)" if name is None else repr(cut(name, _LONGEST))


def plans_of(plan: Plan, inputs: Summary, target: Summary | None) -> list[Group]:
    """The plan of each group: that of all rows, with the group's sample, rows and number of prototypes; by the size of
    groups, the largest first.

    Encoding and kernel are those of all rows, so that what is similar in one group is so in all.
    """
    samples, options = inputs.groups, plan.job.options
    assert samples is not None
    of_inputs = _encoded(samples, plan, plan.numbering)
    of_target = of_inputs
    if target is not None:
        assert target.groups is not None
        of_target = _encoded(target.groups, plan, Numbering.of(plan.job.targets, target.ends))
        _note_others(samples.column, of_inputs, of_target)
    names = sorted(of_inputs.keys() & of_target.keys(), key=lambda name: (-of_target[name].seen, _rank(name)))
    if not names:
        raise InputError(
            f"{arg('per', samples.column)}: no value of column {samples.column!r} in the inputs occurs in the target; "
            "give a target that has some of them"
        )
    rows, seen = (np.array([found[name].seen for name in names]) for found in (of_inputs, of_target))
    room = _room(plan, [of_inputs[name] for name in names])
    counts = np.where(room, _split(options, names, rows, seen, room), 1)  # without room, those to keep are all there is
    whole = replace(plan, job=replace(plan.job, options=replace(options, kernel=plan.kernel)))
    found = zip(names, counts.tolist(), (seen / seen.sum()).tolist(), strict=True)
    groups = [
        Group(name, _plan_of(whole, name, m, of_inputs[name], None if target is None else of_target[name]), share)
        for name, m, share in found
        if m
    ]
    lost = len(plan.job.aside.keep) - sum(len(group.plan.job.aside.keep) for group in groups)
    if lost:
        have = "has a value that gets" if lost == 1 else "have values that get"
        warn(f"{counted(lost, 'row')} to keep {have} no prototypes, and {'is' if lost == 1 else 'are'} left out")
    return groups


def within_quotas(plan: Plan, samples: GroupSamples) -> tuple[Plan, SampledRows, Quotas]:
    """The plan of no more rows than quotas allow, the rows of the samples of all groups, and their quotas."""
    options = plan.job.options
    if options.is_share:
        options.check_quotas(plan.n_prototypes)
    encoded = _encoded(samples, plan, plan.numbering)
    values = names_in(samples.layout, pa.table({samples.column: list(options.quotas)}))  # 1 and 1.0 are one
    asked = dict(zip(values, options.quotas.values(), strict=True))
    missing = sorted((value for value in asked if value not in encoded), key=lambda value: (not asked[value][0], value))
    if missing and asked[missing[0]][0]:
        raise InputError(f"{arg('quota')}: no row has {missing[0]!r} in column {samples.column!r}; correct the value")
    if missing:
        warn(f"{arg('quota')}: no row has {_listed(missing)} in column {samples.column!r}")
    names = sorted(encoded, key=_rank)
    parts = [candidates_of(encoded[name]) for name in names]
    groups = np.repeat(np.arange(len(names)), [len(part) for part in parts])
    bounds = [asked.get(name, (0, None)) for name in names]
    most = [len(groups) if high is None else high for _, high in bounds]
    if not any(most):
        raise InputError(f"{arg('quota')} allows no row at all; give larger quotas")
    drawn = SampledRows.joined(parts)
    order = np.argsort(hashes(plan.job.seed, drawn.numbers), kind="stable")
    shown = [shown_name(name) for name in names]
    quotas = Quotas(groups[order], shown, np.array([low for low, _ in bounds]), np.array(most))
    room = _room(plan, [encoded[name] for name in names])
    allowed = int(np.minimum(room, quotas.most).sum())
    if 0 < allowed < min(plan.n_prototypes, int(room.sum())):
        wanted = f"{plan.n_prototypes:,} asked for"
        warn(f"{arg('quota')} allows {counted(allowed, 'row')}: no more are chosen of the {wanted}")
        plan = replace(plan, n_prototypes=allowed)
    return plan, drawn.take(order), quotas


def _plan_of(whole: Plan, name: Name, m: int, candidates: UniformSample, target: UniformSample | None) -> Plan:
    """That of all rows for the rows of a group."""
    n_target = (candidates if target is None else target).seen
    job, layout = whole.job, whole.job.groups
    if layout is not None and not job.aside.is_empty:
        job = replace(job, aside=job.aside.of_group(layout, name))
    return replace(
        whole, job=job, n_prototypes=m, n_rows=candidates.seen, n_target=n_target, candidates=candidates, target=target
    )


def kept_of(
    plan: Plan, objective: KernelMean | Coverage, aside: Mapping[str, Array], error: NothingToChooseError
) -> Chosen:
    """Of a group whose rows are all kept or excluded: those kept stand for it. Else the error stands."""
    keep, selector = plan.working(aside["keep"]), plan.selector(plan.kernel)
    if plan.job.options.per is None or not len(keep):
        raise error
    assert isinstance(selector, ProtoSwap)
    return selector.of_kept(objective, keep, plan.n_rows), objective


def note_excluded(plan: Plan, names: Sequence[Name], groups: int) -> None:
    """A note on groups of which all rows are excluded; `InputError` if there are no others."""
    if len(names) == groups:
        raise InputError(f"{arg('exclude_rows')}: all rows to choose from are among those to exclude; give others too")
    if names:
        column = plan.job.options.per
        warn(f"{_listed(names)} of column {column!r} {_has(names)} no prototypes: all of the rows are excluded")


def _rank(name: Name) -> tuple[bool, str]:
    """To sort by: null comes last."""
    return name is None, name or ""


def _encoded(samples: GroupSamples, plan: Plan, numbering: Numbering) -> dict[Name, UniformSample]:
    made = [sample.mapped(plan.encoding.transform, numbering.numbers) for sample in samples.samples]
    return dict(zip(samples.names, made, strict=True))


def _room(plan: Plan, samples: Sequence[UniformSample]) -> NDArray[np.int64]:
    """How many rows of each group may be chosen: those that are neither kept nor excluded, and where the places of one
    group can go to others, those that differ once encoded, since copies add nothing.
    """
    drawn, aside, ids = [candidates_of(sample) for sample in samples], plan.job.aside, plan.job.options.id
    rows = np.concatenate([part.rows for part in drawn])
    given = Beside(rows[:0], rows[:0]) if aside.is_empty else Beside(**plan.aside(None))
    masks = np.split(given.allowed(rows), np.cumsum([len(part) for part in drawn])[:-1])
    barred = plan.records.numbers[aside.barred(plan.records, ids) if ids else []]
    room = []
    for part, mask in zip(drawn, masks, strict=True):
        named = Beside(rows[:0], part.rows[np.isin(part.numbers, barred)])  # as the choice bars rows equal to them
        left = part.rows[mask & named.allowed(part.rows)]
        room.append(len(left if plan.job.options.split == "each" else np.unique(left, axis=0)))
    return np.array(room, np.int64)


def _note_others(column: str, inputs: dict[Name, UniformSample], target: dict[Name, UniformSample]) -> None:
    """A note on the groups that only one of inputs and target has."""
    for here, there, of, so in (
        (inputs, target, "the inputs", "the target has none of it, so none of its rows is chosen"),
        (target, inputs, "the target", "the inputs have none of it, so no prototype stands for it"),
    ):
        names = sorted(here.keys() - there.keys(), key=_rank)
        if names:
            rows = sum(here[name].seen for name in names)
            warn(f"{_listed(names)} of column {column!r} {_has(names)} {counted(rows, 'row')} in {of}, and {so}")


def _split(
    options: Options,
    names: Sequence[Name],
    rows: NDArray[np.int64],
    weights: NDArray[np.int64],
    room: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The number of prototypes of each group, none of which can have more than there is room for."""
    if options.split == "each":
        return np.minimum([options.count(n) for n in rows.tolist()], room)
    m = options.count(int(rows.sum()))
    found = seats(np.ones(len(names)) if options.split == "even" else weights.astype(float), room, m)
    left = [name for name, none in zip(names, (found == 0) & (room > 0), strict=True) if none]
    if left:
        warn(
            f"{counted(m, 'prototype')} for {len(names):,} values of column {options.per!r}: {_listed(left)} "
            f"{_has(left)} none; for one each, give {arg('n_prototypes', int((room > 0).sum()))}"
        )
    return found


def seats(weights: Float64, room: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    """``m`` in all, split in proportion to the weights by the method of Webster and Sainte-Lague: each goes to the
    group with the largest weight by ``2 a + 1``, where it has a; but one to each with room first. O(m groups).

    >>> seats(np.array([60.0, 30.0, 2.0]), np.array([100, 100, 100]), 10)
    array([6, 3, 1])
    >>> seats(np.array([60.0, 30.0, 2.0]), np.array([4, 100, 100]), 10)
    array([4, 5, 1])
    """
    found = ((room > 0) & (np.cumsum(room > 0) <= m)).astype(np.int64)
    for _ in range(min(m, int(room.sum())) - int(found.sum())):
        found[np.argmax(np.where(found < room, weights / (2 * found + 1), -1))] += 1
    return found


def join_groups(plan: Plan, groups: Sequence[Group], chosen: Sequence[Chosen]) -> tuple[Prototypes, Grouped]:
    """The prototypes of all groups, the largest weight first.

    A weight is that within the group times the group's share of the rows, so all of them together describe all rows.
    The certificate is the mean of the groups' own, by their shares: each group is judged against its own rows. For
    ``mu = sum_g s_g mu_g`` and ``q = sum_g s_g q_g`` the squared MMD ``|mu - q|^2`` of all of them together is at most
    that mean ``sum_g s_g |mu_g - q_g|^2``, since squares are convex. What covers each row is of its own group.
    """
    results = [result for result, _ in chosen]
    own, rows = (np.concatenate([getattr(one, name) for one in results]) for name in ("weights", "rows"))
    shares = np.repeat([group.share for group in groups], list(map(len, results)))
    numbers = np.concatenate(
        [group.plan.job.aside.numbered(one.indices) for group, one in zip(groups, results, strict=True)]
    )
    order = np.lexsort((numbers, -own * shares, numbers < 0))
    certificate = _mean_of(groups, [one.certificate for one in results])
    with one_thread():
        random = [
            random_rows(group.plan.candidates.rows[: group.plan.n_prototypes], result, judge)
            for group, (result, judge) in zip(groups, chosen, strict=True)
        ]
    new = [int(one.is_new.sum()) for one in results]
    _note_fewer(groups, new)
    m = sum(group.plan.n_prototypes for group, count in zip(groups, new, strict=True) if count) or 1
    found = replace(
        results[0],
        rows=rows[order],
        weights=(own * shares)[order],
        indices=numbers[order],
        certificate=certificate,
        trace=Trace(np.array([plan.n_rows]), np.array([certificate.value])),
        parameters={**results[0].parameters, "n_prototypes": m},
    )
    return found, Grouped(own[order], shares[order], _mean_of(groups, random), _figures(plan, groups, results))


def _mean_of(groups: Sequence[Group], found: Sequence[Certificate]) -> Certificate:
    """The mean of the groups' certificates, by their shares; the squared MMDs have theirs, and errors add up."""
    shares = np.array([group.share for group in groups])
    values, bounds = (np.array([getattr(one, name) for one in found]) for name in ("value", "upper_bound"))
    bound, sampled = float(shares @ bounds), [one.sampling for one in found if one.sampling is not None]
    sampling = None
    if sampled:
        errors = np.array([0.0 if one.standard_error is None else one.standard_error for one in found])
        squared = np.array([0.0 if one.sampling is None else one.sampling.of_squared_mmd for one in found])
        sampling = SamplingError(
            rows=sum(one.rows for one in sampled),
            population=sum(group.plan.n_target for group in groups),
            standard_error=float(np.linalg.norm(shares * bounds * errors)) / bound if bound > 0 else math.inf,
            of_squared_mmd=float(np.linalg.norm(shares * squared)),
        )
    return Certificate(float(shares @ values), bound, sampling, whole=found[0].whole)


def _figures(plan: Plan, groups: Sequence[Group], results: Sequence[Prototypes]) -> dict[str, object]:
    """What is told of each group, the largest first."""
    values = [
        {
            "value": group.name,
            "rows": group.plan.n_rows,
            "share": group.share,
            "prototypes": len(one),
            "residual": one.residual if math.isfinite(one.residual) else None,
        }
        for group, one in zip(groups, results, strict=True)
    ]
    return {"column": plan.job.options.per, "split": plan.job.options.split, "values": values}


def _note_fewer(groups: Sequence[Group], sizes: Sequence[int]) -> None:
    """A note on groups that keep fewer than half of what they could."""
    kept = [group.name for group, size in zip(groups, sizes, strict=True) if not size]
    if kept:
        column = groups[0].plan.job.options.per
        warn(f"{_listed(kept)} of column {column!r} {_has(kept)} no row left to choose: those to keep stand for it")
    few = [group.name for group, size in zip(groups, sizes, strict=True) if 0 < 2 * size < group.plan.n_prototypes]
    if few:
        warn(
            f"{_listed(few)} of column {groups[0].plan.job.options.per!r} {_has(few)} less than half as many "
            "prototypes as asked for: none of the other rows improves the fit enough"
        )


def _listed(names: Sequence[Name]) -> str:
    said = ", ".join(map(shown_name, names[:_NAMED]))
    return said if len(names) <= _NAMED else f"{said} and {len(names) - _NAMED:,} more values"


def _has(names: Sequence[Name]) -> str:
    return "has" if len(names) == 1 else "have"
