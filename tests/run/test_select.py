"""Runs over files: the same as a selector in memory, whatever the format and however rows are cut into files."""

import contextlib
import io
import json
import os
import re
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy.optimize import nnls

import protosieve
from protosieve import (
    InputError,
    OutputError,
    ParameterError,
    ProtosieveWarning,
    ProtoSwap,
    Prototypes,
    StateFileError,
    cli,
    kernels,
    select,
)
from protosieve.io._locations import LocalFile
from protosieve.kernels import Gaussian, MultiScale
from protosieve.objectives import Coverage
from protosieve.passes import METHODS, _row_sample, options_of
from protosieve.run import draw_sample, survey
from protosieve.sampling import hashes
from table_files import COLUMNS, assert_same, frame, numbers, write

pytestmark = pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")


@pytest.mark.parametrize(("goal", "objective"), [("match", None), ("cover", Coverage())])
def test_of_numbers_as_they_are_it_is_the_selector_in_memory(tmp_path, goal, objective):
    X = numbers().astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    found = select(tmp_path / "x.npy", 20, goal=goal, scale="none", random_state=3)
    expected = ProtoSwap(20, objective=objective, random_state=3).fit(X).result_
    for name in ("indices", "rows", "weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.objective, found.residual) == (expected.objective, expected.residual)
    np.testing.assert_equal(found.mmd, expected.mmd)
    assert found.certificate.sample is None


@pytest.mark.parametrize("method", METHODS)
def test_every_format_gives_the_same_rows_and_weights(tmp_path, method):
    table = frame(numbers(700))
    paths = [write(table, tmp_path / f"t{ending}") for ending in (".parquet", ".csv", ".arrow", ".jsonl", ".csv.gz")]
    first, *others = [select(path, 12, method=method, **COLUMNS) for path in paths]
    for other in others:
        assert_same(first, other)


def test_numbers_in_an_array_are_numbers_in_a_table(tmp_path):
    X = numbers()
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    np.savez_compressed(tmp_path / "x.npz", x=X)
    write(pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]), tmp_path / "x.parquet")
    first, *others = [select(tmp_path / name, 20) for name in ("x.parquet", "x.npy", "f.npy", "x.npz")]
    for other in others:
        assert_same(first, other)


@pytest.mark.parametrize("cuts", [[1], [500, 501], [7, 700, 1400]])
def test_how_rows_are_cut_into_files_changes_nothing(tmp_path, cuts):
    table = frame(numbers())
    whole = select(write(table, tmp_path / "whole.parquet"), 20, sample=600, **COLUMNS)
    endings = [".csv", ".parquet", ".jsonl", ".arrow"]
    starts = [0, *cuts]
    paths = [
        write(table.iloc[start:stop], tmp_path / f"part{i}{endings[i]}")
        for i, (start, stop) in enumerate(zip(starts, [*cuts, len(table)], strict=True))
    ]
    parts = select(paths, 20, sample=600, **COLUMNS)
    assert_same(whole, parts)
    files = np.searchsorted(starts, parts.indices, side="right") - 1
    assert parts.table["file"].to_pylist() == [str(paths[i]) for i in files]


def test_the_users_own_columns_stand_beside_row_file_weight_and_share(tmp_path):
    table = frame(numbers())
    table["weight"] = np.arange(len(table))
    path = write(table, tmp_path / "t.parquet")
    found = select(path, 25, exclude="weight", **COLUMNS)
    kept = found.table.to_pandas()
    assert kept.columns[:6].tolist() == ["row", "file", "weight", "share", "name", "kind"]
    assert set(kept.columns[6:]) == {"c0", "c1", "c2", "c3", "colour", "input_weight"}
    own = table.iloc[kept["row"]].reset_index(drop=True)
    for name in ("name", "kind", "c0", "colour"):
        assert kept[name].tolist() == own[name].tolist()
    assert kept["input_weight"].tolist() == own["weight"].tolist()
    assert (np.diff(kept["weight"]) <= 0).all()
    np.testing.assert_array_equal(kept["weight"], found.weights)
    assert kept["share"].sum() == pytest.approx(1)


