"""`regard check` on every class for text generation of the installed transformers, each with a tiny random config.

A refutation counts as a false alarm unless KNOWN says by which reproduction without Regard it was confirmed.
"""

import argparse
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from regard.conformance.isolation import BUILD, CheckLimits, check_isolated, report_failed_build
from regard.conformance.requests import CheckRequest
from regard.conformance.verdict import CheckReport
from regard.core.errors import InputError

# Refutations that are right, by class and law. `transformers_reproductions.py` shows strides and packed documents
# without Regard, docs/recurrences.md the states, docs/zoo.md the rest.
_STRIDES = "it calls view() on states that may not be contiguous, which raises an error"
_NO_PAST = "several tokens after a cache start from no state in its state-space layers"
_ON_MODULES = "its recurrent state is kept on the modules, so that requests share it and a prompt of one token reads it"
_LEAKS = "restarting positions do not separate documents: this class builds its mask without them"
_NO_WINDOW = "the full pass ignores sliding_window, which the cache respects"
_IN_PLACE = "it scales the caller's embeddings, or adds to them, in place"
_NO_IMAGE = "after a cache, it puts an image's places before the mask even if there was no image"
_BY_LENGTH = "its outputs depend on how many tokens follow, whatever these are"
_LAST_CYCLES = "by design, all but the last of its cycles are left out of the gradient (L_bp_cycles)"
_STRIDED = """
    AXK1 AXK2 Afmoe AriaText Cohere2Moe DeepseekV2 Dots1 Ernie4_5_Moe ExaoneMoe FlexOlmo Glm4Moe Glm4MoeLite HYV3
    HunYuanMoEV1 Inkling Jamba KimiLinear Kolibri1 Laguna LongcatFlash Mellum MiMoV2Flash MiniMax MiniMaxM2 MiniMaxM3VL
    Mixtral NemotronH Olmoe Qwen2Moe Qwen3Moe Qwen3Next Qwen3_5Moe SolarOpen
""".split()
_LEAKING = """
    Afmoe BigBird BioGpt Camembert Data2VecText Electra Ernie Falcon GptOss MegatronBert OPT RemBert RoCBert Roberta
    RobertaPreLayerNorm XGLM XLMRoberta XLMRobertaXL Xmod
""".split()
_OTHERS = {
    "BertLMHeadModel": {"PACK": _LEAKS},
    "CTRLLMHeadModel": {"PURE": _IN_PLACE},
    "GitForCausalLM": {"PURE": _IN_PLACE, "CACHEPAD": _NO_IMAGE},
    "HrmTextForCausalLM": {"GRAD": _LAST_CYCLES},
    "JambaForCausalLM": {"CACHE": _NO_PAST, "TRACE": _NO_PAST},
    "MoshiForCausalLM": dict.fromkeys(("CACHE", "CACHEPAD", "SUPPORT"), _NO_WINDOW),
    "OpenAIGPTLMHeadModel": {"LAYOUT": _STRIDES, "PACK": _LEAKS},
    "ProphetNetForCausalLM": {"PAD": _BY_LENGTH, "MASKFORCE": _BY_LENGTH},
    "RecurrentGemmaForCausalLM": dict.fromkeys(("CACHE", "CACHEPURE", "REQUESTS", "TRACE"), _ON_MODULES),
}
_BY_LAW = {"LAYOUT": (_STRIDES, _STRIDED), "PACK": (_LEAKS, _LEAKING)}
KNOWN: dict[str, dict[str, str]] = {name: dict(reasons) for name, reasons in _OTHERS.items()}
for _law, (_reason, _names) in _BY_LAW.items():
    for _name in _names:
        KNOWN.setdefault(f"{_name}ForCausalLM", {})[_law] = _reason
_FAILURES = ("refuted", "crashed", "timed out")


def main() -> None:
    """Prints the figures as Markdown, and one line per failure; `--json` keeps all outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only classes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--laws", help="only these laws")
    parser.add_argument("--cache", default="dynamic", help="the class of caches: dynamic, static or quantized")
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no class after so many minutes")
    parser.add_argument("--json", type=Path, help="write the outcomes here")
    chosen = parser.parse_args()
    start = time.perf_counter()
    names = class_names(chosen.only)
    if chosen.minutes < math.inf:
        # What is reached is then a random sample.
        random.Random(0).shuffle(names)
    reports = run(names, chosen.laws, chosen.jobs, chosen.cache, chosen.minutes)
    print(figures(reports, time.perf_counter() - start))
    if chosen.json is not None:
        rows = {report.layer: {verdict.law: verdict.outcome for verdict in report.verdicts} for report in reports}
        chosen.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def class_names(only: str | None) -> list[str]:
    """The classes for text generation, without those that only share a name with another."""
    names = sorted(set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()))
    return [name for name in names if only is None or only.lower() in name.lower()]


def run(
    names: Sequence[str], laws: str | None, jobs: int, cache: str = "dynamic", minutes: float = math.inf
) -> tuple[CheckReport, ...]:
    """The report on each class that was started in time; a line per class goes to stderr as soon as it is done."""
    chosen = None if laws is None else tuple(laws.split(","))
    arguments = {} if cache == "dynamic" else {"cache": cache}
    limits, end = CheckLimits(is_preloaded=True), time.perf_counter() + 60 * minutes

    def check(name: str) -> CheckReport | None:
        start = time.perf_counter()
        if start > end:
            return None
        request = CheckRequest(target=f"hf:{name}", arguments=arguments, laws=chosen, expect=KNOWN.get(name, {}))
        try:
            report = check_isolated(request, limits=limits)
        except InputError as error:
            report = report_failed_build(request, str(error))
        failures = [f"{verdict.law} {verdict.outcome}" for verdict in report.verdicts if verdict.outcome in _FAILURES]
        print(
            f"{name}: {time.perf_counter() - start:.0f} s; {', '.join(failures) or 'ok'}", file=sys.stderr, flush=True
        )
        return report

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return tuple(report for report in pool.map(check, names) if report is not None)


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
