"""The passes over rows as plain values: a pass makes a small value of each partition, and these values merge.

`Job` -> `SurveyPass` -> `Plan` -> `SumsPass` (or `ChoosePass`, if rows are judged one by one) -> `result_of`; standard
input takes one `StreamPass`. All can be pickled and none knows an engine. Values are merged in the order of the
partitions, so the answer depends on the rows, the options and the seed alone.
"""

from protosieve.passes._aside import Aside, NamedRows
from protosieve.passes._blocks import (
    LeftOut,
    Position,
    RowBlock,
    read_blocks,
    rows_per_block,
)
from protosieve.passes._checks import number_of_prototypes
from protosieve.passes._choose import Choice, ChoosePass
from protosieve.passes._fetch import Fetched, FetchPass
from protosieve.passes._fingerprints import changed, fingerprint, unchanged
from protosieve.passes._group_plans import join_groups, kept_of, note_excluded, plans_of, within_quotas
from protosieve.passes._groups import GroupSums, GroupSumsPass
from protosieve.passes._job import SPARE, Job, groups_of, job_of, layout_of, rows_of, sample_seed, sample_size, seed_of
from protosieve.passes._options import METHODS, Options, kernel_of, names, options_of
from protosieve.passes._partitions import ROW_BYTES, Numbering, Partition, joined_partition, key_of, partitions_of
from protosieve.passes._pass import Pass, Value
from protosieve.passes._plan import Plan, settle
from protosieve.passes._result import Chosen, by_sample, numbered
from protosieve.passes._row_sample import MOST, RowSample
from protosieve.passes._stream import Streamed, StreamPass
from protosieve.passes._sums import Sums, SumsPass
from protosieve.passes._survey import Summary, SurveyPass
from protosieve.passes._tables import HeldRows, Records, typed
from protosieve.passes._texts import Texts, TextsPass, by_words, learnt

__all__ = [
    "METHODS",
    "MOST",
    "ROW_BYTES",
    "SPARE",
    "Aside",
    "Choice",
    "ChoosePass",
    "Chosen",
    "FetchPass",
    "Fetched",
    "GroupSums",
    "GroupSumsPass",
    "HeldRows",
    "Job",
    "LeftOut",
    "NamedRows",
    "Numbering",
    "Options",
    "Partition",
    "Pass",
    "Plan",
    "Position",
    "Records",
    "RowBlock",
    "RowSample",
    "StreamPass",
    "Streamed",
    "Summary",
    "Sums",
    "SumsPass",
    "SurveyPass",
    "Texts",
    "TextsPass",
    "Value",
    "by_sample",
    "by_words",
    "changed",
    "fingerprint",
    "groups_of",
    "job_of",
    "join_groups",
    "joined_partition",
    "kept_of",
    "kernel_of",
    "key_of",
    "layout_of",
    "learnt",
    "names",
    "note_excluded",
    "number_of_prototypes",
    "numbered",
    "options_of",
    "partitions_of",
    "plans_of",
    "read_blocks",
    "rows_of",
    "rows_per_block",
    "sample_seed",
    "sample_size",
    "seed_of",
    "settle",
    "typed",
    "unchanged",
    "within_quotas",
]
