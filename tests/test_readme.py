"""What the README and the quick starts show is what the commands print: console blocks are run, and a ⋮ line skips."""

import doctest
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from regard.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("start-*.md"))]


def shown(page: Path) -> list[tuple[str, str]]:
    """The commands of a page, each with the output that the page shows."""
    return [
        found
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for found in re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page)], ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    main(["verify", "--example", "answers.md"])
    shutil.copy(ROOT / "docs" / "examples" / "leaky_attention.py", tmp_path)
    for command, output in shown(page):
        capsys.readouterr()
        if command.startswith("regard "):
            main(shlex.split(command)[1:])
        else:
            subprocess.run(command, shell=True, check=True)
        lines = (r"(?:.*\n)*" if line == "⋮" else re.escape(line) + r"\n" for line in output.strip("\n").splitlines())
        printed = capsys.readouterr().out.strip("\n") + "\n"
        assert re.fullmatch("".join(lines) or r"\n", printed), f"{command}\n{printed}"


def test_most_pages_show_something():
    assert len([page for page in PAGES if shown(page)]) >= 5


def test_the_python_in_the_readme_runs():
    failed, attempted = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert (failed, attempted) == (0, attempted)
    assert attempted > 0
