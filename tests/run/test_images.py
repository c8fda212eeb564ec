"""Images, compared by their looks: folders of them, and columns, wherever the work is done."""

import base64
import io
import os
import shutil
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

from killed_processes import command_until_a_tick, ended
from protosieve import InputError, ParameterError, ProtosieveWarning, cli, select
from protosieve.insight import ResultWithData, cards_of
from protosieve.io import find_sources
from protosieve.result.files import read_prototypes
from table_files import assert_same

ROWS = 200
KINDS = ("stripes", "rings", "halves", "dots")


def drawn(kind, seed):
    """An image of one of four kinds, in colours of no meaning."""
    rng = np.random.default_rng([seed, 5])
    y, x = np.mgrid[:40, :40] + rng.integers(0, 6, (2, 1, 1))
    shapes = {
        "stripes": x // 5 % 2,
        "rings": np.hypot(x - 22, y - 22).astype(int) // 5 % 2,
        "halves": (y > 22).astype(int),
        "dots": (x // 4 % 2) & (y // 4 % 2),
    }
    ink, paper = rng.integers(0, 100, 3), rng.integers(150, 256, 3)
    return Image.fromarray(np.where(shapes[kind][..., None] > 0, ink, paper).astype(np.uint8))


def encoded(kind, seed, ending="png"):
    sink = io.BytesIO()
    drawn(kind, seed).save(sink, {"jpg": "JPEG"}.get(ending, ending))
    return sink.getvalue()


def red(folder):
    """Of an image that is like no other."""
    Image.new("RGB", (40, 40), "red").save(folder / "red.png")
    return folder / "red.png"


def kind_of(path):
    return os.path.basename(path).split("-")[0]  # noqa: PTH119


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A folder of folders."""
    folder = tmp_path_factory.mktemp("some") / "photos"
    for i in range(ROWS):
        kind, ending = KINDS[i % 4], ("png", "jpg", "webp", "bmp", "gif", "tiff")[i % 6]
        place = folder / f"part {i % 3}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{kind}-{i:03}.{ending}").write_bytes(encoded(kind, i, ending))
    return folder


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame({"photo": [encoded(KINDS[i % 4], i) for i in range(ROWS)]})
    rng = np.random.default_rng(0)
    return frame.assign(kind=[KINDS[i % 4] for i in range(ROWS)], size=rng.normal(size=ROWS))


BESIDE = {"image": "photo", "label": "kind"}
ONLY = {**BESIDE, "features": "photo"}


@pytest.mark.parametrize("goal", ["match", "cover"])
def test_a_folder_is_compared_by_looks_and_shown(photos, goal):
    """Some of each kind of picture are among the few that are chosen; paths can be opened, and the page has them."""
    found = select(photos, 8, goal=goal)
    paths = found.to_pandas()["path"]
    assert set(map(kind_of, paths)) == set(KINDS)
    assert all(os.path.exists(path) for path in paths)  # noqa: PTH110
    assert found.to_pandas()["file"].unique().tolist() == [str(photos)]
    assert found.encoding.describe()[0] == "path: images, compared by their looks in 320 columns"
    for card, path in zip(cards_of(ResultWithData.of(found))[0], paths, strict=True):
        assert card.image is not None
        assert path[-30:] in dict(card.fields)["path"]


def test_paths_are_as_the_input_was_named(photos, monkeypatch):
    monkeypatch.chdir(photos.parent)
    every = sorted(str(path.relative_to(photos.parent)) for path in photos.rglob("*.*"))

    def paths(*inputs):
        (source,) = find_sources(list(inputs))
        return [path for piece in source.pieces(None, 0, None) for path in piece.table["path"].to_pylist()]

    assert paths("photos") == paths("photos/**/*.*") == paths(*every) == every
    assert paths("photos/part 0", "photos/part 2") == [path for path in every if "part 1" not in path]
    wanted = select("photos", 5)
    assert_same(select(every, 5), wanted)
    assert all(card.image is not None for card in cards_of(ResultWithData.of(wanted))[0])
    assert set(wanted.to_pandas()["file"]) == {"photos"}
    assert set(select(every, 5).to_pandas()["file"]) == {"photos/200 images"}
    for again in (every[0], photos, "photos/../photos"):
        with pytest.raises(InputError, match=r"is given twice"):
            select(["photos", again], 5)


def test_tables_in_a_folder_come_first_and_that_is_said(photos, tmp_path):
    for path in photos.rglob("*-00*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "notes.json").write_text("{}")
    assert len(select(tmp_path, 5)) == 5
    pd.DataFrame({"x": np.arange(20.0)}).to_csv(tmp_path / "rows.csv")
    with pytest.warns(
        ProtosieveWarning, match="of its files 1 table is read, and 10 images not; format='images' reads"
    ):
        assert select(tmp_path, 5).encoding.names
    assert "path" in select(tmp_path, 5, format="images").table.column_names
    with pytest.raises(InputError, match="images are read from files of this machine only; copy them to a folder"):
        select("memory://some/a.png", 5) if _remote() else None


def _remote():
    import fsspec

    with fsspec.open("memory://some/a.png", "wb") as file:
        file.write(encoded("dots", 0))
    return True


@pytest.mark.parametrize("sample", [None, 60])
@pytest.mark.parametrize("goal", ["match", "cover"])
def test_any_number_of_workers_and_any_cut_gives_the_same_answer(photos, monkeypatch, sample, goal):
    monkeypatch.setattr("protosieve.io._images._ROWS", 20)
    asked = {"partition_rows": 50, "sample": sample, "goal": goal}
    alone = select(photos, 6, **asked)
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
        for executor in (threads, processes):
            assert_same(select(photos, 6, executor=executor, **asked), alone)
    monkeypatch.setattr("protosieve.preprocess._columns._STRIP", 7)
    assert_same(select(photos, 6, **asked), alone)


def test_rows_do_not_depend_on_how_files_are_read(photos, table, tmp_path):
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=30)
    whole = select(table, 8, **ONLY)
    assert_same(select(tmp_path / "rows.parquet", 8, **ONLY), whole)
    assert_same(
        select(table.assign(photo=[{"bytes": cell, "path": None} for cell in table["photo"]]), 8, **ONLY), whole
    )
    text = table.assign(photo=[base64.b64encode(cell).decode() for cell in table["photo"]])
    text.to_csv(tmp_path / "rows.csv", index=False)
    text.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    for ending in ("csv", "jsonl"):
        assert_same(select(tmp_path / f"rows.{ending}", 8, **ONLY), whole)


def test_progress_is_told_while_images_of_one_piece_are_decoded(table, monkeypatch):
    """And the answer is the same, also where rows between are left out."""
    some = table.assign(photo=[b"none" if i % 7 == 3 else cell for i, cell in enumerate(table["photo"])])
    whole = select(some, 8, bad_rows="skip", **ONLY)
    monkeypatch.setattr("protosieve.passes._blocks.FEWEST", 16)
    monkeypatch.setattr("protosieve.passes._blocks._ENTRIES", 1)
    ticks = []
    assert_same(select(some, 8, bad_rows="skip", progress=ticks.append, **ONLY), whole)
    assert len(ticks) > 10


def test_paths_are_looked_for_beside_their_own_file_first(tmp_path, monkeypatch):
    """Two files have the same names for other pictures."""
    monkeypatch.chdir(tmp_path)
    names = [f"{i}.png" for i in range(40)]
    for part, kinds in (("a", KINDS[:2]), ("b", KINDS[2:])):
        (tmp_path / part).mkdir()
        for i, name in enumerate(names):
            (tmp_path / part / name).write_bytes(encoded(kinds[i % 2], i))
        pd.DataFrame({"photo": names, "kind": [kinds[i % 2] for i in range(40)]}).to_csv(
            f"{part}/rows.csv", index=False
        )
    found = select(["a/rows.csv", "b/rows.csv"], 8, **BESIDE)
    assert set(found.to_pandas()["kind"]) == set(KINDS)
    whole = pd.concat(
        [pd.read_csv(f"{part}/rows.csv").assign(photo=lambda t, p=part: p + "/" + t["photo"]) for part in "ab"]
    )
    assert_same(select(whole, 8, **BESIDE), found)
    monkeypatch.chdir(tmp_path / "a")
    kept = pd.read_csv("../b/rows.csv").iloc[:5]
    kept.to_csv("../b/kept.csv", index=False)
    again = select("../b/rows.csv", 4, keep="../b/kept.csv", **BESIDE)
    assert not set(again.to_pandas()["photo"][again.is_new]) & set(kept["photo"])


def test_links_in_a_folder_are_followed_and_not_shown_where_they_lead_elsewhere(photos, tmp_path, monkeypatch):
    (tmp_path / "links").mkdir()
    for path in photos.rglob("*.png"):
        (tmp_path / "links" / path.name).symlink_to(path)
    found = select(tmp_path / "links", 5)
    assert {card.no_image for card in cards_of(ResultWithData.of(found))[0]} == {
        "lies outside the data's folder and the working one"
    }
    monkeypatch.chdir(photos)
    assert all(card.image is not None for card in cards_of(ResultWithData.of(found))[0])


def test_paths_that_lead_elsewhere_are_not_followed(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.png").write_bytes(encoded("dots", 0))
    (tmp_path / "data" / "rows.csv").write_text("photo,x\n" + "../secret.png,1\n" * 5)
    monkeypatch.chdir(tmp_path / "data")
    with pytest.raises(
        InputError, match=r"row 0: column 'photo' holds '\.\./secret\.png': lies outside the data's folder"
    ):
        select("rows.csv", 3, image="photo")


def spoilt(folder, photos):
    """The files, and 20 more that are no images, in five ways."""
    whole = encoded("rings", 0)
    huge = bytearray(whole)
    huge[16:24] = (60_000).to_bytes(4, "big") * 2
    for i, data in enumerate([whole[:80], b"hello", b"", bytes(huge), whole[:-40]] * 4):
        (folder / f"bad-{i:02}.png").write_bytes(data)
    (folder / "mislabelled.jpg").write_bytes(whole)  # which is read


@pytest.fixture
def some_bad(photos, tmp_path):
    for path in photos.rglob("*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    spoilt(tmp_path, photos)
    return tmp_path


def test_what_is_no_image_is_counted_or_refused(some_bad):
    with pytest.raises(
        InputError, match=r"row 0: column 'path' holds '.*bad-00\.png': not an image .* skip such rows with"
    ):
        select(some_bad, 5)
    with pytest.warns(
        ProtosieveWarning, match=r"20 of 221 rows \(9 %\) cannot be used and are skipped; the first is .*bad-00"
    ):
        found = select(some_bad, 221, bad_rows="skip")
    assert len(found) == 201
    assert not found.to_pandas()["path"].str.contains("bad").any()


def test_pixels_beyond_the_limit_give_no_warning_of_pillows(tmp_path, recwarn):
    for i in range(10):
        (tmp_path / f"{i}.png").write_bytes(encoded("dots", i))
    Image.new("1", (10_000, 9_500)).save(tmp_path / "x.png")
    with pytest.raises(InputError, match=r"x\.png': 10,000 x 9,500 pixels are too many"):
        select(tmp_path, 3)
    assert not [one for one in recwarn if "Decompression" in one.category.__name__]


def test_a_null_is_a_bad_row(table):
    some = table.assign(photo=[None if i == 7 else cell for i, cell in enumerate(table["photo"])])
    with pytest.raises(InputError, match="row 7: column 'photo' is null"):
        select(some, 5, **ONLY)


@pytest.mark.parametrize("life", [2, 5])
def test_killed_and_gone_on_with_it_is_the_same_byte_for_byte(photos, tmp_path, life):
    def words(name, *more):
        asked = ["--partition-rows", "512", "--sample", "60", "--bad-rows", "skip", "--quiet"]
        return ["select", str(many), "-m", "6", *asked, "-o", str(tmp_path / f"{name}.csv"), *more]

    many = tmp_path / "many"
    many.mkdir()
    for i, path in enumerate(sorted(photos.rglob("*.*")) * 6):
        (many / f"{i}{path.suffix}").symlink_to(path)
    assert ended(command_until_a_tick, 0, 512, words("whole")) == 0
    given = words("killed", "--work", str(tmp_path / "work"))
    assert ended(command_until_a_tick, life, 512, given) == -signal.SIGKILL
    assert ended(command_until_a_tick, 0, 512, given) == 0
    assert (tmp_path / "killed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_folder_that_changes_is_another(photos, tmp_path):
    for path in photos.rglob("*-00*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (source,) = find_sources(tmp_path)
    before = source.fingerprint()
    assert find_sources(tmp_path)[0].fingerprint() == before
    os.utime(next(tmp_path.iterdir()), ns=(5, 5))
    assert source.fingerprint() != before


@pytest.mark.parametrize("way", ["base64", "paths"])
def test_standard_input(table, tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    cells = []
    for i, data in enumerate(table["photo"]):
        (tmp_path / f"{i}.png").write_bytes(data)
        cells.append(f"{i}.png" if way == "paths" else base64.b64encode(data).decode())
    rows = table.assign(photo=cells).to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows)))
    found = select("-", 8, goal="cover", **ONLY)
    assert found.n_seen == ROWS
    assert set(found.to_pandas()["kind"]) == set(KINDS)


def test_bytes_on_standard_input_and_in_a_stream(table, monkeypatch):
    whole = pa.Table.from_pandas(table, preserve_index=False)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sink.getvalue())))
    found = select("-", 8, **BESIDE)
    assert set(found.to_pandas()["kind"]) == set(KINDS)
    for size in (33, 150):
        assert_same(select((whole.slice(i, size) for i in range(0, ROWS, size)), 8, **BESIDE), found)


def spread(encoding, table):
    """Of the encoded columns of each column of the table."""
    encoded = encoding.encode(table).var(axis=0, dtype=np.float64)
    names = [name.partition("[")[0].partition("=")[0] for name in encoding.names]
    return {one: float(encoded[[name == one for name in names]].sum()) for one in dict.fromkeys(names)}


def test_each_kind_of_feature_has_the_same_say(table):
    words = [f"{kind} of a certain {['red', 'blue', 'green'][i % 3]}" for i, kind in enumerate(table["kind"])]
    some = table.assign(words=words, colour=["a", "b"] * (ROWS // 2))
    found = select(some, 10, text="words", **BESIDE).encoding
    each = spread(found, some)
    others = each["size"] + each["colour"]
    assert each["photo"] == pytest.approx(others, rel=1e-3)
    assert each["words"] == pytest.approx(others, rel=1e-3)
    each = spread(select(some[["photo", "words"]], 10, text="words", image="photo").encoding, some)
    assert each["photo"] == pytest.approx(each["words"], rel=1e-3)
    each = spread(select(some, 10, balance="columns", **BESIDE, exclude="words").encoding, some)
    assert each["photo"] == pytest.approx(1, rel=1e-3)
    with pytest.raises(ParameterError, match="balance='columns' is for columns of text or images, and none is named"):
        select(some[["size"]], 10, balance="columns")


def test_where_other_columns_are_named_images_are_only_shown(table):
    for asked in ({"features": "size"}, {"exclude": ["photo", "kind"]}):
        found = select(table, 5, image="photo", **asked)
        assert found.encoding.names == ["size"]
        assert all(card.image is not None for card in cards_of(ResultWithData.of(found))[0])


def test_a_path_may_be_an_id_too(photos):
    found = select(photos, 5, id="path")
    assert found.table.column_names[4] == "path"
    assert len(found.encoding.names) == 320


def test_a_column_is_named_for_one_thing(table):
    with pytest.raises(InputError, match="image: column 'words' is named with text too; name it in one of them"):
        select(table.assign(words="a"), 5, image="words", text="words")
    with pytest.raises(InputError, match="image: column 'size' holds numbers, not images; name a column of paths"):
        select(table, 5, image="size")


def test_a_result_file_knows_how_images_became_numbers(table, tmp_path):
    found = select(table, 10, output=tmp_path / "out.parquet", **BESIDE)
    again = read_prototypes(tmp_path / "out.parquet")
    np.testing.assert_array_equal(again.encoding.encode(table), found.encoding.encode(table))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_result_of_files_is_read_back_from_anywhere_and_without_them(photos, tmp_path, ending):
    some = tmp_path / "some"
    shutil.copytree(photos, some)
    found = select(some, 10, output=tmp_path / f"out.{ending}")
    for path in found.to_pandas()["path"][:3]:
        shutil.copy(red(tmp_path), path)
    again = read_prototypes(tmp_path / f"out.{ending}")
    np.testing.assert_array_equal(again.rows, found.rows.astype(np.float32))
    shutil.rmtree(some)
    again = read_prototypes(tmp_path / f"out.{ending}")
    np.testing.assert_array_equal(again.rows, found.rows.astype(np.float32))
    assert again.to_pandas().equals(found.to_pandas())
    assert cli.main(["report", str(tmp_path / f"out.{ending}"), "-o", str(tmp_path / "page.html")]) == 0


def test_a_target_and_rows_that_are_kept(photos):
    dots = sorted(str(path) for path in photos.rglob("dots-*"))
    found = select(photos, 6, target=dots)
    assert {kind_of(path) for path in found.to_pandas()["path"]} == {"dots"}
    kept = select(photos, 6, keep=dots, goal="cover")
    assert set(map(kind_of, kept.to_pandas()["path"][kept.is_new])) == set(KINDS) - {"dots"}


def test_prototypes_for_each_value_of_a_column(table):
    found = select(table, 2, per="kind", image="photo", features="photo", goal="cover").to_pandas()
    assert found["kind"].value_counts().to_dict() == dict.fromkeys(KINDS, 2)


def test_the_command_line_writes_a_page_with_pictures(photos, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(photos.parent)
    page, out = tmp_path / "page.html", tmp_path / "out.csv"
    assert cli.main(["select", "photos", "-m", "8", "-o", str(out), "--report", str(page)]) == 0
    assert "path: images, compared by their looks in 320 columns" in capsys.readouterr().out
    assert page.read_text().count("data:image/") >= 8
    assert cli.main(["select", "photos", "-m", "3", "--dry-run"]) == 0


def test_a_link_to_nothing_is_a_bad_row_and_is_named(photos, tmp_path):
    shutil.copytree(photos, tmp_path / "photos")
    (tmp_path / "photos" / "lost.png").symlink_to(tmp_path / "nothing.png")
    with pytest.raises(InputError, match=r"lost\.png.*no such file"):
        select(tmp_path / "photos", 4)
    assert select(tmp_path / "photos", 4, bad_rows="skip").provenance["rows_left_out"]["count"] == 1
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "lost.csv").symlink_to(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match=r"rows/lost\.csv: cannot be read: No such file"):
        select(tmp_path / "rows", 4)


def test_neighbours_are_told_by_their_paths(photos):
    cards, _ = cards_of(ResultWithData.of(select(photos, 6)))
    near = [one.text for card in cards for one in card.neighbours]
    assert near
    assert all(text.startswith(str(photos)[:20]) for text in near)
