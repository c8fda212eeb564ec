"""The paper's data: found, checked, fetched and kept; the network is a server of our own, or a stand-in."""

import http.server
import io
import threading
import zipfile

import numpy as np
import pytest

from experiments.datasets import _mnist, load_letters, load_mnist
from experiments.datasets._letters import Letters
from protosieve.errors import InputError, OutputError, ParameterError


@pytest.fixture
def home(monkeypatch, tmp_path):
    """An empty data folder of scikit-learn's, and no folder of our own."""
    monkeypatch.delenv("PROTOSIEVE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise OSError("Network is unreachable")

    monkeypatch.setattr("experiments.datasets._letters.urlopen", refuse)
    monkeypatch.setattr(_mnist, "fetch_openml", refuse)


@pytest.fixture(scope="session")
def raw(paper_data):
    with np.load(paper_data / "letters.npz") as data:
        return data["X"], data["y"]


def as_uci(X, y, member="letter-recognition.data"):
    """The bytes of UCI's archive."""
    lines = "".join(f"{letter},{','.join(map(str, row))}\n" for letter, row in zip(y, X.tolist(), strict=True))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr(member, lines)
        parts.writestr("letter-recognition.names", "what it is")
    return packed.getvalue()


@pytest.fixture
def serve():
    """A server on this machine that answers every request with the bytes it was given, or breaks off."""
    servers = []

    def start(body, promised=None):
        class Answer(http.server.BaseHTTPRequestHandler):
            asked = 0

            def do_GET(self):
                type(self).asked += 1
                self.send_response(200)
                self.send_header("Content-Length", str(promised or len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/letter+recognition.zip", Answer

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_letters_are_the_papers(paper_data, raw):
    letters = load_letters(paper_data)
    assert letters.base_labels[0] == "T"
    assert letters.base[0].tolist() == [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]
    assert np.array_equal(np.concatenate([letters.base, letters.test]), raw[0])
    assert np.array_equal(np.concatenate([letters.base_labels, letters.test_labels]), raw[1])
    assert letters.base.shape == (16000, 16)
    assert letters.base.dtype == np.float32


@pytest.mark.thorough
def test_mnist_is_the_papers(paper_data):
    mnist = load_mnist(paper_data, dtype=np.float64)
    with np.load(paper_data / "mnist.npz") as data:
        assert np.array_equal(mnist.base * 255, data["x_test"].reshape(10000, 784))
        assert np.array_equal(mnist.test_labels, data["y_train"])
    assert np.array_equal(load_mnist(paper_data).base, mnist.base.astype(np.float32))


def test_the_environment_names_a_folder(paper_data, home, no_network, monkeypatch):
    monkeypatch.setenv("PROTOSIEVE_DATA", str(paper_data))
    assert len(load_letters().base) == 16000
    assert not (home / "protosieve").exists()


def test_letters_come_from_uci_once(raw, home, serve):
    url, answer = serve(as_uci(*raw))
    for _ in range(2):
        found = Letters(url).arrays()
        assert np.array_equal(found["X"], raw[0])
        assert np.array_equal(found["y"].astype("U1"), raw[1])
    assert answer.asked == 1
    assert [path.name for path in (home / "protosieve").iterdir()] == ["letters.npz"]
    assert np.array_equal(load_letters().test, raw[0][16000:])


@pytest.mark.thorough
def test_mnist_comes_from_openml_once(paper_data, home, monkeypatch):
    calls = []

    def stand_in(name, *, version, return_X_y, as_frame, parser):
        calls.append((name, version, return_X_y, as_frame))
        with np.load(paper_data / "mnist.npz") as data:
            X = np.concatenate([data["x_train"], data["x_test"]]).reshape(70000, 784).astype(np.float64)
            return X, np.concatenate([data["y_train"], data["y_test"]]).astype(str).astype(object)

    monkeypatch.setattr(_mnist, "fetch_openml", stand_in)
    assert np.array_equal(load_mnist().base, load_mnist(paper_data).base)
    assert np.array_equal(load_mnist().test_labels, load_mnist(paper_data).test_labels)
    assert calls == [("mnist_784", 1, True, False)]


@pytest.mark.parametrize("load", [load_letters, load_mnist])
def test_without_a_network_the_remedy_is_named(home, no_network, load):
    with pytest.raises(InputError, match=r"cannot be had \(Network is unreachable\): fetch it where .*PROTOSIEVE_DATA"):
        load()
    assert not (home / "protosieve").exists()


def test_a_folder_without_the_file(tmp_path, no_network):
    with pytest.raises(InputError, match=rf"there is no letters.npz in {tmp_path}: .* or give no folder to download"):
        load_letters(tmp_path)


def test_another_order_is_refused_with_the_reason(raw, tmp_path):
    order = np.random.default_rng(0).permutation(20000)
    np.savez(tmp_path / "letters.npz", X=raw[0][order].astype(float), y=raw[1][order])
    with pytest.raises(InputError, match=r"letters.npz: the rows of OpenML's copy are in another order .* data set 59"):
        load_letters(tmp_path)


def test_another_order_from_the_network_is_refused_and_not_kept(raw, home, serve):
    url, _ = serve(as_uci(raw[0][::-1], raw[1][::-1]))
    with pytest.raises(InputError, match="in another order"):
        Letters(url).arrays()
    assert not (home / "protosieve").exists()


def test_labels_are_checked_too(raw, tmp_path):
    np.savez(tmp_path / "letters.npz", X=raw[0], y=np.roll(raw[1], 1))
    with pytest.raises(InputError, match="the rows are right and their labels are not; take UCI's"):
        load_letters(tmp_path)


@pytest.mark.parametrize("value", [9, 9.5, np.nan, -1, 1000])
def test_one_other_value_is_noticed(raw, tmp_path, value):
    X = raw[0].astype(float)
    X[7, 3] = value
    np.savez(tmp_path / "letters.npz", X=X, y=raw[1])
    with pytest.raises(InputError, match="their values are not those the paper used"):
        load_letters(tmp_path)


def test_a_shorter_file_is_noticed(raw, tmp_path):
    np.savez(tmp_path / "letters.npz", X=raw[0][:16000], y=raw[1][:16000])
    with pytest.raises(InputError, match=r"X has the shape \(16000, 16\), not \(20000, 16\): part of it is missing"):
        load_letters(tmp_path)


def test_other_arrays_are_named(tmp_path):
    np.savez(tmp_path / "letters.npz", data=np.zeros(3))
    with pytest.raises(InputError, match=r"letters.npz holds data, not X, y"):
        load_letters(tmp_path)


@pytest.mark.parametrize("load", [load_letters, load_mnist])
def test_a_file_cut_off_or_of_another_kind_is_an_error_of_ours(paper_data, tmp_path, load):
    name = load.__name__.removeprefix("load_") + ".npz"
    whole = (paper_data / name).read_bytes()
    for content in (
        b"",
        b"no archive",
        whole[: len(whole) // 2],
        whole[: len(whole) // 2] + whole[len(whole) // 2 + 9 :],
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=rf"{name} cannot be read \(.+\): replace it, or delete it"):
            load(tmp_path)
    with (tmp_path / name).open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path)


def test_a_download_that_breaks_off(raw, home, serve):
    body = as_uci(*raw)
    url, _ = serve(body[:5000], promised=len(body))
    with pytest.raises(InputError, match=r"UCI's data set 59.* cannot be had \(.*IncompleteRead.*\): fetch it"):
        Letters(url).arrays()


@pytest.mark.parametrize("body", [b"<html>try later</html>", as_uci(np.zeros((2, 3), int), "AB", "other.data")])
def test_a_download_of_something_else(home, serve, body):
    with pytest.raises(InputError, match=r"cannot be had \((File is not a zip file|no letter-recognition.data in )"):
        Letters(serve(body)[0]).arrays()


def test_a_download_with_no_rows_or_odd_ones(home, serve):
    with pytest.raises(InputError, match=r"X has the shape \(0, 16\)"):
        Letters(serve(as_uci(np.zeros((0, 16), int), ""))[0]).arrays()
    with pytest.raises(InputError, match="cannot be had"):
        Letters(serve(as_uci(np.zeros((5, 3), int), "ABCDE"))[0]).arrays()


def test_a_folder_that_cannot_be_written(raw, home, serve):
    home.mkdir()
    (home / "protosieve").write_text("a file where the folder should be")
    with pytest.raises(OutputError, match=r"letters.npz cannot be written .* set SCIKIT_LEARN_DATA to another folder"):
        Letters(serve(as_uci(*raw))[0]).arrays()


@pytest.mark.parametrize("load", [load_letters, load_mnist])
def test_rows_are_single_or_double_precision(load):
    with pytest.raises(ParameterError, match=f"{load.__name__}: dtype must be float32 or float64, got <class 'int'>"):
        load(dtype=int)


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PROTOSIEVE_DATA", str(tmp_path / "typo"))
    with pytest.raises(InputError, match=r"PROTOSIEVE_DATA names .*typo, which is no folder"):
        load_letters()
