"""A correct cache of pages with a table of prefixes, and ways to break it."""

from collections import Counter
from typing import ClassVar

import numpy as np

from regard.conformance.subject import Spec

WIDTH = 16
MATRICES = np.random.default_rng(3).standard_normal((3, WIDTH, WIDTH)) / 4
RATES = 0.2


class PagedPrefixes:
    """Pages of one pool; full pages are found again by their tokens and all tokens before them."""

    spec = Spec(width=WIDTH, num_heads=1, causal=True, positions="alibi")
    page, num_pages = 4, 96
    takes_oldest = False
    bugs: ClassVar[frozenset[str]] = frozenset()

    def __init__(self):
        self.keys = np.zeros((self.num_pages, self.page, WIDTH))
        self.values = np.zeros_like(self.keys)
        self.free, self.uses, self.table = list(range(self.num_pages)), Counter(), {}

    def full(self, x):
        """One pass."""
        return self.attend(x, x + place_codes(0, x.shape[1]))

    def attend(self, x, inputs):
        """The last tokens of the inputs are x; their keys know their places."""
        return weighted(x, inputs @ MATRICES[1], inputs @ MATRICES[2])

    def start(self):
        """Nothing yet."""
        return {"pages": [], "tokens": []}

    def append(self, seq, x):
        """Writes keys and values into pages, copies of those that others use."""
        first, end = len(seq["tokens"]), len(seq["tokens"]) + x.shape[1]
        new = x[0] + place_codes(first, end)[0]
        if -(-end // self.page) - len(seq["pages"]) + 1 > len(self.free):
            raise MemoryError
        for place, token, code in zip(range(first, end), x[0], new, strict=True):
            index, slot = divmod(place, self.page)
            if index == len(seq["pages"]):
                seq["pages"].append(self.taken())
            page = seq["pages"][index] = self.own(seq["pages"][index])
            self.keys[page, slot], self.values[page, slot] = code @ MATRICES[1], code @ MATRICES[2]
            seq["tokens"].append(token.tobytes())
            if slot == self.page - 1:
                self.table[self.key(seq["tokens"], index)] = page
        keys, values = (pool[seq["pages"]].reshape(1, -1, WIDTH)[:, :end] for pool in (self.keys, self.values))
        return weighted(x, keys, values)

    def taken(self):
        """A free page, which is forgotten by the table."""
        page = self.free.pop(0 if self.takes_oldest else -1)
        self.uses[page] = 1
        if "stale" not in self.bugs:
            self.forget(page)
        return page

    def forget(self, page):
        """The table no longer names the page."""
        self.table = {key: each for key, each in self.table.items() if each != page}

    def own(self, page):
        """The page, or a copy of it if others use it; it is to be written, so the table forgets it."""
        if self.uses[page] > 1 and "no copy" not in self.bugs:
            self.uses[page] -= 1
            copied = self.taken()
            self.keys[copied], self.values[copied] = self.keys[page], self.values[page]
            return copied
        if not self.bugs & {"overwritten", "stale"}:
            self.forget(page)
        return page

    def key(self, tokens, index):
        """By what a page is found."""
        end = (index + 1) * self.page
        if "own tokens" in self.bugs:
            return tuple(tokens[index * self.page : end])
        if "own tokens and place" in self.bugs:
            return (index, *tokens[index * self.page : end])
        return tuple(tokens[:end])

    def crop(self, seq, length):
        """Gives back whole pages."""
        while len(seq["pages"]) > -(-length // self.page):
            self.drop(seq["pages"].pop())
        del seq["tokens"][length:]

    def fork(self, seq):
        """All pages are shared."""
        self.uses.update(seq["pages"])
        return {name: list(each) for name, each in seq.items()}

    def release(self, seq):
        """Gives back all pages."""
        for page in seq["pages"]:
            self.drop(page)

    def drop(self, page):
        """One user less."""
        self.uses[page] -= 1
        if not self.uses[page] or "not counted" in self.bugs:
            self.free.append(page)

    def prefix_hit(self, x):
        """Full pages that the table knows."""
        tokens, pages = [token.tobytes() for token in x[0]], []
        while (len(pages) + 1) * self.page <= len(tokens):
            page = self.table.get(self.key(tokens, len(pages)))
            if page is None:
                break
            pages.append(page)
            self.uses[page] += 1
            if page in self.free:
                self.free.remove(page)
        length = len(pages) * self.page
        return {"pages": pages, "tokens": tokens[:length]}, length


def place_codes(first, end):
    """[1, tokens, WIDTH]: what is added to tokens at these places."""
    return np.sin(RATES * np.arange(first, end)[None, :, None] * (1 + np.arange(WIDTH)))


def weighted(x, keys, values):
    """Causal attention of the last tokens."""
    past = keys.shape[1] - x.shape[1]
    is_seen = np.arange(keys.shape[1])[None, :] <= past + np.arange(x.shape[1])[:, None]
    z = np.where(is_seen, x @ MATRICES[0] @ keys.swapaxes(1, 2), -np.inf)
    weights = np.exp(z - z.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values
