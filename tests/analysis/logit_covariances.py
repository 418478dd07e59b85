"""Covariances of a law of logits, rebuilt from its directions."""

import numpy as np

from regard.analysis.scenarios import LogitLaw


def covariances(law: LogitLaw) -> np.ndarray:
    """Covariance of one key's logits over the heads for every group, before any normalization."""
    directions = np.array(law.directions).reshape(len(law.names), law.num_heads, law.rank)
    return np.einsum("ghr,gr,gkr->ghk", directions, np.array(law.variances), directions)
