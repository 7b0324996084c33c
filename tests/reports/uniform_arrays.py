#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp reads numbers of heads and widths as one number or as one for each layer: equal ones are the number on the way back.
`uniform_arrays.py TARE FOLDER`"""
import json
import sys

from side_parts import Program, np, read_safetensors
from gguf import GGUFReader, GGUFWriter

ARRAYS = {"llama.attention.head_count": "num_attention_heads", "llama.attention.head_count_kv": "num_key_value_heads",
          "llama.feed_forward_length": "intermediate_size"}


def with_arrays(path, out, change):
    """A copy in which some numbers are arrays."""
    reader, writer = GGUFReader(path), GGUFWriter(out, "llama")
    for field in reader.fields.values():
        value = field.contents()
        if field.name in change:
            writer.add_array(field.name, change[field.name](value))
        elif field.name.startswith("llama."):
            (writer.add_float32 if isinstance(value, float) else writer.add_uint32)(field.name, value)
    for t in reader.tensors:
        writer.add_tensor(t.name, np.array(t.data), raw_dtype=t.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    p = Program()
    code, text = p.run("convert", p.model("hf"), p.path("plain.gguf"), "--no-tokenizer")
    p.expect("the way there", code == 0, text)
    with_arrays(p.path("plain.gguf"), p.path("equal.gguf"), dict.fromkeys(ARRAYS, lambda n: [n, n]))
    made = []
    for name in ("plain", "equal"):
        code, text = p.run("convert", p.path(name + ".gguf"), p.path(name), "--to", "hf")
        p.expect(f"the way back, {name}", code == 0, text)
        if code == 0:
            with open(p.path(name) + "/config.json") as f:
                made.append((json.load(f), read_safetensors(p.path(name) + "/model.safetensors")[1]))
    p.expect("equal models", len(made) == 2 and made[0] == made[1], repr([m[0] for m in made]))
    p.expect("numbers", len(made) == 2 and all(isinstance(made[1][0][k], int) for k in ARRAYS.values()))
    with_arrays(p.path("plain.gguf"), p.path("other.gguf"), {"llama.attention.head_count": lambda n: [n, n // 2]})
    p.refused("heads that differ", ["head|key"], "convert", p.path("other.gguf"), p.path("other"), "--to", "hf")
    return p.end("arrays")


if __name__ == "__main__":
    sys.exit(main())
