"""Thumbnails: pixels of rows, columns of images in every form, and what is not shown, with a word."""

import base64
import io
import sys
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import protosieve
from protosieve import ProtoSwap
from protosieve._pictures import is_image
from protosieve.cli import main
from protosieve.insight import _thumbnails
from protosieve.insight._thumbnails import decoded, encoded, png, pooled
from protosieve.result.files import write_table
from report_runs import run, told

Image = pytest.importorskip("PIL.Image")


def opened(address):
    """The image behind a data address."""
    head, body = address.split(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    return Image.open(io.BytesIO(base64.b64decode(body)))


def picture(colour=(200, 30, 30), size=(40, 30), kind="PNG", mode="RGB", **how):
    sink = io.BytesIO()
    Image.new(mode, size, colour).save(sink, kind, **how)
    return sink.getvalue()


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_png_of_ours_is_read_by_others(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    read = np.asarray(Image.open(io.BytesIO(png(pixels)))).reshape(5, 7, channels)
    assert (read == pixels).all()


def test_pooling_takes_the_mean_of_squares():
    pixels = np.arange(16, dtype=np.uint8).reshape(4, 4, 1) * 4
    assert pooled(pixels, 2)[..., 0].tolist() == [[10, 18], [42, 50]]
    assert pooled(pixels, 4) is pixels
    assert max(pooled(np.zeros((300, 7, 3), np.uint8), 128).shape) <= 128


def test_rows_of_pixels_are_shown_as_they_are():
    X = np.random.default_rng(0).integers(0, 17, (60, 6)).astype(float)
    X[0], X[1] = 0, 16
    result = ProtoSwap(n_prototypes=60).fit(X).result_
    for card in told(result, X, image_shape="2x3")["cards"]:
        seen = np.asarray(opened(card["image"]))
        assert (seen == np.round(X[card["row"]].reshape(2, 3) * 255 / 16)).all()


@pytest.mark.parametrize("option", [{}, {"embedding": "pixels"}, {"scale": "minmax"}])
def test_pixels_are_those_of_the_file_not_of_the_encoding(tmp_path, option):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, (60, 4))
    X[:, 3] = 5  # constant: it is dropped from the encoded rows, and is in the picture
    X[0, :3], X[1, :3] = 0, 16
    columns = {"pixels": list(X.astype(float))} if option.get("embedding") else {f"p{i}": X[:, i] for i in range(4)}
    result = run(tmp_path, columns, m=60, **option)
    for card in told(result, image_shape="2x2")["cards"]:
        seen = np.asarray(opened(card["image"]))
        assert (seen == np.round(X[card["row"]].reshape(2, 2) * 255 / 16)).all()


def test_pixels_of_array_files_are_unscaled(tmp_path):
    X = np.random.default_rng(0).integers(0, 256, (50, 12)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    result = protosieve.select(tmp_path / "rows.npy", 50)
    for card in told(result, X, image_shape="2x2x3")["cards"]:
        assert (np.asarray(opened(card["image"])) == X[card["row"]].reshape(2, 2, 3)).all()


@pytest.mark.parametrize("form", ["bytes", "struct", "base64", "data address", "path", "struct of a path"])
def test_a_column_of_images_in_any_form(tmp_path, form):
    n = 20
    raw = [picture((i * 10, 0, 0)) for i in range(n)]
    for i, one in enumerate(raw):
        (tmp_path / f"{i}.png").write_bytes(one)
    text = [base64.b64encode(one).decode() for one in raw]
    cells = {
        "bytes": raw,
        "struct": [{"bytes": one, "path": None} for one in raw],
        "base64": text,
        "data address": [f"data:image/png;base64,{one}" for one in text],
        "path": [f"{i}.png" for i in range(n)],
        "struct of a path": [{"bytes": None, "path": f"{i}.png"} for i in range(n)],
    }[form]
    columns = {"x": np.arange(n) * 1.0, "photo": cells}
    result = run(tmp_path, columns, features="x")
    found = told(result, image="photo")
    for card in found["cards"] + found["criticisms"]["cards"]:
        assert card["no_image"] is None
        assert np.asarray(opened(card["image"]).convert("RGB"))[0, 0, 0] == pytest.approx(card["row"] * 10, abs=3)


def test_a_column_of_bytes_is_found_without_being_named(tmp_path):
    columns = {"x": np.arange(20.0), "photo": [picture()] * 20}
    card = told(run(tmp_path, columns))["cards"][0]
    assert opened(card["image"]).size == (40, 30)
    assert card["differs"] == []


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (None, "no image in this row"),
        ("https://example.org/cat.png", "a web address, which is not fetched"),
        ("file:///etc/passwd", "a web address, which is not fetched"),
        (r"\\host\share\cat.png", "a web address, which is not fetched"),
        ("nowhere.png", "there is no such file"),
        ("a\0b", "neither an image nor the path of one"),
        (b"\x89PNG but not really", "not an image that can be read"),
        (picture()[:60], "not an image that can be read: it is damaged or cut short"),
        (b"<svg onload='alert(1)'/>", "not an image that can be read"),
        (7, "a int is no image"),
        ({"bytes": None, "path": None}, "neither bytes nor a path"),
        ("/dev/zero", "lies outside the data's folder and the working one"),
        ("../secret.png", "lies outside the data's folder and the working one"),
    ],
)
def test_what_is_no_image_says_so(tmp_path, cell, why):
    assert decoded(cell, [tmp_path]) == why


