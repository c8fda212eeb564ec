"""The public surface is a list."""

import importlib
import inspect
import subprocess
import sys

import pytest

import protosieve
from protosieve import objectives
from protosieve.kernels import KERNELS
from protosieve.selectors import SELECTORS

REGRESSIONS = [
    name
    for name, cls in vars(objectives).items()
    if isinstance(cls, type) and issubclass(cls, objectives.FeatureObjective) and not inspect.isabstract(cls)
]
SURFACE = {
    "protosieve": [
        "Certificate", "Comparison", "Criticisms", "DataSample", "Drift", "DriftAlarm", "InputError", "OutputError",
        "ParameterError", "ProtosieveError", "ProtosieveWarning", "PrototypeClassifier", "Prototypes", "StateFileError",
        "Trace", "WidthChoice", "choose_width", "compare", "criticisms", "load", "select",
        *(cls.__name__ for cls in SELECTORS),
    ],
    "protosieve.compat": ["ProtodashExplainer"],
    "protosieve.guarantees": [
        "Curvature", "Guarantee", "Ratios", "basic_guarantee", "curvature", "curvature_bounds", "curvature_on",
        "ratio_bounds", "ratio_range", "singleton_guarantee", "submodularity_ratio",
    ],
    "protosieve.exchange": ["CoverSet", "ExchangeSet", "FreeExchangeSet", "Members"],
    "protosieve.kernels": [
        "FunctionKernel", "KERNELS", "Kernel", "Points", "as_kernel", "as_plain", "from_plain",
        *(cls.__name__ for cls in KERNELS.values()),
    ],
    "protosieve.means": [
        "FOREVER", "Calibrated", "CalibratedMean", "ExactMean", "FixedMean", "Judge", "Mean", "MeanState",
        "PointSums", "ReservoirMean", "Sampled", "SamplingError", "SettledMean", "Span", "calibrated", "candidates_in",
        "candidates_of", "judging_for", "points_for", "points_of", "sample_for", "with_held_out",
    ],
    "protosieve.objectives": [
        "BestPossible", "Block", "Coverage", "Covered", "FeatureObjective", "Fit", "FittedObjective", "KernelMean",
        "Need", "Objective", "SetFunction", "SmoothObjective", "Weighed", "covering_for", "same", *REGRESSIONS,
    ],
    "protosieve.sampling": ["EVERY", "Bottom", "SampledRows", "UniformSample", "hashes"],
    "protosieve.result": [
        "OURS", "BestOfSize", "Certificate", "DataSample", "Origin", "Prototypes", "Trace", "arrow_values",
        "free_name", "own_names",
    ],
    "protosieve.result.files": [
        "Destination", "as_dash", "check_output", "read_prototypes", "without_nan", "write_result",
        "write_table",
    ],
    "protosieve.weights": [
        "GRADIENT_TOLERANCE", "EqualWeights", "Newton", "NonNegativeQP", "Point", "Projection", "Projections",
        "definite_cholesky", "free_weights", "grown",
    ],
    "protosieve.errors": [
        "InputError", "OutputError", "ParameterError", "ProtosieveError", "ProtosieveWarning", "StateFileError",
    ],
    "protosieve.io": [
        "BadRow", "BadRows", "BatchSource", "CsvForm", "ImageSource", "Piece", "STREAM", "Source", "RowRange",
        "check_form", "check_schemas", "explain", "find_sources", "index_of", "is_table", "tables_in",
    ],
    "protosieve.preprocess": [
        "BALANCES", "BATCH", "COLUMNS", "CYCLES", "EmbedError", "LEARNT_FROM", "SCALES", "Encoding", "FirstRows",
        "Layout", "Moments", "OnlyTextsError", "SpeltWords", "Survey", "TextColumn", "TextFeatures", "check_shared",
        "is_named_like_id", "listing", "model_named", "ratio_differs", "whole",
    ],
    "protosieve.plots": ["Plots"],
    "protosieve.passes": [
        "Aside", "METHODS", "MOST", "ROW_BYTES", "SPARE", "Choice", "ChoosePass", "Chosen", "FetchPass",
        "Fetched", "GroupSums", "GroupSumsPass", "HeldRows", "Job", "LeftOut", "NamedRows", "Numbering", "Options",
        "Partition", "Pass", "Plan", "Position", "Records", "RowBlock", "RowSample", "StreamPass", "Streamed",
        "Summary", "Sums", "SumsPass", "SurveyPass", "Texts", "TextsPass", "Value",
        "by_sample", "by_words", "changed", "fingerprint", "groups_of", "job_of", "joined_partition", "kept_of",
        "note_excluded", "kernel_of", "key_of", "layout_of", "learnt", "names", "number_of_prototypes", "numbered",
        "join_groups", "options_of", "partitions_of", "plans_of", "read_blocks", "rows_of", "rows_per_block",
        "sample_seed", "sample_size", "seed_of", "settle", "typed", "unchanged", "within_quotas",
    ],
    "protosieve.run": [
        "Cluster", "Driver", "Estimate", "LocalWorkers", "Onlookers", "Stopped", "Store", "Surveyed", "Tick",
        "begin", "choose", "conclude", "draw_sample", "estimate", "report_place", "run", "select",
        "settled", "survey", "window_of",
    ],
    "protosieve.spark": ["select"],
}  # fmt: skip


@pytest.mark.parametrize("module", SURFACE)
def test_the_surface_is_this(module):
    assert sorted(importlib.import_module(module).__all__) == sorted(SURFACE[module])


@pytest.mark.parametrize("module", SURFACE)
def test_everything_public_is_documented(module):
    loaded = importlib.import_module(module)
    for name in loaded.__all__:
        assert inspect.getdoc(getattr(loaded, name)), f"{module}.{name} has no docstring"


def test_every_public_module_is_there_after_a_plain_import():
    names = [module.removeprefix("protosieve.") for module in SURFACE if module.count(".") == 1]
    program = "import sys, protosieve\nfor name in sys.argv[1:]: print(getattr(protosieve, name).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == [f"protosieve.{name}" for name in names]
    assert set(names) <= set(dir(protosieve))


def test_the_selectors_say_their_cost_and_source():
    for selector in SELECTORS:
        for word in ("Parameters", "Notes", "References", "Examples", "O("):
            assert word in inspect.getdoc(selector)


def test_the_version_is_the_distributions():
    assert protosieve.__version__ == importlib.metadata.version("protosieve")
