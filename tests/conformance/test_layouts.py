"""A right homework passes, and each broken one is caught by the right contract."""

from pathlib import Path

import pytest

from conformance.miniature_homework import ATTENTION, DATASET, changed, task_for, write_homework
from regard.conformance.adapters.homework_files import HOMEWORKS
from regard.conformance.homework.check import PieceWorker

pytest.importorskip("torch")

TABLE, TURN, LAYER, DATA = HOMEWORKS["cs224n-a4"]


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    """One process for all variants: each is a folder of its own."""
    with PieceWorker(str(tmp_path_factory.mktemp("work")), 60.0, 2.0) as running:
        yield running


def outcomes(worker: PieceWorker, folder: Path, name: str, *, seed: int = 0, rope: bool = False) -> dict[str, dict]:
    """The verdicts on one piece of a folder, by law."""
    events = list(worker.run(task_for(folder, name, seed=seed, rope=rope)))
    assert events[0]["event"] == "loaded", events
    assert events[-1]["event"] == "done", events
    return {event["verdict"]["id"]: event["verdict"] for event in events if event["event"] == "verdict"}


def failures(verdicts: dict[str, dict]) -> dict[str, dict]:
    return {law: row for law, row in verdicts.items() if row["outcome"] in ("refuted", "crashed", "timed out")}


@pytest.mark.parametrize("seed", range(4))
def test_a_right_homework_raises_no_alarm(worker, tmp_path, seed):
    write_homework(tmp_path)
    assert failures(outcomes(worker, tmp_path, TABLE, seed=seed)) == {}
    assert failures(outcomes(worker, tmp_path, TURN, seed=seed)) == {}
    assert failures(outcomes(worker, tmp_path, DATA, seed=seed)) == {}
    for rope in (False, True):
        assert failures(outcomes(worker, tmp_path, LAYER, seed=seed, rope=rope)) == {}


def test_an_abandoned_piece_leaves_no_message_for_the_next(worker, tmp_path):
    write_homework(tmp_path)
    abandoned = worker.run(task_for(tmp_path, TABLE))
    assert next(abandoned)["event"] == "loaded"
    assert all(law.startswith("TURN-") for law in outcomes(worker, tmp_path, TURN))
    assert list(abandoned) == []
    assert all(law.startswith("TURN-") for law in outcomes(worker, tmp_path, TURN))


RATES = "torch.pow(10000.0, -torch.arange(0, dim, 2).float() / dim)"
BROKEN_ROTARY = {
    "exponent without its 2": (TABLE, RATES, RATES.replace("0, dim, 2", "0, dim // 2"), "TABLE-ANGLES"),
    "i from one": (TABLE, RATES, RATES.replace("0, dim, 2", "2, dim + 2, 2"), "TABLE-ANGLES"),
    "growing frequencies": (TABLE, RATES, RATES.replace("-torch", "torch"), "TABLE-ANGLES"),
    "another base": (TABLE, "10000.0", "1000.0", "TABLE-ANGLES"),
    "positions from one": (TABLE, "torch.arange(max_positions)", "torch.arange(1, max_positions + 1)", "TABLE-ANGLES"),
    "sin before cos": (TABLE, "[angles.cos(), angles.sin()]", "[angles.sin(), angles.cos()]", "TABLE-ANGLES"),
    "pairs before positions": (TABLE, "sin()], dim=-1)", "sin()], dim=-1).transpose(0, 1)", "TABLE-SHAPE"),
    "cos and sin joined": (TABLE, "torch.stack([angles.cos()", "torch.cat([angles.cos()", "TABLE-SHAPE"),
    "complex numbers": (TABLE, "sin()], dim=-1)", "sin()], dim=-1).view(max_positions, -1, 2) + 0j", "TABLE-SHAPE"),
    "not truncated": (TURN, "rope_cache[: x.shape[-2]]", "rope_cache", "TURN-TRUNCATED"),
    "last rows": (TURN, "rope_cache[: x.shape[-2]]", "rope_cache[-x.shape[-2] :]", "TURN-TRUNCATED"),
    "half-split": (
        TURN,
        "x[..., 0::2], x[..., 1::2]",
        "x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]",
        "TURN-PAIRS",
    ),
    "the other way": (
        TURN,
        "even * cos - odd * sin, even * sin + odd * cos",
        "even * cos + odd * sin, -even * sin + odd * cos",
        "TURN-PAIRS",
    ),
    "one sign": (TURN, "even * cos - odd * sin", "even * cos + odd * sin", "TURN-NORM"),
    "cosines alone": (TURN, "even * cos - odd * sin, even * sin + odd * cos", "even * cos, odd * cos", "TURN-RELATIVE"),
    "pairs left open": (TURN, "turned.flatten(-2)", "turned", "TURN-SHAPE"),
    "double": (TURN, "turned.flatten(-2)", "turned.flatten(-2).double()", "TURN-SHAPE"),
    "in place": (TURN, "return turned.flatten(-2)", "return x.copy_(turned.flatten(-2))", "TURN-SHAPE"),
}


