"""Beyond a certain distance T5's buckets distinguish nothing."""

from dataclasses import replace
from itertools import product

import numpy as np

from regard.analysis.closed_forms.position_codes import last_bucket_start
from regard.analysis.engines.symbolic import identity, nonnegative, positive
from regard.claims._evidence import Evidence, conjunction, one_case, smaller_case
from regard.claims._figures import counts
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer
from regard.positions.t5_buckets import t5_bucket
from regard.render.figures import Axis, Chart, Guide, Series

_MOST_DISTANCE = 2048
_FAR = 10**6
_BUCKETS, _DISTANCES = (2, 3, 7, 8, 16, 31, 32, 64), (33, 65, 128, 500, 10_000)


def _by_algebra(trial: Trial) -> list[Evidence]:
    """b(n) = min(E + ⌊(N−E)x⌋, N−1), x = log(n/E)/log(D/E): x ≥ 1 from D on, and bucket N−1 starts at x = 1 − 1/(N−E).

    In whole numbers the start is the least n with n^{N−E} ≥ D^{N−E−1}E.
    """
    log_e, log_d, more, exact, rest = trial.field("log E", "log D", "more", counts=("E", "N-E"))
    step, last = 1 - 1 / rest, exact + rest - 1
    left, right = rest * (log_e + step * (log_d - log_e)), (rest - 1) * log_d + log_e
    far = conjunction(
        positive(exact + rest * (1 + more) - last, "E + (N−E)x > N−1 for every n ≥ D"),
        nonnegative(exact + rest * (step + more) - last, "E + (N−E)x ≥ N−1 from the start on"),
        identity(left, right, "(E(D/E)^{1−1/(N−E)})^{N−E} = D^{N−E−1}E"),
    )
    if not trial.form.is_endless:
        shown = f"distances D and 10⁶·D share bucket N−1 at any N and D: b(n) stops there ({far.detail})"
        return [Evidence(status="refuted", detail="the last bucket has no end", counterexample=shown)]
    sizes = [(trial.at.num_buckets, trial.at.max_distance), *product(_BUCKETS, _DISTANCES)]
    starts = [_starts_there(trial, *size) for size in sizes]
    wrong = [part for part in starts if part.status != "proved"]
    detail = f"{starts[0].detail}, and as claimed at {len(starts) - 1} other N and D, in whole numbers"
    return [far, *(wrong or [replace(starts[0], detail=detail)])]


def _starts_there(trial: Trial, num_buckets: int, max_distance: int) -> Evidence:
    """Whether the claimed start is the least whole n with n^{N−E} ≥ D^{N−E−1}E, decided in whole numbers."""
    exact, claimed = num_buckets // 2, trial.form.start(num_buckets, max_distance)
    rest = num_buckets - exact
    enough, before = (n**rest >= max_distance ** (rest - 1) * exact for n in (claimed, claimed - 1))
    shown = f"N = {num_buckets}, D = {max_distance:.12g}: the last bucket starts at {claimed:.12g}"
    if enough and not before:
        return Evidence(status="proved", detail=shown)
    other = f"{claimed:.12g} is not in it yet" if not enough else f"{claimed - 1:.12g} is already in it"
    against = f"{shown} according to the statement, but {other}"
    return Evidence(status="refuted", detail=against, counterexample=against)


