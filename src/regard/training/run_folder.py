"""A run's folder: its plan, tokenizer, lessons, metrics, checkpoints and weights."""

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from regard.core.axes import Int
from regard.core.errors import InputError
from regard.core.files import read_regular_file, write_atomically
from regard.training.checkpoint import content_digest, read_tensors
from regard.training.data.corpus import FactQuestion, TrainingData, read_questions
from regard.training.data.lessons import AnswerForms, Lesson, LessonSet, PromptFormat, QuestionTokens
from regard.training.data.vocabulary import Vocabulary, load_vocabulary
from regard.training.model import Decoder
from regard.training.recipe import RunPlan, plan_from_json

FINAL, MEASURED = "plan.json", "measured.json"
# How many answers to held-out questions the metrics keep of each evaluation.
NUM_SAMPLES = 8
_TOKENIZER, _LESSONS, _HELD_OUT, _FACTS = "tokenizer.json", "lessons.safetensors", "held_out.tsv", "data.json"


@dataclass(frozen=True)
class RunFolder:
    """All files of one run. They are written atomically; only the metrics grow line by line.

    A run may have several members: models that are trained side by side and answer together. They share the plan and
    the data. Weights, checkpoints and metrics of the first are in the folder itself, those of others in subfolders.
    """

    path: Path
    member: int = 0

    @property
    def own(self) -> Path:
        """The folder of the files that belong to this member alone."""
        return self.path / f"member-{self.member + 1}" if self.member else self.path

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.own / "checkpoints"

    @property
    def weights(self) -> Path:
        """The weights after the last step."""
        return self.own / "model.safetensors"

    @property
    def metrics(self) -> Path:
        """One line of JSON per measurement."""
        return self.own / "metrics.jsonl"

    def members(self) -> tuple["RunFolder", ...]:
        """All members of the run's plan."""
        return tuple(RunFolder(self.path, number) for number in range(self.plan().members))

    @property
    def is_finished(self) -> bool:
        """Whether there are final weights."""
        return self.weights.exists()

    def has_usable_weights(self, warn: Callable[[str], None]) -> bool:
        """Whether there are final weights that can be loaded; if not, `warn` receives the reason."""
        if not self.is_finished:
            return False
        try:
            self.model()
        except InputError as error:
            warn(str(error))
            return False
        return True

    def lock(self) -> AbstractContextManager[None]:
        """Keeps other trainings out of the folder."""
        return lock_folder(self.path)

    def create(self, data: TrainingData, lesson_set: LessonSet) -> None:
        """Makes the folder with the tokenizer, lessons, held-out questions and facts about the data.

        A folder that contains a run is refused.
        """
        if (self.path / FINAL).exists():
            raise InputError(
                f"{self.path} contains a run already. Resume it (regard train resume {self.path}) or name another."
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Can't create {self.path}: {error.strerror or error}. Name another folder.") from None
        self._require_own_files()
        prompt_format = lesson_set.prompt_format
        contents = {
            _TOKENIZER: lesson_set.vocabulary.to_json().encode(),
            _LESSONS: save(_to_arrays(lesson_set.lessons)),
            _HELD_OUT: "".join(f"{q.text}\t{q.answer}\n" for q in data.held_out).encode(),
        }
        facts = {
            "openings": list(lesson_set.openings),
            "endings": list(prompt_format.endings),
            "answer_forms": asdict(prompt_format.forms),
            "commonest_answer": data.most_common_answer,
        }
        digests = {name: content_digest(content) for name, content in contents.items()}
        for name, content in contents.items():
            self._write(name, content)
        self._write(_FACTS, json.dumps({**facts, "digests": {**digests, _FACTS: facts_digest(facts)}}))

    def write_plan(self, plan: RunPlan, name: str = FINAL) -> None:
        """Writes the plan; the final one makes the folder a run."""
        self._write(name, plan.to_json())

    def plan(self, name: str = FINAL) -> RunPlan:
        """This member's plan: the final one, or the one that is only measured."""
        path = self.path / name
        if not path.exists():
            raise InputError(f"{self.path} is not a run: it has no plan.json. Name a folder made by regard train.")
        self._require_own_files()
        return plan_from_json(_read_text(path), str(path)).for_member(self.member)

    def vocabulary(self, plan: RunPlan | None = None) -> Vocabulary:
        """The tokenizer, checked against the run's plan or another one."""
        path = self.path / _TOKENIZER
        vocabulary, wanted = load_vocabulary(self._intact(_TOKENIZER), path), (plan or self.plan()).vocab_size
        if len(vocabulary) != wanted:
            raise InputError(f"{path} has {len(vocabulary)} tokens, but the plan says {wanted}. Train again.")
        return vocabulary

    def prompt_format(self) -> PromptFormat:
        """How the run's model is asked questions."""
        facts = self.facts()
        forms = AnswerForms(**{name: tuple(some) for name, some in facts["answer_forms"].items()})
        return PromptFormat(vocabulary=self.vocabulary(), endings=tuple(facts["endings"]), forms=forms)

    def embedding_ids(self, plan: RunPlan) -> Int[np.ndarray, " token"] | None:
        """Which tokens share an embedding, if the plan allows it."""
        return self.vocabulary(plan).embedding_ids() if plan.recipe.tokens.reads_alike else None

    def lessons(self) -> tuple[Lesson, ...]:
        """What the run learns from."""
        return tuple(_from_arrays(load(self._intact(_LESSONS))))

    def facts(self) -> dict[str, Any]:
        """Openings and endings of questions, the forms of answers, and the most common answer."""
        path = self.path / _FACTS
        try:
            facts = json.loads(_read_text(path))
        except (json.JSONDecodeError, RecursionError):
            facts = None
        match facts:
            case {"digests": {"data.json": digest}} if digest == facts_digest(facts):
                return facts
        raise InputError(f"{path} is damaged. Train again, or restore it from a copy.")

    def held_out(self) -> tuple[FactQuestion, ...]:
        """The held-out questions."""
        path = self.path / _HELD_OUT
        return read_questions(path) if path.exists() and self._intact(_HELD_OUT) else ()

    def model(self) -> Decoder:
        """The trained model."""
        if not self.is_finished:
            raise InputError(f"{self.path} is not finished. Resume it: regard train resume {self.path}")
        plan = self.plan()
        model = Decoder(plan.model_config, self.embedding_ids(plan))
        remedy = f"Recreate it from a checkpoint: regard train resume {self.path}"
        tensors = read_tensors(self.weights, remedy=remedy)
        wanted, given = (
            {name: tuple(t.shape) for name, t in some} for some in (model.named_parameters(), tensors.items())
        )
        if differing := sorted(name for name, _ in wanted.items() ^ given.items()):
            raise InputError(f"{self.weights} does not match its plan ({differing[0]} differs). {remedy}")
        model.load_state_dict(tensors, strict=False)
        return model.eval()

    def add_metric(self, kind: str, **numbers: Any) -> None:
        """Appends a line to the metrics."""
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, **numbers}) + "\n")

    def read_metrics(self) -> Iterator[dict[str, Any]]:
        """Every intact line of the metrics."""
        if not self.metrics.exists():
            return
        for line in self.metrics.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                found = json.loads(line)
            except (json.JSONDecodeError, RecursionError):
                continue
            if isinstance(found, dict) and "kind" in found:
                yield found

    def drop_metrics_after(self, step: int) -> None:
        """Removes the metrics of later steps, which will be made again."""
        kept = [line for line in self.read_metrics() if line.get("step", 0) <= step]
        self.own.mkdir(exist_ok=True)
        write_atomically(self.metrics, "".join(json.dumps(line) + "\n" for line in kept), is_durable=True)

    def _intact(self, name: str) -> bytes:
        """The content of a file of the run's data, if it is what was written."""
        path, facts = self.path / name, self.facts()
        content = _read(path)
        if content_digest(content) != facts["digests"].get(name):
            raise InputError(f"{path} is damaged: its digest is not the one in data.json. Train again.")
        return content

    def _require_own_files(self) -> None:
        """Refuses links, pipes and devices: a run reads and writes nothing outside its folder."""
        for path in self.path.rglob("*"):
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    raise InputError(f"{path} is a link, a pipe or a device, which a run can't have. Remove it.")

    def _write(self, name: str, content: str | bytes) -> None:
        write_atomically(self.path / name, content, is_durable=True)


