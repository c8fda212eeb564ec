"""State files that somebody has forged, each with a right digest, and what becomes of whoever uses them.

``python tests/forged_states.py FIRST COUNT`` makes and uses that many in this process, whose data may take 1 GB, and
prints a line of JSON for each: it is "refused" when it is read, an "error" of ours comes later, or it "works"; nothing
else may happen.
"""

import contextlib
import copy
import io
import json
import resource
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np

import protosieve
from protosieve import ProtosieveError, ProtoStream, ProtoSwap, Streak, _state
from protosieve.kernels import Gaussian, Laplacian, Linear, Polynomial
from protosieve.means import CalibratedMean, ExactMean, ReservoirMean
from protosieve.objectives import Coverage, LeastSquares, Logistic
from protosieve.passes import _row_sample
from protosieve.run import Store, _engine
from protosieve.selectors import SELECTORS, StreamSelector

LIMIT = 1 << 30  # bytes of data
PATIENCE = 120  # seconds for one file
WIDTH = 4
SCALARS = (
    None, True, False, 0, 1, -1, 7, 511, 10**6, 10**12, 2**62, 2**70, -(2**70), 0.0, 0.5, -0.5, 1e300, 1e-300,
    float("nan"), float("inf"), -float("inf"), "", "text", "median", [], [1], [None], {"dict": []}, {"dict": [[1, 2]]},
    {"array": "root"}, {"type": "Gaussian", "fields": {"width": 1.0}}, {"type": "Linear", "fields": {}},
    {"type": "ExactMean", "fields": {}}, {"generator": {}},
)  # fmt: skip


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, WIDTH))


# -- states to begin with


def selectors():
    """Selectors on their way, of every kind."""
    few = {"random_state": 0, "block_size": 32}
    made = [(kind, mean) for kind in SELECTORS if issubclass(kind, StreamSelector) for mean in MEANS]
    for kind, mean in made:
        yield kind(6, mean=mean, **few).partial_fit(rows(150))
    for kernel in (Laplacian(2.0), Linear(), Polynomial(2), Gaussian(1.0)):
        yield ProtoSwap(6, kernel=kernel, **few).partial_fit(rows(150).astype(np.float32))
    for goal in (None, Coverage(60)):
        yield ProtoSwap(6, objective=goal, half_life=100, **few).partial_fit(rows(400))
    y = rows(1)[0]
    for kind, objective in ((ProtoSwap, LeastSquares(y, signed=True)), (ProtoStream, Logistic(y > 0, ridge=0.1))):
        yield kind(3, objective=objective, **few).partial_fit(rows(100))
    for kind in SELECTORS:
        if issubclass(kind, StreamSelector) and set(kind._needs) & set(Coverage.offers):
            yield kind(6, objective=Coverage(40), **few).partial_fit(rows(150))
    yield Streak(6, objective=Coverage(40), **few).partial_fit(rows(150), target=rows(30, 1))
    yield ProtoStream(6, **few).partial_fit(rows(20))  # rows that wait, no more
    yield ProtoSwap(6, **few).partial_fit(rows(150), target=rows(60, 1))
    yield ProtoSwap(6, **few).fit(rows(150))


MEANS = (None, ReservoirMean(40), CalibratedMean(100, 10), ExactMean(rows(30)))


