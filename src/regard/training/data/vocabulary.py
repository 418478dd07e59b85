"""Tokenizers: single characters, or words and word pieces learned from a corpus."""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from regard.core.axes import Bool, Int
from regard.core.errors import InputError
from regard.training.data.corpus import normalize_text

Kind: TypeAlias = Literal["characters", "pieces"]
Tokens: TypeAlias = Int[np.ndarray, " _"]

PAD, BOS, SEP, EOS, MASK = range(5)
_SPECIAL = ["[PAD]", "[BOS]", "[SEP]", "[EOS]", "[MASK]"]
SPACE = "▁"
_WORD_OR_PUNCTUATION = Regex(rf"{SPACE}?[^\w{SPACE}]|{SPACE}?\w{{1,64}}")


class Vocabulary:
    """Text to token ids and back. The first five ids are PAD, BOS, SEP, EOS and MASK."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # An `[EOS]` in the input is ordinary text.
        tokenizer.encode_special_tokens = True
        written = self.token_texts(range(len(self)))
        self._characters = {" ", *"".join(written[len(_SPECIAL) :])}
        self._is_punctuation = np.array(
            [n >= len(_SPECIAL) and _is_punctuation(piece[-1]) for n, piece in enumerate(written)]
        )
        self._starts = self._is_punctuation | np.array([piece.startswith((SPACE, " ")) for piece in written])

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> Int[np.ndarray, " token"]:
        """The tokens of a text. Characters not in the vocabulary are dropped, but a text of nothing else is refused."""
        (tokens,) = self.encode_all([text])
        if text.strip() and not self._known_part(text).strip():
            raise InputError(
                f"The vocabulary has none of the characters in {text[:60]!r}. Train on text that contains them."
            )
        return tokens

    def encode_all(self, texts: Sequence[str]) -> list[Int[np.ndarray, " token"]]:
        """The tokens of many texts at once, which is faster than one by one."""
        found = self._tokenizer.encode_batch([self._known_part(text) for text in texts])
        return [np.array(each.ids, dtype=np.int64) for each in found]

    def decode(self, tokens: Iterable[Any]) -> str:
        """The text of some tokens, without special tokens."""
        return self._tokenizer.decode([int(t) for t in tokens], skip_special_tokens=True).strip()

    def missing_characters(self, text: str) -> str:
        """The characters of a text that are not in the vocabulary, each once."""
        return "".join(sorted({c for c in normalize_text(text) if c not in self._characters and not c.isspace()}))

    def starts_word(self, tokens: Int[np.ndarray, " token"]) -> np.ndarray:
        """Which tokens start a word: those preceded by a space, punctuation, and what follows punctuation."""
        return self._starts[tokens] | np.append(False, self._is_punctuation[tokens])[: len(tokens)]

    def is_capitalized(self) -> Bool[np.ndarray, " token"]:
        """Whether each token starts with a capital letter and has more letters."""
        pieces = [piece.lstrip(SPACE) for piece in self.token_texts(range(len(self)))]
        return np.array([len(piece) > 1 and piece[0].isupper() for piece in pieces])

    def forms(self) -> list[str]:
        """The form of each token: ▁ if a space precedes it, then the kind of its first character; "" if it is special.

        Kinds are A, a, 0 and . for a capital, another letter, a digit, and anything else but a space.
        """
        written = [piece.replace(" ", SPACE) for piece in self.token_texts(range(len(_SPECIAL), len(self)))]
        forms = [SPACE * piece.startswith(SPACE) + _kind(piece.lstrip(SPACE)) for piece in written]
        return [""] * len(_SPECIAL) + forms

    def embedding_ids(self) -> Int[np.ndarray, " token"]:
        """For each token, the first one with the same letters: `▁Born`, `▁born` and the `born` of `(born` share one."""
        firsts: dict[str, int] = {}
        letters = [
            piece if number < len(_SPECIAL) else piece.lower().lstrip(SPACE) or piece
            for number, piece in enumerate(self.token_texts(range(len(self))))
        ]
        return np.array([firsts.setdefault(spelt, number) for number, spelt in enumerate(letters)])

    def token_texts(self, tokens: Iterable[Any]) -> list[str]:
        """Each token as text, with spaces visible."""
        return [self._tokenizer.id_to_token(int(token)) or "" for token in tokens]

    def to_json(self) -> str:
        """The whole tokenizer."""
        return self._tokenizer.to_str(pretty=False)

    def _known_part(self, text: str) -> str:
        return "".join(c for c in normalize_text(text) if c in self._characters)


def learn_vocabulary(texts: Iterable[str], *, kind: Kind = "pieces", size: int = 4096) -> Vocabulary:
    """A tokenizer for a corpus: its characters and, if `kind` is pieces, words and word pieces merged from them.

    Merging stops at `size` tokens. Tokens that only served as steps to longer ones are then dropped.
    """
    read = [normalize_text(text) for text in texts]
    return Vocabulary(_of_characters(read) if kind == "characters" else _of_pieces(read, size))


def load_vocabulary(content: bytes, path: Path) -> Vocabulary:
    """A tokenizer saved with `to_json`; the path is for messages."""
    try:
        return Vocabulary(Tokenizer.from_str(content.decode("utf-8")))
    except Exception as error:  # noqa: BLE001 - the library raises bare exceptions for bad JSON
        raise InputError(f"{path} is not a tokenizer: {error}. Train again.") from None


def _is_punctuation(character: str) -> bool:
    return character not in (SPACE, " ", "_") and unicodedata.category(character)[0] not in "LMN"


def _kind(piece: str) -> str:
    category = unicodedata.category(piece[0]) if piece else ""
    if category in ("Lu", "Lt"):
        return "A"
    return {"": "", "L": "a", "M": "a", "N": "0"}.get(category[:1], ".")


def _of_pieces(texts: list[str], size: int) -> Tokenizer:
    """A tokenizer that cuts words into its longest pieces, from left to right.

    The pieces are the characters and the final results of byte-pair merging: no `▁Copenh` once there is a
    `▁Copenhagen`. So a small vocabulary can hold every word of a small corpus.
    """
    merging = Tokenizer(models.BPE())
    merging.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(replacement=SPACE), pre_tokenizers.Split(_WORD_OR_PUNCTUATION, behavior="isolated")]
    )
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=_SPECIAL, show_progress=False)
    merging.train_from_iterator(texts, trainer)
    used = {piece for found in merging.encode_batch(texts) for piece in found.tokens}
    numbered = merging.get_vocab()
    pieces = sorted(numbered, key=numbered.__getitem__)
    kept = [piece for piece in pieces if piece in used or len(piece) == 1 or piece in _SPECIAL]
    numbers = {piece: number for number, piece in enumerate(kept)}
    tokenizer = Tokenizer(models.WordPiece(vocab=numbers, unk_token="[PAD]", continuing_subword_prefix=""))
    tokenizer.add_special_tokens(_SPECIAL)
    tokenizer.pre_tokenizer = merging.pre_tokenizer
    tokenizer.decoder = decoders.Metaspace(replacement=SPACE)
    return tokenizer


def _of_characters(texts: Iterable[str]) -> Tokenizer:
    characters = sorted(set("".join(texts)))
    vocabulary = {name: number for number, name in enumerate([*_SPECIAL, *characters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.add_special_tokens(_SPECIAL)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return tokenizer
