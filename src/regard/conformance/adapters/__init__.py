"""numpy, torch, JAX, Hugging Face …: adapters that make anything that attends a subject that laws can try.

Frameworks are imported only when one of their layers is asked for.
"""

from regard.conformance.adapters.targets import adapt, call_factory, hf, load, load_attribute, load_with_findings
from regard.conformance.adapters.zoo import ZooEntry, zoo

__all__ = ["ZooEntry", "adapt", "call_factory", "hf", "load", "load_attribute", "load_with_findings", "zoo"]