@pytest.mark.parametrize("way", ["absolute", "upwards", "link"])
def test_a_picture_from_elsewhere_is_not_read(tmp_path, way):
    (tmp_path / "secret.png").write_bytes(picture())
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    cell = {"absolute": str(tmp_path / "secret.png"), "upwards": "../secret.png", "link": "link.png"}[way]
    result = run(folder, {"x": np.arange(20.0), "photo": [cell] * 20}, features="x")
    for card in told(result, image="photo")["cards"]:
        assert card["image"] is None
        assert card["no_image"] == "lies outside the data's folder and the working one"


def doctored(folder, path, cell, where):
    """A result file whose contents name a column of paths, and a folder of somebody else's for them to lie in."""
    result = run(folder, {"x": np.arange(20.0), "photo": [cell] * 20}, features="x", image="photo")
    files = [pa.array([f"{where}/rows.parquet"] * len(result.table))]
    table = result.table.set_column(1, "file", files)
    known = dict(result.provenance) | {"files": [{"name": f"{where}/rows.parquet", "size": 1}]}
    write_table(table, path, known)
    return protosieve.Prototypes.read(path)


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_no_folder_is_taken_from_the_contents_of_a_result_file(tmp_path, monkeypatch, ending):
    for name in ("here", "private"):
        (tmp_path / name).mkdir()
    (tmp_path / "private" / "own.png").write_bytes(picture())
    monkeypatch.chdir(tmp_path / "here")
    for cell in ("own.png", str(tmp_path / "private" / "own.png")):
        result = doctored(tmp_path, tmp_path / f"hostile{ending}", cell, tmp_path / "private")
        for view in ({}, {"image": "photo"}):
            assert {card["image"] for card in told(result, **view)["cards"]} == {None}
    assert main(["report", f"../hostile{ending}", "-o", "page.html"]) == 0
    assert "data:image/png" not in (tmp_path / "here" / "page.html").read_text()


def test_of_a_result_file_pictures_are_read_where_its_reader_says(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "own.png").write_bytes(picture())
    result = doctored(folder, tmp_path / "sent.parquet", "own.png", folder)
    beside, data = told(result, image="photo"), result.sample_of(folder / "rows.parquet")
    assert {card["no_image"] for card in beside["cards"]} == {"there is no such file"}
    only = "only the path of an image: name the column to have it read"
    assert {card["no_image"] for card in told(result, data)["cards"]} == {only}  # the file has named it
    shown = told(result, data, image="photo")
    assert all(card["image"] for card in shown["cards"] + shown["criticisms"]["cards"])
    monkeypatch.chdir(folder)
    assert all(card["image"] for card in told(result, image="photo")["cards"])
    assert {card["no_image"] for card in told(result)["cards"]} == {only}


