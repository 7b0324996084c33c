# SPDX-License-Identifier: MIT
"""What a file makes of memory: bounded by its size. Model cards of blocks of text, tekken files whose
tokens begin with each other, adapters whose patterns repeat repetitions. (Counts of steps are in
unit.pattern; here the bytes that a run takes are looked at for an input and one of twice the size.)"""
import base64
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_file import safetensors  # noqa: E402

CONFIG = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_size": 32, "intermediate_size": 32,
          "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": 4096,
          "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "head_dim": 32}
RUN = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def make_model(folder):
    os.makedirs(folder, exist_ok=True)
    block = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [4096, 32], "lm_head.weight": [4096, 32], "model.norm.weight": [32],
              block + "input_layernorm.weight": [32], block + "post_attention_layernorm.weight": [32]}
    for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj",
                 "mlp.up_proj", "mlp.down_proj"):
        shapes[block + name + ".weight"] = [32, 32]
    with open(folder + "/model.safetensors", "wb") as f:
        f.write(safetensors([(n, "BF16", s, bytes(2 * s[0] * (s[1] if len(s) > 1 else 1))) for n, s in shapes.items()]))
    with open(folder + "/config.json", "w") as f:
        json.dump(CONFIG, f)


def tekken(longest):
    tokens = [bytes([i]) for i in range(256)] + [b"a" * n for n in range(2, longest + 1)]
    return json.dumps({
        "config": {"pattern": "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+",
                   "num_vocab_tokens": len(tokens), "default_vocab_size": len(tokens) + 1000,
                   "default_num_special_tokens": 1000, "version": "v3"},
        "vocab": [{"rank": i, "token_bytes": base64.b64encode(t).decode(), "token_str": None}
                  for i, t in enumerate(tokens)]})


def main():
    tare, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)

    def kilobytes(code, *arguments):
        done = subprocess.run([sys.executable, "-c", RUN, tare, *arguments], capture_output=True, text=True, check=True)
        found, used = map(int, done.stdout.split())
        assert found in code, (arguments, found)
        return used

    make_model("card")
    used = []
    for n in (24000, 48000):
        with open("card/README.md", "w") as f:
            f.write("---\n" + "a: |\n" * n + "---\n")
        used.append(kilobytes((0,), "convert", "card", "out.gguf", "--no-tokenizer", "--force"))
    assert used[1] < 2 * used[0] + 50000, used
    make_model("tokens")
    used = []
    for longest in (256, 512):
        with open("tokens/tekken.json", "w") as f:
            f.write(tekken(longest))
        used.append(kilobytes((0, 3, 5), "convert", "tokens", "out.gguf", "--force"))
    assert used[1] < 2 * used[0] + 100000, used
    make_model("adapter")
    with open("base.safetensors", "wb") as f:
        f.write(safetensors([("m.weight", "F32", [8, 8], bytes(256))]))
    with open("adapter/adapter_model.safetensors", "wb") as f:
        f.write(safetensors([("base_model.model.m.lora_A.weight", "F32", [2, 8], bytes(64)),
                             ("base_model.model.m.lora_B.weight", "F32", [8, 2], bytes(64))]))
    for pattern in ("(.{1,30000}){1,30000}", "(" * 50000 + "m" + ")" * 50000, "((((m{1,99}){1,99}){1,99}){1,99}){1,99}"):
        with open("adapter/adapter_config.json", "w") as f:
            json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "rank_pattern": {pattern: 2}}, f)
        assert kilobytes((5,), "convert", "base.safetensors", "out.safetensors", "--apply-adapter", "adapter",
                         "--force") < 600000
    for pattern in ("(.{1,30000}){1,30000}=q8_0", "((((a{1,99}){1,99}){1,99}){1,99}){1,99}=f16"):
        with open("rules.txt", "w") as f:
            f.write(pattern + "\n")
        assert kilobytes((2,), "quantize", "base.safetensors", "out.gguf", "--tensor-type-file", "rules.txt") < 600000
    print("memory grows with the input")


main()
