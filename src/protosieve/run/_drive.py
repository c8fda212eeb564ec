"""A run from its first pass to its result, wherever the passes are made."""

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array
from protosieve.errors import InputError, ProtosieveWarning
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes import (
    MOST,
    Chosen,
    GroupSumsPass,
    Job,
    Partition,
    Pass,
    Plan,
    Records,
    StreamPass,
    Summary,
    Sums,
    SumsPass,
    TextsPass,
    Value,
    by_sample,
    by_words,
    join_groups,
    joined_partition,
    kept_of,
    learnt,
    note_excluded,
    number_of_prototypes,
    numbered,
    plans_of,
    settle,
    within_quotas,
)
from protosieve.preprocess import OnlyTextsError
from protosieve.result import Prototypes
from protosieve.sampling import SampledRows
from protosieve.selectors import Best, NothingToChooseError, Quotas

V = TypeVar("V", bound=Value)
T = TypeVar("T")

Surveyed: TypeAlias = tuple[Job, Summary, Summary | None]  # the job, for it may know more then; the inputs, the target
Summed: TypeAlias = Generator[tuple[SumsPass, Sequence[Partition]], Sums, T]  # that asks for the sums it needs


class Driver(Protocol):
    """What a run asks of the place where its passes are made."""

    def gather(self, work: Pass[V], partitions: Sequence[Partition]) -> V:
        """One value of all partitions, merged in their order."""

    def one_by_one(self, work: Pass[V], partition: Partition) -> V:
        """The value of a pass that cannot be cut."""


def choose(job: Job, driver: Driver) -> Prototypes:
    """Survey -> plan -> sums -> prototypes.

    Where the uniform sample holds all rows, the selector fits them in memory and no row is read twice. Else every row
    counts in the sums of the mean, and ProtoSwap chooses from the sample; other methods see all rows once more.
    Standard input, which comes once, is all of it in one pass.
    """
    if job.options.is_stream:
        return driver.one_by_one(_stream(job, driver), job.inputs[0]).result()

    def survey(job: Job) -> Surveyed:
        inputs = driver.gather(job.survey(), job.inputs)
        return job, inputs, driver.gather(job.survey(of_target=True), job.targets) if job.targets else None

    return conclude(driver, *settled(job, driver, survey))


def with_texts(job: Job, driver: Driver, columns: Sequence[str] = ()) -> Job:
    """The job, with a pass before the first where columns of text are compared; it reads these ``columns`` too."""
    if not job.layout.unlearnt:
        return job
    return learnt(job, driver.gather(TextsPass.of(job, columns), job.inputs))


def settled(
    job: Job, driver: Driver, survey: Callable[[Job], Surveyed], columns: Sequence[str] = ()
) -> tuple[Plan, Summary, Summary | None]:
    """The plan that a survey leads to. Where rows differ by nothing but text there is another, by its words.

    Passes before the survey read these ``columns`` too.
    """
    job, inputs, target = survey(with_texts(job, driver, columns))
    try:
        return settle(job, inputs, target), inputs, target
    except OnlyTextsError as error:
        return settled(by_words(job, inputs, error.columns), driver, survey, columns)


def conclude(driver: Driver, plan: Plan, inputs: Summary, target: Summary | None) -> Prototypes:
    """What follows the survey. The summaries are changed where there is a target."""
    job = plan.job
    if job.options.judges_rows and not plan.fits_in_memory:
        objective = plan.coverage if job.options.covers else _driven(_mean(plan), driver)[0]
        choice = driver.one_by_one(plan.choosing(objective), joined_partition(job.inputs))
        found, records = choice.selector.result_, choice.records()
        return plan.result(found, records.numbers, records, choice.selector.known_comparison())
    if inputs.groups is not None:
        parts = [part.under(plan.numbering.numbers) for part in inputs.groups.parts]
        plan = replace(plan, records=Records.joined([plan.records, *parts]))
        if not job.options.quotas:
            return _of_groups(plan, driver, inputs, target)
        plan, drawn, quotas = within_quotas(plan, inputs.groups)
        found, judge = _driven(_within_quotas(plan, driver, drawn, quotas), driver)
    else:
        found, judge = _driven(_chosen(plan, driver), driver)
    return plan.result(found, found.indices, _records(plan, driver, found.indices), judge)


