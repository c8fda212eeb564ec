"""What was summarised, how, and what it takes to run it again."""

import math
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from protosieve._formatting import counted, cut, percent, rounded
from protosieve.insight._result_with_data import ResultWithData, allowed
from protosieve.insight._text import shown
from protosieve.result import Prototypes
from protosieve.selectors import SELECTORS

_WORST = 5  # groups
_SUMMARIES = {cls.__name__: cls.summary for cls in SELECTORS}


@dataclass(frozen=True)
class Fact:
    """A name, a value, and a note beside it."""

    name: str
    value: str
    note: str | None = None


@dataclass(frozen=True)
class Rerun:
    """What it takes to run it again: the command, the files with their sizes, versions and the like, parameters."""

    command: str | None = None
    files: list[dict[str, Any]] | tuple[()] = ()
    details: list[tuple[str, str]] | tuple[()] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


def summary_of(subject: ResultWithData) -> list[Fact]:
    """Rows, columns, target, method, prototypes, kernel, judge and sample, as far as they are known."""
    result = subject.result
    facts = [
        ("Rows", f"{result.n_seen:,}", _sources(result)),
        ("Columns", f"{result.rows.shape[1]:,}", result.encoding and "; ".join(result.encoding.describe())),
        *_target(result),
        ("Method", result.selector, _SUMMARIES.get(result.selector)),
        ("Prototypes", f"{len(result):,}", f"of {allowed(result):,} allowed"),
    ]
    facts += [("Goal", "cover", "every row is to have a prototype near it")] if result.covers else []
    facts += _groups(result)
    facts += [("Kernel", rounded(repr(result.kernel)), _width(result))] if result.kernel is not None else []
    if result.kernel is not None and not (result.covers and result.certificate.best is None):
        facts.append(("Judged by", *_judge(result)))
    if subject.sample is not None:
        rows, of = len(subject.sample), "the target" if subject.is_target else "the data"
        beside = f"all of {of}" if rows == subject.n_rows else f"a uniform sample of {of}'s {subject.n_rows:,}"
        facts.append(("Shown beside", counted(rows, "row"), beside))
    return [Fact(name, value, note and cut(note, 600)) for name, value, note in facts]


def _run(result: Prototypes) -> Mapping[str, Any]:
    return result.provenance or {}


def _sources(result: Prototypes) -> str | None:
    run = _run(result)
    if not run.get("files"):
        return None
    said, left_out = _named(run["files"]), run.get("rows_left_out", {}).get("count", 0)
    said += f"; {counted(left_out, 'row')} could not be used" if left_out else ""
    return ". ".join([said, *unlike_head(run)])


def unlike_head(run: Mapping[str, Any]) -> list[str]:
    """A note where the first rows of a stream, which settled the encoding, are unlike the rest."""
    found = run.get("unlike_head")
    if not found:
        return []
    said = f"The first {counted(found['rows'], 'row')} are unlike the rest: {'; '.join(found['differences'])}."
    if found["chosen_from"] is None:
        return [
            f"{said} The prototypes were still chosen by what the first rows show, because {found['why_not']}; "
            "to have all rows count alike, save them to a file and select from that."
        ]
    sample = f"a uniform sample of {found['chosen_from']:,} of all {run['rows']:,}"
    return [f"{said} So the prototypes were chosen again, from {sample}."]


def beyond_input(run: Mapping[str, Any]) -> list[str]:
    """A note where the target has what no row of the input has."""
    found = run.get("beyond_input")
    return [f"No prototype can match what only the target has: {'; '.join(found)}"] if found else []


def recent_past(run: Mapping[str, Any]) -> list[str]:
    """A note where rows of a stream weigh less as they grow old."""
    found = run.get("parameters", {}).get("half_life")
    return [f"the recent past: a row weighs half as much after {found:,} more"] if found else []


def _named(files: list[Mapping[str, Any]]) -> str:
    if len(files) == 1:
        return PurePath(str(files[0]["name"])).name
    folders = {str(PurePath(str(file["name"])).parent.name) for file in files}
    where = f" in {folders.pop()}" if len(folders) == 1 and folders != {""} else ""
    return f"{counted(len(files), 'file')}{where}"


