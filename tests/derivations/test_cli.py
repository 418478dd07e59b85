import io
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import jsonschema
import pytest

import regard
from regard.cli import main
from regard.derivations.cli import changes
from regard.render.json import schema

WRONG = "1.(b) An average of two\n\nTake $q = k_a + k_b$.\n\nThen $k_a^\\top q = 1$.\n"
RIGHT = "1.(b) An average of two\n\nTake $q = \\beta(k_a + k_b)$, so $c \\approx \\frac12(v_a + v_b)$.\n"
UNREAD = "1.(b) An average of two\n\nTake $\\mathfrak{Z}_{77} = \\heartsuit$.\n"
LIMIT = "1.(b) An average of two\n\nTake $q = \\beta(k_a + k_b)$, so $c = \\frac12(v_a + v_b)$.\n"


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def run(capsys):
    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def file(tmp_path):
    def file(text: str, name: str = "answers.md") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return file


def test_a_wrong_step_is_shown_with_its_caret_and_counterexample(run, file):
    code, out, err = run("verify", file(WRONG), "--problem", "cs224n-a4")
    assert (code, err) == (1, "")
    assert "refuted[1b/1]" in out
    assert "^^^^^^^^^^^^^" in out
    assert "each of the two weights is 0.2023, not 0.5" in out
    assert "Guessed" not in out


def test_a_right_answer_exits_with_zero_and_a_guess_is_announced(run, file):
    code, out, _ = run("verify", file(f"1.(a) Copying in attention\n\nA large score.\n\n{RIGHT}"))
    assert code == 0
    assert "Guessed the assignment: cs224n-a4" in out


def test_one_heading_is_not_enough_for_a_guess(run, file):
    code, out, _ = run("verify", file(WRONG))
    assert code == 0
    assert "No shipped problem fits" in out


def test_strict_refutes_what_holds_only_in_the_limit_and_minds_what_is_undecided(run, file):
    assert run("verify", file(LIMIT), "--problem", "cs224n-a4")[0] == 0
    assert run("verify", file(LIMIT), "--problem", "cs224n-a4", "--strict")[0] == 1
    assert run("verify", file(UNREAD), "--problem", "cs224n-a4")[0] == 0
    assert run("verify", file(UNREAD), "--problem", "cs224n-a4", "--strict")[0] == 3


def test_json_meets_the_schema_and_nothing_else_is_printed(run, file):
    code, out, err = run("verify", file(WRONG), "--problem", "cs224n-a4", "--json", "-")
    document = json.loads(out)
    jsonschema.validate(document, schema())
    assert (code, err) == (1, "")
    assert document["command"] == "verify"
    assert document["counts"]["refuted"] == 1
    assert document["verdicts"][0]["kind"] == "design"
    assert document["verdicts"][0]["where"]["line"] == 3
    assert document["documents"][0]["questions"][1]["state"] == "judged"


def test_the_command_that_reproduces_shows_just_that_line(run, file):
    document = json.loads(run("verify", file(WRONG, "with space.md"), "--problem", "cs224n-a4", "--json", "-")[1])
    import shlex

    again = shlex.split(document["verdicts"][0]["reproduce"])[1:]
    code, out, _ = run(*again, "--json", "-")
    assert code == 1
    assert json.loads(out)["verdicts"] == document["verdicts"][:1]
    assert "refuted[1b/1]" in run(*again)[1]
    assert "1b/2" not in run(*again)[1]


def test_one_document_is_one_page(run, file, tmp_path):
    page = tmp_path / "report.html"
    assert run("verify", file(WRONG), "--problem", "cs224n-a4", "--html", page)[0] == 1
    assert "0.2023" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.md", "report.html"]


def test_a_document_that_fits_no_problem_is_judged_on_its_own_symbols(run, file):
    code, out, _ = run("verify", file("Let $\\zeta = 2$. Then $\\zeta + \\zeta = 4$ and $2 + 2 = 5$.\n"))
    assert code == 1
    assert "No shipped problem fits" in out


def test_all_shows_every_step(run, file):
    assert "holds[1b/2]" not in run("verify", file(WRONG), "--problem", "cs224n-a4")[1]
    assert "holds[1b/2]" in run("verify", file(WRONG), "--problem", "cs224n-a4", "--all")[1]


