"""The far side of a layout's check: a student's code in a process with limits, telling in JSON how it fares.

What the code prints is thrown away, so that it cannot disturb the telling, and nothing is ever unpickled. Each line
read is a task; each line told is an object with an `event`.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from regard.conformance import all_laws
from regard.conformance.adapters.layouts.attention import StudentAttention
from regard.conformance.adapters.layouts.corruption import corpus_function
from regard.conformance.adapters.layouts.finding import Piece
from regard.conformance.adapters.layouts.importing import StudentCode, import_piece, load_torch
from regard.conformance.adapters.layouts.rotary import table_function, turn_function
from regard.conformance.contracts import all_contracts, contracts_for
from regard.conformance.diagnosis import diagnose
from regard.conformance.homework import Corpus, Corruption, RotaryTable, RotaryTurn
from regard.conformance.judging import judge, missing
from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.subject import Subject
from regard.conformance.verdict import LawVerdict

NOT_WRITTEN = "not written yet"
_LARGEST_FILE = 2**26

Tell = Callable[..., None]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One piece to judge; `rope` is for the attention layer."""

    piece: Piece
    root: str
    seed: int
    rope: bool = False

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Task":
        """The task as it was told in JSON."""
        piece = {**row["piece"], "others": tuple(row["piece"]["others"])}
        return cls(**{**row, "piece": Piece(**piece)})


def main() -> None:
    """Works off tasks until there are no more."""
    tasks, told = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)

    def tell(event: str, **more: Any) -> None:
        told.write(json.dumps({"event": event, **more}) + "\n")
        told.flush()

    _prepare(int(json.loads(tasks.readline())["memory"]))
    tell("ready")
    for line in tasks:
        _judge(Task.from_dict(json.loads(line)), tell)
        tell("done")


def _prepare(memory: int) -> None:
    """All of ours is loaded before any of theirs, and their room is limited."""
    load_torch()
    all_laws()
    all_contracts()
    try:
        import resource

        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    for limit, wanted in (
        (resource.RLIMIT_AS, now + memory),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _judge(task: Task, tell: Tell) -> None:
    code = StudentCode(task.root)
    try:
        subject = _subject(task, code, code.call(import_piece, task.piece, task.root))
    except NotImplementedError as error:
        tell("unwritten", reason=f"{NOT_WRITTEN}: {_words(error)}")
        return
    except Exception as error:  # noqa: BLE001 - importing a student's file may raise anything
        tell("failed", reason=_words(error))
        return
    tell("loaded", spec=asdict(subject.spec), weights=subject.has("weights"))
    crashes: dict[str, str] = {}
    for law in _laws(task, subject).values():
        tell("trying", law=law.id, statement=law.statement)
        verdict = _plain(judge(law, subject, seed=task.seed, diagnose=_diagnose))
        if verdict.outcome == "crashed":
            first = crashes.setdefault(verdict.reason or "", law.id)
            if first != law.id:
                verdict = replace(verdict, outcome="skipped", reason=f"it crashes as in {first}")
        tell("verdict", verdict=verdict.to_dict())


def _subject(task: Task, code: StudentCode, thing: Any) -> Subject:
    match task.piece.name:
        case "precompute_rotary_emb":
            return RotaryTable(table_function(code, thing))
        case "apply_rotary_emb":
            return RotaryTurn(turn_function(code, thing))
        case "CausalSelfAttention":
            return StudentAttention(code, thing, rope=task.rope, seed=task.seed)
    open_one = corpus_function(code, thing)

    def corpus(data: str, block_size: int, seed: int) -> Corpus:
        made = open_one(data, block_size, seed)
        return Corpus(**{field.name: getattr(made, field.name) for field in fields(Corpus)})

    return Corruption(corpus)


def _laws(task: Task, subject: Subject) -> dict[str, Law]:
    """The contracts on the piece; on the attention layer also every law of the catalogue that it can be tried by."""
    if task.piece.name == "CausalSelfAttention":
        contracts = {name: law for name, law in contracts_for("attend").items() if task.rope or name != "ATTEND-TABLE"}
        return contracts | {name: law for name, law in all_laws().items() if missing(law, subject) is None}
    return {
        name: law
        for kind in ("table", "turn", "corruption")
        if subject.has(kind)
        for name, law in contracts_for(kind).items()
    }


def _diagnose(law: Law, trial: LawTrial, finding: Comparison) -> tuple[str, ...]:
    """What the finding itself was recognised as, before the usual suspects."""
    if law.id not in all_contracts():
        return diagnose(law, trial, finding)
    return (*finding.signature.get("looks", ()), *law.suspects)


def _plain(verdict: LawVerdict) -> LawVerdict:
    """The verdict in the words of a homework: no sizes where there are none, and stubs called by their name."""
    reason = verdict.reason or ""
    if verdict.outcome == "crashed" and reason.startswith("NotImplementedError"):
        return replace(verdict, outcome="skipped", reason=f"{NOT_WRITTEN}: {reason}")
    told = verdict.counterexample
    if told is not None and told.startswith("batch 1, length 1") and verdict.id in all_contracts():
        told = told.removeprefix("batch 1, length 1").lstrip(",: ").removesuffix(" by 1, allowed 0")
        return replace(verdict, counterexample=told)
    return verdict


def _words(error: BaseException) -> str:
    """The error's first line and the student's line that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = f" ({Path(error.filename).name}:{error.lineno})"
    else:
        where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0] if first else 'no message'}{where}"


if __name__ == "__main__":
    sys.exit("It is started by regard.conformance.layouts.")
