"""The stories of the page's small model: what is recalled was told, and the questions have one answer."""

from itertools import islice

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("tokenizers")

import explorer_model


def test_stories_are_the_same_for_a_seed_and_recall_what_they_told():
    told, again = (list(islice(explorer_model.stories(np.random.default_rng(3)), 200)) for _ in range(2))
    assert told == again
    recalls = [(story, recall) for story, recall in told if recall is not None]
    assert len(recalls) > 50
    for story, recall in recalls:
        assert story.startswith(f"{recall.read} {recall.word}.")
        assert recall.word in recall.read.replace(".", "").split()


def test_rows_keep_their_largest_number_when_they_are_rounded():
    matrix = np.random.default_rng(1).normal(size=(7, 30)).astype(np.float32)
    whole, scales = explorer_model.quantised(matrix)
    assert np.abs(whole).max(axis=1).tolist() == [127] * 7
    assert np.abs(whole * scales[:, None] - matrix).max() <= scales.max() / 2 * 1.001
