"""Positions cast to half precision merge; rounding only the angle loses no whole row."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.analysis.closed_forms.rounding import first_merge, lost_whole_numbers, overflow_from, rounded, rounded_whole
from regard.claims._rounded_rows import as_format, lost_rows, repeats
from regard.claims._turns import WIDTH
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import codes
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence
from regard.positions.rotary import Rotary

# Significant bits, and the exponent of the largest binade of float16.
_BITS = {"bfloat16": 8, "float16": 11}
_LARGEST_EXPONENT = 15
_SEARCHED = 4096
_WIDEST = 1024


@dataclass(frozen=True, kw_only=True)
class Merging:
    """Where positions merge when cast, how many are lost, where they overflow; and what rounded products lose."""

    first_merge: Callable[[int], int] = first_merge
    overflow_from: Callable[[int, int], int] = overflow_from
    lost_when_cast: Callable[[int, int], int] = lost_whole_numbers
    products_lose_as_much: bool = False

    def figures(self, count: int, width: int) -> dict[str, Any]:
        """Every number of the statement under its name."""
        merges = {name: (self.first_merge(bits) - 1, self.first_merge(bits)) for name, bits in _BITS.items()}
        lost = self.lost_when_cast(count, _BITS["bfloat16"])
        return {
            **{f"positions cast to {name} first merge": merge for name, merge in merges.items()},
            **{f"top-frequency products rounded to {name} first merge": merge for name, merge in merges.items()},
            "float16 is infinite from": self.overflow_from(_BITS["float16"], _LARGEST_EXPONENT),
            f"rows lost of {count} (positions cast to bfloat16)": lost,
            f"rows lost of {count} (d = {width:g}, products rounded to bfloat16)": lost * self.products_lose_as_much,
        }


def _angles(trial: Trial) -> np.ndarray:
    """Position times frequency; of a very wide code, a spread of its frequencies."""
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
    lost = [lost_rows(as_format(rows, "bfloat16")) for rows in (np.arange(trial.at.T)[:, None], _angles(trial))]
    return _compared("brute force", trial, [*found, overflow, *lost])


def _by_exact_rounding(trial: Trial) -> Evidence:
    """The same in whole numbers and in float64: p significant bits, ties to even, no format involved.

    Rounding keeps the order, so what merges merges with its neighbour.
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
    return _compared("exact rounding", trial, [*((t, t + 1) for t in firsts), overflow, lost, same])


def _compared(route: str, trial: Trial, found: list[Any]) -> Evidence:
    """The numbers found against those of the statement, one by one."""
    stated = trial.form.figures(trial.at.T, trial.at.d)
    told = dict(zip(stated, found, strict=True))
    wrong = [name for name in stated if told[name] != stated[name]]
    lost = float(found[-2])
    if not wrong:
        detail = "; ".join(f"{name}: {_told(number)}" for name, number in told.items())
        return Evidence(route=route, status="holds", detail=detail, value=lost)
    counterexample = f"{wrong[0]}: {_told(told[wrong[0]])}, the statement says {_told(stated[wrong[0]])}"
    return Evidence(route=route, status="refuted", detail=wrong[0], value=lost, counterexample=counterexample)


def _told(number: Any) -> str:
    """A number as it is, a merge as an arrow."""
    return f"{number[1]}→{number[0]}" if isinstance(number, tuple) else str(number)


CLAIM = Claim(
    id="rope-in-floats",
    section="6 rotary codes",
    statement="positions cast to bf16 / fp16 first merge at 257→256 / 2049→2048 (fp16 is inf from 65520); if only the "
    "product tθ is rounded the top frequency merges there but no whole row does (bf16, T = 512, d = 128: 0 rows lost, "
    "127 when cast)",
    latex=r"\mathrm{bf16}(257)=256,\quad\mathrm{fp16}(2049)=2048,\quad\mathrm{fp16}(65520)=\infty;\quad"
    r"\#\{\mathrm{bf16}(t)\}_{t<512}=512-127,\quad\#\{\mathrm{bf16}(t\theta)\}_{t<512}=512",
    expected="holds",
    parameters=(
        Parameter(name="T", default=512, lower=258, upper=512, is_integer=True),
        replace(WIDTH, default=128, lower=18),
    ),
    conditions=("B = 10000", "rounding to nearest even"),
    form=Merging(),
    rivals=(
        Rival(
            statement="bf16 stores 7 bits, so positions merge from 129 on",
            form=Merging(first_merge=lambda bits: first_merge(bits - 1)),
        ),
        Rival(
            statement="fp16 is inf from 65505, right above its largest number",
            form=Merging(overflow_from=lambda bits, top: overflow_from(bits, top) - 2 ** (top - bits) + 1),
        ),
        Rival(statement="rounding the product loses as many rows as casting", form=Merging(products_lose_as_much=True)),
    ),
    routes=(_by_casting, _by_exact_rounding),
    derivation="p significant bits hold every whole number up to 2^p; 2^p + 1 lies midway and goes to the even side: "
    "257→256 with p = 8, 2049→2048 with p = 11. From 256 to 511 only even numbers are left, so 127 of 512 positions "
    "are lost. float16 ends at 65504 with steps of 32, so from 65520 = 65504 + 16 on it rounds to infinity. "
    "If the product tθ_i is rounded instead, each frequency merges other neighbours (the top one, θ = 1, the same), "
    "and from d = 18 up one frequency or another keeps any two of 512 positions apart (at d = 16 one row is lost). "
    "Not for ever: at d = 128 the first row is lost at T = 2568.",
    source="IEEE 754 rounding to nearest even; exhaustive count with ml_dtypes",
    figure=codes.merged_positions,
)
