"""From text to a run folder that is ready to train."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError
from regard.training.data.biographies import Biographies, biographies
from regard.training.data.encoding import Encoded, encode_lessons
from regard.training.data.reading import Document, Question, read_documents, read_questions
from regard.training.data.tokenizing import Vocabulary, learn_vocabulary
from regard.training.memory import footprint, require_memory
from regard.training.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Material:
    """What there is to learn from, what is asked in training, and what is kept back to choose by."""

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    held_out: tuple[Question, ...]
    sources: tuple[str, ...]

    @property
    def commonest_answer(self) -> str:
        """The answer that is right most often."""
        return Counter(question.answer for question in self.questions).most_common(1)[0][0] if self.questions else ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Material as tokens."""

    material: Material
    vocabulary: Vocabulary
    encoded: Encoded


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the material comes from: files, or people that are made up where there are none."""

    corpus: Path | None = None
    questions: Path | None = None
    held_out: int | None = None
    made_up: Biographies | None = None

    def __post_init__(self) -> None:
        has_files = self.corpus is not None or self.questions is not None
        if has_files and self.made_up is not None:
            raise InputError("People are made up only where there are no files. Give --people or files, not both.")
        if self.corpus is not None and self.questions is None:
            raise InputError("A corpus alone teaches no questions. Give --questions FILE too.")
        if self.held_out is not None and not has_files:
            raise InputError("--held-out keeps a file's last questions back. Give --questions FILE, or --asked-share.")

    def material(self, *, seed: int) -> Material:
        """What there is to learn from."""
        if self.questions is None:
            return synthetic_material(self.made_up or Biographies(), seed=seed)
        return material_from_files(self.corpus, self.questions, held_out=self.held_out)


def material_from_files(corpus: Path | None, questions: Path, *, held_out: int | None = None) -> Material:
    """Documents and questions from files; the last questions are kept back: a tenth of them, 200 at most."""
    asked = read_questions(questions)
    kept = min(200, len(asked) // 10) if held_out is None else held_out
    if not 0 <= kept < len(asked):
        raise InputError(f"{kept} of {len(asked)} questions held out leave none to train on. Hold out fewer.")
    return Material(
        documents=() if corpus is None else read_documents(corpus),
        questions=asked[: len(asked) - kept],
        held_out=asked[len(asked) - kept :],
        sources=tuple(str(path) for path in (corpus, questions) if path is not None),
    )


def synthetic_material(settings: Biographies, *, seed: int) -> Material:
    """Made-up people: questions about some of them are asked in training, those about the others are kept back."""
    world = biographies(settings, seed=seed)
    return Material(
        documents=world.documents,
        questions=world.questions,
        held_out=world.held_out,
        sources=(f"{settings.people} made-up biographies",),
    )


def prepare(material: Material, recipe: Recipe, *, processes: int = 1, members: int = 1) -> Prepared:
    """The material as the recipe's tokens; what would not fit into memory is refused here.

    Words of documents are in the vocabulary of those who do not read them too, so that all can be asked alike.
    """
    documents = material.documents if _reads(recipe) else ()
    if _reads(recipe) and not documents:
        raise InputError(f"The recipe {recipe.name!r} reads documents, and there are none. Give --corpus FILE.")
    texts = [f"{document.name}. {document.text}" for document in material.documents]
    texts += [text for question in material.questions for text in (question.text, question.answer)]
    vocabulary = learn_vocabulary(texts, kind=recipe.tokens.kind, size=recipe.tokens.size)
    config = recipe.model_config(vocab_size=len(vocabulary))
    require_memory(footprint(config, recipe.batch, processes=processes, runs=members))
    _require_room(vocabulary, (*material.questions, *material.held_out), recipe.batch.length)
    return Prepared(
        material=material, vocabulary=vocabulary, encoded=encode_lessons(documents, material.questions, vocabulary)
    )


def _reads(recipe: Recipe) -> bool:
    return any(stage.objective.reading != "nothing" for stage in recipe.stages)


def _require_room(vocabulary: Vocabulary, questions: Sequence[Question], length: int) -> None:
    """Every question fits into a row with its answer."""
    for question in questions:
        size = sum(len(vocabulary.encode(text)) + 1 for text in (question.text, question.answer)) + 1
        if size > length:
            raise InputError(
                f"{question.text[:60]!r} has {size} tokens with its answer, and rows have {length}. Shorten it, or "
                "make rows longer: --set batch.length=…"
            )
