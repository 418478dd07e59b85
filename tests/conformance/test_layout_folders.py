"""Whole folders: every piece is found, missing and hostile ones have their verdicts, and nothing is unpickled."""

import importlib.util
import json
import pickle
import py_compile
from dataclasses import asdict
from pathlib import Path

import pytest

from conformance.miniature_homework import ATTENTION, DATASET, changed, task_for, write_homework
from regard.conformance.adapters.homework_files import HOMEWORKS
from regard.conformance.homework.check import LOADS, PieceWorker, check_layout
from regard.conformance.homework.child import PieceTask
from regard.conformance.verdict import LawVerdict
from regard.core.errors import InputError
from regard.core.processes import Ended

pytest.importorskip("torch")

TABLE, TURN, LAYER, DATA = HOMEWORKS["cs224n-a4"]
PLAIN, ROPE = f"{LAYER}, rope=False", f"{LAYER}, rope=True"


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    """One process for all that do not end it."""
    with PieceWorker(str(tmp_path_factory.mktemp("work")), 60.0, 2.0) as running:
        yield running


class _Bomb:
    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


def with_bombs(folder: Path, mark: Path) -> Path:
    """The homework beside files that would leave a mark if anybody unpickled them."""
    write_homework(folder)
    for name in ("vanilla.model.params", "src/weights.pt", "src/attention.pkl", "src/model.params"):
        (folder / name).write_bytes(pickle.dumps(_Bomb(str(mark))))
    return folder


def test_every_contract_of_a_right_homework_is_tried_and_no_file_is_unpickled(tmp_path):
    mark = tmp_path / "exploded"
    folder = with_bombs(tmp_path / "homework", mark)
    before = sorted(folder.rglob("*"))
    reports = {report.layer: report for report in check_layout("cs224n-a4", str(folder))}
    assert not mark.exists()
    assert sorted(folder.rglob("*")) == before
    pickle.loads((folder / "src/weights.pt").read_bytes())
    assert mark.exists()
    assert list(reports) == [TABLE, TURN, PLAIN, ROPE, DATA]
    assert all(report.ok for report in reports.values())
    assert {reports[name].grade for name in (TABLE, TURN, PLAIN, ROPE)} == {"spec"}
    reports[TABLE].require([LOADS, "TABLE-SHAPE", "TABLE-ANGLES"])
    reports[TURN].require(["TURN-SHAPE", "TURN-NORM", "TURN-RELATIVE", "TURN-PAIRS", "TURN-TRUNCATED"])
    reports[PLAIN].require(["ATTEND-LENGTHS", "CAUSAL", "SPEC"])
    reports[ROPE].require(["ATTEND-LENGTHS", "ATTEND-TABLE", "CAUSAL", "SPEC"])
    reports[DATA].require(
        [
            "CORRUPT-VOCABULARY",
            "CORRUPT-PAIR",
            "CORRUPT-SPANS",
            "CORRUPT-LENGTHS",
            "CORRUPT-RANDOM",
            "CORRUPT-QUARTER",
            "CORRUPT-EVERY",
            "CORRUPT-SHORT",
        ]
    )
    found = reports[TURN].verdicts[0]
    assert "src/attention.py:15" in found.reason
    assert found.where is not None
    assert (found.where.file, found.where.line) == (f"{folder}/src/attention.py", 15)
    assert found.reproduce == f"regard check --layout cs224n-a4 {folder}"


def by_layer(folder: Path, **limits: float) -> dict[str, dict[str, LawVerdict]]:
    reports = check_layout("cs224n-a4", str(folder), **limits)
    return {report.layer: {verdict.law: verdict for verdict in report.verdicts} for report in reports}


def test_stubs_are_not_written_yet_and_the_rest_goes_on(tmp_path):
    turned = ATTENTION.partition("def apply_rotary_emb")[2].partition("class ")[0]
    stub = "(x, rope_cache):\n    'Turns.'\n    rotated = None\n    # your code\n    pass\n    return rotated\n\n\n"
    raised = changed(DATASET, "limit = int(", "raise NotImplementedError\n        limit = int(")
    write_homework(tmp_path, attention=changed(ATTENTION, turned, stub), dataset=raised)
    found = by_layer(tmp_path)
    assert {verdict.outcome for verdict in found[TURN].values()} == {"skipped"}
    assert all("not written yet" in (verdict.reason or "") for verdict in found[TURN].values())
    assert "needs apply_rotary_emb, not written yet" in (found[ROPE][LOADS].reason or "")
    assert found[DATA]["CORRUPT-SPANS"].outcome == "skipped"
    assert "not written yet" in (found[DATA]["CORRUPT-SPANS"].reason or "")
    assert "dataset.py:" in (found[DATA]["CORRUPT-SPANS"].reason or "")
    assert found[DATA]["CORRUPT-VOCABULARY"].outcome == "holds"
    assert {found[TABLE][LOADS].outcome, found[PLAIN]["SPEC"].outcome} == {"holds"}


def test_missing_pieces_broken_syntax_and_failing_imports_have_their_verdicts(tmp_path):
    write_homework(tmp_path, attention=ATTENTION + "\nimport a_module_that_is_not_there\n")
    (tmp_path / "src" / "dataset.py").write_text("class CharCorruptionDataset:\n    def f(:\n", encoding="utf-8")
    found = by_layer(tmp_path)
    loads = found[PLAIN][LOADS]
    line = len(ATTENTION.splitlines()) + 2
    assert loads.outcome == "crashed"
    assert "a_module_that_is_not_there" in (loads.reason or "")
    assert f"attention.py:{line}" in (loads.reason or "")
    assert found[PLAIN]["ATTEND-LENGTHS"].outcome == "skipped"
    assert found[DATA][LOADS].outcome == "crashed"
    assert "(dataset.py:2)" in (found[DATA][LOADS].reason or "")
    (tmp_path / "src" / "dataset.py").unlink()
    (tmp_path / "src" / "attention.py").write_text(ATTENTION.replace("def apply_", "def turn_"), encoding="utf-8")
    found = by_layer(tmp_path)
    assert found[ROPE][LOADS].reason == "needs apply_rotary_emb, not found"
    missing = found[DATA]
    assert {verdict.outcome for verdict in missing.values()} == {"skipped"}
    assert (missing[LOADS].reason or "").startswith("not found")


