"""Positions cast to half precision merge; rounding only the angles loses no whole row."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from regard.analysis.closed_forms.rounding import first_merge, lost_whole_numbers, overflow_from, rounded, rounded_whole
from regard.claims._evidence import Evidence, one_case
from regard.claims._figures import counts
from regard.claims._position_codes import WIDTH, as_format, repeats
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.positions.rotary import Rotary
from regard.render.figures import Axis, Chart, Guide, Series

# Significant bits, and the exponent of the largest binade of float16.
_BITS = {"bfloat16": 8, "float16": 11}
_LARGEST_EXPONENT = 15
_SEARCHED = 4096
_WIDEST = 1024


def _stated(trial: Trial) -> dict[str, Any]:
    """Every number of the statement by name."""
    form, count, width = trial.form, trial.at.T, trial.at.d
    merges = {name: (form.first_merge(bits) - 1, form.first_merge(bits)) for name, bits in _BITS.items()}
    lost = form.lost_when_cast(count, _BITS["bfloat16"])
    return {
        **{f"positions cast to {name} first merge": merge for name, merge in merges.items()},
        **{f"top-frequency products rounded to {name} first merge": merge for name, merge in merges.items()},
        "float16 is infinite from": form.overflow_from(_BITS["float16"], _LARGEST_EXPONENT),
        f"rows lost of {count} (positions cast to bfloat16)": lost,
        f"rows lost of {count} (d = {width:g}, products rounded to bfloat16)": lost * form.products_lose_as_much,
    }


def _angles(trial: Trial) -> np.ndarray:
    """Position times frequency; for a very wide code, a selection of its frequencies."""
    if trial.at.d <= _WIDEST:
        frequencies = Rotary().frequencies(trial.at.d)
    else:
        pairs = np.floor(np.linspace(0, float(trial.at.d) / 2 - 1, _WIDEST // 2))
        frequencies = Rotary().base ** (-2 * pairs / float(trial.at.d))
    return np.multiply.outer(np.arange(trial.at.T), frequencies)


def _by_casting(trial: Trial) -> Evidence:
    """Every position and every product, cast by ml_dtypes."""
    positions, found = np.arange(_SEARCHED)[:, None], []
    for angles in (positions, positions * Rotary().frequencies(128)[:1]):
        for name in _BITS:
            earlier, later = repeats(as_format(angles, name))
            found.append((int(earlier[0]), int(later[0])))
    overflow = int(np.argmax(np.isinf(as_format(np.arange(70_000), "float16").astype(float))))
    rows = (np.arange(trial.at.T)[:, None], _angles(trial))
    lost = [len(repeats(as_format(angles, "bfloat16"))[1]) for angles in rows]
    return _compared(trial, [*found, overflow, *lost])


def _by_exact_rounding(trial: Trial) -> Evidence:
    """The same in whole numbers and float64: p significant bits, ties to even, no format involved.

    Rounding preserves order, so a number merges only with its neighbour.
    """
    top = np.arange(_SEARCHED) * Rotary().frequencies(128)[0]
    cast = {bits: np.array([rounded_whole(t, bits) for t in range(_SEARCHED)]) for bits in _BITS.values()}
    merging = [*cast.values(), *(rounded(top, bits) for bits in _BITS.values())]
    firsts = [int(np.argmax(numbers[1:] == numbers[:-1])) for numbers in merging]
    infinite = 2 ** (_LARGEST_EXPONENT + 1)
    overflow = next(t for t in range(65_000, 70_000) if rounded_whole(t, _BITS["float16"]) >= infinite)
    lost = trial.at.T - len(set(cast[_BITS["bfloat16"]][: trial.at.T].tolist()))
    rows = rounded(_angles(trial), _BITS["bfloat16"])
    same = int((rows[1:] == rows[:-1]).all(axis=1).sum())
    return _compared(trial, [*((t, t + 1) for t in firsts), overflow, lost, same])


def _compared(trial: Trial, found: list[Any]) -> Evidence:
    """The numbers found against those of the statement, one by one."""
    stated = _stated(trial)
    numbers = dict(zip(stated, found, strict=True))
    wrong = next((name for name in stated if numbers[name] != stated[name]), None)
    shown = "; ".join(f"{name}: {_shown(numbers[name])}" for name in ([wrong] if wrong else numbers))
    return one_case(shown, agrees=wrong is None, said=_shown(stated[wrong]) if wrong else "", value=float(found[-2]))


def _shown(number: Any) -> str:
    """A number as is, a merge with an arrow."""
    return f"{number[1]}→{number[0]}" if isinstance(number, tuple) else str(number)


def _figure(_: Settings) -> Chart:
    shown, positions = counts(64, 60_000), np.arange(60_001)
    off = {name: np.abs(as_format(positions, name).astype(float) - positions) for name in _BITS}
    worst = {name: np.maximum.accumulate(error)[shown] for name, error in off.items()}
    return Chart(
        title="Where whole positions merge",
        caption="The largest rounding error of any position up to t, which is also that of RoPE's fastest angle. "
        "bfloat16 is off by one from 257 on, float16 from 2049; half a turn is π.",
        x=Axis(label="position t", is_log=True),
        y=Axis(label="largest error so far, in positions", is_log=True, lower=0.5),
        series=[Series(label=name, x=shown, y=np.where(error > 0, error, np.nan)) for name, error in worst.items()],
        guides=(
            Guide(at=math.pi, label="half a turn, π"),
            Guide(at=257.0, label="257", is_vertical=True),
            Guide(at=2049.0, label="2049", is_vertical=True),
        ),
    )


CLAIM = Claim(
    id="rope-in-floats",
    section="6 rotary codes",
    statement="positions cast to bf16 / fp16 first merge at 257→256 / 2049→2048 (fp16 is inf from 65520); if only the "
    "product tθ is rounded the top frequency merges there but no whole row does (bf16, T = 512, d = 128: 0 rows lost, "
    "127 when cast)",
    latex=r"\mathrm{bf16}(257)=256,\quad\mathrm{fp16}(2049)=2048,\quad\mathrm{fp16}(65520)=\infty;\quad"
    r"\#\{\mathrm{bf16}(t)\}_{t<512}=512-127,\quad\#\{\mathrm{bf16}(t\theta)\}_{t<512}=512",
    expected="holds",
    parameters=(integer("T", 512, lower=258, upper=512), replace(WIDTH, default=128, lower=18)),
    conditions=("B = 10000", "rounding to nearest even"),
    # Where cast positions merge, where they overflow, how many are lost; and whether rounded products lose as many.
    form=Form(
        first_merge=first_merge,
        overflow_from=overflow_from,
        lost_when_cast=lost_whole_numbers,
        products_lose_as_much=False,
    ),
    near_misses=(
        NearMiss(
            "bf16 stores 7 bits, so positions merge from 129 on", {"first_merge": lambda bits: first_merge(bits - 1)}
        ),
        NearMiss(
            "fp16 is inf from 65505, right above its largest number",
            {"overflow_from": lambda bits, top: overflow_from(bits, top) - 2 ** (top - bits) + 1},
        ),
        NearMiss("rounding the product loses as many rows as casting", {"products_lose_as_much": True}),
    ),
    methods={"brute force": _by_casting, "exact rounding": _by_exact_rounding},
    derivation="p significant bits represent every whole number up to 2^p; 2^p + 1 lies midway and rounds to the "
    "even side: 257→256 with p = 8, 2049→2048 with p = 11. From 256 to 511 only even numbers are left, so 127 of 512 "
    "positions are lost. float16 ends at 65504 with steps of 32, so from 65520 = 65504 + 16 on it rounds to "
    "infinity. If the product tθ_i is rounded instead, each frequency merges different neighbours (the top one, θ = "
    "1, the same), and from d = 18 up some frequency keeps any two of 512 positions apart (at d = 16 one row is "
    "lost). This does not last: at d = 128 the first row is lost at T = 2568.",
    source="IEEE 754 rounding to nearest even; exhaustive count with ml_dtypes",
    figure=_figure,
)
