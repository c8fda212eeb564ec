"""All of it in this process, one partition after the other: what every engine must give."""

from protosieve._prototypes import Prototypes
from protosieve.distributed._candidates import Candidates, select_partition
from protosieve.distributed._merge import conclude, fan_in, levels, merge_candidates
from protosieve.distributed._outline import Job
from protosieve.distributed._plan import Plan, settle
from protosieve.distributed._summary import merge_summaries, summarise
from protosieve.distributed._weights import merge_weights, weigh_partition
from protosieve.pipeline._finish import finish
from protosieve.pipeline._run import check_count

__all__ = ["select_in_turn"]


def select_in_turn(job: Job, at_once: int | None = None) -> Prototypes:
    """The result of a job; at most ``at_once`` sets of candidates are merged at a time, by default `fan_in` of them."""
    plan = _planned(job)
    candidates = [select_partition(partition, plan) for partition in job.inputs]
    conclude(job.run, _gathered(candidates, plan, at_once or fan_in(plan.n_prototypes)), plan)
    if job.run.options.exact_weights:
        _weigh(job, plan)
    return finish(job.run, [file["name"] for file in job.run.files])


def _planned(job: Job) -> Plan:
    outline = job.outline()
    inputs = merge_summaries(summarise(partition, outline) for partition in job.inputs)
    if not job.targets:
        return settle(job.run, inputs)
    outline = job.target_outline()
    return settle(job.run, inputs, merge_summaries(summarise(partition, outline) for partition in job.targets))


def _gathered(candidates: list[Candidates], plan: Plan, at_once: int) -> list[Candidates]:
    for level in levels(len(candidates), at_once):
        candidates = [merge_candidates([candidates[i] for i in group], plan) for group in level]
    return candidates


def _weigh(job: Job, plan: Plan) -> None:
    prototypes = job.run.selector.result_.rows
    weighings = (weigh_partition(partition, plan, prototypes) for partition in job.targets or job.inputs)
    job.run.weighing = merge_weights(weighings)
    files = job.run.target_files or job.run.files
    check_count([file["name"] for file in files], job.run.weighing.rows, job.run.n_target)
