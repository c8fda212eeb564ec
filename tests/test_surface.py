"""The public surface is a list."""

import importlib
import inspect
import subprocess
import sys

import pytest

import protosieve
from conftest import BATCH_SELECTORS, SELECTORS

SURFACE = {
    "protosieve": [
        "Certificate", "Comparison", "Criticisms", "DataSample", "InputError", "MMDCritic", "OutputError",
        "ParameterError", "ProtoBasic", "ProtoDash", "ProtoStream", "ProtoSwap", "ProtosieveError", "ProtosieveWarning",
        "Prototypes", "SieveStreaming", "StateFileError", "Streak", "Trace", "WidthChoice", "choose_width", "compare",
        "criticisms", "load", "select",
    ],
    "protosieve.compat": ["ProtodashExplainer"],
    "protosieve.guarantees": [
        "Curvature", "Guarantee", "Ratios", "basic_guarantee", "curvature", "curvature_bounds", "curvature_on",
        "ratio_bounds", "ratio_range", "singleton_guarantee", "submodularity_ratio",
    ],
    "protosieve.exchange": ["ExchangeSet", "FreeExchangeSet", "Members"],
    "protosieve.kernels": [
        "Cosine", "FunctionKernel", "Gaussian", "Kernel", "Laplacian", "Linear", "MultiScale", "Points",
        "Polynomial", "as_kernel", "as_plain", "from_plain",
    ],
    "protosieve.means": [
        "FOREVER", "Calibrated", "CalibratedMean", "ExactMean", "FixedMean", "Judge", "Mean", "MeanState",
        "PointSums", "ReservoirMean", "Sampled", "SamplingError", "SettledMean", "calibrated", "judging_for",
        "points_for", "points_of", "sample_for", "stage_of", "stage_size",
    ],
    "protosieve.objectives": [
        "Block", "FeatureObjective", "Fit", "FittedObjective", "KernelMean", "LeastSquares", "Logistic", "Need",
        "Objective", "Poisson", "SetFunction", "SmoothObjective", "Weighed", "same",
    ],
    "protosieve.sampling": ["EVERY", "Bottom", "Reservoir", "SampledRows", "UniformSample", "hashes", "lengthened"],
    "protosieve.weights": [
        "GRADIENT_TOLERANCE", "EqualWeights", "Newton", "NonNegativeQP", "Point", "Projection", "Projections",
        "definite_cholesky", "free_weights", "grown",
    ],
    "protosieve.errors": [
        "InputError", "OutputError", "ParameterError", "ProtosieveError", "ProtosieveWarning", "StateFileError",
    ],
    "protosieve.io": [
        "BadRow", "BadRows", "BatchSource", "Piece", "Source", "Stretch", "as_dash", "check_output", "check_schemas",
        "explain", "find_sources", "read_result", "write_table",
    ],
    "protosieve.preprocess": [
        "SCALES", "Encoding", "FirstRows", "Layout", "Survey", "is_list", "is_number", "ratio_differs", "whole",
    ],
    "protosieve.plots": ["Plots"],
    "protosieve.passes": [
        "FEWEST", "KERNELS", "METHODS", "MOST", "ROW_BYTES", "SPARE", "Block", "Choice", "ChoosePass", "FetchPass",
        "Fetched", "Found", "HeldRows", "Job", "LeftOut", "Numbering", "Options", "Partition", "Pass", "Plan",
        "Position", "Records", "RowSample", "Summary", "Sums", "SumsPass", "SurveyPass", "UnlikeHead", "Value", "ahead",
        "by_sample", "changed", "check_count", "check_image_shape", "check_some", "fingerprint", "finish", "job_of",
        "joined_partition", "kernel_of", "key_of", "layout_of", "names", "number_of_prototypes", "options_of",
        "partitions_of", "patience", "read_as_they_come", "read_blocks", "rows_of", "rows_per_block", "sample_seed",
        "sample_size",
        "seed_of", "settle", "several", "shape_text", "typed", "unchanged",
    ],
    "protosieve.run": [
        "Cluster", "Driver", "Estimate", "LocalWorkers", "Onlookers", "Stopped", "Store", "Surveyed", "Tick",
        "begin", "choose", "conclude", "draw_sample", "estimate", "read_prototypes", "report_place", "run", "select",
        "survey", "window_of",
    ],
    "protosieve.spark": ["select"],
}  # fmt: skip


@pytest.mark.parametrize("module", SURFACE)
def test_the_surface_is_this(module):
    assert list(importlib.import_module(module).__all__) == SURFACE[module]


@pytest.mark.parametrize("module", SURFACE)
def test_everything_public_is_documented(module):
    loaded = importlib.import_module(module)
    for name in loaded.__all__:
        assert inspect.getdoc(getattr(loaded, name)), f"{module}.{name} has no docstring"


def test_every_public_module_is_there_after_a_plain_import():
    names = [module.removeprefix("protosieve.") for module in SURFACE if "." in module]
    program = "import sys, protosieve\nfor name in sys.argv[1:]: print(getattr(protosieve, name).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == [f"protosieve.{name}" for name in names]
    assert set(names) <= set(dir(protosieve))


def test_the_selectors_say_their_cost_and_source():
    for selector in (*SELECTORS, *BATCH_SELECTORS):
        for word in ("Parameters", "Notes", "References", "Examples", "O("):
            assert word in inspect.getdoc(selector)


def test_the_version_is_the_distributions():
    assert protosieve.__version__ == importlib.metadata.version("protosieve")
