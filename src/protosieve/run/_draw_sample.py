"""A sample of the rows of files, to look at beside a result."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from protosieve.errors import InputError
from protosieve.insight import folders_of
from protosieve.io import CsvForm, Source, check_schemas, find_sources
from protosieve.passes import (
    MOST,
    Numbering,
    RowSample,
    fingerprint,
    names,
    partitions_of,
    read_blocks,
    sample_seed,
    typed,
    unchanged,
)
from protosieve.result import DataSample, Prototypes
from protosieve.run._progress import Tick, watching


def draw_sample(
    result: Prototypes,
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    bad_rows: str | None = None,
    embed: str | Callable[..., Any] | None = None,
    quiet: bool = True,
) -> DataSample:
    """A uniform sample of the rows of files, encoded as the result's rows are: one pass, O(n) time, fixed memory.

    Of the files a run made the result of (its target's, where it had one) it is the run's own sample. ``format`` and
    ``bad_rows`` are as for `select`, by default as they were there; ``embed`` is the model that texts were embedded by,
    where the result was read from a file; ``quiet`` shows no progress bar.
    """
    encoding, known = result.encoding, result.provenance
    if encoding is None or known is None:
        raise InputError("only the result of a run over files knows how rows of files are encoded; pass rows in memory")
    asked = known["parameters"]
    csv = CsvForm(*(asked.get(name) for name in ("delimiter", "encoding", "decimal")))
    sources = find_sources(names(files, "files"), format or asked["format"], csv)
    check_schemas(sources)
    skip = (bad_rows or asked["bad_rows"]) == "skip"
    is_target = _is_target(sources, known)
    sample = RowSample.empty(sample_seed(known["seed"], is_target), MOST)
    before, sizes = [fingerprint(source) for source in sources], [source.size or 0 for source in sources]
    partitions, ends = partitions_of(sources, asked["partition_rows"]), dict[int, int]()  # as in the run
    with unchanged(sources, before), watching(quiet) as watcher:
        for partition in partitions:
            columns, start = encoding.layout.by_model(embed), partition.start
            blocks = read_blocks(partition.row_ranges, columns, None, start, skip, lambda: False)
            with closing(blocks):
                for block in blocks:
                    sample.take(replace(block, rows=encoding.transform(block.rows)))
                    done = sum(sizes[: partition.first_file]) + block.bytes_read
                    ends[partition.number] = block.until.before + block.until.row - partition.key
                    watcher(Tick("look", 1, 1, sample.seen, done, sum(sizes), None, None))
    if sample.rows is None:
        raise InputError(f"{sources[0].name}: there are no rows that can be used; give files that have some")
    found = sample.light()
    rows, numbers = sample.rows.settled().rows_of(found.numbers), Numbering.of(partitions, ends).numbers(found.numbers)
    folders = folders_of(source.name for source in sources)
    return DataSample(numbers, rows, typed(found.table, encoding.layout), sample.seen, is_target, folders)


def _is_target(sources: Sequence[Source], known: Mapping[str, Any]) -> bool:
    """Whether these files are the target's; those of a later month are not, whatever the run had."""
    target = {Path(file["name"]).absolute() for file in known["target_files"]}
    return {Path(source.name).absolute() for source in sources} <= target
