"""Writes requirements.lock: the core's dependencies at the versions of constraints.txt, with hashes of their files."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADER = "# The core's dependencies with the hashes of their files. Written by 'make lock' from constraints.txt.\n"


def main() -> None:
    """Resolves the core, and asks the index for the files of each version."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--report", "-", "-c", "constraints.txt", "."]
    resolved = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    found = [(each["metadata"]["name"].lower(), each["metadata"]["version"]) for each in resolved["install"]]
    lines = [_locked(name, version) for name, version in sorted(found) if name != "regard"]
    (ROOT / "requirements.lock").write_text(HEADER + "".join(lines), encoding="utf-8")


def _locked(name: str, version: str) -> str:
    """The requirement with the SHA-256 of every wheel and source archive of that version."""
    project = re.sub(r"[-_.]+", "-", name)
    with urllib.request.urlopen(f"https://pypi.org/simple/{project}/") as page:
        links = re.findall(r'href="[^"#]*/([^"#/]+)#sha256=([0-9a-f]{64})"', page.read().decode())
    wanted = re.compile(rf"[\w.]+?-{re.escape(version)}(-|\.tar\.gz$|\.zip$)")
    names = [(file.replace(project, project.replace("-", "_")), digest) for file, digest in links]
    hashes = sorted({digest for file, digest in names if wanted.match(file)})
    if not hashes:
        raise SystemExit(f"The index has no files of {name} {version}.")
    return f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{digest}" for digest in hashes) + "\n"


if __name__ == "__main__":
    main()
