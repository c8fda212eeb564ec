"""Many partitions, any number of workers, one answer: the passes and merges of a run as plain functions.

A `Partition` is read by `summarise` and, once all summaries are merged and settled to a `Plan`, by `select_partition`.
All functions and values can be pickled; none knows of an engine. What comes back is merged in the order of the
partitions, so that the answer follows from the partition list and the seed alone; `drive` does all of it on any
`concurrent.futures.Executor`.
"""

from protosieve.distributed._candidates import Candidates, select_partition
from protosieve.distributed._dask import Cluster, LocalWorkers
from protosieve.distributed._driver import drive
from protosieve.distributed._estimate import Estimate, estimate
from protosieve.distributed._merge import conclude, fan_in, levels, merge_candidates
from protosieve.distributed._outline import Job, Outline, begin, job_of
from protosieve.distributed._partitions import PARTITION_ROWS, Partition, partitions_of
from protosieve.distributed._plan import Plan, settle
from protosieve.distributed._serial import Serial
from protosieve.distributed._summary import Summary, merge_summaries, summarise
from protosieve.distributed._weights import merge_weights, weigh_partition
from protosieve.distributed._work import Work

__all__ = [
    "PARTITION_ROWS",
    "Candidates",
    "Cluster",
    "Estimate",
    "Job",
    "LocalWorkers",
    "Outline",
    "Partition",
    "Plan",
    "Serial",
    "Summary",
    "Work",
    "begin",
    "conclude",
    "drive",
    "estimate",
    "fan_in",
    "job_of",
    "levels",
    "merge_candidates",
    "merge_summaries",
    "merge_weights",
    "partitions_of",
    "select_partition",
    "settle",
    "summarise",
    "weigh_partition",
]
