"""`regard check` on every class for text generation of the installed transformers, each with a tiny random config.

A refutation counts as a false alarm unless KNOWN says by which reproduction without Regard it was confirmed.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from regard.conformance.check import check_all
from regard.conformance.isolation import BUILD, CheckLimits
from regard.conformance.requests import CheckRequest
from regard.conformance.verdict import CheckReport

# Refutations that are right, by class and law.
_STRIDES = "it calls view() on states that may not be contiguous, which raises an error"
_NO_PAST = "several tokens after a cache start from no state in its state-space layers"
_ON_MODULES = "its recurrent state is kept on the modules, so that requests share it and a prompt of one token reads it"
KNOWN: dict[str, dict[str, str]] = {
    "AXK1ForCausalLM": {"LAYOUT": _STRIDES},
    "AXK2ForCausalLM": {"LAYOUT": _STRIDES},
    "KimiLinearForCausalLM": {"LAYOUT": _STRIDES},
    "Qwen3NextForCausalLM": {"LAYOUT": _STRIDES},
    "Qwen3_5MoeForCausalLM": {"LAYOUT": _STRIDES},
    "MiniMaxForCausalLM": {"LAYOUT": _STRIDES},
    "NemotronHForCausalLM": {"LAYOUT": _STRIDES},
    "JambaForCausalLM": {"LAYOUT": _STRIDES, "CACHE": _NO_PAST, "TRACE": _NO_PAST},
    "RecurrentGemmaForCausalLM": dict.fromkeys(("CACHE", "CACHEPURE", "REQUESTS", "TRACE"), _ON_MODULES),
}
_FAILURES = ("refuted", "crashed", "timed out")


def main() -> None:
    """Prints the figures as Markdown, and one line per failure; `--json` keeps all outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only classes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--laws", help="only these laws")
    parser.add_argument("--cache", default="dynamic", help="the class of caches: dynamic, static or quantized")
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    chosen = parser.parse_args()
    start = time.perf_counter()
    reports = run(class_names(chosen.only), chosen.laws, chosen.jobs, chosen.cache)
    print(figures(reports, time.perf_counter() - start))
    if chosen.json is not None:
        rows = {report.layer: {verdict.law: verdict.outcome for verdict in report.verdicts} for report in reports}
        chosen.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def class_names(only: str | None) -> list[str]:
    """The classes for text generation, without those that only share a name with another."""
    names = sorted(set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()))
    return [name for name in names if only is None or only.lower() in name.lower()]


def run(names: Sequence[str], laws: str | None, jobs: int, cache: str = "dynamic") -> tuple[CheckReport, ...]:
    """The report on each class."""
    chosen = None if laws is None else tuple(laws.split(","))
    arguments = {} if cache == "dynamic" else {"cache": cache}
    requests = [
        CheckRequest(target=f"hf:{name}", arguments=arguments, laws=chosen, expect=KNOWN.get(name, {}))
        for name in names
    ]
    return check_all(requests, limits=CheckLimits(is_preloaded=True), jobs=jobs)


def figures(reports: Sequence[CheckReport], seconds: float) -> str:
    """The shares, then every failure in one line."""
    unbuilt = [report for report in reports if any(verdict.id == BUILD for verdict in report.verdicts)]
    built = [report for report in reports if report not in unbuilt]
    failures = [verdict for report in built for verdict in report.verdicts if verdict.outcome in _FAILURES]
    counts = Counter(verdict.outcome for verdict in failures)
    lines = [
        f"{len(reports)} classes, {len(unbuilt)} not built ({len(unbuilt) / max(len(reports), 1):.1%}), "
        f"{counts['refuted']} unconfirmed refutations, {counts['crashed']} crashes, {counts['timed out']} timeouts, "
        f"{seconds / 60:.1f} minutes",
        "",
        *(f"- {report.layer} BUILD: {report.verdicts[0].reason}" for report in unbuilt),
        *(f"- {each.layer} {each.law} {each.outcome}: {each.counterexample or each.reason}" for each in failures),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
