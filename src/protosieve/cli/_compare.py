"""``protosieve compare``: the methods side by side, on rows encoded as ``select`` would encode them."""

import json
import sys
from typing import Any

from protosieve._compare import Comparison, compare
from protosieve._formatting import rounded
from protosieve.cli._flags import in_flags
from protosieve.cli._options import arguments
from protosieve.cli._streams import showing
from protosieve.cli._table import TableColumn, draw
from protosieve.cli._terminal import console, notes
from protosieve.passes import kernel_of
from protosieve.result.files import check_output, without_nan
from protosieve.run import survey

# In a narrow terminal the last ones are left out.
_ORDER = (
    "method", "kept", "residual", "covered", "accuracy", "seconds", "own_residual", "mmd", "seconds_with_mean",
    "objective", "own_objective",
)  # fmt: skip
_NOT_OF_SURVEY = ("n_prototypes", "methods", "kernel", "width", "json")


def perform(given: dict[str, Any]) -> Comparison:
    """Everything ``protosieve compare`` does, with the options as they were given; returns the table."""
    check_output("-")
    options = arguments(given)
    kernel = kernel_of(options["kernel"], options["width"])
    with notes(given["quiet"]):
        surveyed = survey(**{name: value for name, value in options.items() if name not in _NOT_OF_SURVEY})
        table = compare(
            surveyed.rows,
            options["n_prototypes"],
            options["methods"],
            kernel=kernel,
            labels=surveyed.labels,
            random_state=options["random_state"],
        )
    with showing():
        if given["json"]:
            found = without_nan({"title": table.title, "methods": table.rows})
            json.dump(found, sys.stdout, ensure_ascii=False, indent=2)
            sys.stdout.write("\n")
        else:
            _show(table, list(map(in_flags, surveyed.encoding.marked())))
    return table


def _show(table: Comparison, encoding: list[str]) -> None:
    out = console(sys.stdout)
    for line in [*encoding, rounded(table.title), ""]:
        out.print(line)
    names = [name for name in _ORDER if name in table.columns]
    draw([TableColumn(name, [_figure(row[name]) for row in table.rows], right=name != "method") for name in names], out)
    out.print("\nTo match: the smaller the residual the better; random is random rows with the best weights.")
    out.print("To cover: the more is covered the better; kmeans is the row nearest to each centre of k-means.")
    if "accuracy" in table.columns:
        out.print("Accuracy: of the other rows, classified by the nearest of those chosen.")


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
