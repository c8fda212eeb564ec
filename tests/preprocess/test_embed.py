"""Models by name, and the vectors that are kept of them."""

import copy
import importlib
import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from select import select

import numpy as np
import pyarrow as pa
import pytest

from embedding_models import Module
from protosieve import InputError, OutputError, ParameterError
from protosieve.preprocess import BATCH, EmbedError, Encoding, Layout, Survey, check_shared, model_named
from protosieve.preprocess._embed import _NAMES, _digest, _load, _open_file, vectors, version_of
from volumes import volume

pytestmark = pytest.mark.usefixtures("place")

TEXTS = ["cats sit", "cats sat", "dogs run", "", "dogs ran", "stocks fell"]


@pytest.fixture
def module(place):
    return Module(place)


def embedded(name, texts):
    name = model_named(name)
    return vectors(name, version_of(name), [text.encode() for text in texts])


def normed(rows):
    rows = np.asarray(rows, np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_vectors_are_the_models_at_length_one(module):
    found = embedded(module("embed"), TEXTS)
    expected = normed(sys.modules[module.name].embed(TEXTS))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


def test_a_vector_of_nothing_but_zeros_stays_so():
    np.testing.assert_array_equal(embedded(lambda texts: np.zeros((len(texts), 3)), ["a", "b"]), np.zeros((2, 3)))


@pytest.mark.parametrize("size", [1e-300, 1e-40, 1e30, 1e300])
def test_vectors_of_any_size_have_length_one(size):
    found = embedded(lambda texts: [[3 * size, -4 * size] for _ in texts], ["a"])
    np.testing.assert_allclose(found, [[0.6, -0.8]], rtol=1e-6)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "uint64"])
def test_numbers_of_any_kind_will_do(kind):
    found = embedded(lambda texts: np.array([[3, 4]] * len(texts), kind), ["a", "b"])
    np.testing.assert_allclose(found, [[0.6, 0.8]] * 2, rtol=1e-6)


def test_each_text_is_embedded_once_and_no_more_than_a_batch_at_a_time(module):
    texts = [f"word {i % 700}" for i in range(2000)]
    found = embedded(module("embed"), texts)
    assert sorted(module.texts) == sorted(set(texts))
    assert max(map(len, module.calls)) <= BATCH
    np.testing.assert_array_equal(embedded(module("embed"), texts[::-1]), found[::-1])
    assert len(module.texts) == 700


def test_what_was_written_first_counts(module):
    """Whatever is in the batch."""
    first = embedded(module("uneven"), TEXTS[:3])
    np.testing.assert_array_equal(embedded(module("uneven"), TEXTS)[:3], first)
    np.testing.assert_array_equal(embedded(module("uneven"), TEXTS[2:0:-1]), first[2:0:-1])


def test_of_two_processes_that_embed_at_once_the_first_to_write_is_right():
    def model(texts):
        with _open_file(_NAMES[name].place) as other:
            other.keep((_digest(text.encode()), np.array([0, 1], np.float32)) for text in texts)
        return [[1.0, 0.0]] * len(texts)

    name = model_named(model)
    np.testing.assert_array_equal(embedded(model, ["a", "b"]), [[0, 1]] * 2)


def kept(name, texts):
    return embedded(name, texts)


def test_threads_and_processes_share_what_is_kept(module):
    texts = [f"word {i}" for i in range(300)]
    found = []
    for pool in (ProcessPoolExecutor(2), ThreadPoolExecutor(4)):  # a process must not fork while others ask a model
        with pool:
            found += list(pool.map(kept, [module("uneven")] * 4, [texts] * 4))
    for one in found:
        np.testing.assert_array_equal(one, found[0])


PROGRAM = """
import numpy
from protosieve.preprocess import model_named
from protosieve.preprocess._embed import vectors, version_of
name = {!r}
numpy.save("found", vectors(model_named(name), version_of(name), [b"a"]))
"""


def test_another_version_of_a_module_has_vectors_of_its_own(module, place):
    before = version_of(module("embed"))
    embedded(module("embed"), TEXTS)
    (file,) = (place / "kept").glob("*.sqlite")
    module.path.write_text(module.path.read_text().replace("0.3 *", "0.7 *"))
    assert version_of(module("embed")) != before
    subprocess.run([sys.executable, "-c", PROGRAM.format(module("embed"))], check=True)
    assert len(set((place / "kept").glob("*.sqlite")) - {file}) == 1


