"""A run before its first row."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from protosieve.errors import ParameterError, arg
from protosieve.io import Source, check_schemas
from protosieve.pipeline._options import Options
from protosieve.pipeline._run import Run
from protosieve.pipeline._unchanged import fingerprint
from protosieve.preprocess import Layout, Survey
from protosieve.preprocess._cells import is_number

__all__ = ["fresh"]


def fresh(options: Options, inputs: Sequence[Source], target: Sequence[Source]) -> Run:
    """Look at the heads of all files, and settle what these tell: the columns, and the seed."""
    schema = check_schemas([*inputs, *target])
    _check_places(schema, options)
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
        files=[fingerprint(source) for source in inputs],
        target_files=[fingerprint(source) for source in target],
        seed=int(np.random.default_rng().integers(2**31)) if seed is None else seed,
        survey=Survey.of(layout),
    )


def _check_places(schema: pa.Schema, options: Options) -> None:
    """A place on the map is two numbers: what is none is told before rows are read."""
    for name in options.coordinates or []:
        field = schema.field(name) if name in schema.names else None
        if field is not None and not is_number(field.type):
            raise ParameterError(
                f"{arg('coordinates')}: column {name!r} holds {field.type}; a place on the map is two numbers"
            )
