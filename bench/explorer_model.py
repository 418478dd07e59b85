"""The small model of `regard explore`: generates its stories and trains it with `regard train`.

python bench/explorer_model.py                      trains it (minutes), and compares it with the file of the package
python bench/explorer_model.py --write              replaces that file
python bench/explorer_model.py --run runs/explorer  keeps the run, or uses it if it is there
"""

import argparse
import json
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save

from regard.core.axes import Float
from regard.training.data.vocabulary import BOS, Vocabulary
from regard.training.launching import ProcessLayout
from regard.training.model import Decoder, causal_input
from regard.training.planning import DataSource, RunLength, TrainRequest
from regard.training.run_folder import RunFolder
from regard.training.train import train

HERE = Path(__file__).parent
TARGET = HERE.parent / "src/regard/explorer/model.safetensors"
RECIPE = HERE / "explorer_recipe.toml"
STEPS, SEED, THREADS, NUM_STORIES, NUM_UNSEEN = 2400, 0, 1, 24_000, 400
# One word in five is made up, except where grammar needs a known one.
MADE_UP_SHARE, LONG_SHARE, VOWEL_SHARE, ALONE_SHARE = 0.2, 0.2, 0.25, 0.4
KNOWN_ONLY = ("woman", "man", "colour", "plural", "quality", "mood", "wish")
PHRASES = tomllib.loads((HERE / "explorer_stories.toml").read_text(encoding="utf-8"))
WORDS = {kind: words.split() for kind, words in PHRASES["words"].items()}
SYLLABLE = [PHRASES["made_up"][part].split() for part in ("onsets", "vowels", "codas")]
# Longer stories are cut when the model is trained.
MOST_TOKENS = 120
# The lists that a slot with another name is filled from.
SLOTS = {
    "who": WORDS["woman"] + WORDS["man"],
    "other": WORDS["woman"] + WORDS["man"],
    **dict.fromkeys("abcd", WORDS["thing"] + WORDS["food"] + WORDS["colour"] + WORDS["container"]),
}


@dataclass(frozen=True, kw_only=True)
class Recall:
    """A story up to the word that answers its first question, and that word."""

    read: str
    word: str


def made_up(rng: np.random.Generator) -> str:
    """A word of one or two syllables that is probably not English; some start with a vowel."""
    parts = [str(rng.choice(letters)) for _ in range(1 + (rng.random() < LONG_SHARE)) for letters in SYLLABLE]
    return "".join(parts[1:] if len(parts) > len(SYLLABLE) and rng.random() < VOWEL_SHARE else parts)


def filled(slots: set[str], rng: np.random.Generator, used: set[str]) -> dict[str, str]:
    """A word for each slot, none of them used in the story before."""
    chosen = {}
    for slot in sorted(slots):
        is_known = slot in KNOWN_ONLY or rng.random() >= MADE_UP_SHARE
        while True:
            word = str(rng.choice(SLOTS.get(slot) or WORDS[slot])) if is_known else made_up(rng)
            if slot in ("who", "other", "town"):
                word = word.capitalize()
            if slot in KNOWN_ONLY or word not in used:
                break
        chosen[slot] = word
        used.add(word)
    return chosen


def slots_of(*templates: str) -> set[str]:
    """The names in braces."""
    return {name for template in templates for _, name, _, _ in Formatter().parse(template) if name}


