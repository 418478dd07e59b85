"""The child process of `check`: judges the pieces of a student's code, which has a process of its own.

Nothing is ever unpickled, and what the code prints is discarded.
"""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from regard.conformance import all_laws
from regard.conformance.adapters.homework_files import HomeworkPiece
from regard.conformance.adapters.student_code import (
    StudentAttention,
    StudentCode,
    attention_spec,
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
from regard.conformance.subject_process import RemoteSubject, SubjectProcess, SubjectServer
from regard.conformance.verdict import error_line
from regard.core.process_tree import confine, guard_descendants
from regard.core.processes import Channel, limit_resources

NOT_WRITTEN = "not written yet"
_LARGEST_FILE = 2**26
# The pieces that are one function: its kind, and how contracts call it. The other piece is the layer.
_FUNCTIONS: Mapping[str, tuple[str, Callable[[StudentCode, Any], Callable[..., Any]]]] = {
    "precompute_rotary_emb": ("table", table_function),
    "apply_rotary_emb": ("rotation", turn_function),
    "CharCorruptionDataset": ("corruption", corpus_function),
}


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
    """Judges pieces until there are no more; the first message says how much memory they may take, and where to write.

    The student's code is loaded and called in a process of its own, which only answers calls.
    """
    messages = iter(channel)
    # All of ours is loaded before any of theirs.
    all_laws()
    all_contracts()
    limits = next(messages)
    memory = int(limits["memory"])
    process = SubjectProcess(lambda server: _serve(server, memory, limits["writable"]), memory=memory)
    with guard_descendants(channel.descriptor):
        load = process.answer()
        channel.send(event="ready")
        for message in messages:
            _judge(PieceTask.from_dict(message), process, load, channel)
            channel.send(event="done")


def _serve(server: SubjectServer, memory: int, writable: list[str]) -> None:
    """The process of the student's code."""
    load_torch()
    os.environ["TMPDIR"] = tempfile.tempdir = writable[0]
    limit_resources(memory=memory, file_size=_LARGEST_FILE)
    confine(writable=[*writable, os.devnull])
    server.send(_load)
    server.answer_calls()


def _load(row: Mapping[str, Any]) -> Subject:
    task = PieceTask.from_dict(row)
    code = StudentCode(task.root)
    thing = code.call(import_piece, task.piece, task.root)
    if task.piece.name in _FUNCTIONS:
        kind, function = _FUNCTIONS[task.piece.name]
        return HomeworkFunction(kind, function(code, thing))
    return StudentAttention(code, thing, rope=task.rope, seed=task.seed)


def _judge(task: PieceTask, process: SubjectProcess, load: Callable[..., Any], channel: Channel) -> None:
    try:
        subject = _as_assigned(task, load(asdict(task)))
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
        process.is_unwritten = False
        verdict = judge(law, subject, seed=task.seed, diagnose=diagnose)
        is_unwritten = process.is_unwritten and verdict.outcome == "crashed"
        if is_unwritten:
            verdict = replace(verdict, outcome="skipped", reason=f"{NOT_WRITTEN}: {verdict.reason}")
        if verdict.outcome == "crashed":
            first = crashes.setdefault(verdict.reason or "", law.id)
            if first != law.id:
                verdict = replace(verdict, outcome="skipped", reason=f"it crashes as in {first}")
        channel.send(event="verdict", verdict=asdict(verdict), is_unwritten=is_unwritten)


def _as_assigned(task: PieceTask, subject: RemoteSubject) -> Subject:
    """The piece as the homework assigns it, whatever the student's process says that it is."""
    if task.piece.name in _FUNCTIONS:
        kind, _ = _FUNCTIONS[task.piece.name]
        return HomeworkFunction(kind, getattr(subject, "function"), name=task.piece.name)  # noqa: B009 - a hook
    subject.spec = attention_spec(rope=task.rope)
    subject.capabilities = subject.capabilities & {"weights", "kept table"} | {"attend"}
    return subject


def _laws(subject: Subject) -> dict[str, Law]:
    """The contracts on the piece; for the attention layer, also every law of the catalog that applies to it."""
    if not subject.has("attend"):
        (kind,) = subject.capabilities
        return contracts_for(kind, subject.spec)
    laws = {name: law for name, law in all_laws().items() if missing(law, subject) is None}
    return contracts_for("attend", subject.spec) | laws