def test_shares_are_of_the_nearest_prototypes(tmp_path):
    X = numbers().astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    found = select(tmp_path / "x.npy", 10, scale="none")
    nearest = ((X[:, None] - found.rows) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(found.shares, np.bincount(nearest, minlength=10) / len(X))


def test_a_target_is_matched(tmp_path):
    X = numbers(3000)
    near = X[X[:, 0] > np.median(X[:, 0])]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", near)
    found = select(tmp_path / "x.npy", 15, target=tmp_path / "y.npy", scale="none", width=3.0)
    expected = ProtoSwap(15, kernel=MultiScale(3.0), random_state=0).fit(
        X.astype(np.float32), target=near.astype(np.float32)
    )
    np.testing.assert_array_equal(found.indices, expected.prototype_indices_)
    assert [file["name"] for file in found.provenance["target_files"]] == [str(tmp_path / "y.npy")]


@pytest.mark.parametrize("n_target", [80, 3000])
def test_a_target_is_matched_by_inputs_larger_than_the_sample(tmp_path, n_target):
    """Held whole, or summed up: as well as the selector in memory matches it by the rows that may be chosen."""
    X = numbers(3000)
    near = X[X[:, 0] > np.median(X[:, 0])].repeat(2, axis=0)[:n_target]
    for name, rows in (("x", X), ("y", near)):
        np.save(tmp_path / f"{name}.npy", rows.astype(np.float32))
    found = select(tmp_path / "x.npy", 15, sample=500, scale="none", width=3.0, target=tmp_path / "y.npy")
    candidates = X[np.argsort(hashes(0, np.arange(3000)))[:400]].astype(np.float32)  # a fifth is held out
    known = ProtoSwap(15, kernel=MultiScale(3.0)).fit(candidates, target=near.astype(np.float32)).result_
    rows = near.astype(np.float32).astype(float)
    assert left_by(found, rows) < 1.1 * left_by(known, rows)


def larger_than_the_sample(folder):
    """3,000 rows, 15 prototypes of them by a sample of 500, and what is to be known of these by all rows."""
    X = numbers(3000).astype(np.float32)
    np.save(folder / "x.npy", X)
    found = select(folder / "x.npy", 15, sample=500, scale="none", width=3.0)
    kernel, members, rows = MultiScale(3.0), found.rows.astype(float), X.astype(float)
    similar = kernel(rows, members)
    return found, similar.mean(axis=0), kernel(members), kernel(rows).mean(), similar.argmax(axis=1)


def test_a_large_target_is_sampled_and_the_certificate_says_so(tmp_path):
    found, mu, gram, norm, _ = larger_than_the_sample(tmp_path)
    assert 0 < found.certificate.sample <= 500 // 5  # those held out, but for points among them
    assert found.certificate.sampling.population == 3000
    value = found.weights @ mu - found.weights @ gram @ found.weights / 2
    assert found.objective == pytest.approx(value, rel=0.05)  # by some rows and by all of them
    assert found.certificate.upper_bound == pytest.approx(norm / 2, rel=0.05)


def test_weights_are_those_of_all_rows(tmp_path):
    """All rows count in the mean: a best fit to the sample alone, which is optimal for its rows, leaves more."""
    found, mu, gram, norm, _ = larger_than_the_sample(tmp_path)

    def left(weights):
        return norm - 2 * weights @ mu + weights @ gram @ weights

    # |mu - sum_i w_i phi_i|^2 = |C' w - C^-1 mu|^2 + a constant, with gram = C C'
    root = np.linalg.cholesky(gram)
    best, _ = nnls(root.T, np.linalg.solve(root, mu))
    X = np.load(tmp_path / "x.npy").astype(float)
    sample = X[select(tmp_path / "x.npy", 15, sample=500, scale="none", width=3.0).sample.indices]
    of_sample, _ = nnls(root.T, np.linalg.solve(root, MultiScale(3.0)(sample, found.rows.astype(float)).mean(axis=0)))
    assert left(found.weights) - left(best) < (left(of_sample) - left(best)) / 4


def test_shares_of_more_rows_than_the_sample_holds_are_those_of_the_sample(tmp_path):
    found, *_, nearest = larger_than_the_sample(tmp_path)
    shares = np.bincount(nearest, minlength=len(found)) / len(nearest)
    assert found.shares.sum() == pytest.approx(1)
    # a share of 500 rows: five standard deviations
    assert (np.abs(found.shares - shares) <= 5 * np.sqrt(shares * (1 - shares) / 500)).all()


@pytest.mark.parametrize("has_target", [False, True])
def test_rows_that_cover_are_judged_by_rows_that_had_no_part_in_the_choice(tmp_path, has_target):
    """Of more rows than the sample holds: what is said of the result is near to what is true of all rows."""
    X = numbers(6000, 3)
    target = X[X[:, 0] > 0]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", target)
    more = {"target": tmp_path / "y.npy"} if has_target else {}
    found = select(tmp_path / "x.npy", 25, goal="cover", sample=1000, scale="none", width=2.0, **more)
    K = MultiScale(2.0)(target if has_target else X, found.rows.astype(np.float64))
    assert found.objective == pytest.approx(K.max(axis=1).mean(), rel=0.05)
    np.testing.assert_allclose(found.weights, np.bincount(K.argmax(axis=1), minlength=25) / len(K), atol=0.05)
    assert found.weights.sum() == pytest.approx(1)
    assert found.shares.tolist() == found.weights.tolist()
    assert found.residual < found.provenance["residual_of_random_rows"]


def test_a_file_that_is_read_or_kept_is_never_written_over(tmp_path):
    path = write(frame(numbers(100)), tmp_path / "t.csv")
    before = path.read_bytes()
    (tmp_path / "link.csv").symlink_to(path)
    for out in ("t.csv", "link.csv"):
        with pytest.raises(OutputError, match="is one of the files to be read, which would be lost"):
            select(path, 5, output=tmp_path / out)
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(OutputError, match=r"run\.npz: is where a result of a partition would be .*; give another work"):
        select(path, 5, output=work / "run.npz", work=work)
    assert path.read_bytes() == before
    assert not list(work.iterdir())


@pytest.fixture
def pipe(tmp_path):
    """A named pipe that somebody writes a table to."""
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    content = frame(numbers(300)).to_csv(index=False)
    writer = threading.Thread(target=path.write_text, args=[content], daemon=True)
    writer.start()
    yield path
    writer.join(10)
    assert not writer.is_alive()


def test_a_named_pipe_may_be_a_target(tmp_path, pipe):
    path = write(frame(numbers(300)), tmp_path / "t.csv")
    assert_same(select(path, 5, target=pipe, **COLUMNS), select(path, 5, target=write_copy(path), **COLUMNS))


def left_by(result, rows):
    """The squared MMD between prototypes and rows."""
    kernel, mine, w = result.kernel, result.rows.astype(float), result.weights
    return kernel(rows).mean() - 2 * w @ kernel(mine, rows).mean(axis=1) + w @ kernel(mine) @ w


def write_copy(path):
    path.with_name("copy.csv").write_bytes(path.read_bytes())
    return path.with_name("copy.csv")


def test_a_named_pipe_may_be_a_target_larger_than_the_sample(tmp_path, pipe):
    """It cannot be read again for its sums: the sample alone stands for it, and says so."""
    path = write(frame(numbers(300)), tmp_path / "t.csv")
    found = select(path, 5, target=pipe, sample=100, **COLUMNS)
    assert found.certificate.sample == 100
    assert found.provenance["rows_of_target"] == 300
    stored = select(path, 5, target=write_copy(path), sample=100, **COLUMNS)
    rows = found.encoding.encode(pd.read_csv(path, dtype={"kind": str})).astype(float)
    left, least = (left_by(one, rows) for one in (found, stored))
    assert found.kernel == stored.kernel
    assert least < left < 1.5 * least
    assert left < found.certificate.mmd_bound() ** 2


def test_inputs_that_come_once_are_refused_before_they_are_read(pipe):
    with pytest.raises(InputError, match=r"pipe\.csv: comes once, and this run would read it twice; store its rows in"):
        select(pipe, 5)


def test_a_run_that_is_to_go_on_needs_rows_that_can_be_read_again(tmp_path, pipe):
    path = write(frame(numbers(300)), tmp_path / "t.csv")
    with pytest.raises(ParameterError, match=r"work needs rows that can be read again, and .*pipe\.csv comes once"):
        select(path, 5, target=pipe, work=tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_a_label_is_one_column_and_may_be_an_id_too(tmp_path):
    path = write(frame(numbers(100)), tmp_path / "t.csv")
    with pytest.raises(ParameterError, match=r"label must be the name of one column, got \['kind'\]; others can go"):
        select(path, 5, label=["kind"])
    assert select(path, 5, id=["kind", "kind"], label="kind").table.column_names[4:6] == ["kind", "name"]


def told_again(found):
    """What the call that is told in the provenance asks for."""
    given = eval(found.provenance["command"], {"protosieve": SimpleNamespace(select=asked), **vars(kernels)})
    return {name: value for name, value in given.items() if name not in ("inputs", "n_prototypes")}


def asked(inputs, n_prototypes, **given):
    return {"inputs": inputs, "n_prototypes": n_prototypes, **given}


def test_the_call_in_the_provenance_says_all_that_was_asked_for(tmp_path):
    table = frame(numbers(100)).rename(columns={"c0": 'a,"b'})
    path = write(table, tmp_path / "t.csv")
    given = {"id": ["name", 'a,"b'], "random_state": None, "kernel": Gaussian(0.123456789)}
    assert told_again(select(path, 5, **given)) == given


@pytest.mark.parametrize(
    ("wish", "kernel", "told"),
    [
        ({}, MultiScale(), ""),
        ({"width": 2.0}, MultiScale(2.0), ", kernel=MultiScale(width=2.0, scales=3)"),
        ({"kernel": "gaussian"}, Gaussian(), ", kernel=Gaussian(width='median')"),
        ({"kernel": "gaussian", "width": 2.0}, Gaussian(2.0), ", kernel=Gaussian(width=2.0)"),
    ],
)
def test_the_kernel_is_one_of_several_widths_unless_another_is_named(wish, kernel, told):
    options = options_of({"inputs": "t.csv", "n_prototypes": 5, **wish})
    assert options.kernel == kernel
    assert options.call() == f"protosieve.select(['t.csv'], 5{told})"


@pytest.mark.parametrize("piped", [False, True])
def test_a_note_names_the_option_for_a_column_that_may_be_an_id(tmp_path, monkeypatch, piped):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"user": rng.permutation(3000), "x": rng.normal(size=3000), "n": rng.integers(900, size=3000)})
    table.to_csv(tmp_path / "t.csv", index=False)

    def notes(**asked):
        with (tmp_path / "t.csv").open() as stream, warnings.catch_warnings(record=True) as found:
            monkeypatch.setattr(sys, "stdin", stream)
            warnings.simplefilter("always", ProtosieveWarning)
            select("-" if piped else tmp_path / "t.csv", 5, **asked)
        return [str(one.message) for one in found if "compared by column" in str(one.message)]

    (said,) = notes()
    assert re.match(r"rows are compared by column 'user', a different whole .* 3,000 .*, give id='user'$", said)
    assert notes(id="user") == notes(features=["user", "x"]) == []