@pytest.mark.parametrize("first", ["imported", "asked"])
def test_a_module_that_was_changed_after_it_was_imported_is_refused(module, place, monkeypatch, first):
    """Else vectors of the old text would be kept as those of the new one, for every later process."""
    with monkeypatch.context() as only:
        only.syspath_prepend(place)
        loaded = importlib.import_module(module.name)
    if first == "asked":
        embedded(module("embed"), ["a"])
    module.path.write_text(module.path.read_text().replace("0.3 *", "0.75 *"))
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"cannot be loaded: ImportError: .*py was changed after it was imported; "
        ):
            embedded(module("embed"), ["a"])
    monkeypatch.syspath_prepend(place)
    importlib.reload(loaded)
    subprocess.run([sys.executable, "-c", PROGRAM.format(module("embed"))], check=True)
    np.testing.assert_array_equal(embedded(module("embed"), ["a"]), np.load("found.npy"))
    np.testing.assert_allclose(np.load("found.npy"), normed(loaded.embed(["a"])), rtol=1e-6)


def test_a_constant_that_was_changed_after_it_was_used_is_noticed_too(module):
    embedded(module("embed"), ["a"])
    module.path.write_text(module.path.read_text().replace("NUMBER = 7", "NUMBER = 8"))
    with pytest.raises(InputError, match="was changed after it was imported"):
        embedded(module("embed"), ["a"])


def test_a_module_that_others_imported_and_that_is_as_it_was_is_run(place, monkeypatch):
    """With functions of other files, wrapped ones and ones that are made."""
    source = """
import functools, json, os
loads = json.loads
def made(n):
    def inner(texts): return [[n, len(one)] for one in texts]
    return inner
def noted(function):
    @functools.wraps(function)
    def call(texts): return function(texts)
    return call
@functools.cache
def model(): return made(1)
@noted
def embed(texts): return model()(texts)
other = made(2)
short = lambda texts: other(texts)
"""
    own = Module(place, source)
    monkeypatch.syspath_prepend(place)
    importlib.import_module(own.name)
    for function in ("embed", "other", "short"):
        assert embedded(own(function), ["a"]).shape == (1, 2)


def test_the_working_folder_is_looked_at_for_the_model_alone(module, place):
    """Files of data may lie there, under names that others import later."""
    beside = Module(place, "raise OSError('not asked for')")
    embedded(module("embed"), ["a"])
    version_of(module("embed"))
    assert not {"", str(place)} & set(sys.path)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(beside.name)


def test_a_module_may_be_in_an_archive(module, place, monkeypatch):
    with zipfile.ZipFile(place / "some.zip", "w") as archive:
        archive.writestr("zipped_model.py", "def embed(texts): return [[1.0, 0.0]] * len(texts)")
    monkeypatch.syspath_prepend(str(place / "some.zip"))
    np.testing.assert_array_equal(embedded("zipped_model:embed", ["a"]), [[1, 0]])
    assert version_of("zipped_model:embed")


def test_a_module_that_cannot_be_read_is_told_of(module, monkeypatch):
    def refused(loader, path):
        raise PermissionError("no")

    monkeypatch.setattr("importlib.machinery.SourceFileLoader.get_data", refused)
    with pytest.raises(InputError, match="cannot be loaded: PermissionError: no"):
        version_of(module("embed"))


# -- names


@pytest.mark.parametrize("name", ["", "all-MiniLM-L6-v2", ":f", "module:"])
def test_a_name_says_where_a_model_is(name):
    with pytest.raises(ParameterError, match=r"embed='.*' names no model; give one such as sentence-transformers:"):
        version_of(name)


@pytest.mark.parametrize("name", ["no_such_module:f", "no_such.module:f", "a b:f"])
def test_a_module_that_is_not_there_is_told_of_before_a_row_is_read(name, place):
    with pytest.raises(ParameterError, match=f"there is no module .*, neither installed nor in {place}"):
        version_of(name)


