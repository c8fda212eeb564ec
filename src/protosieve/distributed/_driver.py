"""A run over partitions from its first to its last: tasks to an executor, and what comes back made one result."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from operator import attrgetter
from typing import Any

from protosieve._blas import one_thread
from protosieve._prototypes import Prototypes
from protosieve.distributed._candidates import Candidates
from protosieve.distributed._flight import Flight
from protosieve.distributed._gather import Gathering
from protosieve.distributed._merge import conclude, fan_in
from protosieve.distributed._outline import Job, Outline
from protosieve.distributed._partitions import Partition
from protosieve.distributed._plan import Plan, settle
from protosieve.distributed._progress import Progress
from protosieve.distributed._summary import Summary, merge_summaries, summarise
from protosieve.distributed._task import Task
from protosieve.distributed._weights import merge_weights, weigh_partition
from protosieve.distributed._work import Work
from protosieve.io import Stretch
from protosieve.pipeline._finish import finish
from protosieve.pipeline._progress import Watcher
from protosieve.pipeline._run import check_count
from protosieve.pipeline._signals import Stopped, stops
from protosieve.pipeline._unchanged import unchanged

__all__ = ["drive"]


def drive(
    job: Job,
    executor: Executor,
    *,
    window: int | None = None,
    at_once: int | None = None,
    work: Work | None = None,
    watcher: Watcher | None = None,
) -> Prototypes:
    """The result of a job, the same whatever the executor, its workers and the order in which they are done.

    Parameters
    ----------
    job : Job
        As `begin` makes it.
    executor : concurrent.futures.Executor
        Where partitions are worked on, and groups of their candidates merged. It stays open.
    window : int, optional
        Tasks that are at the executor at a time, and results that wait for their turn; by default twice its workers,
        and no fewer than 4.
    at_once : int, optional
        Sets of candidates that are merged at a time, by default `fan_in` of them. The answer depends on it.
    work : Work, optional
        Where results of partitions are kept, and found.
    watcher : callable, optional
        Called with a `Tick` before every pass and after every partition.

    Notes
    -----
    Summaries and sums are taken in as they come, in the order of the partitions; of candidates a group for each level
    of the tree is held. Memory here is theirs, and that of a window of results, whatever the number of rows.
    """
    progress = Progress(job, watcher)
    with one_thread(), stops() as stop:  # threads would each set their own number of BLAS threads, and reset it
        try:
            with Flight(executor, window, stop, work, progress.arrived) as flight:
                summaries = _surveyed(job, flight, progress)
                with stop.at_once():
                    plan = settle(job.run, *summaries)
                found = _gathered(job, plan, flight, progress, at_once)
                with stop.at_once():
                    conclude(job.run, found, plan)
                if job.run.options.exact_weights:
                    _weigh(job, plan, flight, progress)
                with stop.at_once():
                    return finish(job.run, [file["name"] for file in job.run.files])
        except Stopped as stopped:
            stopped.tell(f"{progress.place}; {'nothing was written' if work is None else work.untouched()}")
            raise


def _surveyed(job: Job, flight: Flight, progress: Progress) -> list[Summary]:
    """Of the input and, if it has files of its own, of the target."""
    progress.begin("survey", job.inputs, job.run.files, attrgetter("survey.rows"))
    found = [_summary("survey", job.inputs, job.run.files, job.outline(), flight)]
    if job.targets:
        progress.begin("survey", job.targets, job.run.target_files, attrgetter("survey.rows"))
        found.append(_summary("target", job.targets, job.run.target_files, job.target_outline(), flight))
    return found


def _sources(partitions: Sequence[Partition]) -> list[Stretch]:
    return [stretch for one in partitions for stretch in one.stretches]


def _summary(
    stage: str, partitions: Sequence[Partition], files: Sequence[Mapping[str, Any]], outline: Outline, flight: Flight
) -> Summary:
    tasks = (Task(stage, one.number, summarise, (one, outline)) for one in partitions)
    with unchanged(_sources(partitions), files):
        return merge_summaries(flight.each(tasks, given=[outline]))


def _gathered(job: Job, plan: Plan, flight: Flight, progress: Progress, at_once: int | None) -> list[Candidates]:
    progress.begin("select", job.inputs, job.run.files, attrgetter("seen"))
    gathering = Gathering(job.inputs, plan, fan_in(plan.n_prototypes) if at_once is None else at_once)
    with unchanged(_sources(job.inputs), job.run.files):
        for task, found in flight.fly(gathering.next, given=[plan]):
            gathering.take(task, found)
    return gathering.top()


def _weigh(job: Job, plan: Plan, flight: Flight, progress: Progress) -> None:
    partitions, files = (job.targets, job.run.target_files) if job.targets else (job.inputs, job.run.files)
    prototypes = job.run.selector.result_.rows
    progress.begin("weigh", partitions, files, attrgetter("rows"))
    tasks = (Task("weigh", one.number, weigh_partition, (one, plan, prototypes)) for one in partitions)
    with unchanged(_sources(partitions), files):
        job.run.weighing = merge_weights(flight.each(tasks, given=[plan, prototypes]))
    check_count([file["name"] for file in files], job.run.weighing.rows, job.run.n_target)
