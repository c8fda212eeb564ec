"""Files must not change while a run reads them, or before it goes on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from protosieve.errors import InputError, ProtosieveError
from protosieve.io import Source


def fingerprint(source: Source) -> dict[str, Any]:
    """What tells a file from others; of what comes once its name."""
    return source.fingerprint() or {"name": source.name, "size": source.size}


@contextmanager
def unchanged(sources: Iterable[Source], known: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """Read files inside, whose fingerprints were ``known`` before: `InputError` where one has changed since.

    This is checked after other errors too: a file that changes causes errors that make no sense.
    """
    try:
        yield
    except ProtosieveError:
        _check(sources, known)
        raise
    _check(sources, known)


def _check(sources: Iterable[Source], known: Sequence[Mapping[str, Any]]) -> None:
    before = {file["name"]: file for file in known}
    for source in {source.name: source for source in sources}.values():
        difference = changed([before[source.name]], [fingerprint(source)])
        if difference is not None:
            raise InputError(f"{difference}: it was written to while it was read; run again when it is complete")


def changed(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> str | None:
    """The first file that is not what it was, by its fingerprint, in words."""
    gone = sorted({file["name"] for file in before} ^ {file["name"] for file in after})
    if gone:
        there = "gone" if gone[0] in {file["name"] for file in before} else "new"
        return f"{gone[0]} is {there}"
    for was, now in zip(before, after, strict=True):
        for name in was:
            if was[name] != now.get(name):
                return f"{was['name']} has changed: its {name} was {_said(was[name])} and is {_said(now.get(name))}"
    return None


def _said(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