def test_a_batch_writes_all_its_outputs(run, file, tmp_path):
    paths = file(WRONG, "a.md"), file(RIGHT, "b.md"), file("", "c.md")
    outputs = {name: tmp_path / f"out-{name}" for name in ("json", "csv", "html", "gradescope")}
    flags = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    code, out, _ = run("verify", *paths, "--problem", "cs224n-a4", "--jobs", 2, *flags)
    assert code == 1
    assert "3 documents: 2 judged · 1 unreadable" in out
    jsonschema.validate(json.loads(outputs["json"].read_text()), schema())
    assert len(outputs["csv"].read_text().splitlines()) == 4
    assert sorted(path.name for path in outputs["html"].glob("*.html")) == ["a.md.html", "b.md.html", "index.html"]
    scores = {
        path.parent.name: json.loads(path.read_text())["score"] for path in outputs["gradescope"].glob("*/*.json")
    }
    assert scores == {"a.md": 0.0, "b.md": 4.0, "c.md": 0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.md"], "missing.md does not exist"),
        (["."], "no documents"),
        (["a.docx"], "is a Word document. Submit"),
        (["a.py"], "unknown file type"),
        ([], "Name a document"),
        (["a.md", "--problem", "nothing"], "neither a shipped problem"),
        (["a.md", "--problem", "cs224n-a5"], "Did you mean 'cs224n-a4'?"),
        (["a.md", "--jobs", "0"], "0 jobs"),
        (["a.md", "--time-limit", "-1"], "leaves no time"),
        (["a.md", "--line", "0"], "no line 0"),
        (["a.md", "--seed", "-1"], "negative"),
        (["a.md", "--resume"], "--resume needs"),
        (["a.md", "--json", "no/such/folder.json"], "no/such does not exist"),
        (["--autograder", "x.zip"], "Name it: --problem"),
        (["--new-answers", "nothing"], "neither a shipped problem"),
    ],
)
def test_bad_input_is_one_line_and_exits_with_two(run, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    if arguments[:1] in (["a.md"], ["a.docx"], ["a.py"]):
        Path(arguments[0]).write_text(RIGHT)
    before = sorted(tmp_path.iterdir())
    code, out, err = run("verify", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_template_of_answers_is_printed_or_written_but_never_over_a_file(run, tmp_path):
    code, out, _ = run("verify", "--new-answers", "cs224n-a4")
    assert code == 0
    assert tomllib.loads(out)["problem"] == "cs224n-a4"
    path = tmp_path / "answers.toml"
    assert run("verify", "--new-answers", "cs224n-a4", path)[0] == 0
    assert path.read_text() == out
    code, _, err = run("verify", "--new-answers", "cs224n-a4", path)
    assert code == 2
    assert "already exists" in err


def test_a_template_filled_in_is_judged_with_places_in_it(run, tmp_path):
    path = tmp_path / "answers.toml"
    run("verify", "--new-answers", "cs224n-a4", path)
    path.write_text(path.read_text().replace("design.M = ''", "design.M = 'A^\\top'"))
    line = path.read_text().splitlines().index("design.M = 'A^\\top'") + 1
    code, out, _ = run("verify", path)
    assert code == 1
    assert f"answers.toml:{line}:" in out.replace("\n", "")


def test_problems_are_listed_shown_begun_and_checked(run, tmp_path):
    assert "cs224n-a4" in run("problems", "list")[1]
    shown = run("problems", "show", "cs224n-a4")[1]
    assert "An average of two" in shown
    assert "weights" not in shown or "alpha_i" in shown
    path = tmp_path / "mine.toml"
    assert run("problems", "new", path)[0] == 0
    assert "no problems found" in run("problems", "check", path)[1]
    assert run("problems", "new", path)[0] == 2
    copy = tmp_path / "copy.toml"
    assert run("problems", "new", copy, "--from", "layer-norm")[0] == 0
    assert run("verify", file_at(tmp_path, "1.(a) Centring\n\n$M = I$"), "--problem", copy)[0] == 1
    path.write_text(path.read_text().replace("titles =", "titels ="))
    code, out, _ = run("problems", "check", path)
    assert code == 1
    assert "Did you mean 'titles'?" in out
    assert f"mine.toml:{line_of(path, 'titels')}" in out.replace("\n", "")


def file_at(folder: Path, text: str) -> Path:
    path = folder / "a.md"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(path: Path, word: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines(), start=1) if line.startswith(word))


def test_a_wrong_solution_is_found(run, tmp_path):
    path = tmp_path / "mine.toml"
    run("problems", "new", path)
    path.write_text(path.read_text().replace(r"q = '\beta(k_a + k_b)'", "q = 'k_a + k_b'"))
    code, out, _ = run("problems", "check", path)
    assert code == 1
    assert "The solution" in out
    assert f"mine.toml:{line_of(path, 'solutions')}" in out.replace("\n", "")


def test_one_document_needs_few_modules_and_no_judge_outside_the_worker(tmp_path):
    path = file_at(tmp_path, WRONG)
    script = f"""
import sys
from regard.cli import main
main(["verify", {str(path)!r}, "--problem", "cs224n-a4"])
print(*(name for name in sys.modules if name.split(".")[0] == "regard"), sep="\\n", file=sys.stderr)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(regard.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "refuted[1b/1]" in done.stdout
    modules = done.stderr.split()
    assert "regard.derivations.report.terminal" in modules
    assert "regard.derivations.verify" not in modules
    assert len(modules) <= 60


def in_a_process(*arguments: object, **more) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(Path(regard.__file__).parents[1]), "COLUMNS": "80"}
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def test_ctrl_c_stops_a_batch_with_one_line(tmp_path):
    for number in range(400):
        (tmp_path / f"{number:03}.md").write_text(WRONG)
    process = in_a_process("verify", tmp_path, "--gradescope", tmp_path / "out", "--problem", "cs224n-a4")
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob("*/results.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.count("Stopped after") == 1
    assert "--resume" in err
    assert "Traceback" not in out + err


def test_watching_judges_again_on_save_and_ends_quietly(tmp_path):
    path = file_at(tmp_path, WRONG)
    process = in_a_process("verify", path, "--watch", "--problem", "cs224n-a4", bufsize=1)
    assert process.stdout is not None
    seen = wait_for(process, "refuted[1b/1]") + wait_for(process, "understood")
    assert "0.2023" in seen
    path.write_text(RIGHT)
    assert "refuted" not in wait_for(process, "understood")
    path.unlink()
    path.write_text(WRONG)
    wait_for(process, "refuted[1b/1]")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in err


def wait_for(process: subprocess.Popen, words: str) -> str:
    seen = ""
    while words not in seen:
        line = process.stdout.readline()
        assert line, f"it ended after: {seen}"
        seen += line
    return seen


def test_a_line_without_a_step_is_refused(tmp_path, capsys):
    answers = tmp_path / "answers.md"
    assert main(["verify", "--example", str(answers)]) == 0
    capsys.readouterr()
    assert main(["verify", str(answers), "--line", "2"]) == 2
    assert "There is no step on line 2" in capsys.readouterr().err


def test_a_line_keeps_the_claim_that_helps(tmp_path, capsys):
    answers = tmp_path / "answers.md"
    main(["verify", "--example", str(answers)])
    capsys.readouterr()
    assert main(["verify", str(answers), "--line", "10"]) == 1
    assert "regard claims --explain average-of-two" in capsys.readouterr().out


# -- watching ----------------------------------------------------------------------------------------------------------
def test_a_change_is_seen_once_it_has_settled(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("1")
    script = iter(
        [
            lambda: None,
            lambda: path.write_text("22"),
            lambda: path.write_text("333"),
            lambda: None,
            lambda: None,
            lambda: os.utime(path, ns=(1, 1)),
            lambda: None,
            path.unlink,
            lambda: None,
        ]
    )

    def sleep(_: float) -> None:
        next(script)()

    seen = []
    watching = changes(lambda: [path], sleep=sleep)
    for _ in range(4):
        next(watching)
        seen.append(path.read_text() if path.exists() else None)
    assert seen == ["1", "333", "333", None]


def test_a_new_file_is_a_change(tmp_path):
    names = ["a.md"]
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            names.append("b.md")

    watching = changes(lambda: [tmp_path / name for name in names], sleep=sleep)
    next(watching)
    assert names == ["a.md"]
    next(watching)
    assert names == ["a.md", "b.md"]


# -- notes without a problem -------------------------------------------------------------------------------------------
def test_symbols_are_shown_with_their_reasons(run, file):
    file('[symbols]\nA = "n×d matrix"\n', "notes.regard.toml")
    code, out, err = run("verify", file("Let $x \\in \\mathbb{R}^d$. Then $2Ax = Ax + Ax$.\n", "notes.md"), "--symbols")
    assert (code, err) == (0, "")
    assert "n×d matrix" in out
    assert "vector of length d" in out


def test_declarations_have_no_effect_on_a_problem_and_are_flagged(run, file):
    path = file(WRONG)
    _, before, _ = run("verify", path, "--problem", "cs224n-a4")
    file('[symbols]\nq = "number"\n', "answers.regard.toml")
    _, after, _ = run("verify", path, "--problem", "cs224n-a4")
    assert after.startswith(before)
    assert "symbols of its own, which have no effect" in after


# -- comments that exempt steps --------------------------------------------------------------------------
EXEMPT = "1.(a) Copying\n\nA large score.\n\n" + WRONG.replace("b$.", "b$. <!-- regard: ignore for now -->")


def test_ignored_steps_are_counted_in_every_report_and_fail_nothing(run, file, tmp_path):
    path, page = file(EXEMPT), tmp_path / "page.html"
    code, out, _ = run("verify", path, "--strict", "--html", page)
    assert code == 0
    assert "2 steps: 1 holds, 1 ignored (100 % understood)" in out
    assert "ignored[" not in out
    assert "</svg><b>1</b> ignored</li>" in page.read_text(encoding="utf-8")
    code, out, _ = run("verify", path, "--json", "-")
    report = json.loads(out)
    jsonschema.validate(report, schema())
    assert [verdict["outcome"] for verdict in report["verdicts"]] == ["ignored", "holds"]
    assert (report["documents"][0]["num_ignored"], report["documents"][0]["num_ineffective_comments"]) == (1, 0)
    assert "Ignored by a comment: for now" in run("verify", path, "--all")[1]


@pytest.mark.parametrize("grading", [("--problem", "cs224n-a4"), ("--csv", "out.csv"), ("--gradescope", "out")])
def test_comments_have_no_effect_when_grading_and_the_reports_say_so(run, file, tmp_path, monkeypatch, grading):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("verify", file(EXEMPT), *grading, "--json", "verdicts.json", "--html", "page.html")
    assert code == 1
    assert "1 comment asks to ignore a step: no effect when grading." in out
    assert "1 comment asks to ignore a step" in Path("page.html").read_text(encoding="utf-8")
    [document] = json.loads(Path("verdicts.json").read_text(encoding="utf-8"))["documents"]
    assert (document["num_ignored"], document["num_ineffective_comments"], document["needs_person"]) == (0, 1, True)


# -- standard input and project settings -----------------------------------------------------------------
@pytest.fixture
def standard_input(monkeypatch):
    def standard_input(content: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))

    return standard_input


def test_standard_input_is_judged_and_its_command_reproduces_it(run, standard_input):
    standard_input(WRONG)
    code, out, _ = run("verify", "-", "--problem", "cs224n-a4")
    assert code == 1
    assert "--> <stdin>.md:3:9" in out
    assert "reproduce: regard verify - --format md --problem cs224n-a4 --line 3" in out


def test_the_format_of_standard_input_is_guessed_or_given(run, standard_input):
    latex = "\\section{1.(b) An average of two}\nTake $q = k_a + k_b$. % regard: ignore\n"
    for options, name in (((), "<stdin>.tex"), (("--format", "txt"), "<stdin>.txt")):
        standard_input(latex)
        documents = json.loads(run("verify", "-", "--json", "-", *options)[1])["documents"]
        assert [document["file"] for document in documents] == [name]
    standard_input(json.dumps({"cells": [{"cell_type": "markdown", "source": [WRONG]}]}))
    assert json.loads(run("verify", "-", "--json", "-")[1])["documents"][0]["file"] == "<stdin>.ipynb"


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        ("", ("-",), "<stdin>.md is empty"),
        ("$1 = 1$", ("-", "--watch"), "can't be combined"),
        ("$1 = 1$", ("a.md", "--format", "md"), "--format md is for standard input"),
        ("$1 = 1$" * 1_000_000, ("-",), "limit is 5000000"),
    ],
)
def test_standard_input_that_can_not_work_is_refused(run, standard_input, content, arguments, said):
    standard_input(content)
    code, _, err = run("verify", *arguments)
    assert code == 2
    assert said in err


def test_a_project_gives_defaults_that_the_command_line_overrides(run, file, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.regard.verify]\nproblem = 'cs224n-a4'\nseed = 4\nstrict = true")
    path = file(LIMIT)
    code, out, _ = run("verify", path, "--json", "-")
    assert code == 1
    assert {verdict["seed"] for verdict in json.loads(out)["verdicts"]} == {4}
    assert json.loads(out)["documents"][0]["problem"] == "cs224n-a4"
    code, out, _ = run("verify", path, "--json", "-", "--seed", "5")
    assert {verdict["seed"] for verdict in json.loads(out)["verdicts"]} == {5}
    (tmp_path / "pyproject.toml").write_text("[tool.regard.verify]\njobs = 'many'")
    code, _, err = run("verify", path)
    assert code == 2
    assert "--jobs" in err
