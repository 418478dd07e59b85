"""Which part of the page shows a claim live, and in which state."""

from collections.abc import Mapping

LIVE: Mapping[str, str] = {
    "average-of-two": "copy?goal=average&degrees=45&beta=5&n=10",
    "average-scale": "copy?goal=average&degrees=45&n=10",
    "copy": "copy?goal=copy&degrees=0&beta=5&n=10",
    "copy-margin": "copy?goal=copy&degrees=0&n=10&epsilon=0.1",
    "dispersion": "copy?goal=copy&degrees=0&beta=2&n=1000",
    "half-sum-averages": "copy?goal=average&degrees=45&beta=0.5&n=10",
    "query-equals-key-copies": "copy?goal=copy&degrees=0&beta=1&n=10",
    "uniform-limit": "copy?beta=0&n=10",
    "unscaled-sum-averages": "copy?goal=average&degrees=45&beta=1&n=10",
    "weights-are-a-distribution": "copy?goal=average&degrees=45&beta=2&n=10",
    "one-head-swings": "swing?beta=20",
    "identical-heads": "swing?beta=20&other=identical",
    "key-norm-always-averages": "swing?beta=20&isNormalised=1",
    "key-norm-cures": "swing?beta=20&isNormalised=1&isPositive=1",
    "more-heads-always-better": "swing?beta=2",
    "reliability-ceiling": "swing?beta=50",
    "two-heads-always-steady": "swing?beta=20",
    "two-heads-given-positive": "swing?beta=50&isPositive=1",
    "two-heads-steady": "swing?beta=20",
    "causal-breaks-equivariance": "shuffle?isCausal=1",
    "permutation-equivariance": "shuffle?",
    "permutation-invariance": "shuffle?",
    "positions-break-equivariance": "shuffle?codes=sinusoidal",
    "sinusoid-dot-is-relative": "positions?width=16&count=512",
    "sinusoid-nearest": "positions?width=2&count=1024",
    "sinusoid-unique": "positions?width=2&count=1024",
    "sinusoid-unique-in-floats": "positions?width=2&count=1024&format=bfloat16",
    "ntk-keeps-the-fastest-pair": "positions?scaling=ntk&factor=8",
    "rope-decays": "positions?turnWidth=128",
    "rope-is-complex-multiplication": "positions?turnWidth=8",
    "rope-layouts-are-permuted": "positions?layout=mixed&vectors=random&keyAt=100",
    "rope-relative": "positions?keyAt=100",
    "yarn-keeps-fast-pairs": "positions?scaling=yarn&factor=8&turnWidth=64",
}


def live_state(claim: str) -> str | None:
    """The address of the figure that shows the claim, or None if no part does.

    >>> live_state("unscaled-sum-averages")
    'copy?goal=average&degrees=45&beta=1&n=10'
    """
    return LIVE.get(claim)
