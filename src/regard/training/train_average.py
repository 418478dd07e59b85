"""`regard train average`: what heads learn about averaging two of n values, beside the theory."""

from collections.abc import Callable

from regard.training.averaged import AveragingReport
from regard.training.averaging import LAYOUTS, REACHES, AveragingTask, Layout, Reach, learn
from regard.training.averaging_verdicts import judge, judged_by_theory, prescribe


def average(task: AveragingTask, progress: Callable[[int, int], None]) -> AveragingReport:
    """Every layout trained within every reach, and judged."""
    prescriptions = [prescribe(task, layout) for layout in LAYOUTS]
    wanted: list[tuple[Layout, Reach]] = [(layout, reach) for layout in LAYOUTS for reach in REACHES]
    learned = []
    for done, (layout, reach) in enumerate(wanted):
        progress(done, len(wanted))
        learned.append(judged_by_theory(task, layout, reach, learn(task, layout, reach)))
    return AveragingReport(
        setting={name: getattr(task, name) for name in task.__dataclass_fields__},
        prescriptions=prescriptions,
        learned=learned,
        verdicts=judge(task, prescriptions, learned),
    )
