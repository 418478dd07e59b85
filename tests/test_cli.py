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
from regard.claims import ClaimVerdict, deciding
from regard.cli import main
from regard.render.json import schema

ON_THIS_SOURCE = {**os.environ, "PYTHONPATH": str(Path(regard.__file__).parents[1])}


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def rigged(monkeypatch):
    """Makes `regard claims` come to the given statuses where the catalog expects `proved`."""

    def rig(*statuses: str) -> None:
        verdicts = [ClaimVerdict(id="copy", statement="s", status=status, expected="proved") for status in statuses]
        monkeypatch.setattr(deciding, "decide_claims", lambda *_, **__: tuple(verdicts))

    return rig


def test_help_shows_examples_everywhere(run):
    for arguments in (["--help"], ["-h"], [], ["claims", "--help"]):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        assert "Examples:" in out
        assert "regard claims" in out


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["claims copy", "claims copy --json -", "--help"])
def test_closed_standard_streams_lead_nowhere(closed, arguments):
    command = f"{sys.executable} -m regard {arguments} {closed}"
    done = subprocess.run(command, shell=True, env=ON_THIS_SOURCE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_version(run):
    assert run("--version") == (0, f"regard {regard.__version__}\n", "")


def test_a_claim_is_decided_and_counted(run):
    code, out, err = run("claims", "average-of-two")
    assert (code, err) == (0, "")
    assert "✓ average-of-two  proved" in out
    assert "1 claim: 1 proved" in out


def test_an_id_selects_only_itself_and_a_part_all_that_contain_it(run):
    assert "copy-margin" not in run("claims", "copy", "--list")[1]
    assert "copy-margin" in run("claims", "cop", "--list")[1]
    assert "copy-margin" in run("claims", "COPY-M", "--list")[1]


def test_a_glob_matches_whole_ids(run):
    out = run("claims", "copy*", "--list")[1]
    assert "copy-margin" in out
    assert "query-equals-key-copies" not in out


@pytest.mark.parametrize("pattern", ["misconception", "misconceptions", "myth", "myths"])
def test_misconceptions_can_be_selected_together(run, pattern):
    entries = [entry for group in deciding.list_claims(pattern).values() for entry in group]
    assert entries
    assert all(entry.tag == "misconception" for entry in entries)
    assert "unscaled-sum-averages  misconception" in run("claims", pattern, "--list")[1]


def test_the_list_names_every_claim_with_what_can_be_set(run):
    code, out, _ = run("claims", "--list")
    assert code == 0
    assert all(name in out for name in regard.all_claims())
    assert "n = 10" in out


def test_settings_are_taken_and_named_in_the_command_that_reproduces(run):
    code, out, _ = run("claims", "average-of-two", "--set", "n=1000", "--set", "beta=20", "--seed", "3", "--json", "-")
    [row] = json.loads(out)["verdicts"]
    assert code == 0
    assert row["reproduce"] == "regard claims average-of-two --set n=1000 --set beta=20 --seed 3"
    assert row["seed"] == 3


def test_the_command_that_reproduces_does(run):
    first = json.loads(run("claims", "average-of-two", "--set", "n=20", "--seed", "5", "--json", "-")[1])
    again = first["verdicts"][0]["reproduce"].split()[1:]
    assert json.loads(run(*again, "--json", "-")[1]) == first


def test_settings_go_only_to_the_claims_that_know_them(run):
    code, out, _ = run("claims", "average*", "--set", "beta=4", "--json", "-")
    commands = [row["reproduce"] for row in json.loads(out)["verdicts"]]
    assert code == 0
    assert any("--set beta=4" in command for command in commands)
    assert any("--set" not in command for command in commands)


def test_an_explanation_lays_the_claim_open(run):
    code, out, err = run("claims", "--explain", "unscaled-sum-averages")
    assert (code, err) == (0, "")
    for part in (
        "as expected of a misconception",
        "Why",
        "Evidence",
        "Near misses",
        "source",
        "regard claims unscaled-sum-averages",
    ):
        assert part in out


def test_the_json_of_the_real_command_meets_the_schema(python):
    done = python("-m", "regard", "claims", "*average*", "--json", "-", "--jobs", "2")
    found = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema()).validate(found)
    assert found["command"] == "claims"
    assert sum(found["counts"].values()) == len(found["verdicts"]) >= 3


def test_progress_is_reported():
    reported = []
    regard.decide_claims("copy*", report=lambda done, total: reported.append((done, total)))
    assert reported[0] == (0, 2)


