"""docs/zoo.md shows what public implementations do, without Regard; its blocks run as they stand."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

_TEXT = (Path(__file__).parents[3] / "docs" / "zoo.md").read_text(encoding="utf-8")
_FIRST, *_BLOCKS = re.findall(r"^```python\n(.*?)^```", _TEXT, flags=re.DOTALL | re.MULTILINE)


def test_no_block_uses_regard():
    assert not any("regard" in block for block in (_FIRST, *_BLOCKS))


@pytest.mark.parametrize("block", _BLOCKS, ids=re.findall(r"^## (.+?):", _TEXT, flags=re.MULTILINE))
@pytest.mark.filterwarnings("ignore")
def test_a_block_runs_as_it_stands(block: str):
    exec(compile(f"{_FIRST}\n{block}", "docs/zoo.md", "exec"), {})
