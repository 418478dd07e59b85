"""How fast this machine trains, measured before a run is fixed."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from regard.training.folder import MEASURED, RunFolder
from regard.training.launching import Layout, launch
from regard.training.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Seconds that a step takes with a layout of processes, while all members make theirs."""

    layout: Layout
    seconds: float


def calibrate(
    folder: RunFolder, plan: Plan, layouts: list[Layout], *, seconds: float, hear: Callable[[str], None]
) -> list[Speed]:
    """The speed of each layout on the run's own data, the fastest first."""
    speeds = []
    for layout in layouts:
        hear(f"measuring steps with {layout.in_words}")
        folder.write_plan(replace(plan, processes=layout.processes, threads=layout.threads), MEASURED)
        messages = list(launch(folder.path, layout, str(seconds)))
        speeds.append(Speed(layout=layout, seconds=max(m["seconds"] for m in messages if m["kind"] == "speed")))
    (folder.path / MEASURED).unlink()
    return sorted(speeds, key=lambda speed: speed.seconds)


def layouts_to_try(rows: int, cores: int | None = None, *, members: int = 1) -> list[Layout]:
    """A process for each core, or one process with all: which is faster depends on the machine."""
    cores = max(1, (cores or usable_cores()) // members)
    processes = min(cores, rows, 8)
    many = Layout(processes=processes, threads=max(1, cores // processes), members=members)
    one = Layout(processes=1, threads=cores, members=members)
    return [many, one] if processes > 1 else [one]


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pick_precision() -> str:
    """The faster of float32 and bfloat16 for a product as training makes it."""
    import torch

    from regard.training.model.linear import Dense

    matrix = Dense(256, 1024)

    def fastest(dtype: torch.dtype) -> float:
        given, times = torch.ones(1024, 256, dtype=dtype), []
        for _ in range(5):
            begun = time.perf_counter()
            matrix(given)
            times.append(time.perf_counter() - begun)
        return min(times)

    return "bfloat16" if fastest(torch.bfloat16) < fastest(torch.float32) else "float32"
