"""The GitHub Action, the pre-commit hook and the release workflow: their shell steps are run, with pip replaced."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

import regard
from sarif_schema import SARIF_SCHEMA

ROOT = Path(__file__).parents[2]
WRONG = "# Notes\n\nSo $1 + 1 = 3$.\n"
# Stands for python: what installs or builds only leaves a note, everything else runs.
PYTHON = f"""#!/bin/bash
if [ "$1 $2" = "-m pip" ] || [ "$1 $2" = "-m venv" ]; then echo "$@" >> "$NOTES"; exit 0; fi
if [ "$1 $2" = "-m build" ]; then echo "$@" >> "$NOTES"; mkdir -p dist; touch dist/regard-0.whl; exit 0; fi
exec {shlex.quote(sys.executable)} "$@"
"""
NOTING = '#!/bin/bash\necho "$(basename "$0") $@" >> "$NOTES"\n'


def loaded(name: str):
    # YAML 1.1 reads the key `on` as true.
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bin").mkdir()
    for name, script in {"python": PYTHON, "npm": NOTING, "gh": NOTING}.items():
        (tmp_path / "bin" / name).write_text(script, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "project").mkdir()
    return tmp_path


def run(step: dict, folder: Path, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a step as GitHub does, in the project's folder; `values` are those of its expressions."""

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: values[found[1]], text)

    assert "${{" not in step["run"], "an expression in a script can inject commands"
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(regard.__file__).parents[1]),
        "NOTES": str(folder / "notes.txt"),
        "GITHUB_OUTPUT": str(folder / "output.txt"),
        "RUNNER_TEMP": str(folder),
        **{name: filled(value) for name, value in step.get("env", {}).items()},
    }
    place = folder / "project" / step.get("working-directory", "")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def notes(folder: Path) -> list[str]:
    return (folder / "notes.txt").read_text(encoding="utf-8").splitlines()


# -- the action ------------------------------------------------------------------------------------------
def run_action(folder: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    action = loaded("action.yml")
    defaults = {f"inputs.{name}": each["default"] for name, each in action["inputs"].items()}
    values = {**defaults, "github.action_path": str(ROOT), **{f"inputs.{name}": each for name, each in inputs.items()}}
    install, verify = action["runs"]["steps"]
    assert run(install, folder, values).returncode == 0
    assert notes(folder) == [f"-m pip install --quiet --constraint {ROOT}/constraints.txt {ROOT}"]
    done = run(verify, folder, values)
    output = dict(line.split("=") for line in (folder / "output.txt").read_text(encoding="utf-8").splitlines())
    return done, output


def test_the_action_fails_on_a_refuted_step_and_writes_sarif(folder):
    (folder / "project" / "my notes.md").write_text(WRONG, encoding="utf-8")
    done, output = run_action(folder)
    assert (done.returncode, output) == (1, {"sarif": "regard.sarif", "exit-code": "1"})
    log = json.loads((folder / "project" / "regard.sarif").read_text(encoding="utf-8"))
    jsonschema.validate(log, SARIF_SCHEMA)
    [result] = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20notes.md"


def test_the_action_takes_paths_and_options_and_may_only_report(folder):
    (folder / "project" / "my notes.md").write_text(WRONG, encoding="utf-8")
    (folder / "project" / "-odd.md").write_text("So $1 + 1 = 2$.\n", encoding="utf-8")
    done, output = run_action(folder, paths="my notes.md\n", options="--seed\n5\n", fail="false", sarif="out.sarif")
    assert (done.returncode, output) == (0, {"sarif": "out.sarif", "exit-code": "1"})
    assert "--seed 5" in done.stdout
    (folder / "notes.txt").unlink()
    assert run_action(folder, paths="-odd.md")[0].returncode == 0
    (folder / "notes.txt").unlink()
    assert run_action(folder, paths="missing.md", fail="false")[0].returncode == 2


# -- the hook --------------------------------------------------------------------------------------------
def test_the_hook_judges_the_files_it_is_given(folder):
    [hook] = loaded(".pre-commit-hooks.yaml")
    assert hook["language"] == "python"
    program, *words = shlex.split(hook["entry"])
    assert program in (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.scripts]")[2]
    for name, text in {"a.md": "So $1 + 1 = 2$.\n", "b.tex": "So $1 + 1 = 3$.\n"}.items():
        (folder / "project" / name).write_text(text, encoding="utf-8")
    command = shlex.join(["python", "-m", program, *words])
    assert run({"run": f"{command} a.md"}, folder, {}).returncode == 0
    done = run({"run": f"{command} a.md b.tex"}, folder, {})
    assert done.returncode == 1
    assert "--> b.tex:1:11" in done.stdout


# -- the release -----------------------------------------------------------------------------------------
def steps_of(job: str) -> dict[str, dict]:
    return {
        step["name"]: step for step in loaded(".github/workflows/release.yml")["jobs"][job]["steps"] if "run" in step
    }


def test_a_release_is_built_tried_and_published(folder):
    project = folder / "project"
    (project / "src" / "regard").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "regard" / "__init__.py", project / "src" / "regard")
    (project / "editors" / "vscode").mkdir(parents=True)
    (folder / "fresh" / "bin").mkdir(parents=True)
    shutil.copy(folder / "bin" / "python", folder / "fresh" / "bin")
    values = {"github.ref_name": f"v{regard.__version__}", "github.token": "none", "github.repository": "us/regard"}
    for job in ("build", "publish"):
        for name, step in steps_of(job).items():
            done = run(step, folder, values)
            assert done.returncode == 0, (name, done.stderr)
    installed = [note for note in notes(folder) if "pip install" in note]
    assert [note.split()[-1] for note in installed] == ["build", "dist/regard-0.whl"]
    assert "npm run package -- --out ../../dist/regard.vsix" in notes(folder)
    assert notes(folder)[-1].startswith(f"gh release create v{regard.__version__} dist/regard-0.whl --repo us/regard")


def test_a_tag_that_is_not_the_version_stops_the_release(folder):
    project = folder / "project"
    (project / "src" / "regard").mkdir(parents=True)
    shutil.copy(ROOT / "src" / "regard" / "__init__.py", project / "src" / "regard")
    done = run(steps_of("build")["Compare the tag with the version"], folder, {"github.ref_name": "v99"})
    assert done.returncode == 1
    assert "The tag is v99" in done.stderr


def test_the_package_that_is_published_is_all_that_the_publishing_job_can_touch():
    jobs = loaded(".github/workflows/release.yml")["jobs"]
    assert "permissions" not in jobs["build"]
    assert set(jobs["publish"]["permissions"]) == {"contents", "id-token"}
    assert not any("checkout" in step.get("uses", "") for step in jobs["publish"]["steps"])
