"""Where the data of a run comes from, and how a recipe turns it into lessons."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError
from regard.training.data.biographies import Biographies, make_biographies
from regard.training.data.corpus import FactQuestion, TrainingData, read_documents, read_questions
from regard.training.data.lessons import LessonSet, make_lessons
from regard.training.data.vocabulary import Vocabulary, learn_vocabulary
from regard.training.memory import require_memory
from regard.training.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """Files, or made-up people if there are none."""

    corpus: Path | None = None
    questions: Path | None = None
    held_out: int | None = None
    biographies: Biographies | None = None

    def __post_init__(self) -> None:
        has_files = self.corpus is not None or self.questions is not None
        if has_files and self.biographies is not None:
            raise InputError("People are made up only if there are no files. Give --people or files, not both.")
        if self.corpus is not None and self.questions is None:
            raise InputError("A corpus needs questions. Give --questions FILE too.")
        if self.held_out is not None and not has_files:
            raise InputError("--held-out holds out a file's last questions. Give --questions FILE, or --asked-share.")

    def load(self, *, seed: int) -> TrainingData:
        """The documents and questions."""
        if self.questions is None:
            return make_biographies(self.biographies or Biographies(), seed=seed)
        return read_files(self.corpus, self.questions, held_out=self.held_out)


def read_files(corpus: Path | None, questions: Path, *, held_out: int | None = None) -> TrainingData:
    """Documents and questions from files. The last questions are held out: a tenth of them, 200 at most."""
    asked = read_questions(questions)
    num_held_out = min(200, len(asked) // 10) if held_out is None else held_out
    if not 0 <= num_held_out < len(asked):
        raise InputError(
            f"Holding out {num_held_out} of {len(asked)} questions leaves none to train on. Hold out fewer."
        )
    return TrainingData(
        documents=() if corpus is None else read_documents(corpus),
        questions=asked[: len(asked) - num_held_out],
        held_out=asked[len(asked) - num_held_out :],
        sources=tuple(str(path) for path in (corpus, questions) if path is not None),
    )


def prepare_lessons(data: TrainingData, recipe: Recipe, *, processes: int = 1, members: int = 1) -> LessonSet:
    """The data as the recipe's tokens; a training that won't fit into memory is refused here.

    The vocabulary covers the documents even if the recipe doesn't read them, so that all recipes take the same
    questions.
    """
    documents = data.documents if recipe.reads_documents else ()
    if recipe.reads_documents and not documents:
        raise InputError(f"The recipe {recipe.name!r} reads documents, but there are none. Give --corpus FILE.")
    texts = [f"{document.name}. {document.text}" for document in data.documents]
    texts += [text for question in data.questions for text in (question.text, question.answer)]
    vocabulary = learn_vocabulary(texts, kind=recipe.tokens.kind, size=recipe.tokens.size)
    config = recipe.model_config(vocab_size=len(vocabulary))
    require_memory(config, recipe.batch, processes=processes, runs=members)
    _require_room(vocabulary, (*data.questions, *data.held_out), recipe.batch.length)
    return make_lessons(documents, data.questions, vocabulary)


def _require_room(vocabulary: Vocabulary, questions: Sequence[FactQuestion], length: int) -> None:
    """Refuses questions that don't fit into a row with their answers."""
    for question in questions:
        size = sum(len(vocabulary.encode(text)) + 1 for text in (question.text, question.answer)) + 1
        if size > length:
            raise InputError(
                f"{question.text[:60]!r} has {size} tokens with its answer, but rows have {length}. Shorten it, or "
                "make rows longer: --set batch.length=…"
            )