def test_columns_to_be_shown_are_kept_and_not_compared_by(tmp_path):
    table = frame(numbers(300))
    table["photo"] = [b"not a number"] * 300
    path = write(table, tmp_path / "t.parquet")
    shown = {"image_shape": (1, 2), "image": "photo", "text": ["colour"], "coordinates": ["c0", "c1"]}
    found = select(path, 5, **COLUMNS, **shown, exclude=["colour", "photo"])
    plain = select(path, 5, **COLUMNS, exclude=["colour", "c0", "c1", "photo"])
    assert_same(found, plain)
    assert list(found.feature_names) == ["c2", "c3"]
    assert set(found.table.column_names) == set(plain.table.column_names)
    parameters = found.provenance["parameters"]
    assert {name: parameters[name] for name in shown} == {**shown, "image_shape": "1x2"}
    assert "c0" in select(path, 5, features=["c0", "c2"], coordinates=["c0", "c1"]).feature_names


def test_the_call_names_the_columns_to_be_shown(tmp_path):
    path = write(frame(numbers(100)).rename(columns={"c0": "x, in m"}), tmp_path / "t.csv")
    given = {
        "image_shape": "1x1x3",
        "image": "colour",
        "text": ["name"],
        "coordinates": ["x, in m", "c1"],
        "exclude": ["name", "colour"],
    }
    assert told_again(select(path, 5, **given)) == given


