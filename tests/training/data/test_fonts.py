"""Faces: matplotlib's twelve styles, folders with all sorts of files in them, and the split."""

import struct
from pathlib import Path

import numpy as np
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTCollection, TTFont
from fontTools.ttLib.tables.DefaultTable import DefaultTable

from gnc_cli.training.data.fonts import find_fonts, read_faces, split_faces
from gnc_cli.training.data.glyphs import glyph_images

Box = tuple[int, int, int, int]
NOTDEF: Box = (100, 0, 500, 700)


def make_font(
    path: Path, style: str, boxes: dict[str, Box | None], *, family: str = "Tiny"
) -> Path:
    """A font whose glyphs are rectangles (left, bottom, right, top) of 1000 units an em."""
    names = {character: f"u{ord(character):x}" for character in boxes}
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", *names.values()])
    builder.setupCharacterMap({ord(character): name for character, name in names.items()})
    outlines = {}
    for name, box in {".notdef": NOTDEF, **{names[c]: box for c, box in boxes.items()}}.items():
        pen = TTGlyphPen(None)
        if box is not None:
            left, bottom, right, top = box
            pen.moveTo((left, bottom))
            for corner in ((left, top), (right, top), (right, bottom)):
                pen.lineTo(corner)
            pen.closePath()
        outlines[name] = pen.glyph()
    builder.setupGlyf(outlines)
    builder.setupHorizontalMetrics({name: (600, 0) for name in outlines})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": style})
    builder.setupOS2(usWeightClass=400)
    builder.setupPost()
    builder.save(path)
    return path


LETTERS: dict[str, Box | None] = {"a": (0, 0, 200, 600), "b": (0, 0, 500, 300)}


def test_matplotlib_has_three_families_of_four_styles() -> None:
    faces, warnings = read_faces(*find_fonts(None))
    assert len(faces) == 12 and not warnings
    train, test = split_faces(faces)
    assert sorted(train + test) == list(range(12))
    assert [faces[row].name for row in test] == [
        "DejaVu Sans Bold Oblique",
        "DejaVu Sans Mono Bold Oblique",
        "DejaVu Serif Bold Italic",
    ]


def test_what_cannot_be_read_is_skipped_with_a_line_each(tmp_path: Path) -> None:
    whole = make_font(tmp_path / "one.ttf", "One", LETTERS)
    (tmp_path / "deep").mkdir()
    make_font(tmp_path / "deep" / "two.TTF", "Two", LETTERS)
    (tmp_path / "deep" / "copy.ttf").write_bytes(whole.read_bytes())
    (tmp_path / "cut.ttf").write_bytes(whole.read_bytes()[:300])
    (tmp_path / "text.otf").write_text("not a font")
    (tmp_path / "empty.ttf").write_bytes(b"")
    (tmp_path / "many.ttc").write_bytes(b"ttcf\0\1\0\0\xff\xff\xff\xff")
    (tmp_path / "notes.txt").write_text("not looked at")
    make_font(tmp_path / "none.ttf", "None", {})
    faces, warnings = read_faces(*find_fonts(str(tmp_path)))
    assert [face.name for face in faces] == ["Tiny One", "Tiny Two"]
    skipped = sorted(line.split(" skipped: ")[0] for line in warnings)
    assert skipped == ["cut.ttf", "empty.ttf", "many.ttc", "none.ttf", "one.ttf", "text.otf"]
    assert all("\n" not in line and str(tmp_path) not in line for line in warnings)


def test_a_collection_stays_on_one_side(tmp_path: Path) -> None:
    collection = TTCollection()
    for style in ("One", "Two"):
        collection.fonts.append(TTFont(make_font(tmp_path / f"{style}.x", style, LETTERS)))
    collection.save(tmp_path / "both.ttc")
    (tmp_path / "One.x").rename(tmp_path / "One.x.bak")
    faces, _ = read_faces(*find_fonts(str(tmp_path)))
    assert [(face.name, face.index) for face in faces] == [("Tiny One", 0), ("Tiny Two", 1)]
    assert split_faces(faces) == ([0], [1])  # the only file: faces are split
    make_font(tmp_path / "third.ttf", "Aaa", LETTERS)
    faces, _ = read_faces(*find_fonts(str(tmp_path)))
    assert [face.name for face in faces] == ["Tiny Aaa", "Tiny One", "Tiny Two"]
    assert split_faces(faces) == ([0], [1, 2])


def moved(boxes: dict[str, Box | None], by: int) -> dict[str, Box | None]:
    """The same letters of another face: a little narrower."""
    return {c: box and (box[0], box[1], box[2] - by, box[3]) for c, box in boxes.items()}


