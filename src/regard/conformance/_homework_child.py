"""The child process of `homework_check`: imports a student's code and judges its pieces, with limits.

Nothing is ever unpickled, and what the code prints is discarded.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from regard.conformance import all_laws
from regard.conformance.adapters.homework_files import HomeworkPiece
from regard.conformance.adapters.student_code import (
    StudentAttention,
    StudentCode,
    corpus_function,
    import_piece,
    load_torch,
    table_function,
    turn_function,
)
from regard.conformance.diagnosis import diagnose
from regard.conformance.homework import HomeworkFunction, all_contracts, contracts_for
from regard.conformance.judging import judge, missing
from regard.conformance.law import Law
from regard.conformance.subject import Subject
from regard.conformance.verdict import error_line
from regard.core.processes import Channel, limit_resources

NOT_WRITTEN = "not written yet"
_LARGEST_FILE = 2**26


@dataclass(frozen=True, kw_only=True)
class PieceTask:
    """One piece to judge; `rope` is for the attention layer."""

    piece: HomeworkPiece
    root: str
    seed: int
    rope: bool = False

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "PieceTask":
        """The task, from its fields as JSON gives them."""
        piece = {**row["piece"], "others": tuple(row["piece"]["others"])}
        return cls(**{**row, "piece": HomeworkPiece(**piece)})


def judge_pieces(channel: Channel) -> None:
    """Judges pieces until there are no more; the first message says how much memory they may take."""
    messages = iter(channel)
    # All of ours is loaded before any of theirs.
    load_torch()
    all_laws()
    all_contracts()
    limit_resources(memory=int(next(messages)["memory"]), file_size=_LARGEST_FILE)
    channel.send(event="ready")
    for message in messages:
        _judge(PieceTask.from_dict(message), channel)
        channel.send(event="done")


def _judge(task: PieceTask, channel: Channel) -> None:
    code = StudentCode(task.root)
    try:
        subject = _subject(task, code, code.call(import_piece, task.piece, task.root))
    except NotImplementedError as error:
        channel.send(event="unwritten", reason=f"{NOT_WRITTEN}: {error_line(error, is_placed=True)}")
        return
    except Exception as error:  # noqa: BLE001 - importing a student's file may raise anything
        channel.send(event="failed", reason=error_line(error, is_placed=True))
        return
    channel.send(event="loaded", spec=asdict(subject.spec))
    crashes: dict[str, str] = {}
    for law in _laws(subject).values():
        channel.send(event="trying", law=law.id, statement=law.statement)
        code.is_unwritten = False
        verdict = judge(law, subject, seed=task.seed, diagnose=diagnose)
        is_unwritten = code.is_unwritten and verdict.outcome == "crashed"
        if is_unwritten:
            verdict = replace(verdict, outcome="skipped", reason=f"{NOT_WRITTEN}: {verdict.reason}")
        if verdict.outcome == "crashed":
            first = crashes.setdefault(verdict.reason or "", law.id)
            if first != law.id:
                verdict = replace(verdict, outcome="skipped", reason=f"it crashes as in {first}")
        channel.send(event="verdict", verdict=asdict(verdict), is_unwritten=is_unwritten)


def _subject(task: PieceTask, code: StudentCode, thing: Any) -> Subject:
    match task.piece.name:
        case "precompute_rotary_emb":
            return HomeworkFunction("table", table_function(code, thing), name=task.piece.name)
        case "apply_rotary_emb":
            return HomeworkFunction("rotation", turn_function(code, thing), name=task.piece.name)
        case "CharCorruptionDataset":
            return HomeworkFunction("corruption", corpus_function(code, thing), name=task.piece.name)
    return StudentAttention(code, thing, rope=task.rope, seed=task.seed)


def _laws(subject: Subject) -> dict[str, Law]:
    """The contracts on the piece; for the attention layer, also every law of the catalog that applies to it."""
    if not subject.has("attend"):
        (kind,) = subject.capabilities
        return contracts_for(kind, subject.spec)
    laws = {name: law for name, law in all_laws().items() if missing(law, subject) is None}
    return contracts_for("attend", subject.spec) | laws
