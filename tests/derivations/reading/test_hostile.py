"""Texts made to hang a reader: each is read or refused in bounded time.

They are read in a process of their own, where annotations are not executed, so that only the reader is timed.
"""

import json

import pytest

HOSTILE = {
    "a run of dollars": ["$", 1_000_000],
    "a million dollars apart": ["$ ", 1_000_000],
    "many dollars": ["$x ", 5_000],
    "many displays": ["$$x", 5_000],
    "openings": ["\\( ", 10_000],
    "displays never closed": ["\\[ a\n\n", 5_000],
    "environments": [r"\begin{align}", 10_000],
    "nested environments": [r"\begin{pmatrix}", 10_000],
    "braces": ["{", 50_000],
    "one long line": ["a", 1_000_000],
    "one long sentence": ["ab ", 50_000],
    "unclosed fences": ["```a\n~~~b\n", 3_000],
    "comments": ["<!--", 20_000],
    "images": ["![", 20_000],
    "quotes": ["> ", 50_000],
    "headings": ["# 1\n## a\n### i\n", 1_000],
    "romans": ["i.\n\n", 3_000],
    "markers": ["Answer: $x$\n\n", 2_000],
    "blanks": [" ", 50_000],
    "definitions": [r"\def\a{", 10_000],
    "sections": [r"\section{", 10_000],
    "full stops": ["i.e. x. ", 10_000],
    "stars": ["*", 50_000],
    "bars": ["|$x", 5_000],
    "backslashes": ["\\", 50_000],
    "brackets": ["[", 50_000],
}
CODE = """
import json, sys, time
from regard.derivations.reading import answer_ranges, outline, read_text
from regard.errors import InputError

seconds = {}
for name, (piece, number) in json.loads(sys.argv[1]).items():
    for edge in ("", "$", "Answer", "1", "|a|\\n|-|\\n"):
        for kind in ("markdown", "latex", "notebook"):
            start = time.process_time()
            try:
                document = read_text(f"{edge}{piece * number}{edge}x", kind=kind)
                outline(document), answer_ranges(document), document.sentence_starts
            except InputError as error:
                assert len(str(error)) < 200
            seconds[f"{name} after {edge!r} as {kind}"] = time.process_time() - start
print(json.dumps(seconds))
"""


def timed(python, texts: dict[str, list]) -> dict[str, float]:
    done = python("-c", CODE, json.dumps(texts))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_ends_soon(python):
    seconds = timed(python, HOSTILE)
    assert len(seconds) == 15 * len(HOSTILE)
    assert {name: spent for name, spent in seconds.items() if not spent < 3} == {}


@pytest.mark.parametrize(
    "piece",
    ["1.(a) Take $q$ and \\(c\\), see `code`.\n\n", "> - | $x", "> $$\n", "i.\n\nAnswer: $x$\n", "```a\n~~~~b\n"],
)
def test_twice_the_text_takes_about_twice_the_time(python, piece):
    seconds = timed(python, {"warm": [piece, 50], "once": [piece, 500], "twice": [piece, 1_000]})
    once = seconds["once after '' as markdown"]
    assert seconds["twice after '' as markdown"] < 3.5 * once + 0.05


@pytest.mark.parametrize("mark", ["`", "~", "$"])
def test_runs_of_every_length_end_soon(python, mark):
    runs = "".join(mark * k + " x\n" for k in range(300, 0, -1))
    assert max(timed(python, {"runs": [runs, 1]}).values()) < 3
