"""The VS Code extension: its manifest agrees with the package, and its own tests pass."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import regard

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"


def test_the_manifest_has_the_version_of_the_package_and_starts_a_command_that_exists():
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == regard.__version__
    assert manifest["contributes"]["configuration"]["properties"]["regard.command"]["default"] == ["regard", "lsp"]
    assert manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"] == ["regard.command"]


def test_nothing_that_others_wrote_is_committed():
    listed = subprocess.run(["git", "ls-files", "."], cwd=EXTENSION, capture_output=True, text=True, check=False)
    names = {Path(name).name for name in listed.stdout.splitlines()}
    assert names <= {".gitignore", ".vscodeignore", "README.md", "extension.js", "extension.test.js", "package.json"}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_extension_starts_restarts_and_complains():
    done = subprocess.run(["node", "--test", "test/"], cwd=EXTENSION, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