def test_a_package_with_relative_imports_is_read(tmp_path):
    write_homework(tmp_path)
    source = tmp_path / "src"
    (source / "attention.py").rename(source / "models.py")
    head, tail = ATTENTION.split("class CausalSelfAttention")
    (source / "turning.py").write_text(head, encoding="utf-8")
    imports = "import math\nimport torch\nfrom torch import nn\nfrom .turning import *\n\n\n"
    layer = f"{imports}class CausalSelfAttention{tail}"
    (source / "models.py").write_text(layer, encoding="utf-8")
    found = by_layer(tmp_path)
    assert found[ROPE]["SPEC"].outcome == "holds"
    assert "src/models.py:7" in (found[ROPE][LOADS].reason or "")
    assert "src/turning.py" in (found[TABLE][LOADS].reason or "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import sys; sys.exit(0)", "sys.exit(0)) (attention.py:1)"),
        ("import os; os._exit(5)", "exit code 5"),
        ("import torch; hoard = torch.ones(2**36)", "memory"),
        ("hoard = bytearray(2**36)", "MemoryError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    ],
)
def test_a_hostile_import_ends_in_a_reason(worker, tmp_path, line, words):
    write_homework(tmp_path, attention=f"{line}\n{ATTENTION}")
    first, *_ = worker.run(task_for(tmp_path, TABLE))
    if isinstance(first, Ended):
        assert words in first.reason
    else:
        assert first["event"] == "failed"
        assert words.replace("))", ")") in first["reason"]


def test_an_import_that_hangs_is_waited_for_once_and_the_rest_goes_on(tmp_path):
    write_homework(tmp_path, attention=f"import time; time.sleep(600)\n{ATTENTION}")
    found = by_layer(tmp_path, time_limit=10.0)
    for layer in (TABLE, TURN, PLAIN, ROPE):
        assert found[layer][LOADS].outcome == "timed out"
        assert "10 seconds" in (found[layer][LOADS].reason or "")
    assert found[DATA]["CORRUPT-PAIR"].outcome == "holds"


def test_code_that_ends_the_process_or_hangs_in_a_law_costs_that_law_and_those_after_it(tmp_path):
    pause = "import time; time.sleep(600 * (len(self.data[idx]) == 200))"
    hangs = changed(DATASET, "limit = int(", f"{pause}\n        limit = int(")
    exits = changed(ATTENTION, "rows = rope_cache", "import os; os._exit(9)\n    rows = rope_cache")
    write_homework(tmp_path, attention=exits, dataset=hangs)
    found = by_layer(tmp_path, time_limit=10.0)
    assert [v.outcome for v in found[TURN].values()][:3] == ["holds", "crashed", "skipped"]
    assert found[PLAIN]["SPEC"].outcome == "holds"
    assert found[ROPE]["ATTEND-LENGTHS"].outcome == "crashed"
    assert found[DATA]["CORRUPT-PAIR"].outcome == "timed out"


def test_writing_to_descriptors_forges_nothing(tmp_path):
    told = b'{"event": "verdict", "verdict": {"id": "TABLE-ANGLES", "status": "holds", "outcome": "holds"}}\n'
    lying = f"import os\nfor n in range(3, 64):\n    try: os.write(n, {told!r})\n    except OSError: pass\n"
    write_homework(tmp_path, attention=lying + ATTENTION)
    found = by_layer(tmp_path)
    assert found[TABLE][LOADS].outcome == "crashed"
    assert {verdict.outcome for verdict in found[TABLE].values()} == {"crashed", "skipped"}
    assert found[DATA][LOADS].outcome == "holds"


def test_bytecode_and_patched_modules_change_no_verdict(tmp_path):
    """The piece is wrong, and its file does what it can to look right."""
    wrong = changed(ATTENTION, "rows = rope_cache", "rows = 2 * rope_cache")
    patches = (
        "import json, numpy\nnumpy.abs = numpy.max = lambda *_, **__: 0.0\n"
        "dumps = json.dumps\njson.dumps = lambda value: dumps(value).replace('refuted', 'holds')\n"
    )
    write_homework(tmp_path, attention=patches + wrong)
    cached = importlib.util.cache_from_source(str(tmp_path / "src" / "attention.py"))
    write_homework(tmp_path / "right")
    py_compile.compile(str(tmp_path / "right" / "src" / "attention.py"), cached)
    assert "refuted" in {verdict.outcome for verdict in by_layer(tmp_path)[TURN].values()}


def test_what_cannot_be_checked_is_refused(tmp_path):
    with pytest.raises(InputError, match="no layout cs999"):
        check_layout("cs999", str(tmp_path))
    with pytest.raises(InputError, match="has no folder src"):
        check_layout("cs224n-a4", str(tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        check_layout("cs224n-a4", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="Give a positive number"):
        check_layout("cs224n-a4", str(write_homework(tmp_path)), time_limit=0)


def test_a_task_survives_json(tmp_path):
    task = task_for(write_homework(tmp_path), TURN, seed=3)
    assert PieceTask.from_dict(json.loads(json.dumps(asdict(task)))) == task
