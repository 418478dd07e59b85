"""Which heads read the answer from the name: a verdict on each, from what cutting its look costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.core.errors import InputError
from regard.core.verdict import Status, Verdict
from regard.training.answering import answer_questions, require_askable
from regard.training.data.reading import Question
from regard.training.folder import RunFolder
from regard.training.inspected import HeadFinding, InspectionReport, Shown
from regard.training.inspecting import Cut, answer_log_probabilities, attention_weights, name_shares
from regard.training.intervals import Interval
from regard.training.model import Decoder
from regard.training.naming import Probe, known_names, make_probe
from regard.training.statistics import mean_interval

LEAST_DROP = 0.1
"""Nats; a head whose cut lowers the answer's probability by less than a tenth does not read it."""

_DOUBT = 0.05
_MOST_QUESTIONS, _FEWEST_KNOWN = 200, 8


@dataclass(frozen=True, kw_only=True, eq=False)
class _Asked:
    """The questions that heads are judged on, and how they were chosen."""

    probes: Sequence[Probe]
    population: str


def inspect_run(
    run: RunFolder, questions: Sequence[Question], shown: str | None, *, reproduce: str | None = None
) -> InspectionReport:
    """The heads of a finished run, judged on some questions, and one question with all its weights."""
    model, names = run.model(), known_names(run)
    if not questions:
        raise InputError(f"{run.path} kept no questions back. Give some with their answers: --questions FILE.")
    asked = _choose(model, run, questions, names)
    heads = judge_heads(model, asked.probes, reproduce=reproduce)
    return InspectionReport(
        run=str(run.own),
        population=asked.population,
        num_questions=len(asked.probes),
        heads=heads,
        all_heads=_drop_of_all(model, asked.probes),
        even_share=float(np.mean([(probe.end - probe.first) / probe.start for probe in asked.probes])),
        least=LEAST_DROP,
        shown=_show(model, run, asked.probes[0].question if shown is None else shown, names),
    )


def judge_heads(model: Decoder, probes: Sequence[Probe], *, reproduce: str | None = None) -> list[HeadFinding]:
    """Every head's share and drop; the drops' intervals hold for all heads at once with probability 95 %."""
    if len(probes) < 2:
        raise InputError(f"{len(probes)} questions give no interval. Ask at least two.")
    config = model.config
    shares, doubt = name_shares(model, probes), _DOUBT / (config.num_layers * config.num_heads)
    whole = answer_log_probabilities(model, probes)
    findings = []
    for layer, head in np.ndindex(config.num_layers, config.num_heads):
        share = mean_interval(shares[layer, head].tolist())
        cut = answer_log_probabilities(model, probes, [Cut(layer=layer, head=head)])
        drop = mean_interval((whole - cut).tolist(), doubt=doubt)
        verdict = replace(_verdict(f"layer {layer + 1} head {head + 1}", share, drop), reproduce=reproduce)
        findings.append(HeadFinding(layer=layer + 1, head=head + 1, share=share, drop=drop, verdict=verdict))
    return findings


def _verdict(name: str, share: Interval, drop: Interval) -> Verdict:
    status: Status = "undecided"
    if drop.lower > LEAST_DROP:
        status = "holds"
    elif drop.upper < LEAST_DROP:
        status = "refuted"
    return Verdict(
        id=f"{name.replace(' ', '-')}-reads-the-name",
        statement=f"{name} reads the answer from the name",
        status=status,
        method=f"its look at the name was cut on {drop.count} questions",
        reason=f"without it the answer's log-probability falls by {drop} nats, and {LEAST_DROP:g} is the least that "
        f"counts; it gives the name {share.mean:.0%} of its attention",
        value=drop.mean,
        bound=drop.half,
        probability=1 - _DOUBT,
    )


def _drop_of_all(model: Decoder, probes: Sequence[Probe]) -> Interval:
    """What it costs to hide the name from every head after it."""
    places = np.ndindex(model.config.num_layers, model.config.num_heads)
    everywhere = [Cut(layer=layer, head=head) for layer, head in places]
    drops = answer_log_probabilities(model, probes) - answer_log_probabilities(model, probes, everywhere)
    return mean_interval(drops.tolist())


def _choose(model: Decoder, run: RunFolder, questions: Sequence[Question], names: frozenset[str]) -> _Asked:
    """Questions that the model answers right: of those that it does not know, nothing can be lost."""
    step = -(-len(questions) // _MOST_QUESTIONS)
    some = questions[::step]
    wording = run.wording()
    answers = answer_questions([model], wording, [question.text for question in some])
    known = [q for q, answer in zip(some, answers, strict=True) if answer.text == q.answer]
    is_enough = len(known) >= _FEWEST_KNOWN
    told = f"{len(known)} of {len(some)} questions are answered right"
    return _Asked(
        probes=[make_probe(wording, q.text, q.answer, names) for q in (known if is_enough else some)],
        population=f"{told}; heads are judged on {'these' if is_enough else 'all of them'}",
    )


def _show(model: Decoder, run: RunFolder, question: str, names: frozenset[str]) -> Shown:
    wording = run.wording()
    require_askable(wording.vocabulary, [question])
    answer = answer_questions([model], wording, [question])[0]
    probe = make_probe(wording, question, answer.text, names)
    return Shown(
        question=question,
        name=probe.name,
        answer=answer.text,
        probability=answer.probability,
        tokens=wording.vocabulary.names(probe.tokens),
        first=probe.first,
        end=probe.end,
        weights=attention_weights(model, probe),
    )
