"""Everything a page shows, as one value that JSON can hold."""

import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from protosieve._prototypes import Prototypes
from protosieve._typing import Float64
from protosieve._words import counted, sig
from protosieve.report._cards import cards
from protosieve.report._map import map_of
from protosieve.report._material import Material
from protosieve.report._missing import criticised, criticism_sentence
from protosieve.report._quality import quality
from protosieve.report._spread import coverage
from protosieve.report._summary import summary
from protosieve.report._text import cut, plain, shown

__all__ = ["blank", "story", "stream_of"]

_FORMAT = 1


def story(material: Material, state: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The whole report as plain values: texts are raw, numbers finite or None. ``state`` is passed through.

    Some tenths of a second: O(sample (m + 4,096) d) for what the prototypes stand for and miss, O(m^3) up to 500
    prototypes for the curve, and what images cost.
    """
    result = material.result
    chart, missed, spread = map_of(material), criticised(material), coverage(material)
    prototypes, others = cards(material, missed, chart)
    told: dict[str, Any] = plain(
        {
            "format": _FORMAT,
            "title": cut(material.view.title or f"{len(result):,} of {counted(result.n_seen, 'row')}", 200),
            "version": result.version,
            "state": None if state is None else dict(state),
            "summary": summary(material),
            "quality": quality(material, spread["features"]),
            "cards": prototypes,
            "criticisms": None if missed is None else {"sentence": criticism_sentence(missed), "cards": others},
            "map": chart.drawn,
            "coverage": spread,
            "stream": stream_of(result),
            "again": _again(result),
        }
    )
    return told


def blank(title: str, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """The story of a run that has chosen nothing yet."""
    return {
        "format": _FORMAT,
        "title": title,
        "version": version("protosieve"),
        "state": None if state is None else dict(state),
        "summary": [],
        "quality": _nothing("lead", "own", "random", "curve", "no_curve") | {"sentences": [], "figures": []},
        "cards": [],
        "criticisms": None,
        "map": None,
        "coverage": _nothing("shares", "labels", "features") | {"sentence": ""},
        "stream": None,
        "again": {"command": None, "files": [], "details": [], "parameters": {}},
    }


def _nothing(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names)


def stream_of(result: Prototypes) -> dict[str, Any] | None:
    """The residual along the stream, each by the bound of its time.

    None where there is but one point, or no bound to hold the objective against.
    """
    trace = result.trace
    if len(trace) < 2 or trace.rows_seen[0] == trace.rows_seen[-1] or trace.bound is None or not trace.bound.min() > 0:
        return None
    residual = np.maximum(1 - trace.objective / trace.bound, 0.0)
    return {
        "rows": trace.rows_seen.tolist(),
        "residual": [sig(value, 6) for value in residual.tolist()],
        "accepted": None if trace.accepted is None else trace.accepted.tolist(),
        "exchanged": None if trace.exchanged is None else trace.exchanged.tolist(),
        "sentence": _along(result, residual),
    }


def _along(result: Prototypes, residual: Float64) -> str:
    """From where to where it went, and how much happened on the way."""
    trace = result.trace
    (first, *_, last), (begin, *_, end) = trace.rows_seen.tolist(), residual.tolist()
    moved = "fell" if end <= begin else "rose"
    said = f"What is left {moved} from {_left(begin)} after {counted(first, 'row')} to {_left(end)} after {last:,}."
    if trace.bound is not None and np.ptp(trace.bound) > 0:
        said += " Each is judged by the rows that had been seen."
    if trace.exchanged is not None:
        said += f" {counted(int(trace.exchanged[-1]), 'member')} gave way to others."
    if trace.accepted is not None:
        taken = int(trace.accepted[-1])
        said += f" {counted(taken, 'row')} {'was' if taken == 1 else 'were'} taken in."
    return said


def _left(residual: float) -> str:
    return f"{100 * max(residual, 0.0):.3g} %"


def _again(result: Prototypes) -> dict[str, Any]:
    """What it takes to run it again."""
    run: Mapping[str, Any] = result.provenance or {}
    seed = run.get("seed", result.random_state)
    details = [["seed", shown(seed) or "none"], ["protosieve", result.version]]
    details += [["kernel", repr(result.kernel)]] if result.kernel is not None else []
    details += [["NumPy, when this was written", np.__version__], ["Python", platform.python_version()]]
    details += [] if run else [["in Python", _call(result)]]
    files = [*run.get("files", []), *run.get("target_files", [])]
    return {
        "command": run.get("command"),
        "files": [{"name": cut(str(file["name"]), 300), "size": file.get("size")} for file in files],
        "details": details,
        "parameters": dict(run.get("parameters", result.parameters)),
    }


def _call(result: Prototypes) -> str:
    """The selector as it was called."""
    given = ", ".join(f"{name}={_short(value)}" for name, value in sorted(result.parameters.items()))
    return f"{result.selector}({given})"


def _short(value: Any) -> str:
    try:
        return cut(re.sub(r"\s+", " ", repr(value)), 80)
    except Exception:  # an object of the user's
        return f"a {type(value).__name__}"
