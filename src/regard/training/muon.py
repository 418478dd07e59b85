"""Muon: momentum whose matrices are made nearly orthogonal before each step."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.optim import Optimizer

from regard.core.axes import Float

# Five steps of x → ax + bx³ + cx⁵ with these take every singular value from (0, 1] to about 1 ± 0.3.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_STEPS = (2, 2, 1)


def nearly_orthogonal(matrix: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """A matrix with the same singular vectors whose singular values are all near 1 (Newton–Schulz).

        X ← P X,   P = a + bG + cG²,   G = XXᵀ

    Some P's are multiplied before they meet X: all are functions of the first G, which is as small as the shorter side.
    Not all of them, since their product grows like aᵏ where X is small, and its rounding with it.
    """
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / (x.norm() + 1e-7)
    for steps in _STEPS:
        x = _product_of_factors(x @ x.T, steps) @ x
    return x.T if is_tall else x


def _product_of_factors(gram: Float[Tensor, "row row"], steps: int) -> Float[Tensor, "row row"]:
    """P_k … P_1, where each step takes G to PGP."""
    product = factor = _factor(gram)
    for _ in range(steps - 1):
        gram = factor @ (factor @ gram)
        factor = _factor(gram)
        product = factor @ product
    return product


def _factor(gram: Float[Tensor, "row row"]) -> Float[Tensor, "row row"]:
    factor = torch.addmm(gram, gram, gram, beta=_B, alpha=_C)
    factor.diagonal().add_(_A)
    return factor


class Muon(Optimizer):
    """Each square-ish block of a matrix steps along its orthogonalised momentum (with Nesterov's look ahead).

    `pieces` says how many rows each block of a joined matrix has. Blocks are made orthogonal in `dtype`: a direction
    that is only nearly orthogonal need not be exact. `share` takes a list of tasks, each of which fills a tensor, and
    does its part of them, so that several processes need not all do the same work.
    """

    def __init__(
        self,
        params: Iterable[dict],
        *,
        lr: float = 0.02,
        momentum: float = 0.95,
        dtype: torch.dtype = torch.float32,
        share: Callable[[list[tuple[Tensor, Callable[[], Tensor]]]], None] | None = None,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "pieces": None})
        self._dtype, self._share = dtype, share or _do_all

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Moves every matrix."""
        assert closure is None
        tasks, moves = [], []
        for group in self.param_groups:
            for parameter in group["params"]:
                direction = self._momentum(parameter, group["momentum"])
                update = torch.empty_like(direction)
                blocks = group["pieces"] or [len(direction)]
                for piece, filled in zip(direction.split(blocks), update.split(blocks), strict=True):
                    tasks.append((filled, lambda piece=piece: _scaled(nearly_orthogonal(piece.to(self._dtype)))))
                moves.append((parameter, update, group["lr"]))
        self._share(tasks)
        for parameter, update, rate in moves:
            parameter.add_(update, alpha=-rate)

    def _momentum(self, parameter: Tensor, momentum: float) -> Tensor:
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        gradient = parameter.grad
        assert gradient is not None, "every matrix takes part in every step"
        state["momentum"].lerp_(gradient, 1 - momentum)
        return torch.lerp(gradient, state["momentum"], momentum)


def _scaled(update: Tensor) -> Tensor:
    """Tall matrices step farther, so that what a step does to the outputs depends on no shape."""
    return update * max(1.0, update.shape[0] / update.shape[1]) ** 0.5


def _do_all(tasks: list[tuple[Tensor, Callable[[], Tensor]]]) -> None:
    for filled, task in tasks:
        filled.copy_(task())