def _of_groups(plan: Plan, driver: Driver, inputs: Summary, target: Summary | None) -> Prototypes:
    """The same for each value of a column: what a group asks for is summed up in one pass with what others do."""
    groups, layout = plans_of(plan, inputs, target), plan.job.groups
    assert layout is not None
    going = [_chosen(group.plan, driver) for group in groups]
    asked, chosen = dict[int, tuple[SumsPass, Sequence[Partition]]](), dict[int, Chosen]()
    none: list[str | None] = []  # groups of which all rows are excluded

    def go_on(place: int, sums: Sums | None) -> None:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "ProtoSwap kept", ProtosieveWarning)  # told of all in the end
                asked[place] = next(going[place]) if sums is None else going[place].send(sums)
        except StopIteration as end:
            chosen[place] = end.value
        except NothingToChooseError:
            none.append(groups[place].name)
        except InputError as error:
            raise InputError(f"{groups[place].title}: {error.marked}") from error

    for place in range(len(groups)):
        go_on(place, None)
    while asked:
        stage = max(work.stage for work, _ in asked.values())  # "target-sums" before "sums", which may follow from them
        now = {place: asked.pop(place) for place in list(asked) if asked[place][0].stage == stage}
        names, passes = [groups[place].name for place in now], [work for work, _ in now.values()]
        partitions = next(iter(now.values()))[1]
        found = driver.gather(GroupSumsPass.of(layout, names, passes), partitions)
        for place, sums in zip(now, found.sums, strict=True):
            go_on(place, sums)
    note_excluded(plan, none, len(groups))
    groups, every = [groups[place] for place in sorted(chosen)], [chosen[place] for place in sorted(chosen)]
    joined, grouped = join_groups(plan, groups, every)
    plan = replace(plan, n_prototypes=joined.parameters["n_prototypes"])
    return plan.result(joined, joined.indices, _records(plan, driver, joined.indices), every[0][1], grouped)


def _within_quotas(plan: Plan, driver: Driver, drawn: SampledRows, quotas: Quotas) -> Summed[Chosen]:
    """One choice for all rows, with so many of each value of a column."""
    if plan.job.options.covers:
        objective: KernelMean | Coverage = plan.coverage
    else:
        objective = plan.mean(None) if plan.target_sample.is_whole else (yield from _mean(plan))[0]
    aside = _aside(plan, driver, drawn.numbers)
    return plan.chosen_of(drawn, objective, Best.none(drawn.rows), aside, quotas), objective


def _driven(steps: Summed[T], driver: Driver) -> T:
    """What comes of steps whose sums the driver gathers."""
    try:
        asked = next(steps)
        while True:
            asked = steps.send(driver.gather(*asked))
    except StopIteration as end:
        found: T = end.value
        return found


def _chosen(plan: Plan, driver: Driver) -> Summed[Chosen]:
    """The selector's choice: of all rows where the samples hold them, else by sums of all and from the sample."""
    if plan.fits_in_memory:
        aside = _aside(plan, driver, plan.candidates.numbers)
        try:
            selector = plan.fitted(aside)
        except NothingToChooseError as error:
            return kept_of(plan, plan.coverage if plan.job.options.covers else plan.mean(None), aside, error)
        return numbered(np.sort(plan.candidates.numbers), selector.result_), selector.known_comparison()
    job = plan.job
    objective, sums = (plan.coverage, None) if job.options.covers else (yield from _mean(plan))
    if sums is None and not plan.candidates.is_whole and job.targets:
        sums = yield plan.sums("sums", objective, of_target=False, of_input=True), job.inputs
    best = plan.best(objective, sums)
    aside = _aside(plan, driver, np.union1d(plan.candidates.numbers, best.indices))
    try:
        return plan.chosen(objective, best, aside), objective
    except NothingToChooseError as error:
        return kept_of(plan, objective, aside, error)