def test_a_page_goes_to_a_file_beside_the_json_and_the_table(run, tmp_path):
    page, verdicts = tmp_path / "out.html", tmp_path / "out.json"
    code, out, _ = run("claims", "copy*", "--html", str(page), "--json", str(verdicts))
    ids = [row["id"] for row in json.loads(verdicts.read_text(encoding="utf-8"))["verdicts"]]
    source = page.read_text(encoding="utf-8")
    assert (code, sorted(os.listdir(tmp_path))) == (0, ["out.html", "out.json"])
    assert ids == ["copy", "copy-margin"]
    assert all(f'id="{name}"' in source and name in out for name in ids)
    assert source.count("<figure") == 2


def test_one_claim_laid_open_is_shown_and_written(run, tmp_path):
    page = tmp_path / "out.html"
    code, out, _ = run("claims", "--explain", "copy-margin", "--html", str(page))
    assert code == 0
    assert "Near misses, each tested" in out
    assert '<details class="argument" open>' in page.read_text(encoding="utf-8")


def test_jobs_change_nothing_but_the_time(run, tmp_path):
    written = []
    for jobs in ("1", "2"):
        page, verdicts = tmp_path / f"{jobs}.html", tmp_path / f"{jobs}.json"
        assert run("claims", "copy*", "--jobs", jobs, "--html", str(page), "--json", str(verdicts))[0] == 0
        written.append((page.read_text(encoding="utf-8"), verdicts.read_text(encoding="utf-8")))
    assert written[0] == written[1]


def test_json_goes_to_a_file_and_the_table_to_the_terminal(run, tmp_path):
    code, out, _ = run("claims", "copy", "--json", str(tmp_path / "out.json"))
    assert code == 0
    assert "copy" in out
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["counts"]["proved"] == 1
    assert os.listdir(tmp_path) == ["out.json"]


@pytest.mark.parametrize(
    ("statuses", "plain", "strict"),
    [
        (["proved"], 0, 0),
        (["proved", "refuted"], 1, 1),
        (["proved", "holds"], 1, 1),
        (["undecided"], 1, 3),
        (["undecided", "refuted"], 1, 1),
    ],
)
def test_exit_codes(run, rigged, statuses, plain, strict):
    rigged(*statuses)
    assert run("claims")[0] == plain
    assert run("claims", "--strict")[0] == strict


