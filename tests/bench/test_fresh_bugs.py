"""The second set of injected bugs is sound, whatever it holds."""

import re

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from bugs import fresh  # noqa: E402
from bugs.bug import FAMILIES  # noqa: E402
from bugs.catalog import all_bugs  # noqa: E402
from bugs.probing import difference_of  # noqa: E402

BUGS = fresh.fresh_bugs()


def test_each_has_a_name_of_its_own_and_a_family_that_exists():
    names = [bug.id for bug in (*all_bugs(), *BUGS)]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", bug.id) for bug in BUGS)
    assert FAMILIES.issuperset(family for bug in BUGS for family in (bug.family, *bug.or_family))


def test_a_file_in_the_folder_is_found(tmp_path, monkeypatch):
    text = 'from bugs.bug import edits\n\nBUGS = (edits("llama")("unseen", "mask", "", ("a", "b")),)\n'
    (tmp_path / "one_more.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(fresh, "__path__", [str(tmp_path)])
    assert [bug.id for bug in fresh.fresh_bugs()] == ["llama-unseen"]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_bug_changes_what_the_layer_does_unless_it_is_equivalent(bug):
    assert (difference_of(bug) is None) == bool(bug.is_equivalent)
