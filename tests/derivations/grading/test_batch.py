import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from derivations.grading.unreliable_work import by_name, quick, slowly
from regard.core.errors import InputError
from regard.derivations.grading.batch import BatchRequest, BatchStopped, DocumentBatch, find_submissions
from regard.derivations.reading.files import stored_bytes
from regard.derivations.tasks import Assignment, DocumentTask
from regard.derivations.verify import new_answers
from regard.render.json import schema

WRONG = "1.(b) An average of two\n\nTake $q = k_a + k_b$.\n"
RIGHT = "1.(b) An average of two\n\nTake $q = \\beta(k_a + k_b)$, so $c \\approx \\frac12(v_a + v_b)$.\n"


def run(paths, work=quick, progress=None, **options):
    """The reports and the JSON of a batch; without `work`, the documents are really judged."""
    request = BatchRequest(paths=tuple(map(str, paths)), **{"problem": "cs224n-a4", **options})
    with DocumentBatch(request) as batch:
        batch.run(work=work, progress=progress)
        return list(batch.reports()), json.loads("".join(batch.outputs.json()))


def many(folder, *names, text="1.(a) $x = 1$"):
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# -- a batch -----------------------------------------------------------------------------------------------------------
def test_one_bad_file_never_stops_the_batch(tmp_path):
    folder = many(tmp_path / "in", "good.md", "hang.md", "crash.md", "raise.md", "well.tex")
    rows, document = run([folder], work=by_name, jobs=2, time_limit=3.0)
    assert {row.file.split("/")[-1]: row.outcome for row in rows} == {
        "crash.md": "crashed",
        "good.md": "judged",
        "hang.md": "timed out",
        "raise.md": "crashed",
        "well.tex": "judged",
    }
    assert "a bug in the judge" in next(row.reason for row in rows if "raise" in row.file)
    jsonschema.validate(document, schema())
    assert [row["outcome"] for row in document["documents"]] == ["crashed", "judged", "timed out", "crashed", "judged"]
    assert {verdict["outcome"] for verdict in document["verdicts"]} == {"crashed", "timed out"}


def test_unreadable_files_are_rows_and_real_ones_are_judged(tmp_path):
    folder = many(tmp_path / "in", "empty.md", text="")
    (folder / "latin.md").write_bytes(b"caf\xe9 $x=1$")
    (folder / "nul.md").write_bytes(b"a\0b")
    (folder / "bad.ipynb").write_text("{")
    (folder / "bad.toml").write_text('schema = "regard-answers/1"\n[')
    (folder / "gone.md").symlink_to(tmp_path / "nowhere")
    many(folder, "wrong.md", text=WRONG)
    many(folder, "right.md", text=RIGHT)
    rows, document = run([folder], work=None, jobs=2)
    outcomes = {row.file.split("/")[-1]: row.outcome for row in rows}
    assert {name for name, outcome in outcomes.items() if outcome == "judged"} == {"wrong.md", "right.md"}
    assert set(outcomes.values()) == {"judged", "unreadable"}
    assert all(any(row.counts.values()) == (row.outcome == "judged") for row in rows)
    jsonschema.validate(document, schema())
    by_file = {row["file"].split("/")[-1]: row for row in document["documents"]}
    assert (by_file["right.md"]["score"], by_file["wrong.md"]["score"]) == (4.0, 0.0)


def test_a_single_file_that_was_named_is_refused_but_not_one_in_a_folder(tmp_path):
    folder = many(tmp_path / "in", "empty.md", text="")
    with pytest.raises(InputError, match="is empty"):
        run([folder / "empty.md"], work=None)
    with pytest.raises(InputError, match="does not exist"):
        run([folder / "missing.md"], work=None)
    assert run([folder], work=None)[0][0].outcome == "unreadable"


def test_two_hundred_tiny_files_come_out_in_order(tmp_path):
    folder = many(tmp_path / "in", *(f"{number:03}.md" for number in range(200)))
    seen = []
    out = tmp_path / "class.csv"
    rows, document = run([folder], jobs=2, csv_file=str(out), progress=lambda done, total: seen.append((done, total)))
    names = [f"{number:03}.md" for number in range(200)]
    assert [row.file.split("/")[-1] for row in rows] == names
    assert [row["file"].split("/")[-1] for row in document["documents"]] == names
    assert seen == [(done, 200) for done in range(201)]
    with out.open(newline="") as file:
        assert [row["file"].split("/")[-1] for row in csv.DictReader(file)] == names


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_reports(tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'regard[cluster]'")
    folder = many(tmp_path / "in", "wrong.md", text=WRONG)
    many(folder, "right.md", text=RIGHT)
    many(folder, "empty.md", text="")
    here, _ = run([folder], work=None, html=str(tmp_path / "here"))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50, host="127.0.0.1"
    ) as cluster:
        there, _ = run([folder], work=None, html=str(tmp_path / "there"), scheduler=cluster.scheduler_address)
    assert [replace(report, seconds=0.0) for report in here] == [replace(report, seconds=0.0) for report in there]
    assert (tmp_path / "here" / "wrong.md.html").read_text() == (tmp_path / "there" / "wrong.md.html").read_text()


