"""``protosieve select``: run, and show what came of it."""

import json
import sys
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from protosieve._prototypes import Prototypes
from protosieve._select import select
from protosieve.cli._summary import summarise
from protosieve.cli._terminal import console, notes
from protosieve.cli._values import arguments
from protosieve.distributed import PARTITION_ROWS, Estimate, LocalWorkers, begin, estimate
from protosieve.distributed._dask import at_address
from protosieve.errors import ParameterError
from protosieve.pipeline._options import options_of
from protosieve.pipeline._watch import report_place

__all__ = ["perform"]


_OWN = ("json", "watch_at", "workers", "dask", "dry_run")  # options of the command, not arguments of `select`


def perform(given: dict[str, Any]) -> Prototypes | None:
    """Everything ``protosieve select`` does, with the options as they were given; returns the result, if any."""
    asked = arguments(given)
    options = {name: value for name, value in asked.items() if name not in _OWN}
    options["watch"] = given["watch_at"] or given["watch"]
    options["report"] = report_place(given["report"], options["watch"], given["output"])
    if given["json"] and given["output"] == "-":
        raise ParameterError(
            "--json and --output - both want standard output; give the output a file, or leave one of them out"
        )
    if given["dry_run"]:
        sys.stdout.write(f"{_foreseen(options)}\n")
        return None
    with notes(given["quiet"]), _executor(asked["workers"], asked["dask"]) as executor:
        result = select(**options, executor=executor)
    _show(result, given, options["report"])
    return result


def _foreseen(options: dict[str, Any]) -> Estimate:
    """What a run over partitions would take."""
    rows = PARTITION_ROWS if options["partition_rows"] is None else options["partition_rows"]
    return estimate(begin(options_of({**options, "partition_rows": rows}), rows))


def _executor(workers: Any, address: str | None) -> AbstractContextManager[Executor | None]:
    if workers is not None and address is not None:
        raise ParameterError("--workers and --dask are two places to work at; give one of them")
    if address is not None:
        return at_address(address)
    return nullcontext() if workers is None else LocalWorkers(workers)


def _show(result: Prototypes, given: dict[str, Any], place: str | None) -> None:
    if given["json"]:
        json.dump(_figures(result), sys.stdout, ensure_ascii=False, indent=2)
        sys.stdout.write("\n")
    elif not given["quiet"]:
        out = console(sys.stderr if given["output"] == "-" else sys.stdout)
        summarise(result, given["output"], out)
        if place is not None:
            out.print(f"The report is in {place}.")


def _figures(result: Prototypes) -> dict[str, Any]:
    """Provenance and prototypes, as in an output file that ends in .json, without the users' own columns."""
    return {
        "provenance": dict(result.provenance or {}),
        "prototypes": result.table.select(["row", "file", "weight", "share"]).to_pylist(),
    }
