"""Layers that may hang, crash or eat all memory: each in a process of its own, whose end is a verdict.

A law that does not come to an end in time, or that ends the process, has that for its verdict; the laws after it are
tried in a new process.
"""

import json
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from regard.conformance.launching import launch_cold, launch_warm
from regard.conformance.requests import CheckRequest, Stage
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import CheckReport, LawVerdict
from regard.core.errors import InputError

_GIB = 2**30
# How often a waiting parent looks whether it was told to stop.
_TICK = 0.2
BUILD = "BUILD"
# The first calls of a layer may take as long as so many laws, and never less than so many seconds.
_LAWS_FOR_FIRST_CALLS = 4
_LEAST_FOR_FIRST_CALLS = 10.0
_MEANWHILE: Mapping[Stage, str] = {
    "import": "while it was imported and built",
    "first calls": "while it was built and called for the first time",
    "probing": "while it was probed for what is not declared",
}

Progress = Callable[[int, int], None]
Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds for one law, seconds for importing and building the layer, and memory in GiB for its work.

    `is_warm` forks processes from one in which torch is loaded, which pays where there are many layers.
    """

    seconds: float = 30.0
    building: float = 120.0
    memory: float = 4.0
    is_warm: bool = False

    def __post_init__(self) -> None:
        for name in ("seconds", "building", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"A limit of {getattr(self, name):g} {name} leaves nothing. Give a positive number.")

    def before_laws(self, stage: Stage) -> float:
        """Seconds for a stage of building. Libraries take their time to load, so only the first calls are cut short.

        >>> Limits(seconds=3).before_laws("first calls"), Limits().before_laws("first calls")
        (12.0, 120.0)
        """
        if stage != "first calls":
            return self.building
        return min(self.building, max(_LEAST_FOR_FIRST_CALLS, float(_LAWS_FOR_FIRST_CALLS * self.seconds)))


def check_isolated(
    order: CheckRequest,
    laws: Sequence[tuple[str, str]],
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> CheckReport:
    """The report on the order's layer; `laws` are the ids and statements of the laws to try, in order."""
    case = _Case(order=order, limits=limits or Limits(), progress=progress, stop=stop or threading.Event())
    left = list(laws)
    while left and not case.stop.is_set():
        done = case.attempt(left)
        left = left[done:]
    return case.report(dict(laws))


@dataclass(kw_only=True)
class _Case:
    """One layer on trial over as many processes as it takes."""

    order: CheckRequest
    limits: Limits
    progress: Progress | None
    stop: threading.Event
    subject: Subject = field(default_factory=Subject)
    inferred: Mapping[str, Any] | None = None
    verdicts: list[LawVerdict] = field(default_factory=list)
    stage: Stage = "import"

    def __post_init__(self) -> None:
        self.subject.spec = self.order.adjusted(self.order.spec or self.subject.spec)

    def attempt(self, laws: Sequence[tuple[str, str]]) -> int:
        """Tries these laws in a new process until it ends; how many of them have a verdict now."""
        before = len(self.verdicts)
        with _Process(replace(self.order, laws=tuple(law for law, _ in laws)), self.limits) as process:
            trying = -1
            self.stage = "import"
            while not self.stop.is_set():
                seconds = self.limits.before_laws(self.stage) if trying < 0 else self.limits.seconds
                event = process.next_event(seconds, self.stop)
                match event["event"]:
                    case "stage":
                        self.stage = event["stage"]
                    case "built":
                        self._built(event)
                    case "trying":
                        trying += 1
                    case "verdict":
                        self._add(_verdict(event["verdict"]))
                    case "done" | "stopped":
                        break
                    case "refused":
                        raise InputError(event["reason"])
                    case "ended":
                        return self._ended(event, laws, trying, before)
        return len(self.verdicts) - before

    def _built(self, event: Event) -> None:
        self.subject.name, self.subject.spec = event["name"], Spec(**event["spec"])
        self.inferred = event["inferred"]

    def _add(self, verdict: LawVerdict) -> None:
        law = None if verdict.id == BUILD else verdict.id
        self.verdicts.append(replace(verdict, reproduce=verdict.reproduce or self.order.command(law)))
        if self.progress is not None:
            self.progress(len(self.verdicts), 0)

    def _ended(self, event: Event, laws: Sequence[tuple[str, str]], trying: int, before: int) -> int:
        """The process is gone: the law that it was at has its verdict; without any, building the layer has."""
        outcome, reason = event["outcome"], event["reason"]
        if trying < 0:
            told = f"{_MEANWHILE[self.stage]}: {reason}"
            self._add(self._lost(BUILD, "the layer can be imported and built", outcome, told))
            return len(laws)
        law, statement = laws[min(len(self.verdicts) - before, len(laws) - 1)]
        self._add(self._lost(law, statement, outcome, reason))
        return len(self.verdicts) - before

    def _lost(self, law: str, statement: str, outcome: Literal["crashed", "timed out"], reason: str) -> LawVerdict:
        name = self.subject.name if self.subject.name != Subject.name else self.order.name or self.order.target
        return LawVerdict(
            id=law, statement=statement, status="undecided", outcome=outcome, reason=reason, layer=name,
            seed=self.order.seed,
        )  # fmt: skip

    def report(self, laws: Mapping[str, str]) -> CheckReport:
        """The report with its grade."""
        del laws
        from regard.conformance.checking import report_on

        if self.subject.name == Subject.name:
            self.subject.name = self.order.name or self.order.target
        return replace(report_on(self.subject, tuple(self.verdicts)), inferred=self.inferred)