def opened(path):
    """The body and the arrays of a state file."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(entries.pop("manifest.json"))["body"]
    return body, {name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in entries.items()}


def write(path, body, arrays):
    """A state file with a digest that is right."""
    manifest = {"format": _state.FORMAT, "body": body, "sha256": _state._digest(body, arrays)}
    with Path(path).open("wb") as stream:
        _state._write_archive(stream, manifest, arrays)


# -- forgeries


def places(node, found):
    """Every value in a body, as its container and its key there."""
    for key in node if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            places(node[key], found)
    return found


def forge(body, arrays, rng):
    """One thing is not what it was."""
    if arrays and rng.random() < 0.4:
        name = list(arrays)[rng.integers(len(arrays))]
        arrays[name] = forged_array(arrays, name, rng)
        return
    every = places(body, [])
    if not every:
        return
    node, key = every[rng.integers(len(every))]
    other, there = every[rng.integers(len(every))]
    way = rng.integers(6)
    if way == 0 and isinstance(node, dict):
        del node[key]
    elif way == 1:
        node[key] = copy.deepcopy(other[there])
    elif way == 2 and isinstance(node[key], list) and node[key]:
        node[key] = node[key][:-1] if rng.random() < 0.5 else node[key] * 2
    elif way == 3 and isinstance(node[key], int | float) and not isinstance(node[key], bool):
        node[key] = [-node[key], node[key] + 1, node[key] - 1, node[key] * 1000, node[key] / 3][rng.integers(5)]
    elif way == 4 and isinstance(node, dict):
        node["more"] = 1
    else:
        node[key] = copy.deepcopy(SCALARS[rng.integers(len(SCALARS))])


def forged_array(arrays, name, rng):
    array = arrays[name]
    numbers = (np.nan, np.inf, -1, 1e300, 2**40, -(2**62), 0)
    ways = [
        lambda: array[:-1], lambda: np.concatenate([array, array]), lambda: array.ravel(), lambda: array.T,
        lambda: array[:0], lambda: array.reshape(()) if array.size == 1 else array[None], lambda: array[..., :1],
        lambda: array.astype(np.float32), lambda: array.astype(np.float64), lambda: array.astype(np.int64),
        lambda: array.astype(np.bool_), lambda: array.astype("U5"), lambda: np.zeros_like(array), lambda: -array,
        lambda: array * np.float64(1000), lambda: array[::-1], lambda: array.astype(">f8"),
        lambda: arrays[list(arrays)[rng.integers(len(arrays))]], lambda: np.zeros((0, 10**9)),
        *(lambda value=value: _with(array, value, rng) for value in numbers),
    ]  # fmt: skip
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ways[rng.integers(len(ways))]()
        except (TypeError, ValueError, IndexError):
            return array[:1]


def _with(array, value, rng):
    """One number is another."""
    changed = array.copy()
    if changed.size:
        flat = changed.reshape(-1)
        if changed.dtype.kind in "iu":
            value = 2**63 - 1 if not np.isfinite(value) or abs(value) >= 2**63 else int(value)
        flat[rng.integers(len(flat))] = np.asarray(value).astype(changed.dtype)
    return changed


# -- uses


def use_selector(path):
    again = protosieve.load(path)
    for attribute in ("n_samples_seen_", "held_indices_", "standing_", "result_"):
        getattr(again, attribute)
    more = rows(100, 2).astype(again._stream.pending.dtype)
    again.partial_fit(more[:, : again.n_features_in_] if again.n_features_in_ <= WIDTH else more)
    again.result_.report  # noqa: B018
    again.predict(more)
    again.save(path)
    protosieve.load(path).weights_  # noqa: B018


class HalfwayError(Exception):
    """Where a run is cut."""


def table(path, n, seed=0):
    """A file with columns of every kind."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    columns = {
        "x": rng.normal(size=n), "y": rng.integers(0, 9, n), "kind": rng.choice(list("abc"), n),
        "day": np.datetime64("2024-01-01", "s") + rng.integers(0, 10**7, n), "name": [f"row {i}" for i in range(n)],
    }  # fmt: skip
    pq.write_table(pa.table(columns), path, row_group_size=100)


# Runs that keep values of every kind: of a pass that adds up, of one that judges rows one by one, of a target; the
# columns of most rows are not kept and must be fetched. Two are cut in the midst of a partition.
RUNS = {
    "parts": {"partition_rows": 200},
    "stream": {"method": "stream"},
    "target": {"target": "target.parquet", "partition_rows": 400},
    "surveying": {},
    "judging": {"method": "basic"},
    "groups": {"per": "kind", "sample": 100, "partition_rows": 200},
}
CUTS = {"surveying": "survey", "judging": "select"}


