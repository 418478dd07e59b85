"""Reference recurrences in float64: linear attention, delta rules, state-space layers, RWKV and short convolutions.

Each is a function of its inputs that returns an object with two forms, token by token (`recurrent`) and in chunks
(`chunked`). Both take the state that an earlier call returned, and return the outputs and the new state.
Gates are natural logarithms of decays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from regard.core.axes import Array, Float

RecurrenceKind: TypeAlias = Literal[
    "linear", "gated_linear", "delta", "gated_delta", "mamba", "mamba2", "rwkv", "short_conv"
]
_CHUNK = 16


@runtime_checkable
class RecurrentForms(Protocol):
    """What every recurrence offers."""

    def recurrent(self, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Outputs and final state, token by token."""
        ...

    def chunked(self, size: int = _CHUNK, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The same in chunks of this many tokens."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class MatrixRecurrence:
    """A state S [key, value] per head that decays by key, is written to, and is read.

        S_t = diag(a_t) S_{t−1} + k_t u_tᵀ        u_t = β_t (v_t − [erasing] (diag(a_t) S_{t−1})ᵀ k_t)
        y_t = S_tᵀ q_t, or with a bonus b: y_t = (S_{t−1} + (b ∘ k_t) u_tᵀ)ᵀ q_t

    Args:
        log_decay: log a, one number per key coordinate or one for all.
        write: β, 1 if not given.
        is_erasing: whether what the state holds for a key is taken out before the new value is written.
        bonus: b.
    """

    q: Float[Array, "batch position head head_width"]
    k: Float[Array, "batch position head head_width"]
    v: Float[Array, "batch position head value_width"]
    log_decay: Float[Array, "batch position head #head_width"]
    write: Float[Array, "batch position head"] | None = None
    is_erasing: bool = False
    bonus: Float[Array, "head head_width"] | None = None

    def recurrent(self, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The formula as it stands."""
        now, outputs = self._state(state), []
        for t in range(self.q.shape[1]):
            q, k, u = self.q[:, t], self.k[:, t], self.v[:, t]
            before, now = now, now * np.exp(self.log_decay[:, t])[..., None]
            if self.is_erasing:
                u = u - np.einsum("bhkv,bhk->bhv", now, k)
            u = u if self.write is None else u * self.write[:, t, :, None]
            now = now + k[..., None] * u[..., None, :]
            seen = now if self.bonus is None else before + (self.bonus * k)[..., None] * u[..., None, :]
            outputs.append(np.einsum("bhkv,bhk->bhv", seen, q))
        return _stacked(outputs, self.v), now

    def chunked(self, size: int = _CHUNK, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """All tokens of a chunk at once: the values written solve a triangular system."""
        state = self._state(state)
        outputs = []
        for start in range(0, self.q.shape[1], size):
            y, state = self._chunk(slice(start, start + size), state)
            outputs.extend(np.moveaxis(y, 1, 0))
        return _stacked(outputs, self.v), state

    def _chunk(self, part: slice, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, k, v = (each[:, part].astype(np.float64) for each in (self.q, self.k, self.v))
        total = np.cumsum(np.broadcast_to(self.log_decay[:, part], k.shape).astype(np.float64), axis=1)
        write = np.ones(k.shape[:3]) if self.write is None else self.write[:, part]
        length = k.shape[1]
        # How much of what s wrote is left at t: exp of a difference, which cannot overflow where s ≤ t.
        left = np.exp(np.minimum(total[:, :, None] - total[:, None], 0.0))
        earlier = np.tril(np.ones((length, length)), -1)[None, None]
        values = v
        if self.is_erasing:
            values = values - np.einsum("bthk,bhkv->bthv", k * np.exp(total), state)
        values = np.moveaxis(values * write[..., None], 2, 1)
        if self.is_erasing:
            overlap = np.einsum("bthk,btshk,bshk->bhts", k, left, k) * earlier * np.moveaxis(write, 2, 1)[..., None]
            values = np.linalg.solve(np.eye(length) + overlap, values)
        y = self._read(q, k, values, (total, left), state)
        to_end = np.exp(total[:, -1:] - total)
        state = state * np.exp(total[:, -1])[..., None] + np.einsum("bthk,bhtv->bhkv", k * to_end, values)
        return y, state

    def _read(
        self, q: np.ndarray, k: np.ndarray, values: np.ndarray, decays: tuple[np.ndarray, np.ndarray], state: np.ndarray
    ) -> np.ndarray:
        total, left = decays
        length = q.shape[1]
        if self.bonus is None:
            scores = np.einsum("bthk,btshk,bshk->bhts", q, left, k) * np.tril(np.ones((length, length)))
        else:
            # The state is read before it decays once more and is written to; the token itself counts by its bonus.
            step = total - np.concatenate([np.zeros_like(total[:, :1]), total[:, :-1]], axis=1)
            total, left = total - step, np.exp(np.minimum((total - step)[:, :, None] - total[:, None], 0.0))
            scores = np.einsum("bthk,btshk,bshk->bhts", q, left, k) * np.tril(np.ones((length, length)), -1)
            own = np.einsum("bthk,hk,bthk->bht", q, self.bonus, k)
            scores[..., np.arange(length), np.arange(length)] = own
        old = np.einsum("bthk,bhkv->bthv", q * np.exp(total), state)
        return old + np.einsum("bhts,bhsv->bthv", scores, values)

    def _state(self, state: np.ndarray | None) -> np.ndarray:
        batch, _, heads, key = self.k.shape
        return np.zeros((batch, heads, key, self.v.shape[-1])) if state is None else np.asarray(state, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class FlatRecurrence:
    """A matrix recurrence whose values have no axis of their own: each channel of x is a head with one value."""

    inner: MatrixRecurrence

    def recurrent(self, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Outputs [batch, length, channel] and the state [batch, channel, key, 1]."""
        y, state = self.inner.recurrent(state)
        return y[..., 0], state

    def chunked(self, size: int = _CHUNK, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The same in chunks."""
        y, state = self.inner.chunked(size, state)
        return y[..., 0], state


@dataclass(frozen=True, kw_only=True, eq=False)
class ShortConvolution:
    """A causal convolution of a few taps, each channel by itself; its state is the inputs that it still needs.

    y_t = Σ_j w_j ∘ x_{t − W + 1 + j}        j = 0 … W − 1
    """

    x: Float[Array, "batch position width"]
    weight: Float[Array, "width tap"]

    def recurrent(self, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """A window that moves by one token at a time."""
        return self.chunked(1, state)

    def chunked(self, size: int = _CHUNK, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """All windows of a chunk at once."""
        taps = self.weight.shape[1]
        before = np.zeros((self.x.shape[0], taps - 1, self.x.shape[2])) if state is None else np.asarray(state)
        outputs = []
        for start in range(0, self.x.shape[1], size):
            seen = np.concatenate([before, self.x[:, start : start + size]], axis=1)
            windows = np.lib.stride_tricks.sliding_window_view(seen, taps, axis=1)
            outputs.extend(np.moveaxis(np.einsum("btcj,cj->btc", windows, self.weight), 1, 0))
            before = seen[:, seen.shape[1] - taps + 1 :]
        return _stacked(outputs, self.x), before


def linear(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> MatrixRecurrence:
    """Linear attention without normalization (Katharopoulos et al. 2020): S_t = S_{t−1} + k_t v_tᵀ, y_t = S_tᵀ q_t.

    >>> ones = np.ones((1, 3, 1, 1))
    >>> linear(ones, ones, ones).recurrent()[0].ravel()
    array([1., 2., 3.])
    """
    return MatrixRecurrence(q=q, k=k, v=v, log_decay=np.zeros((*k.shape[:3], 1)))


def gated_linear(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray) -> MatrixRecurrence:
    """Gated linear attention (Yang et al. 2023): S_t = diag(exp g_t) S_{t−1} + k_t v_tᵀ, y_t = S_tᵀ q_t."""
    return MatrixRecurrence(q=q, k=k, v=v, log_decay=g)


def delta(q: np.ndarray, k: np.ndarray, v: np.ndarray, beta: np.ndarray) -> MatrixRecurrence:
    """The delta rule (Schlag et al. 2021, Yang et al. 2024): S_t = (I − β_t k_t k_tᵀ) S_{t−1} + β_t k_t v_tᵀ."""
    return MatrixRecurrence(q=q, k=k, v=v, log_decay=np.zeros((*k.shape[:3], 1)), write=beta, is_erasing=True)


def gated_delta(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, beta: np.ndarray) -> MatrixRecurrence:
    """The gated delta rule (Yang et al. 2024): S_t = exp(g_t) (I − β_t k_t k_tᵀ) S_{t−1} + β_t k_t v_tᵀ."""
    return MatrixRecurrence(q=q, k=k, v=v, log_decay=g[..., None], write=beta, is_erasing=True)


def mamba(x: np.ndarray, dt: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> FlatRecurrence:
    """The selective scan (Gu and Dao 2023) without the skip term.

        h_t = exp(dt_t A) h_{t−1} + dt_t x_t B_tᵀ        y_t = h_t C_t

    x and dt are [batch, length, channel], A is [channel, N], B and C are [batch, length, N].
    """
    k, q = (np.broadcast_to(each[:, :, None, :], (*dt.shape, each.shape[-1])) for each in (B, C))
    return FlatRecurrence(inner=MatrixRecurrence(q=q, k=k, v=(dt * x)[..., None], log_decay=dt[..., None] * A))


def mamba2(x: np.ndarray, dt: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray) -> MatrixRecurrence:
    """The state-space layer of Mamba-2 (Dao and Gu 2024) without the skip term.

        h_t = exp(dt_t A) h_{t−1} + dt_t x_t B_tᵀ        y_t = h_t C_t

    x is [batch, length, head, value], dt is [batch, length, head], A is [head], B and C are [batch, length, N].
    """
    k, q = (np.broadcast_to(each[:, :, None, :], (*dt.shape, each.shape[-1])) for each in (B, C))
    return MatrixRecurrence(q=q, k=k, v=dt[..., None] * x, log_decay=(dt * A)[..., None])


def rwkv(r: np.ndarray, k: np.ndarray, v: np.ndarray, w: np.ndarray, u: np.ndarray) -> MatrixRecurrence:
    """RWKV-6 (Peng et al. 2024): y_t = (S_{t−1} + (u ∘ k_t) v_tᵀ)ᵀ r_t, then S_t = diag(exp w_t) S_{t−1} + k_t v_tᵀ."""
    return MatrixRecurrence(q=r, k=k, v=v, log_decay=w, bonus=u)


def short_conv(x: np.ndarray, weight: np.ndarray) -> ShortConvolution:
    """A short causal convolution without bias: y_t = Σ_j w_j ∘ x_{t − W + 1 + j}."""
    return ShortConvolution(x=x, weight=weight)


RECURRENCES: Mapping[RecurrenceKind, Callable[..., RecurrentForms]] = {
    "linear": linear,
    "gated_linear": gated_linear,
    "delta": delta,
    "gated_delta": gated_delta,
    "mamba": mamba,
    "mamba2": mamba2,
    "rwkv": rwkv,
    "short_conv": short_conv,
}


def _stacked(outputs: list[np.ndarray], like: np.ndarray) -> np.ndarray:
    return np.stack(outputs, axis=1) if outputs else np.zeros(like.shape)
