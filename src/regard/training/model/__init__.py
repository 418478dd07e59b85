"""The Transformer: a decoder with every position code, in PyTorch."""

from regard.training.model.attention import KVCache
from regard.training.model.config import ModelConfig
from regard.training.model.decoder import Decoder, ModelInput, causal_input

__all__ = ["Decoder", "KVCache", "ModelConfig", "ModelInput", "causal_input"]