def _mean(plan: Plan) -> Summed[tuple[KernelMean, Sums | None]]:
    """What rows are judged by; if the inputs are their own target, with their sums, which hold the best rows too."""
    job = plan.job
    if not job.targets:
        sums = yield plan.sums("sums", plan.estimate, of_target=True, of_input=True), job.inputs
        return plan.mean(sums.sums), sums
    if plan.target_sample.is_whole or _comes_once(job):
        return plan.mean(None), None
    sums = yield plan.sums("target-sums", plan.estimate, of_target=True, of_input=False), job.targets
    return plan.mean(sums.sums), None


def _stream(job: Job, driver: Driver) -> StreamPass:
    """The pass over standard input. A target is read before, and summed up if it can be read again."""
    if not job.targets:
        return StreamPass(job, job.skip)
    alone = replace(job, inputs=job.targets, targets=[], files=job.target_files)
    m = number_of_prototypes(job, None)
    plan = settle(alone, driver.gather(job.survey(of_target=True), job.targets), n_prototypes=m)
    if job.options.covers:
        return StreamPass(job, job.skip, plan, plan.coverage)
    if plan.candidates.is_whole or _comes_once(job):
        return StreamPass(job, job.skip, plan, plan.mean(None))
    work = replace(plan.sums("target-sums", plan.estimate, of_target=True, of_input=False), counts=plan.counts)
    return StreamPass(job, job.skip, plan, plan.mean(driver.gather(work, job.targets).sums))


def _comes_once(job: Job) -> bool:
    """Whether the target cannot be read again."""
    return any(stretch.comes_once for one in job.targets for stretch in one.row_ranges)


def _aside(plan: Plan, driver: Driver, numbers: NDArray[np.int64]) -> dict[str, Array]:
    """What stands beside the inputs; where rows have ids, by the columns of these, which may be chosen."""
    if plan.job.aside.is_empty:
        return {}
    return plan.aside(_records(plan, driver, numbers) if plan.job.options.id else None)


def _records(plan: Plan, driver: Driver, indices: NDArray[np.int64]) -> Records:
    """The users' own columns of prototypes; read again if they were not kept."""
    records, numbers = plan.records, indices[indices >= 0]
    if not np.isin(numbers, records.numbers).all():
        work, partitions = plan.fetching(numbers)
        fetched = driver.gather(work, partitions).records
        records = Records.joined([records, *(one.under(plan.numbering.numbers) for one in fetched)])
    return plan.job.aside.beside(records.of(numbers), indices, len(plan.job.files))


def snapshot(job: Job, summary: Summary) -> Prototypes | None:
    """The result by the rows surveyed so far: a selection from a sample of them. Takes a second or so.

    It changes the summary, which must be a copy.
    """
    sampled = summary.sample.rows
    if job.targets or job.options.per is not None or sampled is None or not len(sampled.all_numbers):
        return None
    with warnings.catch_warnings(), suppress(InputError):
        warnings.simplefilter("ignore", ProtosieveWarning)  # of a choice that is not the last
        plan = settle(job, _few(summary))
        order = np.argsort(plan.candidates.numbers)
        records = plan.records if np.isin(plan.candidates.numbers, plan.records.numbers).all() else None
        found, judge = by_sample(plan.selector(), plan.candidates.rows[order], plan.n_rows, plan.aside(records))
        numbers = numbered(plan.candidates.numbers[order], found).indices
        new = numbers[numbers >= 0]
        if np.isin(new, plan.records.numbers).all():
            known = job.aside.beside(plan.records.of(new), numbers, len(job.files))
            return plan.result(found, numbers, known, judge)
    return None


def _few(summary: Summary) -> Summary:
    """As if there were only the rows that can be shown."""
    sample = summary.sample
    assert sample.rows is not None
    rows = sample.rows.first(min(MOST, sample.shown.most))
    sample.rows = replace(rows, seen=len(rows.rows))
    return summary