def stories(rng: np.random.Generator) -> Iterator[tuple[str, Recall | None]]:
    """Stories without end: some facts, then recalls of facts drawn at random, so that no order gives the answer away.

    With each comes its first recall, if that is a question.
    """
    while True:
        used: set[str] = set()
        kinds = rng.choice(len(PHRASES["facts"]), size=2)
        facts = [PHRASES["facts"][int(rng.choice(kinds))] for _ in range(int(rng.integers(2, 5)))]
        words = [filled(slots_of(*fact["statements"], *fact["recalls"]), rng, used) for fact in facts]
        said = [str(rng.choice(fact["statements"])).format(**some) for fact, some in zip(facts, words, strict=True)]
        if rng.random() < ALONE_SHARE:
            alone = str(rng.choice(PHRASES["alone"]["sentences"]))
            said.insert(int(rng.integers(len(said) + 1)), alone.format(**filled(slots_of(alone), rng, used)))
        chosen = rng.integers(len(facts), size=int(rng.integers(3, 6))).tolist()
        recalls = [(str(rng.choice(facts[number]["recalls"])), words[number]) for number in chosen]
        told = [*said, *(recall.format(**some) for recall, some in recalls)]
        yield " ".join(told), _asked(said, *recalls[0])


def _asked(said: list[str], recall: str, words: dict[str, str]) -> Recall | None:
    """The recall after what was said, up to its last slot, if it is a question."""
    if "?" not in recall:
        return None
    start, _, end = recall.rpartition("{")
    return Recall(read=" ".join([*said, start.format(**words)]).rstrip(), word=words[end.partition("}")[0]])


def trained(folder: Path) -> RunFolder:
    """The run in this folder, trained now unless it is there already."""
    run = RunFolder(folder)
    if run.is_finished:
        return run
    told = [story for story, _ in islice(stories(np.random.default_rng(SEED)), NUM_STORIES)]
    with tempfile.TemporaryDirectory() as place:
        corpus, questions = Path(place) / "stories.txt", Path(place) / "questions.tsv"
        corpus.write_text("\n".join(told), encoding="utf-8")
        # `regard train` wants a question; the recipe never shows it.
        questions.write_text("Where?\tHere\n", encoding="utf-8")
        train(
            TrainRequest(
                recipe=str(RECIPE),
                source=DataSource(corpus=corpus, questions=questions, held_out=0),
                length=RunLength(steps=STEPS),
                seed=SEED,
                layout=ProcessLayout(processes=1, threads=THREADS),
            ),
            folder,
            lambda message: print(message) if message.get("step", 0) % 100 == 0 else None,
        )
    return run


def quantised(matrix: Float[np.ndarray, "row column"]) -> tuple[np.ndarray, np.ndarray]:
    """The matrix as 8-bit integers, and the scale of each row."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / 127
    return np.round(matrix / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def rounded(model: Decoder) -> dict[str, np.ndarray]:
    """The model's matrices as integers with scales; the model itself keeps what they stand for."""
    tensors = {}
    for name, parameter in model.named_parameters():
        whole, scales = quantised(parameter.detach().numpy())
        tensors |= {name: whole, f"{name}.scales": scales}
        parameter.data = torch.from_numpy(whole * scales[:, None])
    return tensors


@dataclass(frozen=True, kw_only=True)
class Question:
    """A recall as tokens: everything up to the end of the word, how many of them spell it, and where it was read."""

    tokens: list[int]
    num_asked: int
    stated: list[int]


def questions(vocabulary: Vocabulary) -> Iterator[Question]:
    """Recalls from stories that training did not see."""
    asked = (recall for _, recall in stories(np.random.default_rng(SEED + 1)) if recall is not None)
    for recall in islice(asked, NUM_UNSEEN):
        read, word = (vocabulary.encode(text).tolist() for text in (recall.read, recall.word))
        places = [k for k in range(len(read)) if read[k : k + len(word)] == word]
        if len(read) < MOST_TOKENS:
            stated = [1 + place + k for place in places for k in range(len(word))]
            yield Question(tokens=[BOS, *read, *word], num_asked=len(word), stated=stated)


@torch.no_grad()
def share_right(model: Decoder, asked: list[Question]) -> float:
    """The fraction of questions where every token of the answer is the most probable one."""
    right = 0
    for question in asked:
        tokens = torch.tensor([question.tokens])
        given = causal_input(tokens, torch.tensor([0]))
        best = model.logits(model(given))[0].argmax(dim=-1)[-question.num_asked - 1 : -1]
        right += bool((best == tokens[0, -question.num_asked :]).all())
    return right / len(asked)


