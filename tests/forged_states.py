"""State files that somebody has forged, each with a right digest, and what becomes of whoever uses them.

``python tests/forged_states.py FIRST COUNT`` makes and uses that many in this process, whose data may take 1 GB, and
prints a line of JSON for each: it is "refused" when it is read, an "error" of ours comes later, or it "works"; nothing
else may happen.
"""

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

import numpy as np

import protosieve
from protosieve import ProtoBasic, ProtosieveError, ProtoStream, ProtoSwap, SieveStreaming, Streak, _state
from protosieve.kernels import Gaussian, Laplacian, Linear, Polynomial
from protosieve.means import CalibratedMean, ExactMean, ReservoirMean
from protosieve.objectives import LeastSquares, Logistic

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
    made = [(kind, mean) for kind in (ProtoBasic, ProtoStream, ProtoSwap, SieveStreaming, Streak) for mean in MEANS]
    for kind, mean in made:
        yield kind(6, mean=mean, **few).partial_fit(rows(150))
    for kernel in (Laplacian(2.0), Linear(), Polynomial(2), Gaussian(1.0)):
        yield ProtoSwap(6, kernel=kernel, **few).partial_fit(rows(150).astype(np.float32))
    y = rows(1)[0]
    for kind, objective in ((ProtoSwap, LeastSquares(y, signed=True)), (ProtoStream, Logistic(y > 0, ridge=0.1))):
        yield kind(3, objective=objective, **few).partial_fit(rows(100))
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


def table(folder):
    """A file with columns of every kind."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, n = np.random.default_rng(0), 700
    columns = {
        "x": rng.normal(size=n), "y": rng.integers(0, 9, n), "kind": rng.choice(list("abc"), n),
        "day": np.datetime64("2024-01-01", "s") + rng.integers(0, 10**7, n), "name": [f"row {i}" for i in range(n)],
    }  # fmt: skip
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=100)
    return folder / "rows.parquet"


def checkpoint(folder, cut):
    """That of a run over a file, cut after so many looks at it."""
    looks = []

    def progress(tick):
        looks.append(tick)
        if len(looks) == cut:
            raise HalfwayError

    options = {"id": "name", "exact_weights": True, "quiet": True}
    try:
        select(folder / "rows.parquet", checkpoint=folder / "run.npz", every=1, progress=progress, **options)
    except HalfwayError:
        return folder / "run.npz", options
    raise AssertionError("the run was over before it was cut")


def select(path, **options):
    return protosieve.select(path, 6, sample=64, random_state=0, **options)


def use(kind, path, options):
    if kind == "selector":
        use_selector(path)
    elif kind == "checkpoint":
        select(path.parent / "rows.parquet", checkpoint=path, resume=True, **options)
    else:
        select(path.parent.parent / "rows.parquet", work=path.parent, **options)


# -- the whole


def beginnings(folder):
    """What is forged: how it is used, its file, its body and arrays."""
    found = []
    for i, selector in enumerate(selectors()):
        path = folder / f"{i}.npz"
        selector.save(path)
        found.append(("selector", path, {}, *opened(path)))
    table(folder)
    for cut in (2, 3, 4, 5):
        path, options = checkpoint(folder, cut)
        found.append(("checkpoint", path, options, *opened(path)))
        path.unlink()
    return [*found, *worked(folder)]


def worked(folder):
    """The files of a folder of results, of a run that has done all but write its output."""
    options = {"id": "name", "partition_rows": 200, "quiet": True}
    select(folder / "rows.parquet", work=folder / "work", **options)
    return [("work", path, options, *opened(path)) for path in sorted((folder / "work").glob("*.npz"))]


def late(*_):
    raise TimeoutError(f"not over after {PATIENCE} seconds")


def outcome(kind, path, options):
    """What becomes of it, in a word of ours or the end of a traceback."""
    signal.alarm(PATIENCE)
    try:
        use(kind, path, options)
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
    signal.signal(signal.SIGALRM, late)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        begun = beginnings(Path(name))
        kept = {path: path.read_bytes() for kind, path, *_ in begun if kind == "work"}
        for number in range(first, first + count):
            rng = np.random.default_rng([number, 15])
            kind, path, options, body, arrays = begun[rng.integers(len(begun))]
            whole, arrays = {"body": copy.deepcopy(body)}, dict(arrays)
            for _ in range(rng.integers(1, 4)):
                forge(whole, arrays, rng)
            for other, data in kept.items():
                other.write_bytes(data)
            write(path, whole.get("body"), arrays)
            found = {"number": number, "kind": kind, "file": path.name, "outcome": outcome(kind, path, options)}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
