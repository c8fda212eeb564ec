"""The summary of a run on one screen: how columns were used, the heaviest prototypes, how good they are."""

import re
from collections import Counter, defaultdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from protosieve._formatting import counted, one_line, prototypes, rounded
from protosieve.cli._flags import in_flags
from protosieve.cli._table import TableColumn, draw
from protosieve.insight import (
    ResultWithData,
    beyond_input,
    feature_matches,
    quality_sentences,
    recent_past,
    shown,
    unlike_head,
    words_of,
    worst_groups,
)
from protosieve.result import OURS, Prototypes, arrow_values

if TYPE_CHECKING:
    from rich.console import Console

_TOP = 10
_WIDTH, _METHOD = "try another --width", "try --method swap"
_GROUPS = 10
_LABELS = 8  # values of a label that are told of one by one
_THEIRS = 6  # columns of the user's, besides ids and label
_LONGEST = 1000  # characters of a cell; a table shows fewer, and labels are told apart by all


def summarise(result: Prototypes, output: str | None, console: "Console") -> None:
    """Print it. ``output`` is where the prototypes were written."""
    subject = ResultWithData.of(result)
    for line in _made(result):
        console.print(line)
    console.print()
    draw(_columns(subject), console)
    if len(result) > _TOP:
        console.print(f"and {len(result) - _TOP:,} more", style="dim")
    console.print()
    for line in [*_worth(subject), *_spread(result)]:
        console.print(line)
    _groups(result, console)
    console.print(_place(output))


def _made(result: Prototypes) -> list[str]:
    """From what, and how."""
    run = result.provenance or {}
    files = run["files"]
    where = files[0]["name"] if len(files) == 1 else f"{len(files)} files"
    new = int(result.is_new.sum())
    beside = "" if new == len(result) else f", beside {len(result) - new:,} chosen before"
    lines = [f"{new:,} of {run['rows']:,} rows of {where}{beside}; kernel {rounded(repr(result.kernel))}"]
    lines += [f"  {line}" for line in map(in_flags, result.encoding.marked())]
    notes = [*(f"of {note}" for note in recent_past(run)), *unlike_head(run), *beyond_input(run)]
    lines += [f"  {line}" for line in notes]
    left_out = run["rows_left_out"]
    if left_out["count"]:
        share = f"{100 * left_out['count'] / (run['rows'] + left_out['count']):.2g} % of all"
        lines += [f"  {counted(left_out['count'], 'row')} skipped, {share}:"]
        lines += [f"    {line}" for line in left_out["first"]]
        lines += ["    ..."] if left_out["count"] > len(left_out["first"]) else []
    return [line.rstrip() and _indented(line) for line in lines]


def _indented(line: str) -> str:
    """On one line, whatever the file names and cells it quotes."""
    return " " * (len(line) - len(line.lstrip())) + one_line(line)


def _columns(subject: ResultWithData) -> list[TableColumn]:
    """The heaviest prototypes: our columns, then ids and label, then texts, the words that set each apart from others,
    and the first of the other columns.
    """
    result = subject.result
    top = result.table.slice(0, _TOP)
    parameters = (result.provenance or {})["parameters"]
    named = len(parameters["id"]) + (parameters["label"] is not None) + (parameters["per"] is not None)
    names, first = top.column_names, len(OURS) + named
    texts = dict.fromkeys(place for place, name in enumerate(names) if place >= first and name in parameters["text"])
    places = list(dict.fromkeys([*range(first), *texts, *range(first, len(names))]))[: first + _THEIRS]
    paths = ("file", parameters["image"])
    columns = [_column(names[place], arrow_values(top.column(place)), names[place] in paths) for place in places]
    words, place = [", ".join(found) for found in words_of(subject)[:_TOP]], first + len(texts)
    columns[place:place] = [TableColumn("words", words)] * any(words)
    return columns


def _column(name: str, values: list[Any], are_paths: bool) -> TableColumn:
    if are_paths and all(isinstance(value, str) for value in values):
        return TableColumn(name, [PurePath(value).name for value in values])
    if name == "weight":
        return TableColumn(name, [f"{value:#.3g}" for value in values], right=True)
    if name == "share":
        return TableColumn(name, [f"{100 * value:.1f} %" for value in values], right=True)
    return TableColumn(name, [_cell(value) for value in values], right=all(_is_number(value) for value in values))


def _cell(value: Any) -> str:
    """A value of the user's, short, as in a report; numbers as text are numbers here, too.

    >>> _cell(0.123456), _cell("0.123456"), _cell("00123456"), _cell(None), _cell([0.25, 1.0, 2.0, 3.0]), _cell("x")
    ('0.1235', '0.1235', '00123456', '', '[0.25, 1, …] of 4', 'x')
    """
    return shown(float(value) if _is_fraction(value) else value, _LONGEST)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or _is_fraction(value)


def _is_fraction(value: Any) -> bool:
    """A number as text, of which CSV files are made; without a point it may be a name."""
    return isinstance(value, str) and re.fullmatch(r"[-+]?\d*\.\d+([eE][-+]?\d+)?", value) is not None


def _worth(subject: ResultWithData) -> list[str]:
    """The error beside that of random rows, what it does not tell, and the residual in plain words."""
    features = None if subject.result.covers else feature_matches(subject)
    return [one_line(line) for line in quality_sentences(subject, features, _WIDTH, _METHOD)]


def _spread(result: Prototypes) -> list[str]:
    """Which values of the label the prototypes have, how many each, and how much of the rows these stand for."""
    run = result.provenance or {}
    label = run["parameters"]["label"]
    if label is None:
        return []
    named = list(dict.fromkeys([*run["parameters"]["id"], label]))
    place = len(OURS) + named.index(label)  # a label called like one of our columns has another name there
    values = [_cell(value) or "none" for value in arrow_values(result.table.column(place))]
    counts = Counter(values)
    shares: defaultdict[str, float] = defaultdict(float)
    for value, share in zip(values, result.table.column("share").to_pylist(), strict=True):
        shares[value] += share
    (most, n), *others = counts.most_common(_LABELS)
    whole = "the rows" if run["parameters"]["target"] is None else "the target"
    said = [f"{most} has {prototypes(n)}, nearest to {100 * shares[most]:.0f} % of {whole}"]
    said += [f"{value} has {n:,}, to {100 * shares[value]:.0f} %" for value, n in others]
    said += [f"and {len(counts) - _LABELS:,} more"] if len(counts) > _LABELS else []
    return [one_line(f"By {label}: {'; '.join(said)}.")]


def _groups(result: Prototypes, console: "Console") -> None:
    """The groups that prototypes were chosen for, the worst first, and how good each set is against its own rows."""
    run = result.provenance or {}
    worst = worst_groups(run)
    if not worst:
        return
    name, top = run["groups"]["column"], worst[:_GROUPS]
    more = "" if len(worst) == len(top) else f", the worst {len(top)} of {len(worst):,}"
    console.print(one_line(f"For each {name}{more}, judged by its own rows; {name} itself is not compared:"))
    console.print()
    columns = [
        (name, [one.name for one in top]),
        ("rows", [f"{one.rows:,}" for one in top]),
        ("prototypes", [f"{one.prototypes:,}" for one in top]),
        ("covered" if result.covers else "carried", [one.carried for one in top]),
    ]
    draw([TableColumn(of, cells, right=i > 0) for i, (of, cells) in enumerate(columns)], console)
    console.print()


def _place(output: str | None) -> str:
    if output is None:
        return "Nothing was written; -o chosen.parquet keeps them, with all of their columns."
    return f"Written to {'standard output' if output == '-' else output}."
