"""`regard check --layout`: the pieces of a published homework, each judged by its contract."""

import os
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.conformance.adapters.homework_files import HOMEWORKS, HomeworkPiece, StudentFolder, find_pieces
from regard.conformance.homework import contracts_for
from regard.conformance.homework.child import NOT_WRITTEN, PieceTask
from regard.conformance.judging import report_on
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import CheckReport, LawVerdict, Outcome
from regard.core.errors import InputError
from regard.core.processes import GIB, Child, Ended, Message
from regard.core.verdict import Place

LOADS = "LOADS"
_CHILD = "regard.conformance.homework.child:judge_pieces"
_SECONDS_TO_START = 120.0
_LOADS_STATEMENT = "the definition is found, its file can be imported, and it can be built"


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One report: a piece, the kind of contract on it, and what else has to be written before it can work."""

    name: str
    kind: str
    rope: bool = False
    relies_on: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name}, rope={self.rope}" if self.kind == "attend" else self.name


_ROTARY = ("precompute_rotary_emb", "apply_rotary_emb")
_PARTS = (
    _Part(name="precompute_rotary_emb", kind="table"),
    _Part(name="apply_rotary_emb", kind="rotation"),
    _Part(name="CausalSelfAttention", kind="attend"),
    _Part(name="CausalSelfAttention", kind="attend", rope=True, relies_on=_ROTARY),
    _Part(name="CharCorruptionDataset", kind="corruption"),
)


def check_layout(
    name: str, directory: str, *, seed: int = 0, time_limit: float = 60.0, memory_limit: float = 2.0
) -> tuple[CheckReport, ...]:
    """One report per piece of the homework in DIR/src, in the homework's order.

    Student code runs in a child process, with `time_limit` seconds per piece and `memory_limit` GiB. It reads no file
    but Python source, so nothing is ever unpickled.
    """
    if name not in HOMEWORKS:
        raise InputError(f"There is no layout {name}. The layouts are {', '.join(HOMEWORKS)}.")
    if not hasattr(os, "fork"):
        raise InputError("--layout needs a system that can fork. Use Linux, macOS, or WSL on Windows.")
    if not Path(directory).is_dir():
        raise InputError(f"{directory} is not a folder. Give the folder that holds the homework's src.")
    for limit, value in (("seconds", time_limit), ("GiB", memory_limit)):
        if not value > 0:
            raise InputError(f"The limit is {value:g} {limit}. Give a positive number.")
    folder = find_pieces(name, directory)
    command = f"regard check --layout {name} {shlex.quote(directory)}" + (f" --seed {seed}" if seed else "")
    with PieceWorker(folder.root, time_limit, memory_limit) as worker:
        check = _FolderCheck(folder=folder, worker=worker, seed=seed, shown=directory, command=command)
        for part in _PARTS:
            check.add(part)
    return tuple(check.reports.values())


class PieceWorker:
    """Judges one piece after the other in a child process, which is replaced whenever it has to be ended."""

    def __init__(self, root: str, seconds: float, memory: float) -> None:
        self._root, self._seconds, self._memory = Path(root), seconds, memory
        self._child: Child | None = None
        self._is_busy = False
        self._temporary = TemporaryDirectory(prefix="regard-", ignore_cleanup_errors=True)

    def __enter__(self) -> "PieceWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._temporary.cleanup()

    def run(self, task: PieceTask) -> Iterator[Message | Ended]:
        """The messages about a task; the last one is the event "done", or how the process ended."""
        if self._is_busy:
            # The caller abandoned the last task, whose messages would be taken for this one's.
            self._end()
        child = self._child or self._start()
        self._is_busy = True
        child.send(asdict(task))
        until = time.monotonic() + self._seconds
        while self._child is child:
            message = child.receive(max(until - time.monotonic(), 0.0))
            assert message is not None
            if isinstance(message, Ended):
                self._end()
                yield Ended.timed_out(self._seconds) if message.outcome == "timed out" else message
                return
            self._is_busy = message.get("event") != "done"
            yield message
            if message.get("event") == "done":
                return

    def _start(self) -> Child:
        memory = int(self._memory * GIB)
        child = self._child = Child(_CHILD, environment={"OMP_NUM_THREADS": "1"}, folder=self._root)
        child.limit_memory(memory)
        child.send({"memory": memory, "writable": [self._temporary.name, str(self._root)]})
        message = child.receive(_SECONDS_TO_START)
        if isinstance(message, Ended):
            self._end()
            raise InputError(f"The process for the student's code did not start: {message.reason}.")
        return child

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None
        self._is_busy = False


class _FolderCheck:
    """Checks one folder, part after part."""

    def __init__(self, *, folder: StudentFolder, worker: PieceWorker, seed: int, shown: str, command: str) -> None:
        self._folder, self._worker, self._seed = folder, worker, seed
        self._shown, self._command = shown, command
        self._failed_imports: dict[str, LawVerdict] = {}
        self._unwritten: set[str] = set()
        self.reports: dict[str, CheckReport] = {}

    def add(self, part: _Part) -> None:
        """Judges one part and keeps its report."""
        piece = self._folder.found.get(part.name)
        missing = self._obstacle(part, piece)
        spec: dict[str, Any] = {}
        if missing is not None:
            verdicts = [missing, *self._skipped(part, missing.reason or "")]
        else:
            assert piece is not None
            verdicts = list(self._tried(part, piece, spec))
        where = None
        if piece is not None:
            shown = Path(self._shown) / Path(piece.file).relative_to(self._folder.root)
            where = Place(file=str(shown), line=piece.line, column=piece.column)
        completed = tuple(replace(each, seed=self._seed, reproduce=self._command, where=where) for each in verdicts)
        self.reports[part.label] = _report(part, spec, completed)

    def _obstacle(self, part: _Part, piece: HomeworkPiece | None) -> LawVerdict | None:
        """Why the part cannot be run at all, as a verdict on LOADS."""
        if piece is None:
            return self._loads(part, "skipped", f"not found: no file under src defines {part.name}")
        if piece.error is not None:
            return self._loads(part, "crashed", f"{piece.error} ({Path(piece.file).name}:{piece.line})")
        if piece.is_stub:
            self._unwritten.add(part.name)
            return self._loads(part, "skipped", f"{NOT_WRITTEN} ({self._found(piece)})")
        absent = [name for name in part.relies_on if name not in self._folder.found]
        unwritten = [name for name in part.relies_on if name in self._unwritten]
        for lack, names in (("not found", absent), (NOT_WRITTEN, unwritten)):
            if names:
                return self._loads(part, "skipped", f"needs {' and '.join(names)}, {lack}")
        failed = self._failed_imports.get(piece.file)
        return None if failed is None else replace(failed, layer=part.label)

    def _tried(self, part: _Part, piece: HomeworkPiece, spec: dict[str, Any]) -> Iterator[LawVerdict]:
        """The child's verdicts; if it ends early, that is the verdict on the law that it was trying."""
        task = PieceTask(piece=piece, root=self._folder.root, seed=self._seed, rope=part.rope)
        done: set[str] = set()
        trying: tuple[str, str] | None = None
        for event in self._worker.run(task):
            if isinstance(event, Ended):
                if trying is None and not spec:
                    self._failed_imports[piece.file] = self._loads(part, event.outcome, event.reason)
                yield from self._lost(part, trying, event.outcome, event.reason, done)
                return
            match event.get("event"):
                case "loaded":
                    spec.update(event["spec"])
                    yield self._loads(part, "holds", f"found at {self._found(piece)}")
                case "trying":
                    trying = (str(event["law"]), str(event["statement"]))
                case "verdict":
                    verdict = replace(LawVerdict.from_fields(event["verdict"]), layer=part.label)
                    done.add(verdict.id)
                    if event.get("is_unwritten"):
                        self._unwritten.add(part.name)
                    yield verdict
                case "unwritten":
                    self._unwritten.add(part.name)
                    yield self._loads(part, "skipped", event["reason"])
                    yield from self._skipped(part, event["reason"])
                case "failed":
                    yield from self._lost(part, None, "crashed", event["reason"], done)

    def _lost(
        self, part: _Part, trying: tuple[str, str] | None, outcome: Outcome, reason: str, done: set[str]
    ) -> Iterator[LawVerdict]:
        """The outcome of what was being tried; what would have come after it is skipped."""
        law, statement = trying or (LOADS, _LOADS_STATEMENT)
        yield _bare(part, law, statement, outcome, reason if trying else f"it does not load: {reason}")
        later = f"not tried, since {law} {outcome}"
        yield from (each for each in self._skipped(part, later) if each.id not in done | {law})

    def _skipped(self, part: _Part, reason: str) -> Iterator[LawVerdict]:
        spec = Spec(positions="rotary" if part.rope else "none")
        for law in contracts_for(part.kind, spec).values():
            yield _bare(part, law.id, law.statement, "skipped", reason)

    def _loads(self, part: _Part, outcome: Outcome, reason: str) -> LawVerdict:
        return _bare(part, LOADS, _LOADS_STATEMENT, outcome, reason)

    def _found(self, piece: HomeworkPiece) -> str:
        also = f", also defined at {', '.join(piece.others)}" if piece.others else ""
        return f"{Path(piece.file).relative_to(self._folder.root)}:{piece.line}{also}"


def _bare(part: _Part, law: str, statement: str, outcome: Outcome, reason: str) -> LawVerdict:
    status = "holds" if outcome == "holds" else "undecided"
    return LawVerdict(
        id=law, statement=statement, status=status, outcome=outcome, method="black-box", reason=reason, layer=part.label
    )


def _report(part: _Part, spec: Mapping[str, Any], verdicts: tuple[LawVerdict, ...]) -> CheckReport:
    """The report; a piece other than the layer has the grade "spec" if it was compared with a formula."""
    if part.kind == "attend":
        return replace(report_on(Subject(), verdicts), layer=part.label, spec=spec)
    grade = "spec" if any(each.method == "spec" and each.has_run for each in verdicts) else "black-box"
    return CheckReport(layer=part.label, spec={}, grade=grade, blind_to=(), verdicts=verdicts)