BAD_INPUT = {
    "unmatched pattern": (["claims", "two-head-steady"], "Similar ids: two-heads-steady"),
    "unmatched glob": (["claims", "zzz*"], "No claim matches 'zzz*'"),
    "empty pattern": (["claims", ""], "No claim matches ''"),
    "unknown id": (["claims", "--explain", "copy-margins"], "Similar ids: copy-margin"),
    "n too small": (["claims", "average-of-two", "--set", "n=2"], "average-of-two: n = 2 is outside"),
    "n not whole": (["claims", "average-of-two", "--set", "n=3.5"], "n = 3.5 is not a whole number"),
    "d absurd": (["claims", "rope-decays", "--set", "d=1e18"], "d = 1e+18 is outside the claim's domain 32 ≤ d"),
    "beta negative": (["claims", "two-heads", "--set", "beta=-1"], "beta = -1 is outside the claim's domain"),
    "beta infinite": (["claims", "average-of-two", "--set", "beta=inf"], "beta = inf is outside"),
    "beta nan": (["claims", "average-of-two", "--set", "beta=nan"], "beta = nan is outside"),
    "variance negative": (["claims", "reliability-ceiling", "--set", "sigma2=-1"], "sigma2 = -1 is outside"),
    "no number": (["claims", "--set", "n=abc"], "--set n=abc cannot be read"),
    "no name": (["claims", "--set", "=3"], "--set =3 cannot be read"),
    "no sign of equality": (["claims", "--set", "n"], "--set n cannot be read"),
    "set twice": (["claims", "--set", "n=3", "--set", "n=4"], "--set gives n twice"),
    "unknown parameter": (["claims", "average-of-two", "--set", "gamma=1"], "'gamma'. Their parameters are: beta, n."),
    "seed negative": (["claims", "--seed", "-1"], "Seed -1 is negative"),
    "seed no number": (["claims", "--seed", "x"], "'x' is not a valid integer"),
    "no jobs": (["claims", "--jobs", "0"], "with 0 jobs"),
    "unknown option": (["claims", "--fast"], "--fast"),
    "unknown command": (["clams"], "clams"),
    "pattern and explanation": (["claims", "copy", "--explain", "copy"], "exclude each other"),
    "list and explanation": (["claims", "--list", "--explain", "copy"], "exclude each other"),
    "no such folder": (["claims", "--json", "/no/such/folder/out.json"], "does not exist"),
    "a folder": (["claims", "--json", "/"], "it is a directory"),
    "no such folder for a page": (["claims", "--html", "/no/such/folder/out.html"], "does not exist"),
    "one file for two": (["claims", "--html", "out", "--json", "out"], "Two reports would go to one file"),
    "a page of a list": (["claims", "--list", "--html", "out.html"], "there is no page to write"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_one_clear_line(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("regard: ")
    assert err.count("\n") == 1
    assert message in err


def test_nothing_is_decided_if_the_result_could_not_be_written(run, monkeypatch):
    monkeypatch.setattr(deciding, "decide_claims", lambda *_, **__: pytest.fail("decided in vain"))
    assert run("claims", "--json", "/no/such/folder/out.json")[0] == 2


def test_an_interruption_is_quiet(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(deciding, "decide_claims", interrupt)
    code, out, err = run("claims")
    assert (code, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are sent on POSIX only")
def test_an_interruption_ends_the_workers_too():
    code = "from regard.cli import main; print('ready', flush=True); raise SystemExit(main(['claims', '--jobs', '2']))"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", code], env=ON_THIS_SOURCE, start_new_session=True, **pipes)
    assert child.stdout.readline() == b"ready\n"
    time.sleep(0.7)
    os.killpg(child.pid, signal.SIGINT)
    _, complaints = child.communicate(timeout=20)
    assert (child.returncode, complaints.strip()) == (130, b"")
    assert _ends_within(5.0, child.pid)


def _ends_within(seconds: float, group: int) -> bool:
    """Whether every process of the group is gone in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX pipe")
@pytest.mark.parametrize("arguments", [["claims", "--list"], ["claims", "copy", "--json", "-"]])
def test_a_reader_who_has_gone_away_ends_it_quietly(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "regard", *arguments]
    done = subprocess.run(command, env=ON_THIS_SOURCE, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("encoding", ["cp437", "cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("arguments", [["copy*"], ["--list"], ["--explain", "copy"], ["copy", "--json", "-"], ["zzz"]])
def test_every_code_page_can_show_it(monkeypatch, encoding, arguments):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict"))
    assert main(["claims", *arguments]) in (0, 2)
    sys.stdout.flush()
    sys.stderr.flush()


def test_a_process_on_another_code_page_writes_it_too(python):
    done = python("-m", "regard", "claims", "copy-margin", PYTHONIOENCODING="cp437:strict", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "copy-margin  proved" in done.stdout


def test_the_module_runs_like_the_script(python):
    assert python("-m", "regard", "--version").stdout == f"regard {regard.__version__}\n"


# -- what was probably meant, and what to install --------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["vrify", "a.md"], "No such command 'vrify'. Did you mean 'verify'?"),
        (["claims", "--explian", "copy"], "Did you mean '--explain'?"),
        (["verify", "--strikt", "a.md"], "'--strict'?"),
        (["problems", "lst"], "Did you mean 'list'?"),
        (["train", "evalute"], "Did you mean 'evaluate'?"),
        (["claims", "--explain", "copy-margn"], "Similar ids: copy-margin"),
        (["claims", "two-heads-stedy"], "Similar ids: two-heads-steady"),
    ],
)
def test_a_mistyped_word_gets_the_nearest_one(run, arguments, hint):
    code, _, err = run(*arguments)
    assert code == 2
    assert hint in err
    assert "?." not in err


def test_a_word_that_resembles_no_command_gets_no_hint(run):
    assert run("xyzzy") == (2, "", "regard: No such command 'xyzzy'. `regard --help` helps.\n")


HIDING = """
import sys
sys.modules[sys.argv.pop(1)] = None
from regard.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("train", "torch", "train"),
        ("train estimate", "scipy", "train"),
        ("lsp", "pygls", "lsp"),
        ("serve", "uvicorn", "serve"),
    ],
)
def test_a_plain_installation_says_in_one_line_what_to_install(command, package, extra):
    words = [sys.executable, "-c", HIDING, package, *command.split()]
    done = subprocess.run(words, env=ON_THIS_SOURCE, capture_output=True, text=True, check=False)
    said = f"regard: regard {command.split()[0]} needs {package}, which is not installed."
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{said} Run: pip install 'regard[{extra}]'.\n"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ve", ["plain,verify"]),
        ("check --sar", ["plain,--sarif"]),
        ("claims average-o", ["plain,average-of-two"]),
        ("claims --explain rope-rel", ["plain,rope-relative"]),
        ("verify a.md --problem cs", ["plain,cs224n-a4"]),
        ("verify a.md --problem mine", ["file,mine"]),
    ],
)
def test_completions_are_offered(typed, offered):
    number = str(len(typed.split()))
    completing = {"_REGARD_COMPLETE": "bash_complete", "COMP_WORDS": f"regard {typed}", "COMP_CWORD": number}
    done = subprocess.run(
        [sys.executable, "-m", "regard"],
        env={**ON_THIS_SOURCE, **completing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == offered


def test_the_metadata_has_project_urls():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"Homepage", "Documentation", "Issues", "Changelog"} <= set(project["urls"])
    assert all(url.startswith("https://github.com/regard-attention/regard") for url in project["urls"].values())
