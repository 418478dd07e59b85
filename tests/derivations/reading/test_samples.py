"""The three real documents: every delimiter pair, the outline written out, and which lines are answers."""

from collections import Counter

import pytest

from derivations.reading.answers import answers
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import read
from regard.derivations.reading.outline import outline

OUTLINES = {
    "answers-1.md": """
        3 1/a Copying in attention
        5 1/a/i
        11 1/a/ii
        15 1/b An average of two
        43 1/c Drawbacks of single-headed attention
        45 1/c/i
        51 1/c/ii
        71 1/d Benefits of multi-headed attention
        73 1/d/i
        79 1/d/ii
        94 1/e
        98 2/a Permuting the input
        100 2/a/i
        146 2/a/ii
        152 2/b Position embeddings
        158 2/b/i
        162 2/b/ii
    """,
    "answers-2.md": """
        8 1 Attention Exploration
        10 1/a Copying in attention
        14 1/a/i *
        16 1/a/ii *
        27 1/b An average of two
        46 1/c Drawbacks of single-headed attention
        50 1/c/i *
        52 1/c/ii *
        59 1/c/i
        65 1/c/ii
        75 1/d Benefits of multi-headed attention
        77 1/d/i *
        79 1/d/ii *
        84 1/d/i
        88 1/d/ii
        96 1/e Summary of Exploration
        107 2 Position Embedding Exploration
        123 2/a Permuting the input
        125 2/a/i *
        134 2/a/ii *
        139 2/a/i
        153 2/a/ii
        157 2/b Fixed positional embeddings
        159 2/b/i *
        161 2/b/ii *
        166 2/b/i
        172 2/b/ii
    """,
    "answers-3.md": """
        1 1
        3 1/a
        7 1/b
        11 1/c
        13 1/c/i
        22 1/c/ii
        24 2
        26 2/a
        28 2/a/i
        80 2/a/ii
        84 2/b
        86 2/b/i
        90 2/b/ii
        96 3
        98 3/g
        100 3/g/i
        107 3/g/ii
    """,
}
ANSWERS = {
    "answers-1.md": "1/a/i 7-9, 1/a/ii 13-13, 1/b 17-41, 1/c/i 47-49, 1/c/ii 53-69, 1/d/i 75-77, 1/d/ii 81-92, "
    "1/e 96-96, 2/a/i 102-144, 2/a/ii 148-150, 2/b 154-156, 2/b/i 160-160, 2/b/ii 164-174",
    "answers-2.md": "1/a 21-23, 1/b 34-42, 1/c/i 59-63, 1/c/ii 65-71, 1/d/i 84-86, 1/d/ii 88-92, 1/e 103-103, "
    "2/a/i 139-151, 2/a/ii 153-153, 2/b/i 166-170, 2/b/ii 172-176",
    "answers-3.md": "1/a 5-5, 1/b 9-9, 1/c/i 15-20, 2/a/i 30-78, 2/a/ii 82-82, 2/b/i 88-88, 2/b/ii 92-94, "
    "3/g/i 102-105, 3/g/ii 109-158",
}


@pytest.fixture(params=sorted(OUTLINES))
def document(request, samples) -> Document:
    return read(samples / request.param)


def name_of(document: Document) -> str:
    return document.path.rpartition("/")[2]


def test_every_pair_of_delimiters_is_found(document):
    text = document.text
    num_double = text.count("$$")
    counted = {"$$": num_double / 2, "$": text.count("$") / 2 - num_double}
    counted |= {mark: text.count(mark) for mark in (r"\(", r"\[")}
    found = Counter(span.delimiter for span in document.spans)
    assert {mark: found[mark] for mark in counted} == counted
    assert sum(found.values()) == {"answers-1.md": 59, "answers-2.md": 148, "answers-3.md": 68}[name_of(document)]
    assert document.unclosed == ()


def test_every_character_of_every_formula_leads_back(document):
    for span in document.spans:
        assert all(document.text[span.raw_offset(k)] == mark for k, mark in enumerate(span.source))
        width = len(span.delimiter)
        assert document.text[span.start + width : span.end - width] == span.source


def test_the_outline_is_as_written_out(document):
    expected = [line.strip() for line in OUTLINES[name_of(document)].strip().splitlines()]
    found = []
    for section in outline(document).sections:
        words = "*" if section.is_restated else section.title
        found.append(f"{document.place(section.start).line} {'/'.join(section.path)} {words}".strip())
    assert found == expected


def test_the_answers_are_these_lines(document):
    found = [
        f"{path} {document.place(answer.start).line}-{document.place(answer.end - 1).line}"
        for path, answer in answers(document)
    ]
    assert ", ".join(found) == ANSWERS[name_of(document)]


def test_the_pictures_are_seen(samples):
    document = read(samples / "answers-3.md")
    assert [document.place(image.start).line for image in document.images] == [17, 18, 92, 102, 103]
    assert read(samples / "answers-1.md").images == ()


def test_a_miscount_would_be_noticed(samples):
    document = read(samples / "answers-1.md")
    assert len(document.spans) != document.text.count("$") / 2


def test_the_gold_documents_are_read_whole(gold):
    paths = [path for path in sorted(gold.iterdir()) if path.suffix in (".md", ".tex")]
    assert paths
    for path in paths:
        document = read(path)
        assert document.unclosed == (), path
        visible = "".join(
            line.text.partition("%")[0] if path.suffix == ".tex" else line.text for line in document.lines
        )
        num_double = visible.count("$$")
        found = Counter(span.delimiter for span in document.spans)
        assert (found["$"], found["$$"]) == (visible.count("$") / 2 - num_double, num_double / 2), path
        assert found[r"\("] == visible.count(r"\("), path