def test_what_is_to_be_shown_is_checked(tmp_path):
    path = write(frame(numbers(100)), tmp_path / "t.csv")
    with pytest.raises(ParameterError, match=r"image must be the name of one column, got \['kind'\]"):
        select(path, 5, image=["kind"])
    for name in ("image", "text"):
        with pytest.raises(InputError, match=rf"{name}: there is no column 'colur'; did you mean 'colour'\?"):
            select(path, 5, **{name: "colur"})
    with pytest.raises(
        ParameterError, match=r"coordinates must be the names of two columns, such as X,Y; got \['c0'\]"
    ):
        select(path, 5, coordinates="c0")
    with pytest.raises(InputError, match="coordinates: there is no column 'c9'"):
        select(path, 5, coordinates=["c0", "c9"])
    for shape in ("28", "0x5", "28x28x2", "a x b", (28,), (3, 4.5), (1, 2, 3, 4), 28, "28x28x3x"):
        with pytest.raises(
            ParameterError, match=r"image_shape must be height and width of an image, such as 28x28, or"
        ):
            select(path, 5, image_shape=shape)


def test_dictionaries_that_differ_are_joined_whatever_their_codes_hold(tmp_path):
    """Codes of 8 bits hold one dictionary each, but not both."""
    paths = [tmp_path / f"{i}.arrow" for i in range(2)]
    for i, path in enumerate(paths):
        codes = pa.array(np.arange(20_000) % 100, pa.int8())
        names = pa.DictionaryArray.from_arrays(codes, pa.array([f"{i} {k}" for k in range(100)]))
        table = pa.table({"x": np.random.default_rng(i).normal(size=20_000), "name": names})
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    found = select(paths, 20, id="name", width=0.1).table
    assert found["name"].to_pylist() == [f"{row // 20_000} {row % 20_000 % 100}" for row in found["row"].to_pylist()]


@pytest.fixture
def old_file(tmp_path):
    """500 rows, written long ago: whatever is written now has another time."""
    path = write(frame(numbers(500)), tmp_path / "t.csv")
    os.utime(path, (1e9, 1e9))
    return path


ALL_PASSES = {"method": "basic", "sample": 100}  # a sample of all rows would do with one pass
LABELS = ["survey", "sum", "select"]
CHANGED = r"t\.csv has changed: its modified was .* and is .*: it was written to while it was read; run again when"


def reversed_in(path, label):
    """In that pass the file is written anew with the same rows in another order, so of the same size."""
    header, *lines = path.read_text().splitlines(keepends=True)

    def rewrite(tick):
        if tick.label == label and tick.rows:
            path.write_text("".join([header, *reversed(lines)]))

    return rewrite


@pytest.mark.parametrize("label", LABELS)
def test_a_file_rewritten_to_the_same_size_while_it_is_read_is_an_error(old_file, tmp_path, label):
    size, out = old_file.stat().st_size, tmp_path / "out.csv"
    with pytest.raises(InputError, match=CHANGED):
        select(old_file, 5, progress=reversed_in(old_file, label), output=out, **ALL_PASSES, **COLUMNS)
    assert old_file.stat().st_size == size
    assert not out.exists()


