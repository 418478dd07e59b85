"""What the README shows is what the commands print: `$ regard …` in a console block is run, and a ⋮ line skips."""

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from regard.cli import main

README = Path(__file__).parents[1] / "README.md"
SHOWN = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    for command, output in re.findall(r"^\$ regard (.*?)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
]


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_what_the_command_prints(command, output, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    main(["verify", "--example", "answers.md"])
    shutil.copy(README.parent / "docs" / "examples" / "leaky_attention.py", tmp_path)
    capsys.readouterr()
    main(shlex.split(command))
    pattern = r"\n(?:.*\n)*".join(re.escape(part.strip("\n")) for part in output.split("\n⋮\n"))
    assert re.fullmatch(pattern, capsys.readouterr().out.strip("\n")), output


def test_the_readme_shows_something():
    assert SHOWN


def test_the_python_in_the_readme_runs():
    failed, attempted = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert (failed, attempted) == (0, attempted)
    assert attempted > 0
