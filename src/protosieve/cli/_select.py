"""``protosieve select``: run, and show what came of it."""

import json
import sys
from typing import Any

from protosieve._prototypes import Prototypes
from protosieve._select import select
from protosieve.cli._summary import summarise
from protosieve.cli._terminal import console, notes
from protosieve.cli._values import arguments
from protosieve.errors import ParameterError
from protosieve.pipeline._watch import report_place

__all__ = ["perform"]


def perform(given: dict[str, Any]) -> Prototypes:
    """Everything ``protosieve select`` does, with the options as they were given; returns the result."""
    options = {name: value for name, value in arguments(given).items() if name not in ("json", "watch_at")}
    options["watch"] = given["watch_at"] or given["watch"]
    options["report"] = report_place(given["report"], options["watch"], given["output"])
    as_json, quiet, to_stdout = given["json"], given["quiet"], given["output"] == "-"
    if as_json and to_stdout:
        raise ParameterError(
            "--json and --output - both want standard output; give the output a file, or leave one of them out"
        )
    with notes(quiet):
        result = select(**options)
    if as_json:
        json.dump(_figures(result), sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
    elif not quiet:
        out = console(sys.stderr if to_stdout else sys.stdout)
        summarise(result, given["output"], out)
        if options["report"] is not None:
            out.print(f"The report is in {options['report']}.")
    return result


def _figures(result: Prototypes) -> dict[str, Any]:
    """Provenance and prototypes, as in an output file that ends in .json, without the users' own columns."""
    return {
        "provenance": dict(result.provenance or {}),
        "prototypes": result.table.select(["row", "file", "weight", "share"]).to_pylist(),
    }