@pytest.mark.parametrize("bug", BROKEN_ROTARY)
def test_a_broken_rotary_function_is_caught(worker, tmp_path, bug):
    name, old, new, law = BROKEN_ROTARY[bug]
    write_homework(tmp_path, attention=changed(ATTENTION, old, new))
    assert law in failures(outcomes(worker, tmp_path, name))


TURNED_QUERIES = "q = apply_rotary_emb(q, self.rope_cache)"
BROKEN_LAYERS = {
    "no mask": (False, "scores = scores.masked_fill(~self.mask[:length, :length], -1e10)", "pass", "CAUSAL"),
    "mask upside down": (False, "tril()", "triu()", "CAUSAL"),
    "mask without the diagonal": (False, "tril()", "tril(-1)", "SPEC"),
    "softmax over queries": (False, "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=-2)", "SPEC"),
    "softmax over heads": (False, "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=1)", "SPEC"),
    "heads not transposed": (
        False,
        ".view(batch, length, self.heads, width // self.heads).transpose(1, 2)",
        ".reshape(batch, self.heads, length, width // self.heads)",
        "CAUSAL",
    ),
    "heads not transposed back": (False, "(weights @ v).transpose(1, 2)", "(weights @ v)", "CAUSAL"),
    "dropout left on": (
        False,
        "self.attn_drop(torch.softmax(scores, dim=-1))",
        "nn.functional.dropout(torch.softmax(scores, dim=-1), 0.1)",
        "DET",
    ),
    "no scale": (False, " / math.sqrt(k.shape[-1])", "", "SPEC"),
    "scale by the whole width": (False, "math.sqrt(k.shape[-1])", "math.sqrt(width)", "SPEC"),
    "keys for values": (False, "self.split(self.value(x))", "self.split(self.key(x))", "SPEC"),
    "mask of the whole block": (False, "self.mask[:length, :length]", "self.mask", "ATTEND-LENGTHS"),
    "no output projection": (False, "self.resid_drop(self.proj(mixed))", "self.resid_drop(mixed)", "SPEC"),
    "weak mask": (False, "-1e10", "-1e1", "CAUSAL"),
    "only queries turned": (True, "k = apply_rotary_emb(k, self.rope_cache)", "pass", "SPEC"),
    "values turned too": (True, TURNED_QUERIES, TURNED_QUERIES + "; " + TURNED_QUERIES.replace("q", "v"), "SPEC"),
    "turned before the split": (
        True,
        "precompute_rotary_emb(config.n_embd // config.n_head,",
        "precompute_rotary_emb(config.n_embd,",
        "LOADS or ATTEND-TABLE",
    ),
    "table is trained": (
        True,
        'self.register_buffer("rope_cache", precompute_rotary_emb(',
        "self.rope_cache = nn.Parameter(precompute_rotary_emb(",
        "ATTEND-TABLE",
    ),
}


@pytest.mark.parametrize("bug", BROKEN_LAYERS)
def test_a_broken_layer_is_caught(worker, tmp_path, bug):
    rope, old, new, laws = BROKEN_LAYERS[bug]
    write_homework(tmp_path, attention=changed(ATTENTION, old, new))
    assert set(laws.split(" or ")) & set(failures(outcomes(worker, tmp_path, LAYER, rope=rope)))


