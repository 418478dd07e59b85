"""The processes that train one model: each handles a part of every batch, and all have the same weights."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.render.command_line import ExitCode

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class ProcessGroup:
    """This process's rank among those that train one model; `local_size` of them run on its machine."""

    rank: int = 0
    size: int = 1
    local_size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process does the work that is needed once."""
        return self.rank == 0

    def sum_gradients(self, model: nn.Module) -> None:
        """Replaces every gradient by its sum over the processes."""
        if self.size == 1:
            return
        parameters = [p for p in model.parameters() if p.requires_grad]
        dense = [p for p in parameters if p.grad is not None and not p.grad.is_sparse]
        flat = torch.cat([p.grad.flatten() for p in dense if p.grad is not None])
        dist.all_reduce(flat)
        for parameter, piece in zip(dense, flat.split([p.numel() for p in dense]), strict=True):
            parameter.grad = piece.view_as(parameter)
        for parameter in parameters:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = self._sum_sparse(parameter.grad.coalesce())

    def share_tasks(self, tasks: list[tuple[Tensor, Callable[[], Tensor]]]) -> None:
        """Fills each tensor with its task's result; every process does some of the tasks, and all get all results."""
        loads, owners = [0.0] * self.size, []
        for filled, _ in tasks:
            owner = loads.index(min(loads))
            loads[owner] += filled.numel() * min(filled.shape)
            owners.append(owner)
        for owner, (filled, task) in zip(owners, tasks, strict=True):
            if owner == self.rank:
                filled.copy_(task())
        if self.size == 1:
            return
        flat = torch.cat(
            [f.flatten() if o == self.rank else f.new_zeros(f.numel()) for o, (f, _) in zip(owners, tasks, strict=True)]
        )
        dist.all_reduce(flat)
        for (filled, _), piece in zip(tasks, flat.split([f.numel() for f, _ in tasks]), strict=True):
            filled.copy_(piece.view_as(filled))

    def sum_number(self, value: float) -> float:
        """The sum of a number over the processes."""
        if self.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(total)
        return float(total)

    def wait(self) -> None:
        """Returns when all processes have called it."""
        if self.size > 1:
            dist.barrier()

    def from_first(self, task: Callable[[], Result]) -> Result:
        """The result of a task that only the first process does, given to all.

        If it fails, the first process raises the error, and the others exit silently.
        """
        if self.size == 1:
            return task()
        failure: Exception | None = None
        found: list[Result | None] = [None]
        if self.is_first:
            try:
                found = [task()]
            except Exception as error:  # noqa: BLE001 - raised again below, once the others know
                failure = error
        shared: list = [failure is None, found[0]]
        dist.broadcast_object_list(shared)
        if shared[0]:
            return shared[1]
        # With the connection left open, a process that ends a moment later would abort.
        with suppress(RuntimeError):
            dist.barrier()
        self.leave()
        raise failure or SystemExit(ExitCode.BAD_INPUT)

    def leave(self) -> None:
        """Leaves the group."""
        if self.size > 1:
            dist.destroy_process_group()

    def _sum_sparse(self, gradient: Tensor) -> Tensor:
        rows, values = gradient.indices()[0], gradient.values()
        counts = torch.zeros(self.size, dtype=torch.long)
        counts[self.rank] = len(rows)
        dist.all_reduce(counts)
        room = int(counts.max())
        all_rows = torch.zeros(self.size * room, dtype=rows.dtype)
        all_values = torch.zeros(self.size * room, values.shape[1])
        start = self.rank * room
        all_rows[start : start + len(rows)], all_values[start : start + len(rows)] = rows, values
        dist.all_gather_into_tensor(all_rows, all_rows[start : start + room].clone())
        dist.all_gather_into_tensor(all_values, all_values[start : start + room].clone())
        is_used = (torch.arange(room) < counts[:, None]).flatten()
        rows, values = all_rows[is_used][None], all_values[is_used]
        return torch.sparse_coo_tensor(rows, values, gradient.shape, check_invariants=False).coalesce()


def is_distributed() -> bool:
    """Whether a launcher such as torchrun started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def join_process_group() -> ProcessGroup:
    """The group that environment variables describe, as torchrun sets them; without them, this process alone."""
    if not is_distributed():
        return ProcessGroup()
    dist.init_process_group("gloo")
    size = dist.get_world_size()
    return ProcessGroup(rank=dist.get_rank(), size=size, local_size=int(os.environ.get("LOCAL_WORLD_SIZE", str(size))))