# -- going on ----------------------------------------------------------------------------------------------------------
def test_a_second_run_skips_what_is_done_and_judges_what_is_new(tmp_path):
    folder = many(tmp_path / "in", "a.md", "b.md", "hang.md")
    out = str(tmp_path / "out")
    first, _ = run([folder], work=by_name, gradescope=out, time_limit=3.0)
    assert [row.outcome for row in first] == ["judged", "judged", "timed out"]
    many(folder, "b.md", text="1.(a) $x = 2$")
    many(folder, "c.md")
    # Whatever is judged again crashes: only a.md is as it was.
    (folder / "hang.md").rename(folder / "crash.md")
    second, _ = run([folder], work=by_name, gradescope=out, is_resumed=True)
    assert [row.outcome for row in second] == ["judged", "judged", "judged", "crashed"]
    lines = (tmp_path / "out" / "regard-results.jsonl").read_text().splitlines()
    assert len(lines) == 3 + 3


def test_other_circumstances_are_another_result(tmp_path):
    folder = many(tmp_path / "in", "crash.md", "x.md")
    out = str(tmp_path / "out")
    run([folder], work=quick, gradescope=out)
    assert {row.outcome for row in run([folder], work=by_name, gradescope=out, is_resumed=True)[0]} == {"judged"}
    changed = run([folder], work=by_name, gradescope=out, is_resumed=True, is_strict=True)[0]
    assert {row.outcome for row in changed} == {"judged", "crashed"}


def test_a_page_that_is_missing_is_made_again(tmp_path):
    folder = many(tmp_path / "in", "a.md", "b.md", text=WRONG)
    run([folder], work=None, html=str(tmp_path / "out"))
    page = tmp_path / "out" / "a.md.html"
    assert "0.2023" in page.read_text()
    assert "a.md.html" in (tmp_path / "out" / "index.html").read_text()
    page.unlink()
    run([folder], work=None, html=str(tmp_path / "out"), is_resumed=True)
    assert page.exists()


