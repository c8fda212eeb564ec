"""The passes over DataFrames, and between them, on the driver, what `drive` does between its own."""

from protosieve._prototypes import Prototypes
from protosieve.distributed import (
    Job,
    Plan,
    Summary,
    conclude,
    fan_in,
    merge_summaries,
    merge_weights,
    settle,
)
from protosieve.errors import InputError
from protosieve.pipeline._finish import finish
from protosieve.pipeline._fresh import fresh
from protosieve.pipeline._options import Options
from protosieve.pipeline._run import Run, check_count
from protosieve.spark._frame import Frame
from protosieve.spark._returned import Returned
from protosieve.spark._tasks import Looking, Weighting

__all__ = ["Passes"]


class Passes:
    """A run over a DataFrame, and perhaps another that it is to represent."""

    def __init__(self, options: Options, inputs: Frame, target: Frame | None) -> None:
        self.inputs, self.target = inputs, target
        frames = [inputs] if target is None else [inputs, target]
        sources = [frame.source() for frame in frames]
        self.run = fresh(options, sources[:1], sources[1:])
        _meet(self.run, frames)
        parts = [frame.whole() for frame in frames]
        self.job = Job(self.run, parts[:1], parts[1:])

    def result(self) -> Prototypes:
        """All of it: a pass of Spark's to look, one to choose, one for exact weights and one more for a target; before
        them it has counted the rows and, of lists, looked for the first.
        """
        layout = self.run.layout
        outline = self.job.outline()
        seen = self.inputs.over(Looking(outline), layout.columns, outline.columns)
        self.run.files = _files(seen)
        target = self._look_at_target()
        plan = settle(self.run, _merged(seen), None if target is None else _merged(target))
        found = self.inputs.offered(seen, plan, fan_in(plan.n_prototypes))
        conclude(self.run, [value for _, value in found.values()], plan)
        if self.run.options.exact_weights:
            self._weigh(seen if target is None else target, plan)
        return finish(self.run, seen.names)

    def _look_at_target(self) -> Returned | None:
        if self.target is None:
            return None
        outline = self.job.target_outline()
        seen = self.target.over(Looking(outline), self.run.layout.columns, outline.columns)
        self.run.target_files = _files(seen)
        return seen

    def _weigh(self, seen: Returned, plan: Plan) -> None:
        frame = self.target or self.inputs
        work = Weighting(plan, self.run.selector.result_.rows)
        found = frame.again(seen, work, plan.encoding.layout.columns)
        self.run.weighing = merge_weights(value for _, value in found.values())
        check_count(seen.names, self.run.weighing.rows, self.run.n_target)


def _meet(run: Run, frames: list[Frame]) -> None:
    """The length of lists that the schema leaves open, as all Spark's are: that of the first there is."""
    for frame in frames:
        if run.layout.unmet:
            run.layout.meet(frame.first_lists(run.layout.unmet))


def _files(seen: Returned) -> list[dict[str, object]]:
    """Partitions stand where files do in other runs."""
    if not seen.partitions:
        raise InputError(f"{seen.title}s: there are none, so the DataFrame has no rows; give one that has some")
    return [{"name": name, "size": None} for name in seen.names]


def _merged(seen: Returned) -> Summary:
    """Of all partitions; what they sent is let go."""
    whole = merge_summaries(value for _, value in seen.values())
    seen.forget()
    return whole
