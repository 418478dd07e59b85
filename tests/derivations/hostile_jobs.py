"""Work that goes wrong by the name of the file; a module of its own, so that other processes can import it."""

import os
import time

from regard.derivations.jobs import Job, Product
from regard.derivations.reports import DocumentReport


def quick(job: Job) -> Product:
    return Product(report=DocumentReport(file=job.task.file, problem="none", seconds=0.0))


def by_name(job: Job) -> Product:
    name = job.task.file
    if "hang" in name:
        time.sleep(600)
    if "crash" in name:
        os._exit(7)
    if "raise" in name:
        raise RuntimeError("a bug in the judge")
    return quick(job)


def slowly(job: Job) -> Product:
    time.sleep(0.2)
    return quick(job)
