"""``protosieve report``: a page about a result that was written before."""

import sys
from pathlib import Path
from typing import Any

from protosieve.cli._options import arguments
from protosieve.cli._streams import showing
from protosieve.cli._terminal import console, notes
from protosieve.report import check_report
from protosieve.result import Prototypes
from protosieve.result.files import read_prototypes
from protosieve.run import draw_sample

_SHOWN = ("title", "label", "image_shape", "image", "text", "coordinates")


def perform(given: dict[str, Any]) -> Prototypes:
    """Everything ``protosieve report`` does, with the options as they were given; returns the result it read."""
    options = arguments(given)
    place = given["output"] or str(Path(given["result"]).with_suffix(".html"))
    check_report(place)
    with notes(given["quiet"]):
        result = read_prototypes(given["result"])
        again = {"embed": options["embed"], "quiet": given["quiet"]}
        data = draw_sample(result, given["data"], **again) if given["data"] else None
        result.report(place, data, **{name: options[name] for name in _SHOWN})
    if not given["quiet"]:
        told = f"The report is in {place}."
        with showing(kept=told):
            console(sys.stdout).print(told)
    return result
