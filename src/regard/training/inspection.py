"""`regard train inspect`: which heads read the answer from the name, and what they attend to."""

import html
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor

from regard.core.axes import Bool, Float, Int
from regard.core.errors import InputError
from regard.core.verdict import Status, Verdict
from regard.render.charts import draw_intervals
from regard.render.figures import Axis
from regard.render.heat_maps import draw_attention_map
from regard.render.page import Page, notebook_frame, render_page, render_statuses, render_table
from regard.render.terminal import percent, say, show_columns, status_label
from regard.training.answering import answer_questions, require_askable
from regard.training.data.corpus import FactQuestion, find_known_name, normalize_text, read_questions, word_spans
from regard.training.data.lessons import PromptFormat
from regard.training.data.vocabulary import EOS, PAD
from regard.training.model import Decoder, ModelInput, causal_input
from regard.training.run_folder import RunFolder
from regard.training.statistics import MeanInterval, mean_interval

LEAST_DROP = 0.1
"""In nats. A head whose ablation lowers the answer's probability by less than a tenth does not read the answer."""

_ALPHA = 0.05
_MOST_QUESTIONS, _FEWEST_KNOWN, _PROBES_AT_ONCE = 200, 8, 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Probe:
    """A question and an answer as tokens.

    The head has `head_length` tokens; the name's tokens are `first` up to `end`; the answer starts at `start`.
    """

    question: str
    name: str
    tokens: Int[np.ndarray, " token"]
    head_length: int
    first: int
    end: int
    start: int

    @property
    def answer(self) -> Int[np.ndarray, " answer"]:
        """The tokens of the answer, including EOS."""
        return np.append(self.tokens[self.start :], EOS)


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """A head that must not attend to the name; layer and head count from zero."""

    layer: int
    head: int


def known_names(folder: RunFolder) -> frozenset[str]:
    """The names in all documents of a run, from the heads of its lessons."""
    vocabulary, openings = folder.vocabulary(), folder.facts()["openings"]
    opening = openings[0].strip()
    heads = [lesson.heads[0] for lesson in folder.lessons() if len(lesson.body)]
    return frozenset(vocabulary.decode(head).removeprefix(opening).strip() for head in heads) - {""}


def find_name(question: str, names: Set[str]) -> tuple[int, int]:
    """The span of the longest known name, or else of the longest run of capitalized words after the first word.

    >>> find_name("Where was Ada Byron born?", {"Ada", "Ada Byron"}), find_name("Where was Bo Li born?", set())
    ((10, 19), (10, 15))
    """
    if (known := find_known_name(question, names)) is not None:
        return known
    words = word_spans(question)
    runs = [words[first:end] for first in range(1, len(words)) for end in range(first + 1, len(words) + 1)]
    for run in sorted(runs, key=len, reverse=True):
        if all(question[start:end][:1].isupper() for start, end in run):
            return run[0][0], run[-1][1]
    raise InputError(f"{question!r} contains no name from the run's documents. Ask about somebody in them.")


def make_probe(prompt_format: PromptFormat, question: str, answer: str, names: Set[str]) -> Probe:
    """The tokens of a question with its answer, and where the name is in them."""
    text = normalize_text(question).strip()
    start, end = find_name(text, names)
    vocabulary, prompt = prompt_format.vocabulary, prompt_format.prompt(text)
    before = text[:start].rstrip()
    return Probe(
        question=question,
        name=text[start:end],
        tokens=np.concatenate([prompt.tokens, vocabulary.encode(answer)]),
        head_length=len(prompt.head),
        first=1 + (len(vocabulary.encode(before)) if before else 0),
        end=1 + len(vocabulary.encode(text[:end])),
        start=len(prompt.tokens),
    )


@torch.no_grad()
def answer_log_probabilities(
    model: Decoder, probes: Sequence[Probe], ablations: Sequence[Ablation] = ()
) -> Float[np.ndarray, " probe"]:
    """log p(answer | question) for each probe, with the name's keys hidden from the ablated heads.

    They are hidden only from positions after the name, so that the name itself is still read as a whole.
    """
    found = []
    for batch in _batches(probes):
        with _ablated(model, batch, ablations):
            logs = torch.log_softmax(model.logits(model(batch.given)).double(), dim=-1)
        for row, probe in enumerate(batch.probes):
            answer = torch.from_numpy(probe.answer)
            asked = torch.arange(probe.start - 1, probe.start - 1 + len(answer))
            found.append(float(logs[row, asked, answer].sum()))
    return np.array(found)


