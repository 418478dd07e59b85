"""Imported once by the server that children are forked from: what nearly every layer of the zoo needs."""

import importlib
import importlib.util
import os

from regard.conformance import all_laws
from regard.core.processes import watching_parent

# Before torch reads it. One thread per process, since several processes share the machine.
os.environ["OMP_NUM_THREADS"] = "1"

# transformers imports most of itself with the first model only.
_WANTED = {
    "torch": ("torch",),
    "transformers": ("transformers.models.llama.modeling_llama", "transformers.cache_utils"),
}
_OURS = ("regard.conformance.judging", "regard.conformance.reproduction", "regard.conformance.adapters.zoo")

LOADED = tuple(name for name in _WANTED if importlib.util.find_spec(name) is not None)
# The server notices the end of its parent only once all is imported.
with watching_parent():
    for _name in (*(part for package in LOADED for part in _WANTED[package]), *_OURS):
        importlib.import_module(_name)
    all_laws()
