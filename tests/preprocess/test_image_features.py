"""How images become numbers: against plain loops, and whatever way they are stored."""

import base64
import io
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from threading import Event

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from oracles import image_row
from protosieve import InputError, _pictures
from protosieve._pictures import picture
from protosieve.preprocess import Layout
from protosieve.preprocess._image_features import IMAGE_COLUMNS, rows_of_images


def scene(seed=0, size=(32, 32)):
    """Blocks of a few colours, with noise."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 4, 3)).astype(np.uint8)
    pixels = np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.NEAREST), np.int64)
    return np.clip(pixels + rng.integers(-20, 20, pixels.shape), 0, 255).astype(np.uint8)


def stored(image, kind="PNG", **how):
    sink = io.BytesIO()
    image.save(sink, kind, **how)
    return sink.getvalue()


def rows(cells, kind=None):
    """A column of images as `Layout.raw` has it, and what is wrong with which rows."""
    table = pa.table({"photo": pa.array(cells, kind)})
    layout = Layout.of(table.schema, image="photo")
    found, problems = layout.raw(table, grow=True)
    assert found.dtype == np.float32
    assert found.shape == (len(cells), IMAGE_COLUMNS)
    return found, dict(problems)


def row(cell):
    found, problems = rows([cell])
    assert not problems
    return found[0]


def test_a_row_is_that_of_plain_loops():
    some = np.stack([scene(seed) for seed in range(5)] + [np.full((32, 32, 3), 128, np.uint8)])
    np.testing.assert_allclose(rows_of_images(some), np.array([image_row(one) for one in some]), atol=2e-5)


def test_a_row_does_not_depend_on_those_beside_it():
    some = np.stack([scene(seed) for seed in range(70)])
    whole = rows_of_images(some)
    for size in (1, 3, 64):
        parts = [rows_of_images(some[start : start + size]) for start in range(0, 70, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    cells = [stored(Image.fromarray(one)) for one in some]
    np.testing.assert_array_equal(rows(cells)[0], whole)
    np.testing.assert_array_equal(rows(cells[5:9])[0], whole[5:9])


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "TIFF", "GIF", "JPEG"])
def test_formats_give_the_same_row(kind):
    exact = {"WEBP": {"lossless": True}, "JPEG": {"quality": 100, "subsampling": 0}}
    pixels = scene() // 64 * 64
    found, (wanted,) = row(stored(Image.fromarray(pixels), kind, **exact.get(kind, {}))), rows_of_images(pixels[None])
    if kind == "JPEG":
        assert found @ wanted > 0.99
    else:
        np.testing.assert_array_equal(found, wanted)


GREY = scene()[:, :, 0]
AS_COLOUR = np.repeat(GREY[:, :, None], 3, axis=2)


@pytest.mark.parametrize(
    ("image", "kind", "pixels"),
    [
        (Image.fromarray(GREY), "PNG", AS_COLOUR),
        (Image.fromarray(GREY).convert("P"), "PNG", AS_COLOUR),
        (Image.fromarray(GREY.astype(np.uint16) * 257), "PNG", AS_COLOUR),
        (Image.fromarray(GREY.astype(np.uint16) * 257), "TIFF", AS_COLOUR),
        (Image.fromarray((GREY / 255).astype(np.float32)), "TIFF", AS_COLOUR),
        (Image.fromarray(GREY.astype(np.int32)), "TIFF", AS_COLOUR),
        (Image.fromarray(GREY > 128), "PNG", np.where(AS_COLOUR > 128, 255, 0)),
        (Image.fromarray(255 - scene()).convert("RGB"), "PNG", 255 - scene()),
        (Image.fromarray(scene()).convert("CMYK"), "TIFF", scene()),
        (Image.fromarray(np.dstack([scene(), np.zeros_like(GREY)])), "PNG", np.full((32, 32, 3), 128)),
        (Image.fromarray(np.dstack([GREY, np.full_like(GREY, 255)])), "PNG", AS_COLOUR),
    ],
    ids=[
        "grey",
        "palette",
        "16 bit",
        "16 bit tiff",
        "float",
        "32 bit",
        "1 bit",
        "colour",
        "cmyk",
        "clear",
        "grey alpha",
    ],
)
def test_kinds_of_pixels_give_the_row_of_what_is_seen(image, kind, pixels):
    np.testing.assert_allclose(row(stored(image, kind)), image_row(np.asarray(pixels, np.uint8)), atol=3e-3)


def test_what_is_transparent_is_told_from_black_and_white():
    def icon(colour):
        pixels = np.zeros((32, 32, 4), np.uint8)
        pixels[8:24, 8:24] = (colour, colour, colour, 255)
        return row(stored(Image.fromarray(pixels)))

    black, white = icon(0), icon(255)
    assert black @ white < 0.6


def test_photographs_stand_upright_and_the_first_frame_counts():
    sideways = Image.Exif()
    sideways[274] = 6  # turn by 90 degrees to see it upright
    upright = Image.fromarray(np.rot90(scene(), -1).copy())
    turned = stored(Image.fromarray(scene()), "PNG", exif=sideways)
    np.testing.assert_array_equal(row(turned), row(stored(upright)))
    frames = [Image.fromarray(scene(seed) // 64 * 64) for seed in range(3)]
    moving = stored(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    np.testing.assert_array_equal(row(moving), row(stored(frames[0])))


def test_size_does_not_count_and_large_photographs_are_decoded_small():
    small, large = (stored(Image.fromarray(scene(0, size)), "JPEG", quality=95) for size in ((64, 64), (1600, 1200)))
    assert row(small) @ row(large) > 0.95


@pytest.mark.parametrize("size", [(333, 251), (40, 1999), (700, 31)])
@pytest.mark.parametrize("strip", [1, 5000])
def test_images_shrink_in_strips_as_in_one_piece(size, strip, monkeypatch):
    whole = Image.fromarray(scene(0, size))
    wanted = np.asarray(whole.resize((32, 32), Image.Resampling.BILINEAR, reducing_gap=2))
    numbers = np.asarray(whole.convert("L"), np.float32) / 255
    numbers[::7, ::5] = np.nan
    before = row(stored(Image.fromarray(numbers), "TIFF"))
    monkeypatch.setattr(_pictures, "_STRIP", strip)
    np.testing.assert_array_equal(picture(stored(whole), (), 32, square=True), wanted)
    np.testing.assert_array_equal(row(stored(Image.fromarray(numbers), "TIFF")), before)
    assert picture(stored(whole), (), 128).size == tuple(max(1, round(128 / max(size) * side)) for side in size)


LARGE, MANY = stored(Image.new("L", (2100, 2000))), stored(Image.new("L", (1900, 2000)))


@pytest.mark.parametrize(
    ("cell", "alone"),
    [
        (LARGE, True),
        (MANY, False),
        (stored(Image.new("RGB", (2100, 2000)), "JPEG"), False),  # of which an eighth is decoded
        (stored(Image.new("RGB", (2100, 2000)), "JPEG", progressive=True), True),
    ],
    ids=["large", "small", "photograph", "progressive"],
)
def test_large_images_are_decoded_one_at_a_time(cell, alone):
    """While another is at work, a large one waits, in whatever thread, and others do not."""
    end = Event()
    with ThreadPoolExecutor(2) as pool:
        other = _pictures._alone.submit(end.wait, 60)
        calls = [pool.submit(picture, cell, (), 32) for _ in range(2)]
        try:
            if alone:
                with pytest.raises(TimeoutError):
                    calls[0].result(0.3)
            else:
                assert calls[0].result(30).size
        finally:
            end.set()
        assert other.result(30)
        assert [call.result(30).size for call in calls] == [calls[0].result().size] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not forked there")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12, where there are threads
def test_forked_processes_decode_large_images_too():
    wanted = picture(LARGE, (), 32)
    with get_context("fork").Pool(1) as pool:
        assert pool.apply_async(picture, (LARGE, (), 32)).get(30) == wanted


def test_cells_are_bytes_dicts_base64_and_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = stored(Image.fromarray(scene()))
    (tmp_path / "own.png").write_bytes(data)
    text = base64.b64encode(data).decode()
    wanted = row(data)
    np.testing.assert_array_equal(rows(["own.png", text, f"data:image/png;base64,{text}"])[0], [wanted] * 3)
    np.testing.assert_array_equal(rows([data] * 2, pa.large_binary())[0], [wanted] * 2)
    dicts = [{"bytes": data, "path": "a.png"}, {"bytes": None, "path": "own.png"}]
    np.testing.assert_array_equal(rows(dicts)[0], [wanted] * 2)
    coded = pa.array(["own.png", "own.png"]).dictionary_encode()
    np.testing.assert_array_equal(rows(coded)[0], [wanted] * 2)


def test_what_is_no_image_is_a_bad_row_with_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = stored(Image.fromarray(scene(0, (300, 300))))
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.png").touch()
    (tmp_path / "good.jpg").write_bytes(whole)  # a PNG all the same
    found, problems = rows(["text.png", "cut.png", "empty.png", "good.jpg", None, "none.png"])
    assert problems == {
        0: "column 'photo' holds 'text.png': not an image that can be read",
        1: "column 'photo' holds 'cut.png': not an image that can be read: it is damaged or cut short",
        2: "column 'photo' holds 'empty.png': not an image that can be read",
        4: "column 'photo' is null",
        5: "column 'photo' holds 'none.png': there is no such file",
    }
    assert found[3].any()
    assert not found[list(problems)].any()
    _, problems = rows([b"hello", whole])
    assert problems == {0: "column 'photo' holds bytes: not an image that can be read"}


@pytest.mark.parametrize("cells", [[1.0], [True], [["a"]], [{"x": 1}]])
def test_other_columns_are_no_images(cells):
    with pytest.raises(InputError, match=r"image: column 'photo' holds .*, not images; name a column of paths, bytes"):
        rows(cells)


def test_without_pillow_there_is_one_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match="images need Pillow: pip install pillow"):
        rows([b""])