def facts_digest(facts: Mapping[str, Any]) -> str:
    """A digest of all facts but the digests among them."""
    kept = {name: value for name, value in facts.items() if name != "digests"}
    return content_digest(json.dumps(kept, sort_keys=True).encode())


def _read_text(path: Path) -> str:
    try:
        return _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} can't be read: {error}. Train again.") from None


def _read(path: Path) -> bytes:
    try:
        return read_regular_file(path, follows_link=False)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}. Train again.") from None


_MARKS = ("starts", "salient")


def _to_arrays(lessons: Sequence[Lesson]) -> dict[str, np.ndarray]:
    """Lessons as a few long arrays with the lengths of their pieces."""
    questions = [question for lesson in lessons for question in lesson.questions]
    pieces = {
        "body": [lesson.body for lesson in lessons],
        "plain": [lesson.plain for lesson in lessons],
        "heads": [head for lesson in lessons for head in lesson.heads],
        "rest": [question.rest for question in questions],
        "answer": [question.answer for question in questions],
    }
    return {
        **{name: _joined([getattr(lesson, name) for lesson in lessons]).astype(np.uint8) for name in _MARKS},
        **{name: _joined(some).astype(np.int32) for name, some in pieces.items()},
        **{f"{name}_lengths": np.array([len(each) for each in some], np.int64) for name, some in pieces.items()},
        "num_askings": np.array([len(lesson.questions) for lesson in lessons]),
        "opening": np.array([question.opening for question in questions], dtype=np.int64),
    }