def test_a_path_means_the_picture_beside_its_own_file(tmp_path):
    for i, name in enumerate("ab"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own.png").write_bytes(picture((200 * i, 0, 0)))
        pq.write_table(pa.table({"x": np.arange(10.0) + i / 3, "photo": ["own.png"] * 10}), folder / "rows.parquet")
    result = protosieve.select([tmp_path / name / "rows.parquet" for name in "ab"], 20, features="x", image="photo")
    cards = told(result)["cards"]
    assert {card["row"] // 10 for card in cards} == {0, 1}
    for card in cards:
        red = np.asarray(opened(card["image"]).convert("RGB"))[0, 0, 0]
        assert red == pytest.approx(200 * (card["row"] // 10), abs=3)


def test_of_a_column_nobody_named_paths_are_not_read(tmp_path):
    (tmp_path / "own.png").write_bytes(picture())
    cells = [{"bytes": None if i % 3 else picture(), "path": "own.png"} for i in range(20)]
    cells[:14] = [{"bytes": picture(), "path": None}] * 14
    result = run(tmp_path, {"x": np.arange(20.0), "photo": cells}, m=20)
    for card in told(result)["cards"]:
        has = cells[card["row"]]["bytes"] is not None
        assert (card["image"] is not None) == has
        assert card["no_image"] == (None if has else "only the path of an image: name the column to have it read")
    assert all(card["image"] for card in told(result, image="photo")["cards"])


def test_no_more_of_a_file_is_read_than_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr("protosieve._pictures._BYTES", 100)
    (tmp_path / "long.png").write_bytes(picture() + bytes(100))
    assert decoded("long.png", [tmp_path]) == "a file of more than 100 bytes is too large"


def test_an_image_of_too_many_pixels_is_not_decoded(tmp_path):
    huge = bytearray(picture(size=(1, 1)))
    huge[16:24] = (60_000).to_bytes(4, "big") * 2  # width and height in the header
    huge[29:33] = zlib.crc32(huge[12:29]).to_bytes(4, "big")
    assert decoded(bytes(huge), []) == "60,000 x 60,000 pixels are too many"
    many = picture(mode="1", colour=0, size=(9000, 9000))
    assert decoded(many, []) == "9,000 x 9,000 pixels are too many"


def test_without_pillow_the_card_says_what_is_missing(monkeypatch):
    cell = picture()
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "pip install pillow" in decoded(cell, [])


def test_bytes_of_the_user_do_not_reach_the_page():
    secret = b"taken at 51.5 N"
    exif = Image.Exif()
    exif[270] = secret.decode()
    source = picture(kind="JPEG", exif=exif)
    assert secret in source
    data = encoded(decoded(source, []), 128).data
    assert secret not in data
    assert data != source


def test_photographs_stand_upright():
    sideways = Image.Exif()
    sideways[274] = 6  # turn by 90 degrees to see it upright
    assert decoded(picture(kind="JPEG", size=(40, 30), exif=sideways), []).size == (30, 40)


def test_transparency_stays():
    made = encoded(decoded(picture((255, 0, 0, 0), mode="RGBA"), []), 128)
    assert made.kind == "png"
    assert Image.open(io.BytesIO(made.data)).mode == "RGBA"


def test_thumbnails_shrink_and_then_end_at_their_budget(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    noise = []
    for _ in range(12):
        sink = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (200, 200, 3), dtype=np.uint8)).save(sink, "PNG")
        noise.append(sink.getvalue())
    result = run(tmp_path, {"x": np.arange(12.0), "photo": noise}, m=8)
    sizes = {}
    for budget in (1_600_000, 60_000, 12_000):
        monkeypatch.setattr(_thumbnails, "_BUDGET", budget // 4 * 3)
        found = told(result)
        cards = found["cards"] + (found["criticisms"] or {"cards": []})["cards"]
        shown = [card["image"] for card in cards if card["image"]]
        assert sum(map(len, shown)) <= budget
        assert all(card["image"] or card["no_image"] == "left out to keep the page small" for card in cards)
        sizes[budget] = max(opened(one).size[0] for one in shown), len(shown)
    assert sizes[1_600_000] == (128, len(cards))
    assert sizes[60_000][0] < 128
    assert sizes[12_000][0] == 48
    assert sizes[12_000][1] < len(cards)


def test_images_are_known_by_their_first_bytes():
    assert is_image(picture())
    assert is_image({"bytes": picture(kind="JPEG"), "path": None})
    assert not is_image(b"hello")
    assert not is_image("hello")
