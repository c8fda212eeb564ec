"""`survey`: one pass over files, to learn what their rows are like."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from protosieve import _defaults as default
from protosieve._typing import Array
from protosieve.io import find_sources
from protosieve.pipeline._bar import bar
from protosieve.pipeline._fresh import fresh
from protosieve.pipeline._job import Job
from protosieve.pipeline._options import Options, names, several
from protosieve.pipeline._progress import Watcher
from protosieve.pipeline._run import Surveying
from protosieve.preprocess import Encoding

__all__ = ["Surveyed", "survey"]


@dataclass(frozen=True, eq=False)
class Surveyed:
    """What one pass over files finds: how columns become numbers, the number of rows, and a uniform sample of them."""

    encoding: Encoding
    n_rows: int
    rows: Array


def survey(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    sample: int = default.SAMPLE,
    random_state: int | None = default.RANDOM_STATE,
    quiet: bool = True,
    progress: Watcher | None = None,
    **columns: Any,
) -> Surveyed:
    """Encode files as `select` would, and keep ``sample`` of their rows; O(n) time, memory for the sample.

    ``columns`` are the arguments of `select` that say what becomes of the columns and of rows that cannot be used.

    >>> import tempfile
    >>> import numpy as np
    >>> from protosieve.pipeline import survey
    >>> path = tempfile.mkdtemp() + "/x.npy"
    >>> np.save(path, np.random.default_rng(0).normal(size=(500, 3)))
    >>> survey(path, sample=100).rows.shape
    (100, 3)
    """
    options = Options(
        inputs=names(inputs, "inputs"),
        n_prototypes=1,
        sample=sample,
        random_state=random_state,
        **several(columns),
    )
    sources = find_sources(options.inputs, options.format)
    run = fresh(options, sources, [])
    job = Job(run, sources, [Surveying(sources, run.layout, is_input=True, is_target=True)], None)
    with bar(quiet) if progress is None else nullcontext(progress) as watcher:
        job.drive(watcher)
    assert run.target is not None
    return Surveyed(run.encoded, run.n_rows, run.target)
