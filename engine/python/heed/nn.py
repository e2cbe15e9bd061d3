"""Attention layers and transformer stacks, made of graph calls.

    x = g.input("x", [1, g.extent("tokens", 512), 768])
    g.output("y", heed.nn.encoder_layer(x, "encoder.layers.0", attention=heed.nn.MultiHeadOptions(heads=12)))

Layers declare weights by name: the prefix, a dot, and the name in PyTorch's module, in PyTorch's layout, so that
`device.upload(module.state_dict())` provides them. A linear layer `name` is name.weight [out, in] and name.bias [out]; a name that ends
in "_" continues without a dot ("in_proj_" is in_proj_weight). Activations are [B, S, C]; attention also takes [S, C].

Options are dataclasses; functions also take their fields as keywords. With return_weights in an attention's options, functions return
(output, weights): the weights of each attention before dropout, None if not requested; a stack returns those of its last layer.
"""

from ._layers import (attention, attention_block, cross_attention, cross_entropy, decoder_layer, decoder_stack, encoder_layer, encoder_stack,
                      feed_forward, feed_forward_block, layernorm, linear, mean_sentence, rmsnorm, self_attention,
                      single_head, transformer)
from ._options import (FUSED_KV, FUSED_QKV, SEPARATE, TORCH_MULTIHEAD, AttentionBlockNames, AttentionNames, AttentionOptions, Cache,
                       CacheTokens, CrossEntropyOptions, CrossEntropyResult, DecoderLayerOptions, EncoderLayerOptions,
                       FeedForwardBlockNames, FeedForwardOptions, MultiHeadOptions, NormOptions, RotaryOptions, RotaryScaling, StackOptions,
                       TransformerOptions, TransformerResult)
from .models import BertResult, DecoderResult, bert, decoder

__all__ = [name for name in dir() if not name.startswith("_")]
