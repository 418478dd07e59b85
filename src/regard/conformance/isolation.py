"""Layers that may hang, crash, use up memory or want to deceive: each runs in a process that only answers calls.

A child process of ours judges the laws, and has a child of its own in which the layer lives (`subject_process`). A law
that takes too long or ends the process gets that as its verdict; the laws after it are tried in new processes.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from regard.conformance import Law
from regard.conformance.against import adapted_with_reference, paired
from regard.conformance.judging import chosen_laws, expected, laws_about, report_on
from regard.conformance.requests import CheckRequest, Stage
from regard.conformance.subject import SIZES, LayerFinding, Spec, Subject
from regard.conformance.subject_process import LayerRefused, SubjectProcess, SubjectServer
from regard.conformance.verdict import CheckReport, LawVerdict, Outcome, error_line
from regard.core.errors import InputError
from regard.core.process_tree import guard_descendants, memory_in_use
from regard.core.processes import GIB, Channel, Child, Ended, limit_resources

_CHILD = "regard.conformance.isolation:check_layer"
_PRELOAD = "regard.conformance._preload"
# Data that numerical libraries reserve while they are loaded and hardly use, such as the stacks of their threads.
_LIBRARIES = GIB
# The part of its memory that a layer may reserve; the rest is for the process that judges it.
_PART_FOR_LAYER = 0.9
BUILD = "BUILD"
# A layer that ends its process so often in a row is not called any more.
_MOST_LOST_IN_A_ROW = 5
# The first calls of a layer may take as long as this many laws, and at least this many seconds.
_LAWS_FOR_FIRST_CALLS = 4
_LEAST_FOR_FIRST_CALLS = 10.0
_MEANWHILE: Mapping[Stage, str] = {
    "import": "while it was imported and built",
    "first calls": "while it was built and called for the first time",
    "probing": "while it was probed for what is not declared",
}

Progress = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class CheckLimits:
    """Seconds for one law, seconds for importing and building the layer, and memory in GiB for its work.

    `is_preloaded` forks processes from one in which torch is loaded, which pays where there are many layers.
    """

    seconds: float = 30.0
    building: float = 120.0
    memory: float = 4.0
    is_preloaded: bool = False

    def __post_init__(self) -> None:
        for name in ("seconds", "building", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"The limit of {name} is {getattr(self, name):g}. Give a positive number.")

    def before_laws(self, stage: Stage) -> float:
        """Seconds for a stage of building. Libraries take their time to load, so only the first calls are cut short.

        >>> CheckLimits(seconds=3).before_laws("first calls"), CheckLimits().before_laws("first calls")
        (12.0, 120.0)
        """
        if stage != "first calls":
            return self.building
        return min(self.building, max(_LEAST_FOR_FIRST_CALLS, float(_LAWS_FOR_FIRST_CALLS * self.seconds)))


def check_isolated(
    request: CheckRequest,
    *,
    limits: CheckLimits | None = None,
    progress: Progress = lambda: None,
    stop: threading.Event | None = None,
) -> CheckReport:
    """The report on the requested layer; `progress` is called after each law."""
    run = _Run(request=request, limits=limits or CheckLimits(), progress=progress, stop=stop or threading.Event())
    left = list(chosen_laws(request.laws).values())
    while left and not run.stop.is_set():
        left = run.attempt(left)
        if run.num_lost_in_a_row == _MOST_LOST_IN_A_ROW:
            run.skip(left)
            break
    return run.report()


def report_failed_build(request: CheckRequest, reason: str) -> CheckReport:
    """The report on a layer that cannot be imported or built."""
    run = _Run(request=request)
    run.add_lost(None, "crashed", reason)
    return run.report()


@dataclass(kw_only=True)
class _Run:
    """One layer, checked in as many processes as it takes."""

    request: CheckRequest
    limits: CheckLimits = CheckLimits()
    progress: Progress = lambda: None
    stop: threading.Event = field(default_factory=threading.Event)
    subject: Subject = field(default_factory=Subject)
    findings: tuple[LayerFinding, ...] = ()
    verdicts: list[LawVerdict] = field(default_factory=list)
    stage: Stage = "import"
    num_lost_in_a_row: int = 0

    def __post_init__(self) -> None:
        self.subject.name = self.request.name or self.request.target
        self.subject.spec = self.request.adjusted(self.request.spec or self.subject.spec)

    def attempt(self, laws: Sequence[Law]) -> Sequence[Law]:
        """Tries these laws in a new process until it ends, and returns those that are left."""
        before = len(self.verdicts)
        self.stage = "import"
        is_trying = False
        preload = (_PRELOAD,) if self.limits.is_preloaded else ()
        memory = int(self.limits.memory * GIB)
        with Child(_CHILD, environment={"OMP_NUM_THREADS": "1"}, preload=preload) as child:
            child.limit_memory(memory)
            request = replace(self.request, laws=tuple(law.id for law in laws))
            child.send({"request": request.to_dict(), "memory": memory})
            while (num_done := len(self.verdicts) - before) < len(laws):
                seconds = self.limits.seconds if is_trying else self.limits.before_laws(self.stage)
                message = child.receive(seconds, self.stop)
                if message is None:
                    break
                if isinstance(message, Ended):
                    self.add_lost(laws[num_done] if is_trying else None, message.outcome, message.reason)
                    break
                match message.get("event"):
                    case "stage":
                        self.stage = message["stage"]
                    case "built":
                        self.subject.name, self.subject.spec = message["name"], Spec(**message["spec"])
                        self.subject.capabilities = frozenset(message["capabilities"])
                        self.subject.is_layer = message["is_layer"]
                        self.findings = tuple(LayerFinding(**each) for each in message["findings"])
                        laws = laws_about(self.subject, laws)
                    case "trying":
                        is_trying = True
                    case "verdict":
                        self.num_lost_in_a_row = 0
                        self._add(LawVerdict.from_fields(message["verdict"]))
                    case "failed":
                        self.add_lost(laws[num_done] if is_trying else None, "crashed", message["reason"])
                        break
                    case "refused":
                        raise InputError(message["reason"])
        return laws[len(self.verdicts) - before :] if is_trying else ()

    def _add(self, verdict: LawVerdict) -> None:
        law = None if verdict.id == BUILD else verdict.id
        self.verdicts.append(replace(verdict, reproduce=verdict.reproduce or self.request.command(law)))
        self.progress()

    def add_lost(self, law: Law | None, outcome: Literal["crashed", "timed out"], reason: str) -> None:
        """Records that the process is gone as the verdict on the law being tried, or on building before any law."""
        self.num_lost_in_a_row += 1
        if law is None:
            built = "the layer can be imported and built"
            self._add(self._undecided(BUILD, built, outcome, f"{_MEANWHILE[self.stage]}: {reason}"))
        else:
            self._add(self._undecided(law.id, law.statement, outcome, reason))

    def skip(self, laws: Sequence[Law]) -> None:
        """Records that these laws are not tried on a layer that has lost too many processes."""
        for law in laws:
            reason = f"not tried: the {self.num_lost_in_a_row} laws before it each lost the layer's process"
            self._add(self._undecided(law.id, law.statement, "skipped", reason))

    def _undecided(self, law: str, statement: str, outcome: Outcome, reason: str) -> LawVerdict:
        return LawVerdict(
            id=law,
            statement=statement,
            status="undecided",
            outcome=outcome,
            reason=reason,
            layer=self.subject.name,
            seed=self.request.seed,
        )

    def report(self) -> CheckReport:
        """The report with its grade."""
        return replace(report_on(self.subject, tuple(self.verdicts)), findings=self.findings)


def check_layer(channel: Channel) -> None:
    """The child process: has one layer built in a process of its own, tries its laws, and sends each verdict."""
    message = next(iter(channel))
    request, memory = CheckRequest.from_dict(message["request"]), int(message["memory"])
    stages: list[Stage] = ["import"]

    def on_stage(stage: Stage) -> None:
        # What a layer's process says about itself buys it time only once.
        if stage not in stages:
            stages.append(stage)
            channel.send(event="stage", stage=stage)

    try:
        _check(request, memory, channel, on_stage)
    except LayerRefused as error:
        # A layer that cannot be found is bad input; one that cannot be called is a bad layer.
        channel.send(event="refused" if stages == ["import"] else "failed", reason=str(error))
    except InputError as error:
        channel.send(event="refused", reason=str(error))
    except Exception as error:  # noqa: BLE001 - building a layer may raise anything
        channel.send(event="failed", reason=error_line(error))


def _check(request: CheckRequest, memory: int, channel: Channel, on_stage: Callable[[Stage], None]) -> None:
    # All of ours is loaded before anything of the layer's.
    from regard.conformance import diagnosis, inference
    from regard.conformance.reproduction import try_law

    del diagnosis, inference
    limit_resources(memory=memory + _LIBRARIES, file_size=memory)
    with _built(request, memory, channel, on_stage) as built:
        subject, findings = paired(request, built, on_stage)
        found = [asdict(each) for each in findings]
        about = {"spec": asdict(subject.spec), "capabilities": sorted(subject.capabilities), "findings": found}
        channel.send(event="built", name=subject.name, is_layer=subject.is_layer, **about)
        for law in laws_about(subject, chosen_laws(request.laws).values()):
            channel.send(event="trying", law=law.id)
            verdict = expected(try_law(law, subject, request), request.expect)
            channel.send(event="verdict", verdict=asdict(verdict))


@contextmanager
def _built(
    request: CheckRequest, memory: int, channel: Channel, on_stage: Callable[[Stage], None]
) -> Iterator[Sequence[Subject]]:
    """The layer, and its reference if there is one, in a process of their own if the system can fork."""
    if not hasattr(os, "fork"):
        yield adapted_with_reference(request, on_stage)
        return
    process = SubjectProcess(lambda server: _serve(server, request, memory), memory=memory)
    with guard_descendants(channel.descriptor):
        while (built := process.answer()) == "first calls":
            on_stage("first calls")
        yield [_as_requested(one, wanted) for one, wanted in zip(built, request.each, strict=True)]


def _as_requested(subject: Subject, request: CheckRequest) -> Subject:
    """The subject with the name and the spec that were given, whatever its process says.

    Sizes that were not declared are those that were found, and so is the width, without which it cannot be called.
    """
    if not isinstance(subject, Subject):
        raise TypeError("the layer's process did not answer with a layer")
    if request.label is not None:
        subject.name = request.label
    if request.spec is not None:
        declared = request.spec.declared_values()
        names = ({*request.spec.non_defaults(), *SIZES} & set(declared)) - {"width"}
        subject.spec = replace(subject.spec, **{name: declared[name] for name in names})
    return subject


def _serve(server: SubjectServer, request: CheckRequest, memory: int) -> None:
    """The layer's process: builds it, and answers calls."""

    def on_stage(stage: Stage) -> None:
        limit_resources(memory=max(int(_PART_FOR_LAYER * memory) - memory_in_use(), 0))
        server.send(stage)

    sys.path.insert(0, str(Path.cwd()))
    server.attempt(lambda: adapted_with_reference(request, on_stage))
    server.answer_calls()
