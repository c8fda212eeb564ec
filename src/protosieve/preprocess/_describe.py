"""An encoding in plain lines."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from protosieve._cell_texts import EITHER_FIRST
from protosieve._formatting import counted
from protosieve.errors import arg
from protosieve.preprocess._columns import DateColumn, EmbeddedColumn, ImageColumn, ListColumn, Measure, TextColumn
from protosieve.preprocess._layout import Layout
from protosieve.preprocess._moments import SCALES
from protosieve.preprocess._steps import Copied, Cycle, Missing, OneHot, Ranked, Step
from protosieve.preprocess._wording import NAMING, NUMBERING, listing

_FEW = 8  # columns listed one by one
_MANY = 20  # categories, if they are of half of the rows, may be texts


def description(
    layout: Layout, rows: int, scale: str, steps: Sequence[Step], filled: Mapping[str, int], dropped: Mapping[str, str]
) -> list[str]:
    """What is done with which columns, which nulls are filled in, and what is not used, and why."""
    ranked = [step.column for step in steps if isinstance(step, Ranked)]
    return [
        *_measures(layout, SCALES[scale].words, {*dropped, *ranked}),
        *_ranked(ranked),
        *_categories([step for step in steps if isinstance(step, OneHot)], rows),
        *_lists(layout, SCALES[scale].words, dropped),
        *_texts(layout, [step for step in steps if isinstance(step, Copied)]),
        *_dates(layout),
        *_cycles([step for step in steps if isinstance(step, Cycle)]),
        *_words(layout, dropped),
        *_nulls(filled, ranked, {step.column for step in steps if isinstance(step, Missing)}),
        *_rounded(list(layout.rounded)),
        *_reasons("dropped", dropped),
        *_reasons("left out", layout.left_out),
    ]


def _measures(layout: Layout, done: str, others: Collection[str]) -> Iterator[str]:
    for kind, note in (("number", ""), ("date", ", as seconds")):
        names = [column.name for column in layout.items if column.kind == kind and column.name not in others]
        if names:
            verb = done.replace("they are", "it is") if len(names) == 1 else done
            yield f"{counted(len(names), f'{kind} column')} {verb}{note}: {listing(names)}"


def _ranked(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield (
            f"{counted(len(names), 'heavy-tailed column')} compared by ranks, made normal: {listing(names)} "
            f"({arg('scale', 'standard')} standardises all)"
        )


def _lists(layout: Layout, done: str, dropped: Mapping[str, str]) -> Iterator[str]:
    for column in layout.items:
        if isinstance(column, EmbeddedColumn):
            yield f"{column.name}: text, embedded by {column.model} in {counted(column.width, 'number')}"
        elif isinstance(column, ListColumn) and not column.scaled:
            yield f"{column.name}: an embedding of {counted(column.width, 'number')}, taken as it is"
        elif isinstance(column, ListColumn):
            used = sum(column.label(i) not in dropped for i in range(column.width))
            yield f"{column.name}: {used:,} of {counted(column.width, 'column')} {done}"


def _texts(layout: Layout, steps: Sequence[Copied]) -> Iterator[str]:
    lengths = {step.column: step.length for step in steps}
    for column in layout.items:
        if isinstance(column, TextColumn | ImageColumn) and column.name in lengths:
            by = "text, compared by its words" if isinstance(column, TextColumn) else "images, compared by their looks"
            yield f"{column.name}: {by} in {counted(lengths[column.name], 'column')}"


def _categories(steps: Sequence[OneHot], rows: int) -> Iterator[str]:
    """A line each; of many, one line for all of the same description."""
    if len(steps) <= _FEW:
        yield from (f"{step.column}: {_category(step, rows)}" for step in steps)
        return
    for word, names in _by_word((step.column, _category(step, rows)) for step in steps).items():
        yield f"{listing(names)}: {word}{' each' if len(names) > 1 else ''}"


def _category(step: OneHot, rows: int) -> str:
    nulls = ", nulls as 'missing'" if step.missing else ""
    if step.other:
        words = f"; {arg('text')} compares it by its words" if step.distinct > max(_MANY, rows / 2) else ""
        return f"{len(step.categories):,} of {step.distinct:,} categories, the rest as 'other'{nulls}{words}"
    return f"{step.distinct:,} {'category' if step.distinct == 1 else 'categories'}{nulls}"


def _nulls(filled: Mapping[str, int], ranked: Collection[str], told_apart: Collection[str]) -> Iterator[str]:
    shown = list(filled.items())[:_FEW]
    for name, nulls in shown:
        by = "median" if name in ranked else "mean"
        apart = ", and compared as missing" if name in told_apart else ""
        yield f"{counted(nulls, 'null')} in {name} replaced by its {by}{apart}"
    if len(filled) > len(shown):
        rest = list(filled.items())[len(shown) :]
        by = "medians or means" if any(name in ranked for name, _ in rest) else "means"
        of_rest = counted(sum(nulls for _, nulls in rest), "null")
        yield f"{of_rest} in {counted(len(rest), 'more column')} replaced by their {by}"


def _dates(layout: Layout) -> Iterator[str]:
    names = [column.name for column in layout.items if isinstance(column, DateColumn) and column.order == EITHER_FIRST]
    if names:
        yield f"{listing(names)}: dates read as month/day/year ({arg('day_first')} reads them as day/month/year)"


def _cycles(steps: Sequence[Cycle]) -> Iterator[str]:
    for cycle, names in _by_word((step.column, step.cycle) for step in steps).items():
        yield f"{listing(names)}: compared by where in the {cycle} it is, too"


def _words(layout: Layout, dropped: Collection[str]) -> Iterator[str]:
    """Which words were taken for nulls."""
    measures = [column for column in layout.items if isinstance(column, Measure) and column.name not in dropped]
    said = _by_word((column.name, listing(list(map(repr, column.words)))) for column in measures if column.words)
    for words, names in said.items():
        yield f"{words} in {listing(names)} taken as null"


def _rounded(names: Sequence[str]) -> Iterator[str]:
    for name in names[:_FEW]:
        yield (
            f"{name}: some whole numbers are beyond 2^53 and rounded to 16 digits; if they name rows, leave the column "
            f"out with {arg('exclude', name)}, or keep it beside the result with {arg('id', name)}"
        )
    if len(names) > _FEW:
        yield f"{counted(len(names) - _FEW, 'more column')} with whole numbers beyond 2^53, rounded to 16 digits"


def _reasons(what: str, why: Mapping[str, str]) -> Iterator[str]:
    """Names by reason: "dropped: year, month, the same in every row"."""
    for reason, names in _by_word(why.items()).items():
        option = "features" if reason == NUMBERING else "text" if reason.endswith(NAMING) else None
        remedy = f"; {arg(option)} compares the columns it names" if option else ""
        yield f"{what}: {listing(names)}, {reason}{remedy}"


def _by_word(said: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names by what is said of them."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, word in said:
        found[word].append(name)
    return found
