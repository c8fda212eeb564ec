"""The passes over rows as plain values: each makes a small value of a partition, which merges with those of others.

`Job` -> `SurveyPass` -> `Plan` -> `SumsPass` (or `ChoosePass`, where rows are judged one by one) -> `finish`. All can
be pickled and none knows of an engine; values are merged in the order of the partitions, so that the answer follows
from the rows, the options and the seed alone.
"""

from protosieve.passes._ahead import ahead
from protosieve.passes._blocks import (
    FEWEST,
    Block,
    LeftOut,
    Position,
    patience,
    read_as_they_come,
    read_blocks,
    rows_per_block,
)
from protosieve.passes._choose import Choice, ChoosePass
from protosieve.passes._fetch import Fetched, FetchPass
from protosieve.passes._finish import Found, UnlikeHead, by_sample, finish, typed
from protosieve.passes._job import SPARE, Job, job_of, layout_of, rows_of, sample_seed, sample_size, seed_of
from protosieve.passes._options import KERNELS, METHODS, Options, kernel_of, names, options_of, several, shape_text
from protosieve.passes._partitions import ROW_BYTES, Numbering, Partition, joined_partition, key_of, partitions_of
from protosieve.passes._pass import Pass, Value, check_count
from protosieve.passes._plan import Plan, check_image_shape, check_some, number_of_prototypes, settle
from protosieve.passes._row_sample import MOST, Records, RowSample
from protosieve.passes._sums import Sums, SumsPass
from protosieve.passes._survey import Summary, SurveyPass
from protosieve.passes._tables import HeldRows
from protosieve.passes._unchanged import changed, fingerprint, unchanged

__all__ = [
    "FEWEST",
    "KERNELS",
    "METHODS",
    "MOST",
    "ROW_BYTES",
    "SPARE",
    "Block",
    "Choice",
    "ChoosePass",
    "FetchPass",
    "Fetched",
    "Found",
    "HeldRows",
    "Job",
    "LeftOut",
    "Numbering",
    "Options",
    "Partition",
    "Pass",
    "Plan",
    "Position",
    "Records",
    "RowSample",
    "Summary",
    "Sums",
    "SumsPass",
    "SurveyPass",
    "UnlikeHead",
    "Value",
    "ahead",
    "by_sample",
    "changed",
    "check_count",
    "check_image_shape",
    "check_some",
    "fingerprint",
    "finish",
    "job_of",
    "joined_partition",
    "kernel_of",
    "key_of",
    "layout_of",
    "names",
    "number_of_prototypes",
    "options_of",
    "partitions_of",
    "patience",
    "read_as_they_come",
    "read_blocks",
    "rows_of",
    "rows_per_block",
    "sample_seed",
    "sample_size",
    "seed_of",
    "settle",
    "several",
    "shape_text",
    "typed",
    "unchanged",
]
