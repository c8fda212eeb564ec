"""``protosieve select``: run, and show what came of it."""

import json
import sys
from concurrent.futures import Executor
from contextlib import nullcontext, suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from protosieve.cli._flags import command_of
from protosieve.cli._options import arguments
from protosieve.cli._streams import showing
from protosieve.cli._summary import summarise
from protosieve.cli._terminal import console, notes
from protosieve.errors import ParameterError
from protosieve.passes import Options, options_of
from protosieve.result import Prototypes
from protosieve.result.files import as_dash, check_output, without_nan
from protosieve.run import Cluster, Estimate, LocalWorkers, Store, begin, estimate, report_place, run, window_of

if TYPE_CHECKING:
    from rich.console import Console

_OWN = ("json", "watch_at", "workers", "dask", "dry_run")  # options of the command, not arguments of `select`
_UNASKED = {"progress": None, "window": None}  # and the other way round
_DECIDING = {"kernel", "width", *(field.name for field in fields(Options))}


def perform(given: dict[str, Any]) -> Prototypes | None:
    """Everything ``protosieve select`` does, with the options as they were given; returns the result, if any."""
    given = {**given, "output": as_dash(given["output"])}
    asked = arguments(given)
    options = {name: value for name, value in asked.items() if name not in _OWN}
    options["watch"] = given["watch_at"] or given["watch"]
    options["report"] = report_place(given["report"], options["watch"], given["output"])
    if given["json"] and given["output"] == "-":
        raise ParameterError(
            "--json and --output - both need standard output; give the output a file, or omit one of them"
        )
    place = _place(asked["workers"], asked["dask"], given["inputs"])
    if given["json"] or given["dry_run"] or not (given["quiet"] or given["output"] or options["report"]):
        check_output("-")  # there is nothing else to show for the run
    if given["dry_run"]:
        job, _ = begin(options_of(options))
        with showing():
            _tell(estimate(job, 1 if place is None else window_of(place)), given["json"])
            if options["work"] is not None and not given["json"]:
                sys.stdout.write(Store.look(options["work"], job))
        return None
    with notes(given["quiet"]), place or nullcontext() as executor:
        result = run({**_UNASKED, **options, "executor": executor}, command_of(given, _DECIDING))
    _show(result, given, options["report"])
    return result


def _tell(foreseen: Estimate, as_json: bool) -> None:
    """What a run would take."""
    sys.stdout.write(f"{json.dumps(foreseen.figures(), indent=2) if as_json else foreseen}\n")


def _place(workers: Any, address: str | None, inputs: list[str]) -> Executor | None:
    if workers is not None and address is not None:
        raise ParameterError("--workers and --dask are two places to work at; give one of them")
    if inputs == ["-"] and (workers is not None or address is not None):
        raise ParameterError(
            f"{'--dask' if workers is None else '--workers'}: standard input is one stream of rows, for one process; "
            "store the rows in a file first"
        )
    if address is not None:
        return Cluster(address)
    return None if workers is None else LocalWorkers(workers)


def _show(result: Prototypes, given: dict[str, Any], place: str | None) -> None:
    if given["json"]:
        with showing():
            json.dump(without_nan(_figures(result)), sys.stdout, ensure_ascii=False, indent=2)
            sys.stdout.write("\n")
    elif not given["quiet"]:
        is_piped = given["output"] == "-"
        written = [given["output"]] if given["output"] and not is_piped else []
        kept = " and ".join([*(f"the result is in {file}" for file in written), *_reported(place)])
        with suppress(OSError) if is_piped else showing(kept or None):
            _summarise(result, given["output"], place, console(sys.stderr if is_piped else sys.stdout))


def _summarise(result: Prototypes, output: str | None, place: str | None, out: "Console") -> None:
    summarise(result, output, out)
    for told in _reported(place):
        out.print(f"{told[0].upper()}{told[1:]}.")


def _reported(place: str | None) -> list[str]:
    return [] if place is None else [f"the report is in {place}"]


def _figures(result: Prototypes) -> dict[str, Any]:
    """Provenance and prototypes, as in an output file that ends in .json, without the users' own columns."""
    return {
        "provenance": dict(result.provenance or {}),
        "prototypes": result.table.select(["row", "file", "weight", "share"]).to_pylist(),
    }
