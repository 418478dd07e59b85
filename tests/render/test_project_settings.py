"""Defaults in pyproject.toml: found upward, checked, and overridden by the command line."""

import re
from pathlib import Path

import pytest

from regard.conformance.cli import check
from regard.core.errors import InputError
from regard.derivations.cli import verify
from regard.render.project_settings import SETTINGS, project_settings

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def project(tmp_path):
    def project(text: str) -> Path:
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
        inner = tmp_path / "notes" / "deep"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "a.md").write_text("$1 = 1$", encoding="utf-8")
        return inner / "a.md"

    return project


def test_settings_are_found_above_a_file_and_above_the_current_folder(project, monkeypatch):
    file = project('[tool.regard.verify]\nseed = 3\nproblem = "mine.toml"\n[tool.regard.check]\nlaws = ["PAD", "JUNK"]')
    assert project_settings("verify", [str(file)]) == {"seed": 3, "problem": str(file.parents[2] / "mine.toml")}
    monkeypatch.chdir(file.parent)
    assert project_settings("check") == {"laws": "PAD,JUNK"}
    assert project_settings("verify", ["-"])["seed"] == 3


def test_the_nearest_project_that_has_settings_counts(project):
    file = project("[tool.regard.verify]\nseed = 3")
    (file.parent / "pyproject.toml").write_text("[project]\nname = 'other'", encoding="utf-8")
    assert project_settings("verify", [str(file)]) == {"seed": 3}
    (file.parent / "pyproject.toml").write_text("[tool.regard.verify]\njobs = 2", encoding="utf-8")
    assert project_settings("verify", [str(file)]) == {"jobs": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.regard.verify]\njbos = 2", r"\[tool.regard.verify\] has no key 'jbos'. Did you mean 'jobs'?"),
        ("[tool.regard.verfy]", "has no key 'verfy'. Did you mean 'verify'?"),
        ("[tool.regard]\nqqq = 1", "has no key 'qqq'. It may have verify, check."),
        ("[tool]\nregard = 4", r"\[tool.regard\] is no table"),
        ("[tool.regard.verify\n", "is not valid TOML"),
    ],
)
def test_what_is_wrong_is_refused_with_a_hint(project, text, said):
    with pytest.raises(InputError, match=said):
        project_settings("verify", [str(project(text))])


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1", "[project\n", "tool = 3"])
def test_other_files_are_left_alone(project, text):
    assert project_settings("verify", [str(project(text))]) == {}


def test_every_setting_is_an_option_and_explained():
    for command in (verify, check):
        options = {option for parameter in command.params for option in parameter.opts}
        assert [key for key in SETTINGS[command.name or ""] if f"--{key}" not in options] == []
    text = (DOCS / "editors.md").read_text(encoding="utf-8")
    assert {key for keys in SETTINGS.values() for key in keys} <= set(re.findall(r"`([a-z-]+)`", text))
