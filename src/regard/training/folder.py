"""A run's folder: its plan, its tokenizer, its lessons as tokens, its metrics, its weights."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from regard.core.axes import Int
from regard.core.errors import InputError
from regard.core.files import write_atomically
from regard.training.checkpoint import read_tensors
from regard.training.data.encoding import AnswerForms, Asking, Lesson, Wording
from regard.training.data.reading import Question, read_questions
from regard.training.data.tokenizing import Vocabulary, load_vocabulary
from regard.training.holding import hold
from regard.training.model import Decoder
from regard.training.plan import Plan, plan_from_text
from regard.training.preparing import Prepared

FINAL, MEASURED = "plan.json", "measured.json"


@dataclass(frozen=True)
class RunFolder:
    """Where everything about one run lies. Files are written whole or not at all; only metrics grow line by line.

    A run may have several members, models that are trained side by side and asked together. They share the plan and the
    data. The first one's weights, checkpoints and metrics lie in the folder itself, those of others in folders in it.
    """

    path: Path
    member: int = 0

    @property
    def own(self) -> Path:
        """Where the files lie that this member has to itself."""
        return self.path / f"member-{self.member + 1}" if self.member else self.path

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints are."""
        return self.own / "checkpoints"

    @property
    def weights(self) -> Path:
        """The weights after the last step."""
        return self.own / "model.safetensors"

    @property
    def metrics(self) -> Path:
        """One line of JSON for each thing that was measured."""
        return self.own / "metrics.jsonl"

    def members(self) -> tuple["RunFolder", ...]:
        """All members of the run, as its plan says."""
        return tuple(RunFolder(self.path, number) for number in range(self.plan().members))

    @property
    def is_finished(self) -> bool:
        """Whether the last step was made."""
        return self.weights.exists()

    def is_done(self, warn: Callable[[str], None]) -> bool:
        """Whether the last step was made and its weights can be used; `warn` hears why they can't."""
        if not self.is_finished:
            return False
        try:
            self.model()
        except InputError as error:
            warn(str(error))
            return False
        return True

    def hold(self) -> AbstractContextManager[None]:
        """Keeps other trainings out of the folder."""
        return hold(self.path)

    def create(self) -> None:
        """Makes an empty folder; one that holds a run already is refused."""
        if (self.path / FINAL).exists():
            raise InputError(
                f"{self.path} holds a run already. Go on with it (regard train resume {self.path}) or name another."
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot make {self.path}: {error.strerror or error}. Name another folder.") from None

    def write_plan(self, plan: Plan, name: str = FINAL) -> None:
        """The plan, which makes the folder a run if it is the final one."""
        self._write(name, plan.as_text())

    def plan(self, name: str = FINAL) -> Plan:
        """The plan of the run, or one that is only measured, as this member follows it."""
        path = self.path / name
        if not path.exists():
            raise InputError(f"{self.path} holds no run: there is no plan.json in it. Name a folder that train made.")
        return plan_from_text(_text(path), str(path)).of_member(self.member)

    def write_data(self, prepared: Prepared) -> None:
        """The tokenizer, the lessons, the questions that were kept back, and the commonest answer."""
        material, encoded = prepared.material, prepared.encoded
        self._write("tokenizer.json", prepared.vocabulary.text())
        self._write("lessons.safetensors", save(_arrays(encoded.lessons)))
        self._write("held_out.tsv", "".join(f"{q.text}\t{q.answer}\n" for q in material.held_out))
        facts = {
            "openings": list(encoded.openings),
            "endings": list(encoded.endings),
            "answer_forms": asdict(encoded.forms),
            "commonest_answer": material.commonest_answer,
        }
        self._write("data.json", json.dumps(facts, ensure_ascii=False))

    def vocabulary(self, plan: Plan | None = None) -> Vocabulary:
        """The tokenizer, for the run's plan or another one."""
        path = self.path / "tokenizer.json"
        vocabulary, wanted = load_vocabulary(path), (plan or self.plan()).vocab_size
        if len(vocabulary) != wanted:
            raise InputError(f"{path} has {len(vocabulary)} tokens, and the plan says {wanted}. Train again.")
        return vocabulary

    def wording(self) -> Wording:
        """How questions are put to the run's model."""
        facts = self.facts()
        forms = AnswerForms(**{name: tuple(some) for name, some in facts["answer_forms"].items()})
        return Wording(vocabulary=self.vocabulary(), endings=tuple(facts["endings"]), forms=forms)

    def read_as(self, plan: Plan) -> Int[np.ndarray, " token"] | None:
        """Which token's embedding each token has, if the plan reads some alike."""
        return self.vocabulary(plan).read_as() if plan.recipe.tokens.reads_alike else None

    def lessons(self) -> tuple[Lesson, ...]:
        """What the run learns from."""
        path = self.path / "lessons.safetensors"
        try:
            return tuple(_lessons(load_file(path)))
        except (OSError, ValueError, KeyError, IndexError, SafetensorError) as error:
            raise InputError(f"{path} can't be read: {error}. Train again.") from None

    def facts(self) -> dict[str, Any]:
        """What is worth knowing about the data: how questions begin and end, answers' forms, and the commonest one."""
        path = self.path / "data.json"
        try:
            facts = json.loads(_text(path))
        except json.JSONDecodeError:
            facts = None
        match facts:
            case {
                "openings": [str(), *_],
                "endings": [*endings],
                "answer_forms": {"first": [*first], "later": [*later], **others},
                "commonest_answer": str(),
            } if not others and all(isinstance(text, str) for text in (*endings, *first, *later)):
                return facts
        raise InputError(f"{path} is damaged. Train again, or restore it from a copy.")

    def held_out(self) -> tuple[Question, ...]:
        """The questions that were kept back."""
        path = self.path / "held_out.tsv"
        return read_questions(path) if path.exists() and path.stat().st_size else ()

    def model(self) -> Decoder:
        """The trained model."""
        if not self.is_finished:
            raise InputError(f"{self.path} is not finished. Go on with it: regard train resume {self.path}")
        plan = self.plan()
        model = Decoder(plan.model_config, self.read_as(plan))
        remedy = f"Make it again from a checkpoint: regard train resume {self.path}"
        tensors = read_tensors(self.weights, remedy=remedy)
        wanted, given = (
            {name: tuple(t.shape) for name, t in some} for some in (model.named_parameters(), tensors.items())
        )
        if differing := sorted(name for name, _ in wanted.items() ^ given.items()):
            raise InputError(f"{self.weights} does not fit its plan ({differing[0]} differs). {remedy}")
        model.load_state_dict(tensors, strict=False)
        return model.eval()

    def add_metric(self, kind: str, **numbers: Any) -> None:
        """One more line in the metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **numbers}) + "\n")

    def read_metrics(self) -> Iterator[dict[str, Any]]:
        """Every line that is whole."""
        if not self.metrics.exists():
            return
        for line in self.metrics.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                found = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(found, dict) and "kind" in found:
                yield found

    def forget_metrics_after(self, step: int) -> None:
        """Leaves out what was measured after a step that will be made again."""
        kept = [line for line in self.read_metrics() if line.get("step", 0) <= step]
        self.own.mkdir(exist_ok=True)
        write_atomically(self.metrics, "".join(json.dumps(line) + "\n" for line in kept), is_durable=True)

    def _write(self, name: str, content: str | bytes) -> None:
        write_atomically(self.path / name, content, is_durable=True)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}. Train again.") from None


_RAGGED = ("body", "plain")
_MARKS = ("starts", "salient")


def _arrays(lessons: Sequence[Lesson]) -> dict[str, np.ndarray]:
    """Lessons as a few long arrays with the lengths of their pieces."""
    pieces: dict[str, list[np.ndarray]] = {name: [getattr(lesson, name) for lesson in lessons] for name in _RAGGED}
    pieces["heads"] = [head for lesson in lessons for head in lesson.heads]
    askings = [asking for lesson in lessons for asking in lesson.askings]
    pieces["rest"], pieces["answer"] = [a.rest for a in askings], [a.answer for a in askings]
    arrays = {
        **{name: _joined([getattr(lesson, name) for lesson in lessons]).astype(np.uint8) for name in _MARKS},
        "num_askings": np.array([len(lesson.askings) for lesson in lessons]),
        "opening": np.array([asking.opening for asking in askings], dtype=np.int64),
    }
    for name, some in pieces.items():
        arrays[name] = _joined(some).astype(np.int32)
        arrays[f"{name}_lengths"] = np.array([len(piece) for piece in some], dtype=np.int64)
    return arrays


def _lessons(arrays: dict[str, np.ndarray]) -> Iterator[Lesson]:
    """The inverse of `_arrays`."""
    bodies, plains = _split(arrays, "body"), _split(arrays, "plain")
    heads, rests, answers = _split(arrays, "heads"), _split(arrays, "rest"), _split(arrays, "answer")
    edges = np.cumsum(arrays["body_lengths"])[:-1]
    if any(arrays[name].shape != arrays["body"].shape for name in _MARKS):
        raise ValueError("its marks do not fit its texts")
    starts, salient = (np.split(arrays[name].astype(bool), edges) for name in _MARKS)
    num_heads = len(heads) // max(len(bodies), 1)
    ends = np.cumsum(arrays["num_askings"])
    for number, (body, plain) in enumerate(zip(bodies, plains, strict=True)):
        mine = range(int(ends[number] - arrays["num_askings"][number]), int(ends[number]))
        yield Lesson(
            heads=tuple(heads[number * num_heads : (number + 1) * num_heads]),
            body=body,
            starts=starts[number],
            salient=salient[number],
            plain=plain,
            askings=tuple(Asking(opening=int(arrays["opening"][k]), rest=rests[k], answer=answers[k]) for k in mine),
        )


def _joined(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(pieces) if len(pieces) else np.zeros(0, dtype=np.int64)


def _split(arrays: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    lengths = arrays[f"{name}_lengths"]
    return np.split(arrays[name].astype(np.int64), np.cumsum(lengths)[:-1]) if len(lengths) else []