def attention_to_name(model: Decoder, probes: Sequence[Probe]) -> Float[np.ndarray, "layer head probe"]:
    """The share of attention that the answering position gives the name's tokens."""
    shares = []
    for batch in _batches(probes):
        weights = _weights(model, batch)
        for row, probe in enumerate(batch.probes):
            shares.append(weights[:, row, :, probe.start - 1, probe.first : probe.end].sum(dim=-1).numpy())
    return np.stack(shares, axis=-1).astype(np.float64)


def attention_weights(model: Decoder, probe: Probe) -> Float[np.ndarray, "layer head query key"]:
    """Every head's weights for one probe, including the answer."""
    return _weights(model, next(_batches([probe])))[:, 0].numpy().astype(np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ProbeBatch:
    """Probes padded on the right; `is_name` marks the tokens of names, `is_after` those after them."""

    probes: Sequence[Probe]
    given: ModelInput
    is_name: Bool[Tensor, "probe token"]
    is_after: Bool[Tensor, "probe token"]


def _batches(probes: Sequence[Probe]) -> Iterator[_ProbeBatch]:
    for start in range(0, len(probes), _PROBES_AT_ONCE):
        some = probes[start : start + _PROBES_AT_ONCE]
        tokens = torch.full((len(some), max(len(probe.tokens) for probe in some)), PAD)
        for row, probe in enumerate(some):
            tokens[row, : len(probe.tokens)] = torch.from_numpy(probe.tokens)
        places = torch.arange(tokens.shape[1])
        firsts, ends = (torch.tensor([[getattr(probe, name)] for probe in some]) for name in ("first", "end"))
        yield _ProbeBatch(
            probes=some,
            given=causal_input(tokens, torch.tensor([probe.head_length for probe in some])),
            is_name=(places >= firsts) & (places < ends),
            is_after=places >= ends,
        )


@torch.no_grad()
def _weights(model: Decoder, batch: _ProbeBatch) -> Float[Tensor, "layer probe head query key"]:
    found: list[Tensor] = []

    def record(attention: Any, arguments: tuple) -> None:
        found.append(attention.weights(arguments[0], arguments[1]))

    with _hooked([(block, record) for block in model.blocks]):
        model(batch.given)
    return torch.stack(found)


@contextmanager
def _ablated(model: Decoder, batch: _ProbeBatch, ablations: Sequence[Ablation]) -> Iterator[None]:
    """Hides the name's keys from queries after the name, in the ablated heads."""
    hidden = batch.is_after[:, :, None] & batch.is_name[:, None, :]

    def hide(heads: list[int]) -> Any:
        def changed(_: Any, arguments: tuple) -> tuple:
            x, context, *rest = arguments
            bias = context.bias.expand(-1, model.config.num_heads, -1, -1).clone()
            bias[:, heads] = bias[:, heads].masked_fill(hidden[:, None], -torch.inf)
            return x, replace(context, bias=bias), *rest

        return changed

    layers = sorted({each.layer for each in ablations})
    heads = [[each.head for each in ablations if each.layer == layer] for layer in layers]
    with _hooked([(model.blocks[layer], hide(some)) for layer, some in zip(layers, heads, strict=True)]):
        yield


@contextmanager
def _hooked(hooks: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Calls each hook before its block's attention."""
    handles = [block.attention.register_forward_pre_hook(hook) for block, hook in hooks]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@dataclass(frozen=True, kw_only=True)
class HeadFinding:
    """One head: its attention to the name from the answering position, and the effect of ablating it.

    `drop` is the loss of the right answer's log-probability in nats. Layers and heads count from one.
    """

    layer: int
    head: int
    share: MeanInterval
    drop: MeanInterval

    def __str__(self) -> str:
        return f"layer {self.layer} head {self.head}"

    @property
    def status(self) -> Status:
        """Whether the head reads the answer from the name."""
        if self.drop.lower > LEAST_DROP:
            return "holds"
        return "refuted" if self.drop.upper < LEAST_DROP else "undecided"

    def verdict(self, reproduce: str | None) -> Verdict:
        """The same with its evidence."""
        return Verdict(
            id=f"{str(self).replace(' ', '-')}-reads-the-name",
            statement=f"{self} reads the answer from the name",
            status=self.status,
            method=f"its attention to the name was ablated on {self.drop.count} questions",
            reason=f"ablating it lowers the answer's log-probability by {self.drop} nats (at least {LEAST_DROP:g} "
            f"counts); it gives the name {percent(self.share.mean)} of its attention",
            value=self.drop.mean,
            bound=self.drop.half_width,
            probability=1 - _ALPHA,
            reproduce=reproduce,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ShownQuestion:
    """One question, the model's answer, and every head's attention weights."""

    probe: Probe
    answer: str
    probability: float
    tokens: Sequence[str]
    weights: Float[np.ndarray, "layer head query key"]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "question": self.probe.question,
            "name": self.probe.name,
            "answer": self.answer,
            "probability": self.probability,
            "tokens": list(self.tokens),
            "name_tokens": [self.probe.first, self.probe.end],
            "weights": self.weights.round(6).tolist(),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class InspectionReport:
    """The heads of a run. `uniform_share` is the name's share if a head attended to all keys equally."""

    run: str
    population: str
    num_questions: int
    heads: Sequence[HeadFinding]
    all_heads: MeanInterval
    uniform_share: float
    shown: ShownQuestion
    reproduce: str

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per head."""
        return tuple(head.verdict(self.reproduce) for head in self.heads)

    def _repr_html_(self) -> str:
        return notebook_frame(render_inspection(self), title="What the heads read")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        return {
            "run": self.run,
            "population": self.population,
            "num_questions": self.num_questions,
            "least_drop": LEAST_DROP,
            "even_share": self.uniform_share,
            "all_heads_drop": asdict(self.all_heads),
            "heads": [{**asdict(head), "status": head.status} for head in self.heads],
            "shown": self.shown.to_dict(),
        }


def inspect(
    out: Path, *, question: str | None = None, questions: Path | None = None, member: int = 1
) -> InspectionReport:
    """The heads of a finished run, or of one of its members, judged on a file's questions or the held-out ones."""
    run, num_members = RunFolder(out, member - 1), RunFolder(out).plan().members
    if not 1 <= member <= num_members:
        several = f" to {num_members}" if num_members > 1 else ""
        raise InputError(f"{out} has no member {member}. Give --member 1{several}.")
    asked = run.held_out() if questions is None else read_questions(questions)
    command = f"regard train inspect {out}" + ("" if questions is None else f" --questions {questions}")
    command += f" --member {member}" if num_members > 1 else ""
    model, names = run.model(), known_names(run)
    if not asked:
        raise InputError(f"{run.path} has no held-out questions. Give some with their answers: --questions FILE.")
    probes, population = _choose_probes(model, run, asked, names)
    return InspectionReport(
        run=str(run.own),
        population=population,
        num_questions=len(probes),
        heads=judge_heads(model, probes),
        all_heads=_drop_of_all_heads(model, probes),
        uniform_share=float(np.mean([(probe.end - probe.first) / probe.start for probe in probes])),
        shown=_show(model, run, probes[0].question if question is None else question, names),
        reproduce=command,
    )


def judge_heads(model: Decoder, probes: Sequence[Probe]) -> list[HeadFinding]:
    """Every head's share and drop; the intervals of the drops hold for all heads at once with probability 95 %."""
    if len(probes) < 2:
        raise InputError(f"An interval needs at least two questions, not {len(probes)}.")
    config = model.config
    shares, alpha = attention_to_name(model, probes), _ALPHA / (config.num_layers * config.num_heads)
    whole = answer_log_probabilities(model, probes)
    findings = []
    for layer, head in np.ndindex(config.num_layers, config.num_heads):
        ablated = answer_log_probabilities(model, probes, [Ablation(layer=layer, head=head)])
        findings.append(
            HeadFinding(
                layer=layer + 1,
                head=head + 1,
                share=mean_interval(shares[layer, head].tolist()),
                drop=mean_interval((whole - ablated).tolist(), alpha=alpha),
            )
        )
    return findings


def _drop_of_all_heads(model: Decoder, probes: Sequence[Probe]) -> MeanInterval:
    """The drop when the name is hidden from all heads."""
    heads = np.ndindex(model.config.num_layers, model.config.num_heads)
    everywhere = [Ablation(layer=layer, head=head) for layer, head in heads]
    drops = answer_log_probabilities(model, probes) - answer_log_probabilities(model, probes, everywhere)
    return mean_interval(drops.tolist())


def _choose_probes(
    model: Decoder, run: RunFolder, questions: Sequence[FactQuestion], names: frozenset[str]
) -> tuple[list[Probe], str]:
    """The questions that the model answers correctly (a wrong answer has nothing to lose), and how they were chosen."""
    some = questions[:: -(-len(questions) // _MOST_QUESTIONS)]
    prompt_format = run.prompt_format()
    answers = answer_questions([model], prompt_format, [question.text for question in some])
    known = [q for q, answer in zip(some, answers, strict=True) if answer.text == q.answer]
    is_enough = len(known) >= _FEWEST_KNOWN
    used = "these" if is_enough else "all of them"
    return (
        [make_probe(prompt_format, q.text, q.answer, names) for q in (known if is_enough else some)],
        f"{len(known)} of {len(some)} questions are answered correctly; heads are judged on {used}",
    )


def _show(model: Decoder, run: RunFolder, question: str, names: frozenset[str]) -> ShownQuestion:
    prompt_format = run.prompt_format()
    require_askable(prompt_format.vocabulary, [question])
    answer = answer_questions([model], prompt_format, [question])[0]
    probe = make_probe(prompt_format, question, answer.text, names)
    return ShownQuestion(
        probe=probe,
        answer=answer.text,
        probability=answer.probability,
        tokens=prompt_format.vocabulary.token_texts(probe.tokens),
        weights=attention_weights(model, probe),
    )


_COLUMNS = ("attention to the name", "drop in log p, nats", "reads the answer from the name")


def show_inspection(console: Console, report: InspectionReport) -> None:
    """Prints the question shown, a table of heads, and the heads that read the name."""
    shown = report.shown
    say(console, f"{shown.probe.question}  {shown.answer}  (probability {percent(shown.probability)})")
    uniform = f"uniform attention would give the name {percent(report.uniform_share)}"
    say(console, f"{report.population}; {uniform}", style="dim")
    console.print()
    show_columns(console, [("", *_COLUMNS), *map(_cells, report.heads)])
    say(console, f"all heads at once: {report.all_heads} nats (95 %; the heads' intervals hold jointly)", indent=2)
    for verdict in report.verdicts:
        if verdict.status == "holds":
            console.print()
            say(console, f"{verdict.statement}: {verdict.reason}", lead=status_label(console, verdict.status))


def render_inspection(report: InspectionReport) -> str:
    """The inspection as an HTML page."""
    reading = [str(head) for head in report.heads if head.status == "holds"]
    finding = f"{', '.join(reading)} read the name" if reading else "no head was found to read the name"
    return render_page(
        Page(
            title=f"{report.run}: {finding}",
            main=f'<header class="head"><p class="problem">{html.escape(report.run)}</p><h1>What the heads read</h1>'
            f"<p>{html.escape(report.population)}.</p></header>{_render_heads(report)}{_render_maps(report.shown)}",
            margin='<ul class="contents"><li><a href="#heads">Heads</a></li><li><a href="#maps">One question</a></li>'
            f"</ul>{render_statuses((verdict.status, verdict.statement) for verdict in report.verdicts)}",
            styles=("document.css", "charts.css", "intervals.css", "training/inspect.css"),
        )
    )


def _cells(head: HeadFinding) -> tuple[str, ...]:
    share = f"{percent(head.share.mean, digits=1)} ± {percent(head.share.half_width, digits=1)}"
    return str(head), share, str(head.drop), head.status


def _render_heads(report: InspectionReport) -> str:
    drops = draw_intervals(
        [head.drop.row(str(head), status=head.status) for head in report.heads],
        Axis(label="nats that the right answer loses"),
        title="The effect of each head's attention to the name",
        caption=f"The name's keys are hidden from one head at a time; the intervals hold jointly with 95 %. The dotted "
        f"line is the least that counts, {LEAST_DROP:g}. All heads at once: {report.all_heads}.",
        at=LEAST_DROP,
    )
    shares = draw_intervals(
        [head.share.row(str(head)) for head in report.heads],
        Axis(label="share of attention", lower=0.0, upper=1.0),
        title="How much each head attends to the name",
        caption=f"From the answering position, mean over {report.num_questions} questions. The dotted line is uniform "
        "attention. A head may attend to the name without using it.",
        at=report.uniform_share,
    )
    table = render_table(map(_cells, report.heads), ("head", *_COLUMNS))
    return f'<section id="heads"><h2>Heads</h2>{drops}{shares}{table}</section>'


def _render_maps(shown: ShownQuestion) -> str:
    name_tokens = (shown.probe.first, shown.probe.end)
    layers = "".join(
        f'<h3>Layer {layer}</h3><div class="maps">'
        + "".join(
            draw_attention_map(weights, shown.tokens, name_tokens, title=f"layer {layer} head {head}")
            for head, weights in enumerate(heads, start=1)
        )
        + "</div>"
        for layer, heads in enumerate(shown.weights, start=1)
    )
    answer = f"{shown.answer} (probability {percent(shown.probability)})"
    return (
        f'<section id="maps"><h2>One question</h2><p><q>{html.escape(shown.probe.question)}</q> {html.escape(answer)}'
        f"</p><p>Rows attend to columns; the frame marks the name.</p>{layers}</section>"
    )
