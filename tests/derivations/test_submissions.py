import os
from pathlib import Path

import pytest

from regard.core.errors import InputError
from regard.derivations.submissions import find_submissions


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("schema = 'regard-answers/1'" if name.startswith("mine") else "x")


def test_folders_give_their_documents_in_order_and_only_answers_among_toml(tmp_path):
    write(tmp_path, "b.md", "a/x.tex", "c.png", ".hidden.md", ".git/y.md", "mine.toml", "pyproject.toml", "n.ipynb")
    found = find_submissions([str(tmp_path)])
    assert [submission.slug for submission in found] == ["a/x.tex", "b.md", "mine.toml", "n.ipynb"]
    assert not any(submission.is_named for submission in found)


def test_a_file_is_taken_once_and_keeps_the_order_of_the_paths(tmp_path):
    write(tmp_path, "b.md", "a.md")
    found = find_submissions([str(tmp_path / "b.md"), str(tmp_path), str(tmp_path / "b.md")])
    assert [(submission.path.name, submission.is_named) for submission in found] == [("b.md", True), ("a.md", False)]


def test_results_never_share_a_name(tmp_path):
    write(tmp_path, "1/a.md", "2/a.md", "3/A.md", "4/a~2.md", "5/a?.md", "6/a*.md")
    found = find_submissions([str(path) for path in sorted(tmp_path.glob("*/*"))])
    slugs = [submission.slug.lower() for submission in found]
    assert len(found) == len(set(slugs)) == 6


@pytest.mark.parametrize(
    "name", ["-rf.md", "a b.md", "a\nb.md", "a\x1b[31m.md", "…名字.md", "名" * 80 + ".md", "con.md", "'\";$(x).md"]
)
def test_hostile_names_become_safe_ones(tmp_path, name):
    write(tmp_path, name)
    [found] = find_submissions([str(tmp_path)])
    for part in Path(found.slug).parts:
        assert part not in (".", "..")
        assert not part.startswith("-")
        assert len(part.encode()) < 250
        assert part.isprintable()
    (tmp_path / "out" / found.slug).mkdir(parents=True)


def test_bytes_that_are_no_text_are_spelled_out(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"a\xff.md")  # noqa: PTH118
    try:
        os.close(os.open(path, os.O_CREAT))
    except OSError:
        pytest.skip("this file system takes only text as names")
    [found] = find_submissions([str(tmp_path)])
    assert found.file.endswith("a\\udcff.md")
    found.slug.encode("utf-8")


def test_a_folder_without_documents_is_one_clear_line(tmp_path):
    write(tmp_path, "x.png")
    with pytest.raises(InputError, match="no documents in"):
        find_submissions([str(tmp_path)])