@pytest.mark.parametrize("label", LABELS)
def test_what_is_kept_of_a_file_that_was_rewritten_is_not_gone_on_with(old_file, tmp_path, label):
    options = {**ALL_PASSES, "work": tmp_path / "work"}
    with pytest.raises(InputError, match=CHANGED):
        select(old_file, 5, progress=reversed_in(old_file, label), **options, **COLUMNS)
    with pytest.raises(StateFileError, match=r"t\.csv has changed: its modified was"):  # what is kept is of that file
        select(old_file, 5, **options, **COLUMNS)


def test_a_target_rewritten_while_it_is_read_is_an_error(old_file, tmp_path):
    rows = write(frame(numbers(500)), tmp_path / "rows.csv")
    with pytest.raises(InputError, match=CHANGED):
        select(rows, 5, target=old_file, progress=reversed_in(old_file, "sum"), sample=100, **COLUMNS)


def test_a_file_rewritten_while_rows_are_fetched_is_an_error(old_file, monkeypatch):
    monkeypatch.setattr(_row_sample, "_HELD", 1)  # as if rows were heavy: columns of a few are kept
    with pytest.raises(InputError, match=CHANGED):
        select(old_file, 20, progress=reversed_in(old_file, "fetch"), **COLUMNS)


def test_rows_that_make_no_sense_because_the_file_was_rewritten_are_told_of_as_that(old_file):
    def spoil(tick):
        if tick.label == "sum" and not tick.rows:
            header, rest = old_file.read_text().split("\n", 1)
            old_file.write_text(header + "\n" + rest.replace("0", "x"))

    with pytest.raises(InputError, match=CHANGED):
        select(old_file, 5, progress=spoil, sample=100, **COLUMNS)


def test_a_file_rewritten_while_a_sample_is_drawn_is_an_error(old_file, monkeypatch):
    result = select(old_file, 5, **COLUMNS)
    rewrite = reversed_in(old_file, "look")
    monkeypatch.setattr("protosieve.run._draw_sample.watching", lambda quiet: contextlib.nullcontext(rewrite))
    with pytest.raises(InputError, match=CHANGED):
        draw_sample(result, old_file)


def grown_in(path, label):
    content = path.read_text().splitlines(keepends=True)

    def grow(tick):
        if tick.label == label and tick.rows:
            path.write_text("".join(content + content[1:51]))

    return grow


@pytest.mark.parametrize("label", LABELS)
def test_a_file_that_grows_while_it_is_read_is_an_error(old_file, tmp_path, label):
    with pytest.raises(InputError, match=r"t\.csv has changed: its size was [\d,]+ and is [\d,]+: it was written to"):
        select(old_file, 5, progress=grown_in(old_file, label), output=tmp_path / "out.csv", **ALL_PASSES, **COLUMNS)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("label", LABELS[:-1])
def test_a_file_that_grows_where_nobody_tells_is_known_by_its_rows(old_file, monkeypatch, label):
    """As on a file system that is asked but once; rows that were appended are never taken for a mistake of the user."""
    monkeypatch.setattr(LocalFile, "fingerprint", lambda self: {"name": self.name, "size": 0})
    with pytest.raises(InputError, match=r"t\.csv: had 500 usable rows when read first and 550 now, so it has changed"):
        select(old_file, 5, progress=grown_in(old_file, label), **ALL_PASSES, **COLUMNS)


def test_a_share_of_the_rows(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    assert len(select(tmp_path / "x.npy", "2%", width=1.0)) == 30


def test_fewer_rows_than_wanted_are_all_there_are(tmp_path):
    np.save(tmp_path / "x.npy", numbers(5))
    assert len(select(tmp_path / "x.npy", 10)) <= 5


def test_the_random_rows_it_is_compared_with_do_worse(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    found = select(tmp_path / "x.npy", 20)
    assert found.residual < found.provenance["residual_of_random_rows"] < 1


def test_new_rows_are_encoded_alike(tmp_path):
    table = frame(numbers())
    found = select(write(table, tmp_path / "t.csv"), 10, **COLUMNS)
    again = found.encoding.encode(table.iloc[found.indices])
    np.testing.assert_allclose(again, found.rows, rtol=1e-6)


def test_the_call_in_the_provenance_does_the_same(tmp_path):
    path = write(frame(numbers()), tmp_path / "t.csv")
    found = select(path, 10, kernel="laplacian", width=7.5, exclude=["c1", "c2"], **COLUMNS)
    assert found.provenance["command"] == (
        f"protosieve.select([{str(path)!r}], 10, kernel=Laplacian(width=7.5), exclude=['c1', 'c2'], id=['name'], "
        "label='kind')"
    )
    assert_same(select(path, 10, **told_again(found)), found)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "json", "npz", "arrow"])
def test_the_output_is_a_function_of_the_run(tmp_path, ending):
    path = write(frame(numbers(500)), tmp_path / "t.parquet")
    for name in ("one", "other"):
        select(path, 10, output=tmp_path / f"{name}.{ending}", **COLUMNS)
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"other.{ending}").read_bytes()


def test_provenance_is_in_the_parquet_metadata(tmp_path):
    path = write(frame(numbers()), tmp_path / "t.parquet")
    found = select(path, 10, output=tmp_path / "o.parquet", **COLUMNS)
    stored = json.loads(pq.read_schema(tmp_path / "o.parquet").metadata[b"protosieve"])
    assert stored["residual"] == found.residual
    assert stored["files"] == [{"name": str(path), "size": path.stat().st_size}]
    assert stored["rows"] == 1500


