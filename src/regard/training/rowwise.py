"""An optimizer for tables of which each step uses few rows."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class RowAdam(Optimizer):
    """Adam for sparse gradients: a row that is not used stays, and each row counts its own steps.

    m ← β₁m + (1 − β₁)g,   v ← β₂v + (1 − β₂)g²,   row ← row − η m̂/(√v̂ + ε)
    """

    def __init__(
        self, params: Iterable[Any], *, lr: float, betas: tuple[float, float] = (0.9, 0.95), eps: float = 1e-8
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Moves every row that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            for table in group["params"]:
                gradient = table.grad.coalesce()
                rows, values = gradient.indices()[0], gradient.values()
                state = self._state(table)
                state["count"][rows] += 1
                count = state["count"][rows, None]
                parts = []
                for name, beta, new in zip(("mean", "square"), group["betas"], (values, values.square()), strict=True):
                    moved = state[name][rows].lerp_(new, 1 - beta)
                    state[name][rows] = moved
                    parts.append(moved / (1 - beta**count))
                table[rows] -= group["lr"] * parts[0] / (parts[1].sqrt() + group["eps"])

    def _state(self, table: Tensor) -> dict[str, Tensor]:
        state = self.state[table]
        if not state:
            state["mean"], state["square"] = torch.zeros_like(table), torch.zeros_like(table)
            state["count"] = torch.zeros(len(table))
        return state
