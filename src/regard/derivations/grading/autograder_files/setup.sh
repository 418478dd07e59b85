#!/usr/bin/env bash
# Runs once, as root, when Gradescope builds the image: Python 3.11 or newer, and what Regard needs from the usual index.
set -euo pipefail
ROOT="${AUTOGRADER_ROOT:-/autograder}"
SOURCE="$ROOT/source"

find_python() {
    for name in python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

if ! PYTHON=$(find_python); then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq python3.12 python3.12-venv || apt-get install -y -qq python3.11 python3.11-venv
    PYTHON=$(find_python)
fi

"$PYTHON" -m venv "$ROOT/regard"
PIP=("$ROOT/regard/bin/python" -m pip --disable-pip-version-check install -q)
# The versions that the autograder was made with; where this Python has no such build, any that will do.
"${PIP[@]}" -r "$SOURCE/requirements.txt" -c "$SOURCE/constraints.txt" || "${PIP[@]}" -r "$SOURCE/requirements.txt"
PYTHONPATH="$SOURCE" "$ROOT/regard/bin/python" -m regard --version