def test_without_a_seed_every_run_is_another_but_says_its_seed(tmp_path):
    np.save(tmp_path / "x.npy", numbers(3000))
    one = select(tmp_path / "x.npy", 10, sample=100, random_state=None)
    again = select(tmp_path / "x.npy", 10, sample=100, random_state=one.provenance["seed"])
    np.testing.assert_array_equal(one.indices, again.indices)


def test_numbers_of_text_files_are_numbers_in_the_result(tmp_path):
    table = frame(numbers()).assign(count=np.arange(1500), zip=[f"00{i % 7}" for i in range(1500)])
    found = select(write(table, tmp_path / "t.csv"), 10, exclude="zip", **COLUMNS).table
    kinds = {name: str(found.schema.field(name).type) for name in ("c0", "count", "zip", "kind", "name")}
    assert kinds == {"c0": "double", "count": "int64", "zip": "string", "kind": "string", "name": "string"}
    assert found["count"].to_pylist() == found["row"].to_pylist()


def test_rows_that_carry_much_are_read_in_smaller_blocks_with_the_same_result(tmp_path):
    table = frame(numbers(3000))
    light = select(write(table, tmp_path / "light.parquet"), 10, **COLUMNS)
    path = write(table.assign(text="x" * 20_000), tmp_path / "heavy.csv")
    ticks = []
    heavy = select(path, 10, exclude="text", progress=ticks.append, **COLUMNS)
    assert_same(light, heavy)
    assert len([tick for tick in ticks if tick.label == "survey"]) > 4
    assert set(heavy.table["text"].to_pylist()) == {"x" * 20_000}


@pytest.mark.parametrize("options", [{}, {"sample": 500}, {"partition_rows": 300}])
def test_columns_that_were_not_kept_are_read_once_more(tmp_path, monkeypatch, options):
    path, ticks = write(frame(numbers()), tmp_path / "t.parquet"), []
    light = select(path, 40, progress=ticks.append, **options, **COLUMNS)
    assert "fetch" not in [tick.label for tick in ticks] or options == {"sample": 500}  # of the best of all rows
    monkeypatch.setattr(_row_sample, "_HELD", 1)  # as if rows were heavy: columns of a few are kept
    heavy = select(path, 40, progress=ticks.append, **options, **COLUMNS)
    assert ticks[-1].label == "fetch"
    assert_same(light, heavy)
    assert heavy.table.equals(light.table)


# -- rows that cannot be used


def spoilt(tmp_path, later=1499):
    table = frame(numbers())
    lines = table.to_csv(index=False).splitlines()
    lines[1 + 3] = lines[4].replace(lines[4].split(",")[2], "abc")
    lines[1 + later] = "one,cell"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return table, tmp_path / "t.csv"


@pytest.mark.parametrize("later", [1499, 700, 4])
def test_the_first_bad_row_is_an_error_that_says_where(tmp_path, later):
    _, path = spoilt(tmp_path, later)
    with pytest.raises(InputError, match=r"t\.csv, row 3: column 'c1' holds 'abc', not a number; .*bad_rows='skip'"):
        select(path, 10, **COLUMNS)


@pytest.mark.parametrize("options", [{}, {"sample": 500}])
def test_bad_rows_can_be_left_out_and_are_counted_once(tmp_path, options):
    table, path = spoilt(tmp_path)
    told = r"2 of 1,500 rows \(0\.13 %\) cannot be used and are skipped; the first is .*t\.csv, row 3: column"
    with pytest.warns(ProtosieveWarning, match=told):
        found = select(path, 10, bad_rows="skip", **options, **COLUMNS)
    left_out = found.provenance["rows_left_out"]
    assert left_out["count"] == 2
    assert [line.split(": ")[0] for line in left_out["first"]] == [f"{path}, row 3", f"{path}, row 1499"]
    assert found.provenance["rows"] == 1498
    good = table.drop(index=[3, 1499])
    if options:
        return  # the rows of a sample follow from their numbers, and those of others are other ones
    same = select(write(good, tmp_path / "good.parquet"), 10, **COLUMNS)
    np.testing.assert_array_equal(found.rows, same.rows)
    np.testing.assert_array_equal(found.indices, good.index[same.indices])  # rows keep their number in the input


def test_row_numbers_count_bad_rows_of_earlier_files(tmp_path):
    _, path = spoilt(tmp_path)
    second = write(frame(numbers(1500, seed=1) + 50), tmp_path / "u.parquet")
    found = select([path, second], 10, bad_rows="skip", **COLUMNS)
    kept = found.table.to_pandas()
    own = pd.read_parquet(second)
    rows = kept[kept["file"] == str(second)]
    assert len(rows)
    assert rows["name"].tolist() == own["name"].iloc[rows["row"] - 1500].tolist()


