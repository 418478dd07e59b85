"""An autograder that Gradescope takes: a zip with this very Regard in it, and what it runs for each submission."""

import io
import re
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

import regard
from regard.core.errors import InputError
from regard.core.files import ensure_writable, write_atomically
from regard.core.worker_pool import PoolLimits
from regard.derivations.gradescope import as_results_json
from regard.derivations.grading import grade, merged
from regard.derivations.jobs import Order, products
from regard.derivations.keeper import Destinations, Keeper
from regard.derivations.problems.problem import parse_problem, problem_source
from regard.derivations.reports import DocumentReport
from regard.derivations.submissions import find_submissions
from regard.derivations.tasks import Assignment

_SCRIPTS = ("setup.sh", "run_autograder")
_SECONDS = 480.0
_LONGEST = 120.0
_DATE = (1980, 1, 1, 0, 0, 0)


def write_autograder(path: Path, problem: str | None) -> None:
    """Writes the zip for a problem, which must be named."""
    if problem is None:
        raise InputError("--autograder needs to know what is answered. Name it: --problem cs224n-a4.")
    ensure_writable(path)
    write_atomically(path, autograder_zip(problem))


def autograder_zip(problem: str) -> bytes:
    """A zip with `setup.sh` and `run_autograder` at its root, the package's source files, and the problem."""
    source = problem_source(problem)
    parse_problem(source, problem)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _SCRIPTS:
            _add(archive, name, _asset(name), is_executable=True)
        _add(archive, "problem.toml", source.encode())
        _add(archive, "requirements.txt", "".join(f"{line}\n" for line in _requirements()).encode())
        _add(archive, "constraints.txt", "".join(f"{line}\n" for line in _pins()).encode())
        for path, content in _package_files():
            _add(archive, path, content)
    return target.getvalue()


def grade_submission(folder: str, problem: str, results: str) -> None:
    """What `run_autograder` does: judges the documents in a folder together and writes one results.json."""
    try:
        report = _judged(folder, problem)
    except InputError as error:
        report = DocumentReport.failed(folder, "unreadable", str(error))
    write_atomically(Path(results), as_results_json(grade(report)))


def _judged(folder: str, problem: str) -> DocumentReport:
    submissions = find_submissions([folder])
    seconds = min(_LONGEST, _SECONDS / len(submissions))
    order = Order(
        submissions=submissions,
        assignment=Assignment.for_problem(problem),
        limits=PoolLimits(seconds=seconds),
        are_views_wanted=False,
    )
    with Keeper(Destinations(), submissions) as keeper:
        found = dict(products(order, keeper))
    return merged([found[number].report for number in sorted(found)], file=folder)


def _asset(name: str) -> bytes:
    return resources.files("regard.derivations").joinpath("autograder_files", name).read_bytes()


def _add(archive: zipfile.ZipFile, name: str, content: bytes, *, is_executable: bool = False) -> None:
    entry = zipfile.ZipInfo(name, date_time=_DATE)
    entry.create_system = 3  # Unix, so that the mode below is read
    entry.external_attr = (0o100755 if is_executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _package_files() -> Iterator[tuple[str, bytes]]:
    root = Path(regard.__file__).parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"regard/{path.relative_to(root).as_posix()}", path.read_bytes()


def _requirements() -> list[str]:
    """What Regard needs, without its extras: from its installation, else from the project it is run from."""
    try:
        return [line for line in metadata.requires("regard") or () if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        project = Path(regard.__file__).parents[2] / "pyproject.toml"
        try:
            return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        except (OSError, KeyError, tomllib.TOMLDecodeError):
            raise InputError("What Regard needs is not known: it is not installed. Install it: pip install .") from None


def _pins() -> Iterator[str]:
    """The versions that are installed here, for the same verdicts there."""
    for line in _requirements():
        name = re.match(r"[\w.\-]+", line)
        try:
            yield f"{name[0]}=={metadata.version(name[0])}" if name else ""
        except metadata.PackageNotFoundError:
            continue
