"""Layers that may hang, crash or use up memory: each runs in a child process.

A law that takes too long or ends the process gets that as its verdict; the laws after it are tried in a new process.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from regard.conformance import Law
from regard.conformance.judging import chosen_laws, expected, report_on
from regard.conformance.requests import CheckRequest, Stage, build_subject
from regard.conformance.subject import Finding, Spec, Subject
from regard.conformance.verdict import CheckReport, LawVerdict, error_line
from regard.core.errors import InputError, RegardError
from regard.core.processes import GIB, Channel, Child, Ended, limit_resources

_CHILD = "regard.conformance.isolation:check_layer"
_PRELOAD = "regard.conformance._preload"
# Address space that numerical libraries reserve while they are loaded, most of it never used.
_LIBRARIES = 16 * GIB
BUILD = "BUILD"
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
        left = left[run.attempt(left) :]
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
    findings: tuple[Finding, ...] = ()
    verdicts: list[LawVerdict] = field(default_factory=list)
    stage: Stage = "import"

    def __post_init__(self) -> None:
        self.subject.name = self.request.name or self.request.target
        self.subject.spec = self.request.adjusted(self.request.spec or self.subject.spec)

    def attempt(self, laws: Sequence[Law]) -> int:
        """Tries these laws in a new process until it ends, and returns how many of them are done."""
        before = len(self.verdicts)
        self.stage = "import"
        is_trying = False
        preload = (_PRELOAD,) if self.limits.is_preloaded else ()
        with Child(_CHILD, environment={"OMP_NUM_THREADS": "1"}, preload=preload) as child:
            request = replace(self.request, laws=tuple(law.id for law in laws))
            child.send({"request": request.to_dict(), "memory": int(self.limits.memory * GIB)})
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
                        self.findings = tuple(Finding(**each) for each in message["findings"])
                    case "trying":
                        is_trying = True
                    case "verdict":
                        self._add(LawVerdict.from_fields(message["verdict"]))
                    case "failed":
                        self.add_lost(laws[num_done] if is_trying else None, "crashed", message["reason"])
                        break
                    case "refused":
                        raise InputError(message["reason"])
        return len(self.verdicts) - before if is_trying else len(laws)

    def _add(self, verdict: LawVerdict) -> None:
        law = None if verdict.id == BUILD else verdict.id
        self.verdicts.append(replace(verdict, reproduce=verdict.reproduce or self.request.command(law)))
        self.progress()

    def add_lost(self, law: Law | None, outcome: Literal["crashed", "timed out"], reason: str) -> None:
        """Records that the process is gone as the verdict on the law being tried, or on building before any law."""
        verdict = LawVerdict(
            id=BUILD if law is None else law.id,
            statement="the layer can be imported and built" if law is None else law.statement,
            status="undecided",
            outcome=outcome,
            reason=f"{_MEANWHILE[self.stage]}: {reason}" if law is None else reason,
            layer=self.subject.name,
            seed=self.request.seed,
        )
        self._add(verdict)

    def report(self) -> CheckReport:
        """The report with its grade."""
        return replace(report_on(self.subject, tuple(self.verdicts)), findings=self.findings)


def check_layer(channel: Channel) -> None:
    """The child process: builds one layer, tries its laws, and sends each verdict."""
    message = next(iter(channel))
    try:
        _check(CheckRequest.from_dict(message["request"]), int(message["memory"]), channel)
    except RegardError as error:
        channel.send(event="refused", reason=str(error))
    except Exception as error:  # noqa: BLE001 - building a layer may raise anything
        channel.send(event="failed", reason=error_line(error))


def _check(request: CheckRequest, memory: int, channel: Channel) -> None:
    from regard.conformance.reproduction import try_law

    limit_resources(memory=memory + _LIBRARIES)
    subject, findings = build_subject(request, lambda stage: channel.send(event="stage", stage=stage))
    limit_resources(memory=memory)
    channel.send(
        event="built", name=subject.name, spec=asdict(subject.spec), findings=[asdict(each) for each in findings]
    )
    for law in chosen_laws(request.laws).values():
        channel.send(event="trying", law=law.id)
        verdict = expected(try_law(law, subject, request), request.expect)
        channel.send(event="verdict", verdict=asdict(verdict))