def test_no_usable_row_is_an_error(tmp_path):
    np.save(tmp_path / "x.npy", np.full((4, 2), np.nan))
    with pytest.raises(InputError, match=r"x\.npy: no row can be used; the first problem is .*x\.npy, row 0"):
        select(tmp_path / "x.npy", 2, bad_rows="skip")
    np.save(tmp_path / "y.npy", np.zeros((0, 2)))
    with pytest.raises(InputError, match=r"y\.npy: there are no rows"):
        select(tmp_path / "y.npy", 2)


def test_a_result_that_covers_is_one_after_it_was_written_and_read(tmp_path):
    table = write(frame(numbers(500)), tmp_path / "t.csv")
    found = select(table, 8, goal="cover", output=tmp_path / "chosen.parquet", **COLUMNS)
    again = Prototypes.read(tmp_path / "chosen.parquet")
    assert (again.covers, again.residual, str(again.certificate)) == (True, found.residual, str(found.certificate))
    assert "goal='cover'" in again.provenance["command"]
    assert not select(table, 8, **COLUMNS).covers


def test_what_is_said_to_be_left_is_near_to_what_is_left_of_all_rows(tmp_path):
    """Weights fit the sample that they are judged by: with a wide kernel it alone looked a hundred times better."""
    table = pd.DataFrame(numbers(6000, 6), columns=list("abcdef"))
    found = select(write(table, tmp_path / "t.parquet"), 60, sample=1000, kernel="gaussian")
    rows, kernel = found.encoding.encode(table).astype(np.float64), found.kernel
    mine = found.rows.astype(np.float64)
    mu = np.mean([kernel(part, mine).mean(axis=0) for part in np.split(rows, 30)], axis=0)
    norm = np.mean([kernel(rows, part).mean() for part in np.split(rows, 30)])
    left = 1 - (2 * found.weights @ mu - found.weights @ kernel(mine) @ found.weights) / norm
    assert left / 2 < found.residual < 2 * left


def test_a_name_that_is_known_late_is_dropped_over_partitions_too(tmp_path):
    names = [f"name {i % 50}" if i < 20_000 else f"name {i}" for i in range(40_000)]
    table = pd.DataFrame({"name": names, "x": np.arange(40_000) % 17})
    for part in range(2):
        table.iloc[part::2].to_csv(tmp_path / f"{part}.csv", index=False)
    for options in ({}, {"partition_rows": 10_000}):
        found = select(tmp_path, 5, **options)
        assert found.encoding.names == ["x"]
        assert "name" in found.encoding.dropped


# -- options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_prototypes": 0}, 'n_prototypes must be a whole number of at least 1, or a share .* such as "1%"; got 0'),
        ({"n_prototypes": "0%"}, "got '0%'"),
        ({"n_prototypes": "150%"}, "got '150%'"),
        ({"n_prototypes": "many%"}, "got 'many%'"),
        ({"method": "dash"}, "method must be one of basic, .*; the batch methods are in Python: MMDCritic, ProtoDash"),
        ({"goal": "both"}, "goal must be one of match, cover, got 'both'"),
        (
            {"goal": "cover", "method": "stream"},
            "method='stream' chooses rows that match the data, and goal='cover' .*; leave one .* use .*method='swap'",
        ),
        ({"scale": "log"}, "scale must be one of auto, standard, minmax, none, got 'log'"),
        ({"bad_rows": "fix"}, "bad_rows must be one of error, skip"),
        ({"kernel": "rbf"}, "kernel must be one of cosine, gaussian"),
        ({"kernel": "cosine", "width": 2.0}, "the cosine kernel has no width"),
        ({"kernel": Gaussian(1.0), "width": 2.0}, "width=2.0 is for a kernel given by name"),
        ({"width": -1.0}, "width must be a positive number"),
        ({"sample": 0}, "sample must be a whole number of at least 10, got 0"),
        ({"exclude": 3}, "exclude must be a name or a list of names, got 3"),
        ({"partition_rows": 0}, "partition_rows must be a whole number of at least 1"),
    ],
)
def test_wrong_options_are_said_before_anything_is_read(options, words):
    with pytest.raises(ParameterError, match=words):
        select("no such file.csv", **{"n_prototypes": 5, **options})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (5, "inputs must be a name or a list of names, got 5$"),
        (pd.DataFrame({"x": [1]}), "inputs must be .*, got a DataFrame; this reads files: write the rows to a Parquet"),
    ],
)
def test_a_survey_takes_files_only(given, words):
    with pytest.raises(ParameterError, match=words):
        survey(given)


@pytest.mark.parametrize("given", [None, [], ()])
def test_there_must_be_inputs(given):
    with pytest.raises(InputError, match="no input is given; name at least one file"):
        select(given, 5)


def test_texts_that_all_differ_are_not_called_constant():
    texts = [f"sentence number {i}" for i in range(300)]
    stream = iter([pd.DataFrame({"text": texts, "same": 1})])
    with pytest.raises(
        InputError,
        match=r"^no column is left to compare rows by: 'text' \(nearly every value differs: it names rows rather than "
        r"describing them\), 'same' \(the same in every row\); add a column of numbers, dates or categories whose "
        r"values differ, or compare the texts by their words with text$",
    ):
        select(stream, 5)