def _target(result: Prototypes) -> list[tuple[str, str, str | None]]:
    """None of a result in memory, which does not know whether a target was given."""
    run = _run(result)
    if result.kernel is None:
        return [("Target", str(result.certificate.whole or "a function of the set"), "what the choice was to be worth")]
    if run.get("target_files"):
        note = ". ".join(["the prototypes are to match these rows", *beyond_input(run)])
        return [("Target", _named(run["target_files"]), note)]
    for note in recent_past(run):
        return [("Target", "the rows themselves", f"the prototypes are to stand for {note}")]
    return [("Target", "the rows themselves", "the prototypes are to stand for all of them")] if run else []


@dataclass(frozen=True)
class GroupFact:
    """A group that prototypes were chosen for, and how much of what its own rows are they carry, or cover, in text."""

    name: str
    rows: int
    prototypes: int
    carried: str


def worst_groups(run: Mapping[str, Any]) -> list[GroupFact]:
    """The groups of a run, those that are represented worst first; none where it had none."""
    values = (run.get("groups") or {"values": []})["values"]
    found = [(math.inf if one["residual"] is None else one["residual"], one) for one in values]
    return [
        GroupFact(
            "(null)" if one["value"] is None else one["value"],
            one["rows"],
            one["prototypes"],
            percent(left) if math.isfinite(left) else "",
        )
        for left, one in sorted(found, key=lambda pair: -pair[0])
    ]


def _groups(result: Prototypes) -> list[tuple[str, str, str | None]]:
    worst, found = worst_groups(_run(result)), _run(result).get("groups")
    if not found:
        return []
    do = "covered" if result.covers else "carried"
    said = ", ".join(f"{cut(one.name, 60)} ({one.carried} {do})" for one in worst[:_WORST])
    how = "each against its own rows" if found["split"] == "each" else f"prototypes are split {found['split']}"
    return [("Groups", f"{len(worst):,} of {found['column']}", f"{how}; the worst: {said}")]


def _width(result: Prototypes) -> str:
    """How the kernel's width was chosen."""
    asked = str(_run(result).get("parameters", {}).get("kernel", repr(result.parameters.get("kernel"))))
    if not hasattr(result.kernel, "width"):
        return "has no width"
    if asked == "None" or "'median'" in asked:
        return "width: the median distance between rows, the default"
    return "width: as it was given"


def _judge(result: Prototypes) -> tuple[str, str]:
    sampling, best = result.certificate.sampling, result.certificate.best
    if best is not None and best.judges < best.population:
        return counted(best.judges, "row"), f"of the {best.population:,} to be covered; they had no part in the choice"
    if sampling is None:
        return "all rows", "value and bound are exact"
    note = f"a uniform sample of {sampling.population:,}; the standard error says what that is worth"
    return counted(sampling.rows, "row"), note


def rerun_of(result: Prototypes) -> Rerun:
    """From what the result knows of the run, or of the selector's call."""
    run = _run(result)
    details = [("seed", shown(run.get("seed", result.random_state)) or "none"), ("protosieve", result.version)]
    details += [("kernel", repr(result.kernel))] if result.kernel is not None else []
    details += [("NumPy, when this was written", np.__version__), ("Python", platform.python_version())]
    details += [] if run else [("in Python", _call(result))]
    files = [*run.get("files", []), *run.get("target_files", [])]
    return Rerun(
        run.get("command"),
        [{"name": cut(str(file["name"]), 300), "size": file.get("size")} for file in files],
        details,
        run.get("parameters") or {name: _plain(value) for name, value in result.parameters.items()},
    )


def _call(result: Prototypes) -> str:
    """The selector as it was called."""
    given = ", ".join(f"{name}={_short(value)}" for name, value in sorted(result.parameters.items()))
    return f"{result.selector}({given})"


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else _short(value, 300)


def _short(value: Any, most: int = 80) -> str:
    try:
        return cut(re.sub(r"\s+", " ", repr(value)), most)
    except Exception:  # an object of the user's
        return f"a {type(value).__name__}"
