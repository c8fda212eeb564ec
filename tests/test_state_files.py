"""State files: data, whole or not at all, and one error for every damage."""

import io
import json
import os
import zipfile
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from protosieve import ProtosieveError, ProtoStream, ProtoSwap, StateFileError, _state, _typed, load
from protosieve.kernels import Gaussian, Laplacian, MultiScale, Polynomial
from protosieve.means import ExactMean, ReservoirMean
from protosieve.selectors._stream import State


@pytest.fixture
def saved(selector, X, tmp_path):
    fed = selector(6, mean=ReservoirMean(40), block_size=64, random_state=0).partial_fit(X[:200])
    fed.save(tmp_path / "run.npz")
    return fed, tmp_path / "run.npz"


def test_a_loaded_selector_is_the_same_selector(saved, X):
    fed, path = saved
    again = load(path)
    assert type(again) is type(fed)
    assert repr(again) == repr(fed)
    np.testing.assert_array_equal(again.weights_, fed.weights_)
    np.testing.assert_array_equal(again.predict(X), fed.predict(X))
    assert again.n_samples_seen_ == 200


@pytest.mark.parametrize("kernel", [Gaussian("median"), Gaussian(2.0), MultiScale(), Laplacian(3.0), Polynomial(2)])
@pytest.mark.parametrize("target", [True, False])
def test_kernels_targets_and_names_survive(kernel, target, X, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    fed = ProtoStream(6, kernel=kernel, random_state=1).partial_fit(frame, target=X[:70] if target else None)
    fed.save(tmp_path / "run.npz")
    again = load(tmp_path / "run.npz")
    assert again.kernel == kernel
    assert again.kernel_ == fed.kernel_
    assert again.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(again.weights_, fed.weights_)


def test_a_stream_that_began_with_another_default_kernel_goes_on_with_its_own(selector, X, tmp_path):
    """As one does that was saved before several widths were the default."""
    with patch.object(selector, "_kernel", lambda _: Gaussian()):
        fed = selector(6, block_size=64, random_state=1).partial_fit(X[:200])
        fed.save(tmp_path / "run.npz")
        whole = fed.partial_fit(X[200:]).result_
    again = load(tmp_path / "run.npz").partial_fit(X[200:])
    assert again.kernel is None
    assert again.kernel_ == whole.kernel
    assert type(again.kernel_) is Gaussian
    np.testing.assert_array_equal(again.weights_, whole.weights)
    assert type(again.fit(X).kernel_) is MultiScale


def test_a_target_in_the_mean_survives(X, tmp_path):
    fed = ProtoStream(6, mean=ExactMean(X[:30]), random_state=1).fit(X)
    fed.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(load(tmp_path / "run.npz").weights_, fed.weights_)


def test_the_file_is_plain_arrays_and_json(saved):
    with zipfile.ZipFile(saved[1]) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        names = [name for name in archive.namelist() if name != "manifest.json"]
    assert manifest["format"] == _state.FORMAT
    with np.load(saved[1], allow_pickle=False) as arrays:
        for name in names:
            assert arrays[name.removesuffix(".npy")].dtype != object


def test_every_truncation_is_one_clear_error(saved, tmp_path):
    whole = saved[1].read_bytes()
    short = tmp_path / "short.npz"
    for length in [0, 1, 100, len(whole) // 2, len(whole) - 1]:
        short.write_bytes(whole[:length])
        with pytest.raises(StateFileError, match=r"short\.npz: not a protosieve state file, or a damaged one"):
            load(short)


def test_every_flipped_byte_is_noticed_or_harmless(saved, tmp_path):
    whole, flipped = saved[1].read_bytes(), tmp_path / "flipped.npz"
    expected = load(saved[1]).weights_
    for place in np.random.default_rng(0).integers(len(whole), size=150):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        flipped.write_bytes(damaged)
        try:
            found = load(flipped).weights_
        except StateFileError:
            continue
        np.testing.assert_array_equal(found, expected)  # a byte the format does not use, such as a time stamp


def rewrite(path, target, change):
    """The archive with a changed manifest."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, json.dumps(change(json.loads(data))) if name == "manifest.json" else data)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda m: {**m, "format": 99}, "written in state format 99, this version reads format 1"),
        (lambda m: {"hello": 1}, "its manifest has no format number"),
        (lambda m: [], "its manifest has no format number"),
        (lambda m: {**m, "sha256": "0" * 64}, "the digest does not match"),
        (lambda m: {**m, "body": {"type": "eval", "fields": {}}}, "the digest does not match"),
    ],
)
def test_a_tampered_manifest_is_refused(saved, tmp_path, change, match):
    rewrite(saved[1], tmp_path / "changed.npz", change)
    with pytest.raises(StateFileError, match=match):
        load(tmp_path / "changed.npz")


@pytest.mark.parametrize(
    "body",
    [
        {"type": "eval", "fields": {}},
        {"type": "Gaussian", "fields": {"width": -1}},
        {"type": "Saved", "fields": {"selector": "os"}},
        {"array": "nowhere"},
        7,
    ],
)
def test_a_forged_body_with_a_right_digest_builds_nothing_else(tmp_path, body):
    manifest = {"format": _state.FORMAT, "body": body, "sha256": _state._digest(body, {})}
    with zipfile.ZipFile(tmp_path / "forged.npz", "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
    with pytest.raises(StateFileError, match=r"forged\.npz"):
        load(tmp_path / "forged.npz")


def _zipped(path, entries, how=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def test_a_compressed_entry_is_refused_before_it_is_read(saved, tmp_path):
    with zipfile.ZipFile(saved[1]) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    _zipped(tmp_path / "bomb.npz", {**entries, "more.npy": bytes(10**6)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(StateFileError, match=r"bomb\.npz: .* is compressed, which \.save\(\) never does"):
        load(tmp_path / "bomb.npz")


def test_a_length_that_an_entry_does_not_have_is_refused(saved, tmp_path):
    data = bytearray(saved[1].read_bytes())
    place = data.rindex(b"PK\x01\x02")  # the last entry of the directory: its two lengths
    data[place + 20 : place + 28] = (10**9).to_bytes(4, "little") * 2
    (tmp_path / "long.npz").write_bytes(data)
    with pytest.raises(StateFileError, match=r"long\.npz: .*(claim to be longer than the file|damaged)"):
        load(tmp_path / "long.npz")


def test_an_array_that_claims_more_than_is_there_is_refused(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    _zipped(
        tmp_path / "claim.npz", {"manifest.json": json.dumps({"format": _state.FORMAT}), "x.npy": stream.getvalue()}
    )
    with pytest.raises(StateFileError, match=r"\(1000000000000,\) is not the shape of an array"):
        load(tmp_path / "claim.npz")


def test_an_entry_that_is_there_twice_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("manifest.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("manifest.json", "{}")
    with pytest.raises(StateFileError, match="an entry is there twice"):
        load(tmp_path / "twice.npz")


@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(StateFileError, match=r"pipe\.npz: not a regular file; give a file written by \.save\(\)"):
        load(tmp_path / "pipe.npz")
    with pytest.raises(StateFileError, match="/dev/zero: not a regular file"):
        load("/dev/zero")


def test_every_field_is_of_its_declared_type(saved, tmp_path):
    fed, _ = saved
    stored = fed.saved()
    for name, wrong in (("n_features", "4"), ("selector", ["ProtoSwap"]), ("stream", None), ("feature_names", [1, 2])):
        packed, arrays = _state._packed(stored)
        packed["body"]["fields"][name] = wrong
        packed["sha256"] = _state._digest(packed["body"], arrays)
        with (tmp_path / "forged.npz").open("wb") as stream:
            _state._write_archive(stream, packed, arrays)
        with pytest.raises(StateFileError, match=rf"Saved\.{name} is a \w+ of the wrong kind"):
            load(tmp_path / "forged.npz")


def test_what_every_storable_declares_can_be_checked():
    for cls in _state._REGISTRY.values():
        for hint in _typed.hints_of(cls).values():
            assert _typed.fits(object(), hint) is (hint is Any or hint == State | None)  # what an algorithm remembers


def test_a_compressed_table_in_a_state_is_refused():
    pa = pytest.importorskip("pyarrow")
    from protosieve.passes._tables import packed, unpacked

    table = pa.table({"x": pa.array(["a", "b"] * 5000).dictionary_encode(), "y": np.zeros(10_000)})
    assert unpacked(packed(table)).equals(table)
    for kept in (table, table.select(["x"]), table.select(["y"])):
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, kept.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(kept)
        with pytest.raises(ValueError, match="a table is compressed"):
            unpacked(np.frombuffer(sink.getvalue(), np.uint8))


def test_a_state_that_does_not_fit_the_run_that_uses_it_is_told_of():
    with (
        pytest.raises(StateFileError, match=r"run\.npz: what it holds does not fit this run \(KeyError: 'x'\); if the"),
        _state.relied_on("run.npz", lambda: True),
    ):
        raise KeyError("x")
    with pytest.raises(KeyError), _state.relied_on("run.npz", lambda: False):
        raise KeyError("x")  # nothing of it was used


def test_foreign_files_are_refused(tmp_path, X):
    np.savez(tmp_path / "other.npz", X=X)
    (tmp_path / "text.npz").write_text("hello")
    for name in ("other.npz", "text.npz"):
        with pytest.raises(StateFileError, match="not a protosieve state file, or a damaged one"):
            load(tmp_path / name)
    with pytest.raises(StateFileError, match="no such state file"):
        load(tmp_path / "missing.npz")
    with pytest.raises(StateFileError, match="cannot be read"):
        load(tmp_path)


def test_a_function_cannot_be_saved_and_nothing_is_written(X, tmp_path):
    fed = ProtoStream(6, kernel=lambda A, B: np.abs(A) @ np.abs(B).T).partial_fit(X)
    with pytest.raises(StateFileError, match="a state file holds data, never code"):
        fed.save(tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_previous_file(saved, monkeypatch):
    fed, path = saved
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateFileError, match=r"cannot write the state to .*No space left on device\. Whatever stood"):
        fed.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


def test_permissions_and_links_are_kept(saved, tmp_path):
    fed, path = saved
    mask = os.umask(0o022)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    path.chmod(0o640)
    (tmp_path / "link.npz").symlink_to(path)
    fed.save(tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "state", [np.random.RandomState(1), np.random.default_rng(1), np.random.Generator(np.random.MT19937(1))]
)
def test_any_random_state_can_be_saved_and_resumed(selector, X, tmp_path, state):
    fed = selector(6, mean=ReservoirMean(40), random_state=state).partial_fit(X[:200])
    fed.save(tmp_path / "run.npz")
    again = load(tmp_path / "run.npz").partial_fit(X[200:])
    np.testing.assert_array_equal(again.weights_, fed.partial_fit(X[200:]).weights_)


def test_a_selector_of_ones_own_is_refused_with_its_name(X, tmp_path):
    class Mine(ProtoStream):
        pass

    Mine(5).fit(X).save(tmp_path / "run.npz")
    with pytest.raises(StateFileError, match="holds a Mine, which is no selector of protosieve"):
        load(tmp_path / "run.npz")


def test_a_missing_folder_is_one_clear_error(saved, tmp_path):
    with pytest.raises(StateFileError, match="No such file or directory"):
        saved[0].save(tmp_path / "nowhere" / "run.npz")


def test_a_really_full_disk_leaves_the_previous_file(saved, tmp_path, full_disk):
    fed, path = saved
    before = path.read_bytes()
    with full_disk(), pytest.raises(StateFileError, match="cannot write the state"):
        fed.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_loading_never_unpickles(saved, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("pickle was used")

    monkeypatch.setattr("pickle.load", forbidden)
    monkeypatch.setattr("pickle.loads", forbidden)
    load(saved[1])


def test_an_unfitted_selector_cannot_be_saved(selector, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        selector().save(tmp_path / "run.npz")


def test_state_errors_are_protosieve_errors():
    assert issubclass(StateFileError, ProtosieveError)


def test_a_file_from_before_rows_were_counted_goes_on_and_says_it_does_not_know(X, tmp_path):
    fed = ProtoSwap(6, candidates="all", block_size=16, random_state=0).partial_fit(X[:200])
    whole = fed.saved()
    for name in ("accepted", "exchanged", "bound"):
        setattr(whole.stream.recorder, name, [])
    path = tmp_path / "old.npz"
    _state.write(path, whole)
    _without(path, ["accepted", "exchanged", "bound"])
    again = load(path).partial_fit(X[200:])
    assert again.result_.trace.accepted is None
    assert again.result_.trace.exchanged is None
    assert again.result_.trace.bound is None
    uncut = ProtoSwap(6, candidates="all", block_size=16, random_state=0).partial_fit(X)
    np.testing.assert_array_equal(again.weights_, uncut.weights_)


def _without(path, fields):
    """Take fields out of the recorder of a state file, as if nobody had known of them."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(entries["manifest.json"])
    recorder = manifest["body"]["fields"]["stream"]["fields"]["recorder"]["fields"]
    for field in fields:
        del recorder[field]
    arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(entries[name])) for name in entries if name[-4:] == ".npy"}
    manifest["sha256"] = _state._digest(manifest["body"], arrays)
    entries["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def test_bytes_give_back_what_a_file_does(saved):
    fed, path = saved
    again = _state.loads(_state.dumps(fed.saved()))
    _state.write(path, again)
    np.testing.assert_array_equal(load(path).weights_, fed.weights_)


def test_damaged_bytes_are_one_error_under_the_name_given(saved):
    data = _state.dumps(saved[0].saved())
    with pytest.raises(StateFileError, match=r"partition 3: not a protosieve state file, or a damaged one"):
        _state.loads(data[:-100], "partition 3")