def test_missing_and_blank_glyphs_make_no_images(tmp_path: Path) -> None:
    """`c` is in most faces, `d` is drawn as the sign for missing, `e` without ink."""
    lacking: dict[str, Box | None] = {"d": NOTDEF, "e": None}

    def make(number: int, more: dict[str, Box | None]) -> None:
        boxes = moved(LETTERS | {"f": (100, 0, 300, 600)} | more, 10 * number) | lacking
        make_font(tmp_path / f"{number}.ttf", f"Style {number}", boxes)

    third: dict[str, Box | None] = {"c": (0, 300, 500, 600)}
    for number in range(7):
        make(number, {} if number in (0, 3) else third)
    data = glyph_images(None, 16, str(tmp_path))
    # Style 3 is for testing and lacks c, so that no test face has it.
    assert data.class_names == ("a", "b")
    make(3, third)
    data = glyph_images(None, 16, str(tmp_path))
    assert data.class_names == ("a", "b", "c")
    assert data.test is not None
    assert np.bincount(data.train.labels).tolist() == [6, 6, 5]
    assert np.bincount(data.test.labels).tolist() == [1, 1, 1]
    facts = data.facts
    # f is the box of a, a little to the right: images are centred, so it is the same.
    assert facts["merged_first"] == [["a", "f"]]
    assert facts["blank"] == 2
    assert np.asarray(data.train.images[:]).reshape(17, -1).any(axis=1).all()


SYLLABLES: dict[str, Box | None] = {
    "각": (0, 0, 900, 200),
    "간": (0, 0, 200, 700),
    "갇": (0, 500, 900, 700),
    "ㄱ": (0, 0, 900, 700),
}


def test_letters_of_a_script_that_most_fonts_have_come_first(tmp_path: Path) -> None:
    for number in range(8):
        own: dict[str, Box | None] = {"가": (0, 0, 500, 500)} if number in (1, 2, 3, 4, 5) else {}
        boxes = moved(SYLLABLES | own, 10 * number) | LETTERS
        make_font(tmp_path / f"{number}.ttf", f"Style {number}", boxes)
    for number in range(3):  # they sort first, and would be for training
        make_font(tmp_path / f"a{number}.ttf", f"Latin {number}", LETTERS, family="Aaa")
    data = glyph_images(4, 32, str(tmp_path), "Hangul")
    assert data.class_names == ("각", "간", "갇", "가"), "the letter alone is no syllable"
    assert data.test is not None and data.facts["script"] == "hangul"
    assert data.facts["test_styles"] == ["Tiny Style 3", "Tiny Style 7"]
    assert np.bincount(data.train.labels).tolist() == [6, 6, 6, 4]
    assert np.bincount(data.test.labels).tolist() == [2, 2, 2, 1]
    assert data.warnings == ("3 face(s) have fewer than 2 hangul letters: left out",)
    assert glyph_images(2, 32, str(tmp_path), "latin").class_names == ("a", "b")


def test_one_image_of_those_that_are_equal(tmp_path: Path) -> None:
    """A test face that draws a letter as a training face does has no image of it."""
    for number in range(4):
        boxes = SYLLABLES | ({} if number == 3 else moved(SYLLABLES, 20 * number))
        boxes["각"] = (0, 0, 900 - 20 * number, 200)
        make_font(tmp_path / f"{number}.ttf", f"Style {number}", boxes)
    data = glyph_images(None, 32, str(tmp_path))
    assert data.test is not None and data.facts["test_styles"] == ["Tiny Style 3"]
    names = [data.class_names[label] for label in data.test.labels]
    assert names == ["각"] and len(data.train.labels) == 12 and data.facts["repeated"] == 3


def test_fonts_that_claim_more_characters_than_bytes_are_skipped(tmp_path: Path) -> None:
    """A small font can map all of Unicode to its glyphs, and a collection do so for each face."""
    for number in range(3):
        make_font(tmp_path / f"{number}.ttf", f"Style {number}", LETTERS)
    font = TTFont(tmp_path / "2.ttf")
    font["cmap"] = DefaultTable("cmap")  # one group: all from 0x4e00 to 0x9fff are glyph 1
    font["cmap"].data = struct.pack(
        ">4HI2H6I", *(0, 1, 3, 10, 12), *(13, 0, 28, 0, 1), 0x4E00, 0x9FFF, 1
    )
    font.save(tmp_path / "2.ttf")
    faces, warnings = read_faces(*find_fonts(str(tmp_path)))
    assert [face.name for face in faces] == ["Tiny Style 0", "Tiny Style 1"]
    assert warnings == [
        "2.ttf skipped: not a usable font (it claims 20,992 characters, more than it has bytes for)"
    ]
