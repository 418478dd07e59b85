"""Loaded once by the server that processes are forked from: what nearly every layer of the zoo needs."""

import importlib
import importlib.util
import os

__all__ = ["LOADED"]

# Before torch reads it. One thread a process, since several processes share the machine.
os.environ["OMP_NUM_THREADS"] = "1"

LOADED = tuple(name for name in ("torch", "transformers") if importlib.util.find_spec(name) is not None)
for _name in (*LOADED, "regard.laws.checking", "regard.verbs.trying"):
    importlib.import_module(_name)
