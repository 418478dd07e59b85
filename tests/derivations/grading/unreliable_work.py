"""Work that fails depending on the name of the file; a separate module, so that worker processes can import it."""

import os
import time

from regard.derivations.results import DocumentReport
from regard.derivations.tasks import DocumentTask


def quick(task: DocumentTask) -> tuple[DocumentReport, None]:
    return DocumentReport(file=task.file, problem="none", seconds=0.0), None


def by_name(task: DocumentTask) -> tuple[DocumentReport, None]:
    if "hang" in task.file:
        time.sleep(600)
    if "crash" in task.file:
        os._exit(7)
    if "raise" in task.file:
        raise RuntimeError("a bug in the judge")
    return quick(task)


def slowly(task: DocumentTask) -> tuple[DocumentReport, None]:
    time.sleep(0.2)
    return quick(task)