def _by_reference_code(trial: Trial) -> list[Evidence]:
    """The bucket of every distance up to D and of some far beyond, in the reference code."""
    num_buckets, furthest = trial.at.num_buckets, min(trial.at.max_distance, _MOST_DISTANCE)
    near = np.arange(furthest + 2)
    beyond = np.array([2 * furthest, _FAR, 10**12, 2**62])
    buckets = t5_bucket(-np.concatenate([near, beyond]), num_buckets=num_buckets, max_distance=furthest, is_causal=True)
    start = int(near[np.argmax(buckets[: len(near)] == num_buckets - 1)])
    is_one = bool((buckets[start:] == num_buckets - 1).all())
    shown = (
        f"N = {num_buckets}, D = {furthest}: the bucket of {start - 1} is {buckets[start - 1]}, those of {start}, "
        f"{furthest}, {_FAR:,} and 2^62 are {num_buckets - 1}"
    )
    claimed = trial.form.start(num_buckets, furthest)
    said = f"that it starts at {claimed}" + " and ends" * (not trial.form.is_endless)
    agrees = claimed == start and trial.form.is_endless == is_one
    found = one_case(shown, agrees=agrees, said=said, value=float(start))
    return smaller_case(found, tried=furthest, asked=trial.at.max_distance)


def _figure(at: Settings) -> Chart:
    num_buckets, most = at.num_buckets, int(min(at.max_distance, 10**6))
    distances = counts(1, 8 * most)
    found = t5_bucket(-distances, num_buckets=num_buckets, max_distance=most, is_causal=True)
    start = last_bucket_start(num_buckets, most)
    return Chart(
        title="Beyond the last bucket's start all distances are alike",
        caption=f"The bucket of each distance for {num_buckets} buckets and max_distance {most}. The first half have "
        f"one distance each, the others grow geometrically, and the last starts at {start} and never ends.",
        x=Axis(label="distance", is_log=True),
        y=Axis(label="bucket", lower=0.0),
        series=(Series(label="bucket", x=distances, y=np.asarray(found, dtype=float), style="bars"),),
        guides=(Guide(at=float(start), label=f"the last: {start}", is_vertical=True),),
    )


CLAIM = Claim(
    id="t5-buckets-are-far-sighted-alike",
    section="9 distance biases",
    statement="T5's relative bias with N buckets for one direction, E = ⌊N/2⌋: all distances ≥ max_distance D share "
    "one bucket, so a decoder cannot use it to tell 128 from 10⁶; the bucket starts as early as ⌈E(D/E)^{1−1/(N−E)}⌉ "
    "(N = 32, D = 128: 113)",
    latex=r"b(n)=N-1\iff n\ge\lceil E\,(D/E)^{1-1/(N-E)}\rceil\le D,\quad E=\lfloor N/2\rfloor",
    expected="proved",
    parameters=(integer("num_buckets", 32, lower=2, upper=64), integer("max_distance", 128, lower=33)),
    conditions=("keys before the query (causal)",),
    assumes=("the logarithm grows",),
    # The least distance in the last bucket, given N buckets for one direction and D; and whether it never ends.
    form=Form(start=last_bucket_start, is_endless=True),
    near_misses=(
        NearMiss(
            "the last bucket starts at max_distance, and everything nearer is in another",
            {"start": lambda _buckets, distance: distance},
        ),
        NearMiss("buckets keep growing logarithmically, so 10⁶ and 128 are in different ones", {"is_endless": False}),
        NearMiss(
            "the last bucket starts at E(D/E)^{1−1/N}",
            {
                "start": lambda buckets, distance: int(
                    np.ceil(buckets // 2 * (distance / (buckets // 2)) ** (1 - 1 / buckets))
                )
            },
        ),
    ),
    methods={"reference code": _by_reference_code, "algebra": _by_algebra},
    derivation="b(n) = min(E + ⌊(N−E)·log(n/E)/log(D/E)⌋, N−1) for n ≥ E. From n = D on the quotient is at least 1, "
    "so the minimum is N−1 from then on; it is N−1 as soon as the quotient reaches 1 − 1/(N−E). N = 32, D = 128: "
    "bucket 31 holds 113, 128 and 10⁶ alike, and bucket 30 ends at 112. Whole numbers decide it: 112^16 < 128^15·16 "
    "≤ 113^16.",
    source="Raffel et al. 2020, Exploring the limits of transfer learning with a unified text-to-text transformer",
    figure=_figure,
)
