"""`regard serve` in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def started(*options: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "regard", "serve", "--no-browser", *options]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def address_of(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found
    return found[0]