class _Process:
    """A child that works off one order; leaving the block ends it and whatever it has started."""

    def __init__(self, order: CheckRequest, limits: Limits) -> None:
        self._order, self._limits = order, limits
        self._events: queue.Queue[Event | None] = queue.Queue()

    def __enter__(self) -> "_Process":
        self._folder = tempfile.TemporaryDirectory(prefix="regard-")
        self._words = Path(self._folder.name) / "said"
        self._words.touch()
        request = {"order": self._order.to_dict(), "memory": int(self._limits.memory * _GIB)}
        launch = launch_warm if self._limits.is_warm else launch_cold
        self._child = launch(request, self._words)
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def _listen(self) -> None:
        with self._child.lines as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict) and "event" in event:
                    self._events.put(event)
        self._events.put(None)

    def next_event(self, seconds: float, stop: threading.Event) -> Event:
        """What the child tells next; "ended" with an outcome if it takes too long or is gone."""
        deadline = time.monotonic() + seconds
        while not stop.is_set():
            try:
                event = self._events.get(timeout=min(_TICK, seconds))
            except queue.Empty:
                if time.monotonic() >= deadline:
                    return _end("timed out", f"it took longer than the {seconds:g} seconds allowed")
                continue
            if event is None:
                return _end("crashed", self._last_words())
            return _end("crashed", event["reason"]) if event["event"] == "failed" else event
        return {"event": "stopped"}

    def _last_words(self) -> str:
        """How the child ended: a signal by its name or an exit code, and the last line that it wrote."""
        code = self._child.wait()
        if code < 0:
            known = {number.value: number.name for number in signal.Signals}
            how = f"the process was ended by {known.get(-code, f'signal {-code}')}"
        else:
            how = f"the process ended itself with exit code {code}"
        said = self._words.read_bytes()[-4000:].decode("utf-8", "replace").splitlines()
        lines = [line.strip() for line in said if line.strip()]
        return f"{how}; its last words: {lines[-1][:300]}" if lines else how

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()
        self._folder.cleanup()


def _end(outcome: str, reason: str) -> Event:
    return {"event": "ended", "outcome": outcome, "reason": reason}


def _verdict(row: Mapping[str, Any]) -> LawVerdict:
    assumes = row["assumes"]
    told = {"diagnosis": tuple(row["diagnosis"]), "assumes": None if assumes is None else tuple(assumes)}
    return LawVerdict(**{**row, **told})
