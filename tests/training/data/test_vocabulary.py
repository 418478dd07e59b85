from pathlib import Path

import pytest

pytest.importorskip("tokenizers")

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.training.data.vocabulary import EOS, learn_vocabulary, load_vocabulary

TEXTS = ["Ada Byron was born in London .", "Where was Ada Byron born?", "1901 - 1999, (a) 'b'"]
PIECES = learn_vocabulary(TEXTS * 5, size=100)
CHARACTERS = learn_vocabulary(TEXTS, kind="characters")


@pytest.mark.parametrize("vocabulary", [PIECES, CHARACTERS])
@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back(vocabulary, text):
    assert vocabulary.decode([*vocabulary.encode(text), EOS]) == text


@given(st.text(alphabet="Adnor Byw?", min_size=1).map(lambda text: " ".join(text.split())).filter(bool))
def test_what_is_made_of_known_characters_comes_back(text):
    assert CHARACTERS.decode(CHARACTERS.encode(text)) == text


def test_a_question_is_the_same_tokens_in_one_piece_or_two():
    whole = PIECES.encode("Where was Ada Byron born?").tolist()
    assert whole == [*PIECES.encode("Where was Ada Byron"), *PIECES.encode(" born?")]


def test_pieces_that_only_lead_to_a_word_are_dropped_and_the_longest_is_taken():
    vocabulary = learn_vocabulary(["Copenhagen Copenhagen open"], size=400)
    assert vocabulary.token_texts(vocabulary.encode("Copenhagen open")) == ["▁Copenhagen", "▁open"]
    longer = [name for name in vocabulary.token_texts(range(len(vocabulary)))[5:] if len(name) > 1]
    assert longer == ["▁Copenhagen", "▁open"]
    assert vocabulary.token_texts(vocabulary.encode("Copenhagenopen Cop")) == ["▁Copenhagen", *"open", "▁", *"Cop"]


def test_characters_without_a_piece_are_left_out_and_long_words_are_cut():
    vocabulary = learn_vocabulary(["Copenhagen open"], size=400)
    plain = vocabulary.encode("open open").tolist()
    assert vocabulary.encode("öopen\u00a0open").tolist() == vocabulary.encode("open\nopené").tolist() == plain
    assert vocabulary.decode(vocabulary.encode("open" * 20_000)) == "open" * 20_000


def test_letters_that_an_address_escapes_are_letters():
    vocabulary = learn_vocabulary(["Where was Lene B%C3%B8rglum born? 50%20 %C3%28 %F0%9F%98%80"] * 5, size=100)
    assert vocabulary.encode("Lene B%c3%b8rglum").tolist() == vocabulary.encode("Lene Børglum").tolist()
    assert vocabulary.decode(vocabulary.encode("Lene B%C3%B8rglum")) == "Lene Børglum"
    assert vocabulary.decode(vocabulary.encode("50%20 %C3%28")) == "50%20 %C3%28"
    assert not vocabulary.missing_characters("B%C3%B8r 😀")
    assert vocabulary.missing_characters("%C3%A6") == "æ"
    # The second letter is cut short.
    assert vocabulary.missing_characters("%C3%B8%E2%82") == "E"


def test_a_sign_of_ours_that_somebody_wrote_is_text():
    vocabulary = learn_vocabulary(["Ada [EOS] was [SEP] born"] * 5, size=100)
    tokens = vocabulary.encode("Ada [EOS] was")
    assert EOS not in tokens
    assert vocabulary.decode(tokens) == "Ada [EOS] was"


def test_words_begin_where_they_are_written_apart():
    tokens = PIECES.encode("was born in London .")
    starts = PIECES.starts_word(tokens)
    assert [PIECES.token_texts(tokens)[n][:2] for n in np.flatnonzero(starts)] == ["▁w", "▁b", "▁i", "▁L", "▁."]
    tokens = CHARACTERS.encode("in (a) London")
    assert CHARACTERS.starts_word(tokens).tolist() == [c in " (a)" for c in "in (a) London"]


def test_signs_are_joined_with_their_space_and_words_begin_after_them():
    tokens = PIECES.encode("1999 (a) 'b'")
    names = PIECES.token_texts(tokens)
    assert "▁" not in names
    assert [name for name, starts in zip(names, PIECES.starts_word(tokens), strict=True) if starts][-6:] == [
        "▁(",
        "a",
        ")",
        "▁'",
        "b",
        "'",
    ]


def test_words_are_read_alike_with_and_without_capitals_or_a_space():
    vocabulary = learn_vocabulary(["Born born (born Rome"] * 5, size=64)
    embedding_ids, tokens = vocabulary.embedding_ids(), vocabulary.encode("Born born (born")
    names = vocabulary.token_texts(tokens)
    same = [read for read, name in zip(embedding_ids[tokens], names, strict=True) if name.lower().endswith("born")]
    assert len(same) == 3
    assert len(set(same)) == 1
    assert (embedding_ids[embedding_ids] == embedding_ids).all()
    assert embedding_ids[:5].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("damaged", [b"{", b"[" * 100_000, b"\xff"])
def test_it_is_kept_as_json(damaged):
    path = Path("tokenizer.json")
    kept = load_vocabulary(PIECES.to_json().encode(), path)
    assert kept.encode(TEXTS[0]).tolist() == PIECES.encode(TEXTS[0]).tolist()
    with pytest.raises(InputError, match=r"tokenizer\.json is not a tokenizer"):
        load_vocabulary(damaged, path)


def test_characters_that_it_lacks_are_named():
    assert CHARACTERS.missing_characters("Ada 漢字") == "字漢"
    with pytest.raises(InputError, match="none of the characters"):
        CHARACTERS.encode("漢字")


def test_capitals_are_seen_behind_a_space_and_not_in_single_letters():
    vocabulary = learn_vocabulary(["Rome rome A ROME 能能 x"] * 3, size=200)
    names = vocabulary.token_texts(range(len(vocabulary)))
    found = {name for name, is_found in zip(names, vocabulary.is_capitalized(), strict=True) if is_found}
    assert found == {name for name in names if name.lstrip("▁") in ("Rome", "ROME")}
    assert found
