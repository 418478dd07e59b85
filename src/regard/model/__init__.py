"""The Transformer: a decoder with every position code, in PyTorch."""

from regard.model.cache import Cache
from regard.model.config import Activation, ModelConfig, Norm
from regard.model.decoder import Decoder
from regard.model.passage import Passage

__all__ = ["Activation", "Cache", "Decoder", "ModelConfig", "Norm", "Passage"]
