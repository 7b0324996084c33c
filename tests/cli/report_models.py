# SPDX-License-Identifier: MIT
"""Models for the tests of tare report, each written where it is asked for."""
import json
import os
import struct

# What would end a script element, begin one, or make a name look like another.
HOSTILE = [
    "</script><script>document.title='broken'</script>", "<!--<script>", "]]>", "a\"b'c`d\\e",
    "<img src=x onerror=\"document.title='broken'\">", "\u202egpj.exe\u2066\u200b", "\x01\x1b[31m\x7f",
    "${document.title='broken'}", "&lt;b&gt;&amp;", "\u2028\u2029line", "\U000e0041tag", "__proto__",
    "constructor", " ", "x" * 3000, "model.layers.999999999.self_attn.q_proj.weight",
    "model.layers.0.self_attn.q_proj.weight",
]
# NaN, infinities, the largest and the smallest number, and -0.
VALUES = [0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x00000001, 0x80000000]

ROLES = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
         "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "input_layernorm"]

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256,
          "intermediate_size": 768, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "vocab_size": 512, "rms_norm_eps": 1e-5,
          "max_position_embeddings": 512}


def safetensors(path, tensors, metadata=None):
    """tensors: name -> (type, shape, bytes)."""
    header = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)


def hostile(path):
    tensors = {name: ("F32", [4], struct.pack("<4I", *[VALUES[i % len(VALUES)]] * 4))
               for i, name in enumerate(HOSTILE)}
    safetensors(path, tensors, dict(zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1])))


def gguf_bytes(path):
    """A GGUF file with a name and a string that are no UTF-8."""
    def text(s):
        return struct.pack("<Q", len(s)) + s
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 2)
    head += text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
    head += text(b"general.name") + struct.pack("<I", 8) + text(b"\xff\xfe</script>\xc0")
    head += text(b"\xed\xa0\x80\xff.weight") + struct.pack("<IQIQ", 1, 8, 0, 0)
    head += b"\0" * (-len(head) % 32)
    with open(path, "wb") as f:
        f.write(head + struct.pack("<8f", *range(8)))


def thousand(path, n=1000, elements=512):
    """So many tensors of ten roles, at most 1,002, heavy in the middle of their range."""
    names = ["model.embed_tokens.weight", "lm_head.weight"]
    names += [f"model.layers.{i}.{role}.weight" for i in range(125) for role in ROLES]
    state, tensors = 1, {}
    for name in names[:n]:
        values = bytearray()
        while len(values) < elements * 2:  # sums of four bytes, as BF16 from 1 to 2 and their negatives
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            spread = sum(state.to_bytes(8, "little")[k] for k in (3, 4, 5, 6)) // 8
            values += struct.pack("<H", 0x3C00 + spread + (0x8000 if state >> 63 else 0))
        tensors[name] = ("BF16", [elements // 64, 64], bytes(values))
    safetensors(path, tensors)


def hugging_face(folder, run):
    """A directory with llama-tiny and its config.json."""
    os.mkdir(folder)
    run("synth", "llama-tiny", os.path.join(folder, "model.safetensors"), "--quiet")
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(CONFIG, f)