def test_ctrl_c_keeps_what_is_done(tmp_path):
    folder = many(tmp_path / "in", *(f"{number:02}.md" for number in range(30)))
    out = tmp_path / "out"

    def interrupt(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(BatchStopped, match=r"Stopped after 3 of 30 documents\..*--resume"):
        run([folder], work=slowly, gradescope=str(out), csv_file=str(tmp_path / "c.csv"), progress=interrupt)
    assert len(list(out.glob("*/results.json"))) == 3
    assert not (tmp_path / "c.csv").exists()
    rows, _ = run([folder], work=quick, gradescope=str(out), is_resumed=True)
    assert len(rows) == 30


def test_resuming_needs_a_place_to_go_on_from(tmp_path):
    folder = many(tmp_path / "in", "a.md")
    with pytest.raises(InputError, match="--resume needs"):
        run([folder], is_resumed=True)


def test_a_single_document_leaves_nothing_but_what_was_asked_for(tmp_path):
    folder = many(tmp_path / "in", "a.md")
    (tmp_path / "out").mkdir()
    run([folder / "a.md"], json_file=str(tmp_path / "out" / "a.json"), html=str(tmp_path / "out" / "a.html"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.json"]  # a fake report has no page


# -- what cannot be written --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("option", ["json_file", "csv_file", "html", "gradescope"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(tmp_path, option):
    folder = many(tmp_path / "in", "a.md", "b.md")
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "x.csv"
    with pytest.raises(InputError, match="Cannot"):
        run([folder], work=None, **{option: str(place)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "in"]


def test_one_page_does_not_hold_two_documents(tmp_path):
    folder = many(tmp_path / "in", "a.md", "b.md")
    with pytest.raises(InputError, match="Name a folder"):
        run([folder], html=str(tmp_path / "one.html"))


def test_a_line_number_below_one_is_refused():
    with pytest.raises(InputError, match="no line 0"):
        BatchRequest(paths=("a.md",), line=0)


# -- finding submissions -----------------------------------------------------------------------------------------------
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


def test_links_are_rows_of_their_own_and_followed_nowhere(tmp_path):
    folder, outside = tmp_path / "in", tmp_path / "outside"
    write(folder, "alice/answers.md", "bob/answers.md")
    write(outside, "private/notes.md", "mine.toml")
    (folder / "mallory.md").symlink_to(folder / "alice" / "answers.md")
    (folder / "oscar.toml").symlink_to(outside / "mine.toml")
    (folder / "eve").symlink_to(outside / "private")
    rows, _ = run([folder], work=None)
    found = {os.path.relpath(row.file, folder): row for row in rows}
    assert {name: row.outcome for name, row in found.items()} == {
        "alice/answers.md": "judged",
        "bob/answers.md": "judged",
        "eve": "unreadable",
        "mallory.md": "unreadable",
        "oscar.toml": "unreadable",
    }
    assert "is a symbolic link, which is not followed" in found["mallory.md"].reason
    # A link that somebody names is meant.
    assert run([folder / "mallory.md"], work=None)[0][0].outcome == "judged"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes need POSIX")
def test_pipes_and_huge_files_are_rows(tmp_path):
    folder = many(tmp_path / "in", "a.md")
    for name in ("pipe.md", "pipe.toml"):
        os.mkfifo(folder / name)
    with (folder / "huge.md").open("wb") as file:
        file.truncate(2**33)
    rows, _ = run([folder], work=None)
    assert [row.outcome for row in rows] == ["judged", *["unreadable"] * 3]


def test_a_file_that_vanishes_is_a_row(tmp_path):
    folder = many(tmp_path / "in", "a.md", "b.md")
    request = BatchRequest(paths=(str(folder),), problem="cs224n-a4")
    with DocumentBatch(request) as batch:
        (folder / "b.md").unlink()
        batch.run(work=quick)
        assert [report.outcome for report in batch.reports()] == ["judged", "unreadable"]


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
    for name in (b"b\xff.pdf", b"c\xff.png"):
        os.close(os.open(os.path.join(os.fsencode(tmp_path), name), os.O_CREAT))  # noqa: PTH118
    _, data = run([tmp_path])
    reasons = [row["reason"] for row in data["documents"]]
    assert [r"b\udcff.pdf is a PDF" in reasons[1], r"c\udcff.png is an image" in reasons[2]] == [True, True]


def test_a_folder_without_documents_is_one_clear_line(tmp_path):
    write(tmp_path, "x.png")
    with pytest.raises(InputError, match="no documents in"):
        find_submissions([str(tmp_path)])


def test_a_student_without_a_document_is_a_row_only_where_students_are_graded(tmp_path):
    write(tmp_path, "alice/answers.md", "bob/photo.png")
    (tmp_path / "carol").mkdir()
    names = [Path(found.file).name for found in find_submissions([str(tmp_path)], is_grading=True)]
    assert names == ["answers.md", "bob", "carol"]
    assert len(find_submissions([str(tmp_path)])) == 1
    write(tmp_path, "dave/answers.md", "stray.md")
    assert len(find_submissions([str(tmp_path)], is_grading=True)) == 5
    (tmp_path / "dave" / "answers.md").rename(tmp_path / "dave.md")
    (tmp_path / "dave").rmdir()
    (tmp_path / "all.md").write_text("one document for all of them, and its ![](bob/photo.png)")
    assert len(find_submissions([str(tmp_path)], is_grading=True)) == 4


def test_a_folder_without_a_document_says_what_to_submit(tmp_path):
    write(tmp_path, "alice/answers.md", "bob/notes.odp")
    [found] = [each for each in find_submissions([str(tmp_path)], is_grading=True) if each.path.name == "bob"]
    with pytest.raises(InputError, match="has no document"):
        found.read()


# -- images ------------------------------------------------------------------------------------------------------------
def test_every_image_of_a_graded_folder_is_named(tmp_path):
    files = {
        "alice/answers.md": "$1 = 1$",
        "alice/pages/scan.png": "",
        "bob/photo.HEIC": "",
        "carol/a.md": "![](plot.png)",
        "carol/b.tex": "\\includegraphics[w]{figures/drawn} $q$",
        "carol/plot.png": "",
        "carol/figures/drawn.jpg": "",
        "carol/q.png": "",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = find_submissions([str(tmp_path)], is_grading=True)
    assert {str(each.path.relative_to(tmp_path)): each.images_beside for each in found} == {
        "alice/answers.md": ("pages/scan.png",),
        "bob": (),
        "carol/a.md": (),
        "carol/b.tex": (),
        "carol/q.png": (),
    }
    assert not any(each.images_beside for each in find_submissions([str(tmp_path)]))


def test_an_image_beside_answers_in_fields_is_named_too(tmp_path):
    (tmp_path / "answers.toml").write_text(new_answers("cs224n-a4"), encoding="utf-8")
    (tmp_path / "scan.jpg").touch()
    [report], _ = run([tmp_path], work=None)
    assert report.images == ("scan.jpg",)
    assert report.pending == report.max_score


def test_an_image_or_a_folder_of_images_says_what_to_submit(tmp_path):
    (tmp_path / "scan.png").touch()
    with pytest.raises(InputError, match=r"is an image\. Submit the LaTeX"):
        stored_bytes(tmp_path / "scan.png")
    with pytest.raises(InputError, match=r"has only images\. Submit the LaTeX"):
        stored_bytes(tmp_path)


def test_other_images_beside_a_document_are_another_result():
    task = DocumentTask(file="a.md", content=b"x", assignment=Assignment())
    assert replace(task, images_beside=("a.png",)).key("1") != task.key("1")
