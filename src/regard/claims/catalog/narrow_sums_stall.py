"""In a narrow format, adding many equal weights one by one stalls."""

from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np

from regard.analysis.closed_forms.rounding import narrow_sum, rounded_whole, stall
from regard.claims._evidence import Evidence, conjunction
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.core.verdict import Status
from regard.render.figures import Axis, Chart, Guide, Series

# Significant bits of the formats that can be run.
_FORMATS = {"bfloat16": 8, "float16": 11, "float32": 24}
# Counting starts this far below the stall; all sums below are exact in a format that holds the number.
_RUN_UP = 300
_MOST_WEIGHTS = 12
_LEAST_BITS, _MOST_BITS, _LARGEST_LOG = 2, 64, 64


def _by_exact_arithmetic(trial: Trial) -> Evidence:
    """Every partial sum in whole numbers, for every p and k of the domain: all up to 2^p are exact, 2^p + 1 is not.

    A whole number of at most p bits is exact, so it is enough that the largest below 2^p has p bits, that 2^p itself
    is exact and that 2^p + 1 rounds back. Weights of 2^{−k} are ones times 2^{−k}, which changes no rounding.
    """
    widths, logs = range(_LEAST_BITS, _MOST_BITS + 1), range(_LARGEST_LOG + 1)
    parts = [_stall_part(trial, trial.at.p), _total_part(trial, trial.at.p, trial.at.k)]
    parts += [_stall_part(trial, bits) for bits in widths]
    wrong = next(
        ((bits, log) for bits in widths for log in logs if trial.form.total(2**log, bits) != _true_total(bits, log)),
        None,
    )
    if wrong:
        parts.append(_total_part(trial, *wrong))
    found = conjunction(*parts)
    if found.status != "proved":
        return found
    covered = f"and likewise for every p from {_LEAST_BITS} to {_MOST_BITS} and k from 0 to {_LARGEST_LOG}"
    return replace(found, detail=f"{parts[0].detail}; {parts[1].detail}; {covered}")


def _stall_part(trial: Trial, bits: int) -> Evidence:
    top = 2**bits
    is_exact = (top - 1).bit_length() == bits and all(rounded_whole(s, bits) == s for s in (top - 1, top))
    if not is_exact or rounded_whole(top + 1, bits) != top:
        return Evidence(status="undecided", detail=f"p = {bits} bits do not halt at 2^p")
    what = f"p = {bits} significant bits: counting by ones halts at"
    return _equal(what, trial.form.stall(bits), top, "proved")


def _total_part(trial: Trial, bits: int, log: int) -> Evidence:
    what = f"p = {bits}: 2^{log} weights of 2^−{log} add up to"
    return _equal(what, trial.form.total(2**log, bits), _true_total(bits, log), "proved")


def _true_total(bits: int, log: int) -> Fraction:
    """As many of the 2^k weights count as would ones."""
    return Fraction(min(2**log, 2**bits), 2**log)


def _by_adding(trial: Trial) -> list[Evidence]:
    """Running sums in the formats themselves: of ones up to the stall and beyond, and of 2^k weights."""
    parts, k = [], min(trial.at.k, _MOST_WEIGHTS)
    for name, bits in _FORMATS.items():
        dtype = np.dtype(getattr(ml_dtypes, name, name))
        start = max(2**bits - _RUN_UP, 0)
        ones = np.append(start, np.ones(2 * _RUN_UP)).astype(dtype)
        halt = int(np.add.accumulate(ones)[-1])
        parts.append(_equal(f"1 + 1 + … in {name} halts at", trial.form.stall(bits), halt, "holds"))
        weights = np.full(2**k, 2.0**-k).astype(dtype)
        what, total = f"2^{k} weights of 2^−{k} in {name} add up to", Fraction(float(np.add.accumulate(weights)[-1]))
        parts.append(_equal(what, trial.form.total(2**k, bits), total, "holds"))
    return parts


def _equal(what: str, claimed: int | Fraction, found: int | Fraction, status: Status) -> Evidence:
    shown, against = f"{what} {float(found):.12g}", f"the statement says {float(claimed):.12g}"
    if claimed == found:
        return Evidence(status=status, detail=shown, value=float(found), bound=0.0)
    return Evidence(status="refuted", detail=shown, counterexample=f"{shown}; {against}")


def _figure(at: Settings) -> Chart:
    numbers = 2.0 ** np.arange(0, 33)
    formats = {f"{at.p} bits": at.p} if at.p not in _FORMATS.values() else {}
    return Chart(
        title="Sums that stop growing",
        caption="n weights of 1/n added one by one in a format of p significant bits. The sum should be 1; beyond n = "
        "2^p every further term is lost to rounding.",
        x=Axis(label="number of terms n", is_log=True),
        y=Axis(label="computed sum", lower=0.0, upper=1.1),
        series=[
            Series(label=f"{name}: 2^{bits}", x=numbers, y=np.minimum(numbers, 2.0**bits) / numbers)
            for name, bits in sorted({**_FORMATS, **formats}.items(), key=lambda each: each[1])
        ],
        guides=(Guide(at=1.0, label="the true sum"),),
    )


CLAIM = Claim(
    id="narrow-sums-stall",
    section="7 softmax",
    statement="adding ones one by one in a format of p significant bits (round to nearest even) halts at 2^p: 256 in "
    "bfloat16, 2048 in float16, 2²⁴ in float32; so n = 2^k weights of 1/n add up to min(n, 2^p)/n, in bfloat16 256/n "
    "for n ≥ 256",
    latex=r"\mathrm{fl}_p(2^p+1)=2^p\;\Rightarrow\;\underbrace{\tfrac1n\oplus\dots\oplus\tfrac1n}_{n=2^k}="
    r"\frac{\min(n,2^p)}{n}",
    expected="proved",
    parameters=(integer("p", 8, lower=_LEAST_BITS, upper=_MOST_BITS), integer("k", 12, lower=0, upper=_LARGEST_LOG)),
    conditions=("n = 2^k weights", "rounded to nearest even after each addition", "no underflow"),
    assumes=("a whole number of at most p bits is held exactly by p significant bits",),
    # Where counting by ones halts in p bits, and what n weights of 1/n add up to, n a power of two.
    form=Form(stall=stall, total=narrow_sum),
    near_misses=(
        NearMiss("it halts at 2^{p−1}: 128 in bfloat16, which stores 7 bits", {"stall": lambda bits: stall(bits - 1)}),
        NearMiss("it halts at 2^{p+1}, where 1 is less than half a step", {"stall": lambda bits: stall(bits + 1)}),
        NearMiss(
            "the weights still add up to 1, because errors cancel",
            {"total": lambda count, bits: Fraction(1) + 0 * count * bits},
        ),
    ),
    methods={"exact arithmetic": _by_exact_arithmetic, "running sums": _by_adding},
    derivation="p bits represent every whole number up to 2^p; beyond that the step is 2, and 2^p + 1 lies midway "
    "between 2^p and 2^p + 2 and rounds to the even side, back to 2^p. 4096 weights of 1/4096 add up to 1/16 in "
    "bfloat16 instead of 1, and to ½ in float16. That is why kernels accumulate in float32, where it takes 2²⁴ = "
    "16777216 equal terms.",
    source="Higham 2002, Accuracy and stability of numerical algorithms, chapter 4; runs with ml_dtypes",
    figure=_figure,
)
