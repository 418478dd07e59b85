"""An autograder for Gradescope: a zip with the source of this very Regard, all that it needs, and what it runs.

The packages are wheels inside the zip, each pinned by version and hash: nothing is fetched when submissions are graded,
and nothing else is ever installed.
"""

import hashlib
import io
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata, resources
from pathlib import Path

import regard
from regard.core.errors import InputError
from regard.core.files import ensure_writable, write_atomically
from regard.derivations.grading.batch import BatchRequest, DocumentBatch, find_submissions
from regard.derivations.grading.gradescope import results_json
from regard.derivations.problems.problem import parse_problem, problem_source
from regard.derivations.results import DocumentReport
from regard.derivations.scoring import merge_reports

_SCRIPTS = ("setup.sh", "run_autograder")
_SECONDS_PER_SUBMISSION = 480.0
_SECONDS_PER_FILE = 120.0
_DATE = (1980, 1, 1, 0, 0, 0)
_PYTHONS = ("3.11", "3.12")  # those that Gradescope's images have or can install
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64")
_SECONDS_FOR_DOWNLOADS = 600
# By version of Python, the name and content of each wheel.
Wheels = Mapping[str, Mapping[str, bytes]]


def write_autograder(path: Path, problem: str | None) -> None:
    """Writes the zip for a problem, which must be named."""
    if problem is None:
        raise InputError("--autograder needs a problem. Name it: --problem cs224n-a4.")
    ensure_writable(path)
    parse_problem(problem_source(problem), problem)
    write_atomically(path, autograder_zip(problem, {python: downloaded_wheels(python) for python in _PYTHONS}))


def autograder_zip(problem: str, wheels: Wheels) -> bytes:
    """A zip with `setup.sh` and `run_autograder` at its root, the source files, the problem, and the wheels."""
    source = problem_source(problem)
    parse_problem(source, problem)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _SCRIPTS:
            script = resources.files("regard.derivations.grading").joinpath("autograder_files", name)
            _add(archive, name, script.read_bytes(), is_executable=True)
        _add(archive, "problem.toml", source.encode())
        for python, files in wheels.items():
            _add(archive, f"requirements-{python}.txt", "".join(map(_locked, sorted(files.items()))).encode())
        for name, content in sorted({name: data for files in wheels.values() for name, data in files.items()}.items()):
            _add(archive, f"wheels/{name}", content)
        for path, content in _package_files():
            _add(archive, path, content)
    return target.getvalue()


def grade_submission(folder: str, problem: str, results: str) -> None:
    """Called by `run_autograder`: judges the documents in a folder together and writes one results.json."""
    try:
        seconds = min(_SECONDS_PER_FILE, _SECONDS_PER_SUBMISSION / len(find_submissions([folder])))
        with DocumentBatch(BatchRequest(paths=(folder,), problem=problem, time_limit=seconds)) as batch:
            batch.run()
            read = {submission.path for submission in batch.submissions}
            ignored = [str(path) for path in _files_in(folder) if path not in read]
            report = merge_reports(list(batch.reports()), file=folder, ignored=ignored)
    except InputError as error:
        report = DocumentReport.failed(folder, "unreadable", str(error))
    write_atomically(Path(results), results_json(report))


def _files_in(folder: str) -> list[Path]:
    return sorted(path for path in Path(folder).rglob("*") if not path.is_dir() and not path.name.startswith("."))


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
    """What Regard needs, without its extras: from its installation, else from the project it runs from."""
    try:
        return [line for line in metadata.requires("regard") or () if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        project = Path(regard.__file__).parents[2] / "pyproject.toml"
        try:
            return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
        except (OSError, KeyError, tomllib.TOMLDecodeError):
            raise InputError("Cannot list Regard's requirements: it is not installed. Run: pip install .") from None


def downloaded_wheels(python: str) -> dict[str, bytes]:
    """The wheels that Regard needs under a version of Python on Linux, in the versions that are installed here."""
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "constraints.txt"
        installed = {item.metadata["Name"]: item.version for item in metadata.distributions()}
        pins.write_text("".join(f"{name}=={version.partition('+')[0]}\n" for name, version in installed.items()))
        target = [f"--platform={platform}" for platform in _PLATFORMS]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}", *target]
        command += ["--constraint", str(pins), "--dest", folder, *_requirements()]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS_FOR_DOWNLOADS)
        except (OSError, subprocess.SubprocessError) as error:
            why = getattr(error, "stderr", None) or str(error)
            last = why.strip().splitlines()[-1] if why.strip() else "pip failed"
            message = (
                f"Cannot download the packages for the autograder (Python {python}): {last}. Try again with network."
            )
            raise InputError(message) from None
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.whl")}


def _locked(wheel: tuple[str, bytes]) -> str:
    """A line of requirements for one wheel: its name, version and hash."""
    name, content = wheel
    package, version = name.split("-")[:2]
    return f"{package}=={version} --hash=sha256:{hashlib.sha256(content).hexdigest()}\n"