def test_it_is_part_of_the_library():
    assert protosieve.select is select


def test_progress_is_told_of_every_block(tmp_path):
    np.save(tmp_path / "x.npy", numbers(40_000))
    ticks = []
    select(tmp_path / "x.npy", 10, progress=ticks.append)
    blocks = [0, 16384, 32768, 40_000, 40_000]  # the partition, whose last block that was, is told of too
    assert [(tick.label, tick.rows) for tick in ticks] == [(label, n) for label in ("survey", "sum") for n in blocks]
    assert [(tick.phase, tick.phases) for tick in ticks] == [(1, 2)] * 5 + [(2, 2)] * 5
    assert [tick.bytes_read == tick.bytes_in_all for tick in ticks] == 2 * ([False] * 3 + [True] * 2)
    assert ticks[-1].residual is None  # nothing is judged on the way
    ticks.clear()
    select(tmp_path / "x.npy", 10, method="streak", progress=ticks.append)
    assert [tick.label for tick in ticks] == ["survey"] * 5 + ["sum"] * 5 + ["select"] * 5
    assert [tick.phase for tick in ticks[-5:]] == [3] * 5
    assert all(tick.phases == 3 for tick in ticks)
    assert all(0 < tick.residual < 1 for tick in ticks[-4:-1])


def test_a_survey_is_a_sample_encoded(tmp_path):
    X = numbers(3000)
    np.save(tmp_path / "x.npy", X)
    found = survey(tmp_path / "x.npy", sample=100, scale="standard")
    assert found.n_rows == 3000
    everything = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    assert all(np.abs(everything - row).sum(axis=1).min() < 1e-4 for row in found.rows)
    assert len(found.rows) == 100


@pytest.mark.parametrize("held", [1 << 27, 1 << 14])
def test_a_survey_has_the_labels_of_its_rows(tmp_path, monkeypatch, held):
    """And of no more rows than those whose own columns were kept."""
    monkeypatch.setattr(_row_sample, "_HELD", held)
    X = numbers(3000)
    table = frame(X).assign(kind=[f"kind {x:.3f}" if x > 0 else "" for x in X[:, 0]])
    found = survey(write(table, tmp_path / "t.csv"), sample=800, scale="none", exclude="colour", **COLUMNS)
    assert len(found.rows) == len(found.labels) == 800 if held > 1 << 20 else 64 <= len(found.rows) < 800
    for row, label in zip(found.rows, found.labels, strict=True):
        assert label == (f"kind {row[0]:.3f}" if row[0] > 0 else None)


def test_it_works_in_a_thread(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    found = []
    thread = threading.Thread(target=lambda: found.append(select(tmp_path / "x.npy", 5)))
    thread.start()
    thread.join()
    assert len(found[0]) == 5


def drifting(n=20_000):
    rng = np.random.default_rng(0)
    for start in range(0, n, 1000):
        yield pa.table({"x": rng.normal(start / 1000, 1, 1000), "number": [f"{start + i}" for i in range(1000)]})


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_a_stream_with_a_half_life_is_represented_by_its_recent_past(goal, tmp_path):
    path = tmp_path / "page.html"
    found = select(drifting(), 10, id="number", goal=goal, half_life=500, report=path)
    assert found.indices.min() > 15_000
    assert [int(number) for number in found.table["number"].to_pylist()] == found.indices.tolist()
    assert found.sample.indices.min() > 10_000
    assert found.residual < 0.1
    assert "the recent past: a row weighs half as much after 500 more" in path.read_text()
    whole = select(drifting(), 10, id="number", goal=goal)
    assert whole.indices.min() < 5_000


def test_the_command_line_takes_a_half_life(tmp_path, monkeypatch, capsys):
    text = "".join(f"{x}\n" for table in drifting() for x in table["x"].to_pylist())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"x\n{text}".encode())))
    assert cli.main(["select", "-", "--format", "csv", "-m", "5", "--half-life", "500"]) == 0
    said = capsys.readouterr().out
    assert "  of the recent past: a row weighs half as much after 500 more" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "half_life=500 is for the recent past of a stream, such as standard input, and stored rows have none"),
        ({"inputs": "-", "method": "stream"}, "and stream keeps what it has chosen; leave it out"),
        ({"inputs": "-", "target": "rows.csv"}, "and the target is that of files; leave it out"),
        ({"inputs": "-", "half_life": 5}, "select: half_life must be a whole number of at least 100, got 5"),
    ],
)
def test_a_half_life_is_for_streams(given, words):
    with pytest.raises(ParameterError, match=words):
        select(**{"inputs": "rows.csv", "n_prototypes": 3, "format": "csv", "half_life": 500, **given})


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_random_rows_to_compare_with_may_be_chosen_themselves(goal):
    """Half of the rows are copies of one that is excluded: random rows that had it would seem to do better."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.full((500, 2), 4.0), rng.normal(size=(500, 2))])
    found = select(X, 5, exclude_rows=X[:1], goal=goal)
    assert found.indices.min() >= 500
    assert found.provenance["residual_of_random_rows"] >= 0.995 * found.residual
