"""What was summarised, and how."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from protosieve._prototypes import Prototypes
from protosieve._words import allowed, counted, rounded, unlike_head
from protosieve.report._material import Material
from protosieve.report._text import cut
from protosieve.selectors import SELECTORS

__all__ = ["summary"]

_SUMMARIES = {cls.__name__: cls.summary for cls in SELECTORS}


def summary(material: Material) -> list[dict[str, str | None]]:
    """Rows, columns, target, method, prototypes, kernel, judge and sample: a name, a value, a word beside."""
    result = material.result
    lines = [
        ("Rows", f"{result.n_seen:,}", _sources(result)),
        ("Columns", f"{result.rows.shape[1]:,}", _columns(result)),
        ("Target", *_target(result)),
        ("Method", result.selector, _SUMMARIES.get(result.selector)),
        ("Prototypes", f"{len(result):,}", f"of {allowed(result):,} allowed"),
        ("Kernel", *_kernel(result)),
        ("Judged by", *_judge(result)),
        ("Shown beside", *_shown(material)),
    ]
    return [{"name": name, "value": value, "note": note and cut(note, 600)} for name, value, note in lines if value]


def _run(result: Prototypes) -> Mapping[str, Any]:
    return result.provenance or {}


def _sources(result: Prototypes) -> str | None:
    run = _run(result)
    if not run.get("files"):
        return None
    said, left_out = _named(run["files"]), run.get("rows_left_out", {}).get("count", 0)
    said += f"; {counted(left_out, 'row')} could not be used" if left_out else ""
    return ". ".join([said, *unlike_head(run)])


def _named(files: list[Mapping[str, Any]]) -> str:
    if len(files) == 1:
        return PurePath(str(files[0]["name"])).name
    folders = {str(PurePath(str(file["name"])).parent.name) for file in files}
    where = f" in {folders.pop()}" if len(folders) == 1 and folders != {""} else ""
    return f"{counted(len(files), 'file')}{where}"


def _columns(result: Prototypes) -> str | None:
    """What was done with the columns; numbers as they are where nothing was."""
    if result.encoding is None:
        return None
    return "; ".join(result.encoding.describe())


def _target(result: Prototypes) -> tuple[str | None, str | None]:
    if result.kernel is None:
        return str(result.certificate.whole or "a function of the set"), "what the choice was to be worth"
    run = _run(result)
    if not run:
        return None, None  # a result does not know whether a target was given
    if run.get("target_files"):
        return _named(run["target_files"]), "the prototypes are to match these rows"
    return "the rows themselves", "the prototypes are to stand for all of them"


def _kernel(result: Prototypes) -> tuple[str | None, str | None]:
    """The kernel, and how its width was chosen."""
    if result.kernel is None:
        return None, None
    asked = _run(result).get("parameters", {}).get("kernel", repr(result.parameters.get("kernel")))
    return rounded(repr(result.kernel)), _width(result, str(asked))


def _width(result: Prototypes, asked: str) -> str:
    if not hasattr(result.kernel, "width"):
        return "has no width"
    if asked == "None" or "'median'" in asked:
        return "width: the median distance between rows, the default"
    return "width: as it was given"


def _judge(result: Prototypes) -> tuple[str | None, str | None]:
    certificate = result.certificate
    if result.kernel is None:
        return None, None
    if certificate.sample is None:
        return "all rows", "value and bound are exact"
    of = "" if certificate.sampling is None else f" of {certificate.sampling.population:,}"
    return f"{counted(certificate.sample, 'row')}", f"a uniform sample{of}; the standard error says what that is worth"


def _shown(material: Material) -> tuple[str | None, str | None]:
    sample = material.sample
    if sample is None:
        return None, None
    of = "the target" if sample.is_target else "the data"
    if len(sample) == sample.n_rows:
        return counted(len(sample), "row"), f"all of {of}"
    return counted(len(sample), "row"), f"a uniform sample of {of}'s {sample.n_rows:,}"
