"""numpy, torch, JAX, Hugging Face …: anything that attends, as a subject that laws can try.

Frameworks are imported only when one of their layers is asked for.
"""

from regard.adapters.adapting import adapt
from regard.adapters.loading import hf, load
from regard.adapters.zoo import ZooEntry, zoo

__all__ = ["ZooEntry", "adapt", "hf", "load", "zoo"]
