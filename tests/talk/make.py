#!/usr/bin/env python3
"""Makes tiny.gguf: a language model with tokenizer and chat template that generates nonsense.

    python3 tests/talk/make.py [FILE]     needs numpy and gguf (0.19.0 made the committed file)

Its network is a random Llama of two layers. Its tokens are the 256 bytes, some merges and three special ones, so that most answers
contain parts of characters, or invalid bytes. The table has rows after its tokens, like padded tables; they would often be the
likeliest.
"""
import sys
from pathlib import Path

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter, get_tensor_name_map

FILE = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tiny.gguf"
LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, CONTEXT, PADDING = 2, 32, 4, 2, 48, 256, 9
MERGES = ["e r", "t h", "i n", "o n", "Ġ th", "Ġth e", "s w", "o r", "or d", "sw ord", "Ã ¤", "Ġ sword"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
NORMAL, CONTROL = 1, 3


def letters():
    """The letter for each byte, as in GPT-2."""
    plain = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    rest = [b for b in range(256) if b not in plain]
    names = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}
    return [names[b] for b in range(256)]


tokens = SPECIAL + letters() + [merge.replace(" ", "") for merge in MERGES]
rng = np.random.default_rng(20)


def matrix(rows, columns, scale=1.0):
    return (scale * rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)


tensors = {"model.embed_tokens.weight": matrix(len(tokens), WIDTH, 3.0), "model.norm.weight": np.ones(WIDTH, np.float32)}
for i in range(LAYERS):
    layer = f"model.layers.{i}."
    keys = WIDTH // HEADS * KV_HEADS
    tensors |= {
        layer + "input_layernorm.weight": np.ones(WIDTH, np.float32),
        layer + "self_attn.q_proj.weight": matrix(WIDTH, WIDTH, 2.0),
        layer + "self_attn.k_proj.weight": matrix(keys, WIDTH, 2.0),
        layer + "self_attn.v_proj.weight": matrix(keys, WIDTH, 2.0),
        layer + "self_attn.o_proj.weight": matrix(WIDTH, WIDTH, 2.0),
        layer + "post_attention_layernorm.weight": np.ones(WIDTH, np.float32),
        layer + "mlp.gate_proj.weight": matrix(HIDDEN, WIDTH, 2.0),
        layer + "mlp.up_proj.weight": matrix(HIDDEN, WIDTH, 2.0),
        layer + "mlp.down_proj.weight": matrix(WIDTH, HIDDEN, 2.0),
    }

table = tensors["model.embed_tokens.weight"]
tensors["model.embed_tokens.weight"] = np.concatenate([table, matrix(PADDING, WIDTH, 6.0)])

writer = GGUFWriter(FILE, "llama")
writer.add_name("tiny speaker")
writer.add_block_count(LAYERS)
writer.add_embedding_length(WIDTH)
writer.add_feed_forward_length(HIDDEN)
writer.add_head_count(HEADS)
writer.add_head_count_kv(KV_HEADS)
writer.add_context_length(CONTEXT)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_freq_base(10000.0)
writer.add_rope_dimension_count(WIDTH // HEADS)
writer.add_vocab_size(len(tokens) + PADDING)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("smollm")
writer.add_token_list(tokens)
writer.add_token_types([CONTROL] * len(SPECIAL) + [NORMAL] * (len(tokens) - len(SPECIAL)))
writer.add_token_merges(MERGES)
writer.add_bos_token_id(1)
writer.add_eos_token_id(2)
writer.add_add_bos_token(False)
writer.add_chat_template(TEMPLATE)
names = get_tensor_name_map(MODEL_ARCH.LLAMA, LAYERS)
for name, values in tensors.items():
    writer.add_tensor(names.get_name(name, (".weight",)), values)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