@contextmanager
def hooked(modules: Iterable[Any], hook: Callable[[Any, tuple], tuple | None]) -> Iterator[None]:
    """Calls the hook before each of the modules."""
    handles = [module.register_forward_pre_hook(hook) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def without(model: Decoder, layer: int, head: int) -> AbstractContextManager[None]:
    """The model with the output of one head replaced by zeros."""
    columns = slice(head * model.config.head_width, (head + 1) * model.config.head_width)
    block: Any = model.blocks[layer]

    def silence(_: Any, arguments: tuple) -> tuple:
        mixed = arguments[0].clone()
        mixed[..., columns] = 0
        return (mixed,)

    return hooked([block.attention.output], silence)


@torch.no_grad()
def habits(model: Decoder, asked: list[Question]) -> Float[np.ndarray, "layer head habit"]:
    """The mean weight that each head gives the token before, and, where it must answer, the word to recall."""
    weights: list[torch.Tensor] = []

    def record(attention: Any, given: tuple) -> None:
        weights.append(attention.weights(*given[:2]))

    found: list[np.ndarray] = []
    blocks: Iterable[Any] = model.blocks
    with hooked([block.attention for block in blocks], record):
        for question in asked:
            weights.clear()
            tokens = torch.tensor([question.tokens[: -question.num_asked]])
            model(causal_input(tokens, torch.tensor([0])))
            heads = torch.cat(weights).numpy()
            before = np.diagonal(heads, offset=-1, axis1=2, axis2=3).mean(axis=-1)
            found.append(np.stack([before, heads[:, :, -1, question.stated].sum(axis=-1)], axis=-1))
    return np.mean(found, axis=0)


def measured(model: Decoder, vocabulary: Vocabulary) -> dict[str, Any]:
    """What the model answers, and what each head looks at and is needed for, on unseen stories."""
    asked = list(questions(vocabulary))
    heads = []
    for (layer, head), (before, answer) in zip(
        np.ndindex(model.config.num_layers, model.config.num_heads),
        habits(model, asked).reshape(-1, 2).tolist(),
        strict=True,
    ):
        with without(model, layer, head):
            right = share_right(model, asked)
        heads.append({"before": round(before, 4), "answer": round(answer, 4), "rightWithout": round(right, 4)})
    return {"asked": len(asked), "right": round(share_right(model, asked), 4), "heads": heads}


def main() -> None:
    """Trains the model if need be; compares or writes its file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="the run's folder, kept for another time")
    parser.add_argument("--write", action="store_true", help="replace the file of the package")
    chosen = parser.parse_args()
    # A model this small is faster without threads, much more so on a busy machine.
    torch.set_num_threads(THREADS)
    with tempfile.TemporaryDirectory() as folder:
        run = trained(chosen.run or Path(folder) / "run")
        model, vocabulary = run.model(), run.vocabulary()
        tensors, config = rounded(model), model.config
        facts = {
            "tokens": vocabulary.token_texts(range(len(vocabulary))),
            "heads": config.num_heads,
            "layers": config.num_layers,
            "base": config.rotary_base,
            "measured": measured(model, vocabulary),
        }
    about = {
        "origin": "Trained by bench/explorer_model.py of Regard on stories that it generates; no other text was used.",
        "license": "MIT",
        "facts": json.dumps(facts, ensure_ascii=False, separators=(",", ":")),
    }
    content = save(tensors, about)
    if chosen.write:
        TARGET.write_bytes(content)
    is_same = content == TARGET.read_bytes()
    print(f"{len(content) / 1000:.0f} kB, {'the same as' if is_same else 'different from'} {TARGET}")
    print(json.dumps(facts["measured"]))


if __name__ == "__main__":
    main()