@pytest.mark.parametrize(
    ("prefix", "package"),
    [
        ("sentence-transformers", "sentence-transformers"),
        ("model2vec", "model2vec"),
        ("open_clip", "open_clip_torch"),
    ],
)
def test_a_library_that_is_not_installed_is_told_of_before_a_row_is_read(prefix, package, monkeypatch):
    monkeypatch.setattr("protosieve.preprocess._embed.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=rf"needs \w+, which is not installed: pip install {package}$"):
        version_of(f"{prefix}:some")


@pytest.mark.parametrize(
    ("function", "why"),
    [("none", "AttributeError: .* no attribute 'none'"), ("NUMBER", "TypeError: NUMBER is a int, and a function")],
)
def test_a_function_that_is_not_there_is_told_of(module, function, why):
    with pytest.raises(InputError, match=rf"embed='{module(function)}' cannot be loaded: {why}"):
        embedded(module(function), ["a"])


def test_a_module_that_fails_is_told_of(place):
    broken = Module(place, "raise OSError('no weights')")
    for name in (broken("f"), f"{broken.name}.part:f"):
        with pytest.raises(InputError, match="cannot be loaded: OSError: no weights"):
            embedded(name, ["a"])


def test_a_method_of_a_class_may_be_named(module):
    np.testing.assert_array_equal(embedded(module("Holder.embed"), TEXTS), embedded(module("embed"), TEXTS))


def test_functions_that_can_be_imported_go_by_their_names(module):
    embedded(module("embed"), ["a"])
    assert model_named(sys.modules[module.name].embed) == module("embed")
    check_shared(module("embed"), "work")


def test_functions_that_cannot_are_of_this_process():
    def embed(texts):
        return [[1.0]] * len(texts)

    class Model:
        def encode(self, texts):
            return [[1.0]] * len(texts)

    model = Model()
    names = [model_named(one) for one in (embed, lambda texts: [[2.0]], model.encode, Model().encode)]
    assert len(set(names)) == 4
    assert model_named(embed) == names[0]
    assert model_named(model.encode) == names[2]
    for name in names:
        with pytest.raises(
            ParameterError, match=r"other processes cannot import, .*, and work needs one that they can"
        ):
            check_shared(name, "work")


def test_a_model_is_a_name_or_a_function():
    with pytest.raises(ParameterError, match="embed must be a name or a function, got 7"):
        model_named(7)


# -- failures


@pytest.mark.parametrize(
    "given",
    [
        np.ones(3), np.ones((2, 4)), np.ones((3, 0)), np.ones((3, 2, 2)), [["a"]] * 3, [[1], [1, 2], [1]], None, 7,
        np.ones((3, 2), np.complex64), [[None]] * 3, np.ones((3, 1 << 17), np.int8), [{}] * 3,
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_matrix_is_refused(given):
    with pytest.raises(EmbedError, match=r"failed: ValueError: .*; fix that, or leave the rows out. Vectors made"):
        embedded(lambda texts: given, ["a", "b", "c"])


def test_the_text_that_a_model_fails_for_is_found(module):
    texts = [f"word {i}" for i in range(600)]
    texts[417] = "this fails"
    with pytest.raises(EmbedError, match=f"^{module('faulty')} failed: RuntimeError: no such word; fix that") as found:
        embedded(module("faulty"), texts)
    assert (found.value.first, found.value.last) == (417, 417)
    assert len(module.texts) == 256 + (417 - 256)  # of the batch those before it, one by one
    texts[417] = "this does not"
    embedded(module("faulty"), texts)
    assert sorted(module.texts) == sorted(texts)  # and they were kept


def test_where_a_batch_fails_though_none_of_its_texts_does_each_is_asked_for_alone(module):
    texts = [f"word {i}" for i in range(256)] + [f"crowd {i}" for i in range(5)]
    found = embedded(module("faulty"), texts)
    assert sorted(module.texts) == sorted(texts)
    np.testing.assert_array_equal(found, embedded(module("faulty"), texts))
    np.testing.assert_allclose(found, normed(sys.modules[module.name].embed(texts)), rtol=1e-6)


def test_a_text_without_a_vector_is_nan_and_others_are_not(module):
    found = embedded(module("faulty"), ["word", "nothing", "other"])
    assert np.isnan(found).all(axis=1).tolist() == [False, True, False]
    assert np.isnan(embedded(lambda texts: [[np.inf, 1.0]] * len(texts), ["a"])).all()


def test_vectors_of_two_lengths_are_refused():
    several = [f"row {i}" for i in range(300)]
    model = model_named(lambda texts: np.ones((len(texts), 4 if "row 280" in texts else 3)))
    layout = Layout.of(pa.schema({"text": pa.string()}), text="text", embed=model)
    layout.raw(pa.table({"text": several[:200]}), grow=True)
    with pytest.raises(EmbedError, match="gives vectors of 4 numbers, and of 3 before; all must be as long"):
        layout.raw(pa.table({"text": several[256:]}), grow=True)
    with pytest.raises(EmbedError, match="gives vectors of 3 numbers and of 4; all must be as long"):
        layout.raw(pa.table({"text": several[:10] + several[270:]}), grow=True)


# -- what is kept


def file_of(place):
    (file,) = (place / "kept").glob("*.sqlite")
    return file


def assert_right_or_refused(name, texts, expected):
    told = ""
    try:
        np.testing.assert_array_equal(embedded(name, texts), expected)
    except OutputError as error:
        told = str(error)
    assert not told or ("vectors cannot be kept there" in told and "PROTOSIEVE_CACHE" in told)


@pytest.mark.repeated
def test_a_file_that_ends_anywhere_or_has_other_bytes_gives_right_vectors_or_an_error(module, place):
    name, texts = module("embed"), TEXTS[:3]
    expected = embedded(name, texts)
    file, rng = file_of(place), np.random.default_rng(0)
    data = file.read_bytes()
    last = data.rfind(expected[2].astype("<f4").tobytes())
    assert last > 0
    around = range(last - 40, last + 30)  # the last record
    others = rng.choice(np.flatnonzero(np.frombuffer(data, np.uint8)), volume(60, 3000)).tolist()  # that say something
    for end in [*around, *others]:
        file.write_bytes(data[:end])
        assert_right_or_refused(name, texts, expected)
    for where in [*around, *others]:
        file.write_bytes(data[:where] + bytes([data[where] ^ int(rng.integers(1, 256))]) + data[where + 1 :])
        assert_right_or_refused(name, texts, expected)


@pytest.mark.repeated
def test_a_kill_at_any_moment_leaves_vectors_that_are_right(module):
    """And all but a batch each time."""
    texts = [f"word {i}" for i in range(2000)]
    expected = embedded(module("embed"), texts[:1])
    for wait in np.random.default_rng(0).uniform(0, 0.3, volume(5, 60)):
        process = get_context("fork").Process(target=kept, args=(module("embed"), texts))
        process.start()
        time.sleep(wait)
        process.kill()
        process.join()
    np.testing.assert_array_equal(embedded(module("embed"), texts)[:1], expected)
    rows = normed(sys.modules[module.name].embed(texts))
    np.testing.assert_allclose(embedded(module("embed"), texts), rows, rtol=1e-6)
    assert len(module.texts) <= 2 * len(texts) + BATCH * volume(5, 60)


def test_a_vector_that_was_changed_is_told_of(module, place):
    embedded(module("embed"), TEXTS)
    with sqlite3.connect(file_of(place)) as file:
        file.execute("UPDATE vectors SET vector = zeroblob(28)")
    with pytest.raises(OutputError, match=r"DatabaseError: a vector is not what was written\); delete the file if it"):
        embedded(module("embed"), TEXTS)


def test_a_folder_that_cannot_be_written_is_told_of(module, place):
    (place / "kept").write_text("a file")
    with pytest.raises(OutputError, match=r"vectors cannot be kept there .* name another folder in the environment as"):
        embedded(module("embed"), TEXTS)


def test_where_nobody_is_at_home_the_folder_must_be_named(module, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("pathlib.Path.home", nowhere)
    embedded(module("embed"), TEXTS)
    monkeypatch.delenv("PROTOSIEVE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    embedded(module("embed"), TEXTS)
    monkeypatch.delenv("XDG_CACHE_HOME")
    with pytest.raises(
        OutputError, match=r"^vectors cannot be kept: Could not .*; name a folder in the environment as PR"
    ):
        embedded(module("embed"), TEXTS)


# -- forks


def fork(function):
    """What a fork of this process says of it."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, repr(function()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        is_told, _, _ = select([told], [], [], 20)
        if not is_told:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return told.read()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_wait_for_threads_that_it_does_not_have(module):
    embedded(module("embed"), ["a"])
    entered, go_on = threading.Event(), threading.Event()

    def waits(texts):
        entered.set()
        assert go_on.wait(60)
        return [[1.0]] * len(texts)

    with ThreadPoolExecutor(1) as other:
        asked = other.submit(embedded, waits, ["a"])
        assert entered.wait(10)
        try:
            assert fork(lambda: embedded(module("embed"), ["a", "b"]).shape) == "(2, 6)"
        finally:
            go_on.set()
        asked.result()


def test_vectors_of_a_function_of_this_process_go_when_it_ends_and_not_with_its_forks():
    program = """
import os, sys
from protosieve.preprocess import model_named
from protosieve.preprocess._embed import _NAMES, vectors
names = [model_named(lambda texts: [[1.0]]), model_named(lambda texts: [[2.0]])]
for name in names:
    vectors(name, "", [b"a"])
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
    assert _NAMES[name].place.exists()
    print(_NAMES[name].place)
"""
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    one, other = ended.stdout.split()
    assert one != other
    assert not Path(one).parent.exists()
    assert not Path(other).parent.exists()


# -- columns, and names in files


TABLE = pa.table({"text": TEXTS * 10, "size": np.random.default_rng(0).normal(size=60)})


def encoding_by(name):
    survey = Survey.of(Layout.of(TABLE.schema, text="text", embed=model_named(name)))
    survey.update(survey.layout.raw(TABLE, grow=True)[0])
    return survey.settle()


def renamed(encoding, name):
    """As a file would have it, of a model that nobody here has named."""
    stored = json.loads(json.dumps(encoding.as_dict()))
    stored["models"]["text"]["model"] = name
    return Encoding.from_dict(stored)


def test_a_table_is_encoded_by_its_model(module):
    encoding = encoding_by(module("embed"))
    assert encoding.names == [*(f"text[{i}]" for i in range(6)), "size"]
    np.testing.assert_array_equal(encoding.encode(TABLE)[:6, :6], embedded(module("embed"), TEXTS))
    again = Encoding.from_dict(json.loads(json.dumps(encoding.as_dict())))
    np.testing.assert_array_equal(again.encode(TABLE), encoding.encode(TABLE))
    assert f"text: text, embedded by {module('embed')} in 6 numbers" in encoding.describe()


def test_a_null_is_an_empty_text_and_bytes_that_are_no_text_are_replaced(module):
    encoding = encoding_by(module("embed"))
    cells = pa.array([None, b"", b"caf\xe9"]).view(pa.string())
    found = encoding.encode({"text": cells, "size": [0, 0, 0]})[:, :6]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[1:], embedded(module("embed"), ["", "caf\ufffd"]))


@pytest.mark.parametrize("carried", [lambda one: one, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_names_in_files_are_not_run(module, carried, place):
    """Whoever forges a file could name a function that does harm."""
    encoding = encoding_by(module("embed"))
    harm = Module(place, "open('harm', 'w')\ndef embed(texts): return [[1.0] * 6] * len(texts)")
    forged = carried(renamed(encoding, harm("embed")))
    with pytest.raises(InputError, match=rf"by '{harm('embed')}', and a name that was read from a file is not run; if"):
        forged.encode(TABLE)
    assert not (place / "harm").exists()
    assert forged.encode(TABLE, embed=module("embed")).shape == (60, 7)
    assert not harm.is_imported


def known_to_others(column):
    return vectors(column.model, column.version, [b"a"])


def test_a_pickle_takes_the_right_to_be_run_with_it(module):
    (column, _) = encoding_by(module("embed")).layout.items
    with ProcessPoolExecutor(1) as others:
        np.testing.assert_array_equal(others.submit(known_to_others, column).result(), embedded(module("embed"), ["a"]))


def test_new_rows_that_cannot_be_embedded_are_named(module):
    encoding = encoding_by(module("faulty"))
    with pytest.raises(InputError, match=r"^row 1: .* failed: RuntimeError: no such word"):
        encoding.encode({"text": ["a", "fails"], "size": [1, 2]})
    with pytest.raises(InputError, match=r"^row 1: column 'text' has no vector: .* gives NaN or infinite values; fix"):
        encoding.encode({"text": ["a", "nothing"], "size": [1, 2]})
    uneven = renamed(encoding, model_named(lambda texts: np.ones((len(texts), 3))))
    with pytest.raises(InputError, match=r"^rows 0 to 3: .* gives vectors of 3 numbers, and of 6 before"):
        uneven.encode({"text": list("abcd"), "size": [1, 2, 3, 4]})


# -- the libraries, by stand-ins that are called as they are


_STAND_INS = {
    "sentence_transformers": """
import numpy as np
class SentenceTransformer:
    def __init__(self, model_name_or_path):
        assert model_name_or_path == "some/model", model_name_or_path
    def encode(self, sentences, *, convert_to_numpy=True, show_progress_bar=None):
        assert isinstance(sentences, list) and convert_to_numpy and show_progress_bar is False
        return np.array([[len(one), 1] for one in sentences], np.float32)
""",
    "model2vec": """
import numpy as np
class StaticModel:
    @classmethod
    def from_pretrained(cls, path):
        assert path == "some/model", path
        return cls()
    def encode(self, sentences):
        return np.array([[len(one), 1] for one in sentences], np.float32)
""",
    "open_clip": """
import numpy as np
from torch import Tensor
class Model:
    def eval(self):
        return self
    def encode_text(self, tokens):
        return Tensor(np.stack([tokens.array.sum(axis=1), np.ones(len(tokens.array))], axis=1))
def create_model_and_transforms(model_name, pretrained=None, device="cpu"):
    assert (model_name, pretrained) in [("some", "model"), ("hf-hub:some/model", None)], (model_name, pretrained)
    return Model(), None, None
def get_tokenizer(model_name):
    def tokens(texts):
        assert len(texts) <= 32
        return Tensor(np.array([[len(one), 0] for one in texts]))
    return tokens
""",
    "torch": """
import contextlib
import numpy as np
class Tensor:
    def __init__(self, array): self.array = array
    def to(self, device): return self
    def float(self): return self
    def cpu(self): return self
    def numpy(self): return self.array
class cuda:
    is_available = staticmethod(lambda: False)
no_grad = contextlib.nullcontext
""",
}


@pytest.fixture
def libraries(place, monkeypatch):
    for name, source in _STAND_INS.items():
        (place / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(place)
    yield
    for name in _STAND_INS:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "name",
    ["sentence-transformers:some/model", "model2vec:some/model", "open_clip:some/model", "open_clip:hf-hub:some/model"],
)
def test_libraries_are_called_by_their_prefix(libraries, name):
    texts = ["word " * i for i in range(70)]
    np.testing.assert_allclose(embedded(name, texts), normed([[len(text), 1] for text in texts]), rtol=1e-6)


def test_a_model_of_open_clip_needs_weights(libraries):
    with pytest.raises(InputError, match="cannot be loaded: ValueError: there are no weights; give some, such as"):
        embedded("open_clip:ViT-B-32", ["a"])


def test_a_model_in_a_folder_that_changes_is_another(libraries, place):
    (place / "own").mkdir()
    (place / "own" / "weights").write_text("1")
    before = version_of("model2vec:own")
    assert version_of("model2vec:own") == before != version_of("model2vec:other")
    (place / "own" / "weights").write_text("12")
    assert version_of("model2vec:own") != before
    _load("model2vec:some/model", "1")
    assert _load("model2vec:some/model", "1") is not _load("model2vec:some/model", "2")
    before = version_of("open_clip:some/own/weights")
    (place / "own" / "weights").write_text("123")
    assert version_of("open_clip:some/own/weights") != before
    assert version_of(f"model2vec:{'long' * 200}") == version_of("model2vec:other")


def test_what_is_not_finite_is_asked_for_again(place, monkeypatch):
    """A service that fails once must not spoil a text for good."""
    (place / "moody.py").write_text(
        "import os, numpy as np\n"
        "def one(text): return [np.nan, 1] if os.environ.get('MOOD') == 'bad' and text == 'b' else [1, 2]\n"
        "def embed(texts): return [one(text) for text in texts]"
    )
    monkeypatch.setenv("MOOD", "bad")
    assert np.isnan(embedded("moody:embed", ["a", "b"])).tolist() == [[False, False], [True, True]]
    monkeypatch.delenv("MOOD")
    assert not np.isnan(embedded("moody:embed", ["a", "b"])).any()


def test_what_a_model_prints_does_not_mix_with_results(place, capsys):
    (place / "loud.py").write_text("def embed(texts):\n    print('working')\n    return [[1, 2]] * len(texts)")
    embedded("loud:embed", ["a"])
    assert capsys.readouterr() == ("", "working\n")


def test_a_model_that_exits_or_gives_another_shape_fails_as_one_that_raises(place):
    (place / "odd.py").write_text(
        "import sys\ndef leave(texts): sys.exit(3)\ndef short(texts): return [[1, 2]] * (len(texts) - 1)"
    )
    with pytest.raises(EmbedError, match="odd:leave failed: SystemExit: 3"):
        embedded("odd:leave", ["a"])
    with pytest.raises(EmbedError, match=r"odd:short failed: .* of shape \(2, 2\) for 3 rows"):
        embedded("odd:short", ["a", "b", "c"])
