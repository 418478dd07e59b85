"""One document to judge, packed so that any process can judge it: its bytes, and the text of its problem."""

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import PurePath

from regard.core.errors import InputError

ANSWERS_SUFFIX = ".toml"
STANDARD_INPUT = "<stdin>"  # the name of what is read from there, before its suffix


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """How to judge documents; `problem_text` is the TOML of the problem, None to guess it from each document.

    In documents that are graded, comments exempt no step.
    """

    problem_name: str | None = None
    problem_text: str | None = None
    is_strict: bool = False
    seed: int = 0
    is_graded: bool = False

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"Seed {self.seed} is negative. Choose a seed of 0 or more.")

    @classmethod
    def for_problem(
        cls, name_or_path: str | None, *, is_strict: bool = False, seed: int = 0, is_graded: bool | None = None
    ) -> "Assignment":
        """The assignment with its problem read and checked; documents are graded if it is named, unless told."""
        is_graded = name_or_path is not None if is_graded is None else is_graded
        if name_or_path is None:
            return cls(is_strict=is_strict, seed=seed, is_graded=is_graded)
        from regard.derivations.problems.problem import parse_problem, problem_source

        text = problem_source(name_or_path)
        parse_problem(text, name_or_path)
        return cls(problem_name=name_or_path, problem_text=text, is_strict=is_strict, seed=seed, is_graded=is_graded)


@dataclass(frozen=True, kw_only=True)
class DocumentTask:
    """The bytes of one file, the name to report it by, how to judge it, and its number in a batch.

    `declarations` is the text of the file beside it that declares its symbols, and `images_beside` are the names of the
    pictures that came with it.
    """

    file: str
    content: bytes
    assignment: Assignment
    number: int = 0
    declarations: str = ""
    images_beside: tuple[str, ...] = ()

    def key(self, version: str) -> str:
        """A hash that is the same for two tasks exactly if their reports are the same."""
        assignment = self.assignment
        parts = (
            version,
            self.file,
            assignment.problem_name or "",
            assignment.problem_text or "",
            f"{assignment.is_strict} {assignment.seed} {assignment.is_graded}",
            self.declarations,
            "\n".join(self.images_beside),
        )
        digest = hashlib.sha256()
        for part in (*(part.encode("utf-8", "surrogatepass") for part in parts), self.content):
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.hexdigest()

    def command(self, line: int | None) -> str:
        """The command that judges the document again, or just one line of it."""
        words = ["regard", "verify", f"./{self.file}" if self.file.startswith("-") else self.file]
        if self.file.startswith(STANDARD_INPUT):
            words = ["regard", "verify", "-", "--format", PurePath(self.file).suffix[1:]]
        if self.assignment.problem_name:
            words += ["--problem", self.assignment.problem_name]
        words += ["--strict"] if self.assignment.is_strict else []
        words += ["--seed", str(self.assignment.seed)] if self.assignment.seed else []
        return shlex.join([*words, *(["--line", str(line)] if line else [])])
