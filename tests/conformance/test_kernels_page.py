"""The page about kernels names every law of theirs, and its examples work."""

import re
from pathlib import Path

import pytest

from regard.conformance import all_laws
from regard.conformance.subject import KERNELS

PAGE = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")


def test_the_page_names_every_law_of_kernels_and_its_statements_are_about_them():
    ours = {name for name, law in all_laws().items() if {"kernel", *KERNELS} & set(law.needs)}
    assert set(re.findall(r"^\| ([A-Z]{4,}) \|", PAGE, re.MULTILINE)) == ours - {"ARGUMENTS"}
    assert "ARGUMENTS" in PAGE


@pytest.mark.parametrize(("name", "code"), re.findall(r"```python\n(?=# (\w+)\.py\n)(.*?)```", PAGE, re.DOTALL))
def test_every_example_of_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str):
    pytest.importorskip("torch")
    from regard import check

    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{name}.py").write_text(code)
    report = check(f"{name}.py:subject")
    assert set(report.counts) <= {"holds", "skipped"}
    assert report.counts["holds"] >= 2
