#!/usr/bin/env bash
# Runs once, as root, when Gradescope builds the image: a Python for which the zip has wheels, and those wheels alone.
set -euo pipefail
ROOT="${AUTOGRADER_ROOT:-/autograder}"
SOURCE="$ROOT/source"

find_python() {
    for name in python3.12 python3.11 python3; do
        if "$name" -c 'import ensurepip, pathlib, sys, venv
sys.exit(not pathlib.Path(sys.argv[1], "requirements-%d.%d.txt" % sys.version_info[:2]).exists())' "$SOURCE" 2>/dev/null; then
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
VERSION=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Only what is in the zip, checked by hash; a package that does not fit ends the setup.
"$ROOT/regard/bin/python" -m pip --disable-pip-version-check install -q --no-index --no-deps --require-hashes \
    --find-links "$SOURCE/wheels" -r "$SOURCE/requirements-$VERSION.txt"
PYTHONPATH="$SOURCE" "$ROOT/regard/bin/python" -m regard --version