def select(folder, run, progress=None):
    options = {"sample": 256, **RUNS[run]}
    if "target" in options:
        options["target"] = folder / options["target"]
    return protosieve.select(
        folder / "rows.parquet",
        6,
        id="name",
        random_state=0,
        work=folder / run,
        progress=progress,
        **options,
    )


def worked(folder, run):
    """The files of a run that has done all but write its output, or was cut short; and what its passes were."""
    passes = []
    begin = Store.begin

    def noted(self, *given):
        passes.extend(given)
        begin(self, *given)

    def cut(tick):
        if tick.label == CUTS.get(run) and tick.rows:
            raise HalfwayError

    with mock.patch.object(Store, "begin", noted), contextlib.suppress(HalfwayError):
        select(folder, run, cut)
    return sorted((folder / run).glob("*.npz")), passes


def use(kind, path):
    if kind == "selector":
        use_selector(path)
    elif kind == "pass":
        _state.digest([_state.read(path)])
    else:
        select(path.parent.parent, path.parent.name)


# -- the whole


def beginnings(folder):
    """What is forged: how it is used, its file, its body and arrays."""
    found = []
    for i, selector in enumerate(selectors()):
        path = folder / f"{i}.npz"
        selector.save(path)
        found.append(("selector", path, *opened(path)))
    table(folder / "rows.parquet", 700)
    table(folder / "target.parquet", 500, 1)
    for run in RUNS:
        files, passes = worked(folder, run)
        found += [("work", path, *opened(path)) for path in files]
        for work in passes:
            path = folder / f"{run}-{work.stage}.npz"
            _state.write(path, work)
            found.append(("pass", path, *opened(path)))
    missing = {"RunHead", "Summary", "RowSample", "Sums", "Choice", "Fetched", "SurveyPass", "SumsPass", "ChoosePass"}
    missing |= {"GroupSamples", "GroupSums", "GroupSumsPass"}
    assert missing <= {name for *_, body, _ in found for name in types(body)}
    return found


def types(body):
    """Of the values in a body."""
    return {node[key] for node, key in places({"body": body}, []) if key == "type" and isinstance(node[key], str)}


def late(*_):
    raise TimeoutError(f"not over after {PATIENCE} seconds")


def outcome(kind, path):
    """What becomes of it, in a word of ours or the end of a traceback."""
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            use(kind, path)
        if any(" done again" in str(one.message) for one in said):
            return "refused"  # and what it was a result of is done again
    except protosieve.StateFileError:
        return "refused"
    except ProtosieveError:
        return "error"
    except BaseException as error:
        return "".join(traceback.format_exception(error)[-6:])
    finally:
        signal.alarm(0)
    return "works"


def main(first, count):
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    _row_sample._HELD = 1  # byte of columns that may be kept: those of 64 rows are
    _engine._PAUSE, _engine._REST = 0.0, 0  # what there is is stored after every block
    signal.signal(signal.SIGALRM, late)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        begun = beginnings(Path(name))
        kept = {path: path.read_bytes() for kind, path, *_ in begun if kind == "work"}
        for number in range(first, first + count):
            rng = np.random.default_rng([number, 15])
            kind, path, body, arrays = begun[rng.integers(len(begun))]
            whole, arrays = {"body": copy.deepcopy(body)}, dict(arrays)
            for _ in range(rng.integers(1, 4)):
                forge(whole, arrays, rng)
            restore(Path(name), kept)
            write(path, whole.get("body"), arrays)
            found = {"number": number, "kind": kind, "file": path.name, "outcome": outcome(kind, path)}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


def restore(folder, kept):
    """The folders of all runs as they were."""
    for run in RUNS:
        for path in (folder / run).glob("*.npz"):
            if path not in kept:
                path.unlink()
    for path, data in kept.items():
        path.write_bytes(data)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
