"""The Transformer: a decoder with every position code, in PyTorch."""

from regard.training.model.cache import Cache
from regard.training.model.config import Activation, ModelConfig, Norm
from regard.training.model.decoder import Decoder
from regard.training.model.passage import Passage

__all__ = ["Activation", "Cache", "Decoder", "ModelConfig", "Norm", "Passage"]
