"""`survey`: one pass over files, to learn what their rows are like."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from protosieve import _defaults as default
from protosieve._typing import Array
from protosieve.io import check_form, find_sources
from protosieve.passes import Options, job_of, options_of
from protosieve.preprocess import Encoding
from protosieve.run._drive import settled
from protosieve.run._engine import Here
from protosieve.run._progress import RunProgress, Watcher, watching
from protosieve.run._signals import stops


@dataclass(frozen=True, eq=False)
class Surveyed:
    """What one pass over files finds: how columns become numbers, the number of rows, and a uniform sample of them.

    ``labels`` are those of the sample, where the column of a ``label`` was named; None where it has none.
    """

    encoding: Encoding
    n_rows: int
    rows: Array
    labels: list[Any] | None = None


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
    >>> from protosieve.run import survey
    >>> path = tempfile.mkdtemp() + "/x.npy"
    >>> np.save(path, np.random.default_rng(0).normal(size=(500, 3)))
    >>> survey(path, sample=100).rows.shape
    (100, 3)
    """
    unknown = sorted(columns.keys() - {field.name for field in fields(Options)})
    if unknown:
        raise TypeError(f"survey() got an unexpected keyword argument {unknown[0]!r}")
    asked = {"inputs": inputs, "n_prototypes": 1, "sample": sample, "random_state": random_state}
    options = options_of({**asked, **columns})
    sources = find_sources(options.inputs, options.format, options.csv)
    check_form(options.csv, sources)
    job = job_of(options, sources, [])
    with watching(quiet, progress) as watcher, stops() as stop:
        here = Here(job, RunProgress(job, watcher), stop, None)
        plan, _, _ = settled(job, here, lambda job: (job, here.gather(job.survey(), job.inputs), None))
    if options.label is None:
        return Surveyed(plan.encoding, plan.n_rows, plan.candidates.rows)
    kept = plan.candidates.first(len(plan.records))  # their own columns were kept, as far as they are light
    cells = plan.records.of(kept.numbers).table.column(options.label).to_pylist()
    return Surveyed(plan.encoding, plan.n_rows, kept.rows, [None if cell == "" else cell for cell in cells])