def _from_arrays(arrays: dict[str, np.ndarray]) -> Iterator[Lesson]:
    """The inverse of `_to_arrays`."""
    bodies, plains, heads, rests, answers = (_split(arrays, n) for n in ("body", "plain", "heads", "rest", "answer"))
    edges = np.cumsum(arrays["body_lengths"])[:-1]
    starts, salient = (np.split(arrays[name].astype(bool), edges) for name in _MARKS)
    num_heads = len(heads) // max(len(bodies), 1)
    questions = [
        QuestionTokens(opening=int(opening), rest=rest, answer=answer)
        for opening, rest, answer in zip(arrays["opening"], rests, answers, strict=True)
    ]
    ends = np.cumsum(arrays["num_askings"])
    for number, (body, plain) in enumerate(zip(bodies, plains, strict=True)):
        yield Lesson(
            heads=tuple(heads[number * num_heads : (number + 1) * num_heads]),
            body=body,
            starts=starts[number],
            salient=salient[number],
            plain=plain,
            questions=tuple(questions[int(ends[number] - arrays["num_askings"][number]) : int(ends[number])]),
        )


def _joined(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(pieces) if len(pieces) else np.zeros(0, dtype=np.int64)


def _split(arrays: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    lengths = arrays[f"{name}_lengths"]
    return np.split(arrays[name].astype(np.int64), np.cumsum(lengths)[:-1]) if len(lengths) else []


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Locks a folder, which is created if it is missing; a second program that tries is refused.

    The system releases the lock when the program ends, however it ends, so there is nothing to clean up.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A link is not followed, and a pipe does not block.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(folder / ".lock", flags, 0o666)
    except OSError as error:
        raise InputError(f"Cannot work in {folder}: {error.strerror or error}. Name another folder.") from None
    try:
        _lock(descriptor)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        raise InputError(
            f"Another training is working in {folder}. Wait until it ends, or name another folder."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
