"""A run before its first row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from protosieve.io import Source, check_schemas
from protosieve.pipeline._options import Options
from protosieve.pipeline._run import Run
from protosieve.preprocess import Layout, Survey

__all__ = ["fresh"]


def fresh(options: Options, inputs: Sequence[Source], target: Sequence[Source]) -> Run:
    """Look at the heads of all files, and settle what these tell: the columns, and the seed."""
    schema = check_schemas([*inputs, *target])
    layout = Layout.of(
        schema,
        features=options.features,
        exclude=options.exclude,
        id=options.id,
        label=options.label,
        embedding=options.embedding,
        categorical=options.categorical,
        image=options.image,
        text=options.text,
        coordinates=options.coordinates,
    )
    seed = options.random_state
    return Run(
        options=options,
        files=[_known(source) for source in inputs],
        target_files=[_known(source) for source in target],
        seed=int(np.random.default_rng().integers(2**31)) if seed is None else seed,
        survey=Survey.of(layout),
    )


def _known(source: Source) -> dict[str, Any]:
    return source.fingerprint() or {"name": source.name, "size": source.size}
