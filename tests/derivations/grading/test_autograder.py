import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile

import pytest

from regard.core.errors import InputError
from regard.derivations.grading.autograder import autograder_zip, downloaded_wheels, grade_submission, write_autograder
from regard.derivations.problems.problem import problem_source

WRONG = "1.(b) An average of two\n\nTake $q = k_a + k_b$.\n"
RIGHT = "1.(b) An average of two\n\nTake $q = \\beta(k_a + k_b)$.\n"


WHEELS = {"3.11": {"numpy-2.0-cp311.whl": b"one"}, "3.12": {"numpy-2.0-cp312.whl": b"two", "click-8.0-any.whl": b"c"}}


@pytest.fixture(scope="module")
def archive():
    return zipfile.ZipFile(io.BytesIO(autograder_zip("cs224n-a4", WHEELS)))


def test_the_zip_has_what_gradescope_looks_for_at_its_root(archive):
    for name in ("setup.sh", "run_autograder"):
        entry = archive.getinfo(name)
        assert (entry.external_attr >> 16) & 0o777 == 0o755
        assert entry.create_system == 3
        assert archive.read(name).startswith(b"#!/usr/bin/env bash\n")
    assert archive.read("problem.toml").decode() == problem_source("cs224n-a4")
    assert archive.read("wheels/numpy-2.0-cp311.whl") == b"one"
    assert "regard/cli.py" in archive.namelist()
    assert "regard/derivations/problems/library/cs224n-a4.toml" in archive.namelist()
    assert not any("__pycache__" in name for name in archive.namelist())


def test_every_package_is_pinned_by_version_and_hash(archive):
    lines = archive.read("requirements-3.12.txt").decode().splitlines()
    assert [line.split(" --hash=sha256:")[0] for line in lines] == ["click==8.0", "numpy==2.0"]
    assert lines[1].endswith(hashlib.sha256(b"two").hexdigest())


def test_setup_installs_nothing_but_the_wheels_of_the_zip(archive):
    setup = archive.read("setup.sh").decode()
    [install] = [line for line in setup.replace("\\\n", "").splitlines() if "pip" in line and "install" in line]
    assert {"--no-index", "--require-hashes", "--no-deps"} <= set(install.split())
    assert "||" not in install


def test_wheels_that_cannot_be_downloaded_are_one_clear_line(monkeypatch):
    def fail(command, **_):
        raise subprocess.CalledProcessError(1, command, stderr="trying\nERROR: no network")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(InputError, match=r"Cannot download .* ERROR: no network"):
        downloaded_wheels("3.12")


def test_the_same_zip_each_time():
    assert autograder_zip("layer-norm", WHEELS) == autograder_zip("layer-norm", WHEELS)


def test_the_scripts_are_sound_shell(archive, tmp_path):
    for name in ("setup.sh", "run_autograder"):
        (tmp_path / name).write_bytes(archive.read(name))
        subprocess.run(["bash", "-n", str(tmp_path / name)], check=True)


def test_what_is_unpacked_judges_a_submission(archive, tmp_path):
    """All but the installation of what Regard needs, which this Python has."""
    archive.extractall(tmp_path / "source")
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "answers.md").write_text(WRONG)
    known = {"PATH": os.environ["PATH"], "AUTOGRADER_ROOT": str(tmp_path), "REGARD_PYTHON": sys.executable}
    script = str(tmp_path / "source" / "run_autograder")
    done = subprocess.run(
        ["bash", script], env=known, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results" / "results.json").read_text())
    assert results["score"] == 0.0
    assert next(entry for entry in results["tests"] if entry["number"] == "1b")["status"] == "failed"
    assert results["execution_time"] > 0


def test_several_files_are_one_submission(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text(RIGHT)
    (tmp_path / "in" / "b.md").write_text("2.(b)(ii)\n\nNo.\n")
    grade_submission(str(tmp_path / "in"), "cs224n-a4", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["score"] == 5.0


def test_an_unreadable_answer_beside_a_readme_is_named_and_no_silent_zero(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "README.md").write_text("# My submission\n\nThe answers are in answers.md.\n")
    (tmp_path / "in" / "answers.md").write_bytes("1.(b) caf\xe9 $q = \\beta(k_a + k_b)$".encode("latin-1"))
    (tmp_path / "in" / "scan.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "in" / "photo.heic").write_bytes(b"x")
    grade_submission(str(tmp_path / "in"), "cs224n-a4", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())
    for name in ("README.md", "answers.md", "scan.pdf", "photo.heic"):
        assert f"<b>{name}</b>" in results["output"]
    assert "not UTF-8 text" in results["output"]
    assert "is a PDF. Submit the LaTeX, Markdown or notebook source." in results["output"]
    assert results["extra_data"]["pending"] == results["extra_data"]["max_score"] > 0
    assert "unreadable file" in results["extra_data"]["reasons"]


def test_a_submission_without_documents_gets_results_that_say_so(tmp_path):
    (tmp_path / "in").mkdir()
    grade_submission(str(tmp_path / "in"), "cs224n-a4", str(tmp_path / "results.json"))
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["score"] == 0
    assert "no documents" in results["output"]


def test_a_problem_must_be_named_and_sound(tmp_path):
    with pytest.raises(InputError, match="Name it"):
        write_autograder(tmp_path / "x.zip", None)
    with pytest.raises(InputError, match="neither a shipped problem"):
        write_autograder(tmp_path / "x.zip", "nothing")
    assert not list(tmp_path.iterdir())