SIZE = "size = random.randint(0, len(document) // 2)"
BROKEN_DATASETS = {
    "a character lost": ("document[end:]", "document[end + 1 :]", "CORRUPT-SPANS"),
    "a character doubled": ("document[end:]", "document[max(end - 1, 0) :]", "CORRUPT-SPANS"),
    "the span lost": ("self.MASK_CHAR + masked", "self.MASK_CHAR", "CORRUPT-SPANS"),
    "second MASK missing": (" + suffix + self.MASK_CHAR + masked", " + suffix + masked", "CORRUPT-SPANS"),
    "a third MASK": ("self.MASK_CHAR + masked", "self.MASK_CHAR + masked + self.MASK_CHAR", "CORRUPT-SPANS"),
    "span in its place": (
        "self.MASK_CHAR + suffix + self.MASK_CHAR + masked",
        "self.MASK_CHAR + masked + self.MASK_CHAR + suffix",
        "CORRUPT-SPANS",
    ),
    "pads in front": (
        "text = text + self.PAD_CHAR * (self.block_size + 1 - len(text))",
        "text = self.PAD_CHAR * (self.block_size + 1 - len(text)) + text",
        "CORRUPT-SPANS",
    ),
    "padded with MASK": ("self.PAD_CHAR * (", "self.MASK_CHAR * (", "CORRUPT-SPANS"),
    "one pad too many": ("self.block_size + 1 - len", "self.block_size + 2 - len", "CORRUPT-PAIR"),
    "no pads": ("self.PAD_CHAR * (", "'' * (", "CORRUPT-PAIR"),
    "y is x": ("numbers[1:]", "numbers[:-1]", "CORRUPT-PAIR"),
    "y two ahead": ("numbers[1:]", "numbers[2:] + [0]", "CORRUPT-PAIR"),
    "floats": ("numbers[1:], dtype=torch.long", "numbers[1:], dtype=torch.float", "CORRUPT-PAIR"),
    "too long": ("self.block_size * 7 / 8", "self.block_size - 3", "CORRUPT-LENGTHS"),
    "down to one": ("random.randint(4, limit)", "random.randint(1, limit)", "CORRUPT-LENGTHS"),
    "length fixed": ("random.randint(4, limit)", "limit", "CORRUPT-RANDOM"),
    "longest left out": ("random.randint(4, limit)", "random.randrange(4, limit)", "CORRUPT-RANDOM"),
    "span always a quarter": (SIZE, "size = len(document) // 4", "CORRUPT-RANDOM"),
    "a half masked": (SIZE, "size = random.randint(0, len(document))", "CORRUPT-QUARTER"),
    "a sixth masked": (SIZE, "size = random.randint(0, len(document) // 3)", "CORRUPT-QUARTER"),
    "short ones fail": (SIZE, "size = random.randint(3, len(document) // 2)", "CORRUPT-EVERY"),
    "very short ones emptied": (SIZE, f"document = document * (len(document) > 3); {SIZE}", "CORRUPT-SHORT"),
    "MASK before PAD": ("[self.PAD_CHAR, self.MASK_CHAR]", "[self.MASK_CHAR, self.PAD_CHAR]", "CORRUPT-VOCABULARY"),
    "unsorted": ("sorted(set(data))", "sorted(set(data), reverse=True)", "CORRUPT-VOCABULARY"),
}


@pytest.mark.parametrize("bug", BROKEN_DATASETS)
def test_a_broken_dataset_is_caught(worker, tmp_path, bug):
    old, new, law = BROKEN_DATASETS[bug]
    write_homework(tmp_path, dataset=changed(DATASET, old, new))
    assert law in failures(outcomes(worker, tmp_path, DATA))


def test_the_older_length_of_an_example_is_right_too(worker, tmp_path):
    write_homework(tmp_path, dataset=changed(DATASET, "self.block_size + 1 - len", "self.block_size - len"))
    assert failures(outcomes(worker, tmp_path, DATA)) == {}


def test_known_mistakes_are_named(worker, tmp_path):
    exchanged = changed(ATTENTION, "[angles.cos(), angles.sin()]", "[angles.sin(), angles.cos()]")
    write_homework(tmp_path, attention=exchanged)
    row = failures(outcomes(worker, tmp_path, TABLE))["TABLE-ANGLES"]
    assert row["diagnosis"][0]["text"] == "matches sin before cos"


@pytest.mark.parametrize("line", ["size = random.randint(1, max(len(document) // 2, 0))", f"assert document; {SIZE}"])
def test_a_document_too_short_for_the_homework_s_rules_may_be_refused(worker, tmp_path, line):
    write_homework(tmp_path, dataset=changed(DATASET, SIZE, line))
    verdicts = outcomes(worker, tmp_path, DATA)
    assert failures(verdicts) == {}
    assert verdicts["CORRUPT-SHORT"]["outcome"] == "skipped"
    assert "characters raises" in verdicts["CORRUPT-SHORT"]["reason"]
