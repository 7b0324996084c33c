#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare what tools/sensitivity.py predicts with what errors really do to a small random model.

    sensitivity_check.py TARE SCRIPT

Matrices of a Llama of four layers are rounded one at a time; the KL divergence of the predictions must
be about the sensitivity times the relative error. Then tare must find every line under the names of
GGUF, and those of a mixture of experts under all names that its tensors may have. Skipped (77) without torch and transformers.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen2MoeConfig, Qwen2MoeForCausalLM
except ImportError as missing:
    print(f"skip: {missing}")
    sys.exit(77)

N_TOKENS = 240


def make(folder):
    torch.manual_seed(3)
    config = LlamaConfig(vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
                         bos_token_id=1, eos_token_id=2)
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)
    model.save_pretrained(folder)
    return model


def log_chances(model, tokens):
    with torch.no_grad():
        return torch.log_softmax(model(input_ids=tokens).logits[0].double(), -1)


def check(model, values):
    """Rounds some matrices to about 5 bits, and compares."""
    tokens = torch.randint(0, 512, (1, N_TOKENS))
    before, ratios = log_chances(model, tokens), []
    for name, parameter in model.named_parameters():
        if parameter.ndim < 2:
            continue
        kept, step = parameter.detach().clone(), parameter.detach().std() / 6
        with torch.no_grad():
            parameter.copy_((kept / step).round() * step)
        error = ((parameter.detach() - kept).square().sum() / kept.square().sum()).item()
        after = log_chances(model, tokens)
        damage = (before.exp() * (before - after)).sum(-1).mean().item()
        with torch.no_grad():
            parameter.copy_(kept)
        ratios.append((damage / (values[name] * error), name))
    ratios.sort()
    print(f"measured / predicted: from {ratios[0][0]:.2f} ({ratios[0][1]}) to {ratios[-1][0]:.2f} "
          f"({ratios[-1][1]}), median {ratios[len(ratios) // 2][0]:.2f}")
    assert 0.6 < ratios[len(ratios) // 2][0] < 1.6, ratios
    assert 0.25 < ratios[0][0] and ratios[-1][0] < 4, ratios


def make_mixture(folder):
    torch.manual_seed(4)
    config = Qwen2MoeConfig(vocab_size=512, hidden_size=256, intermediate_size=512, moe_intermediate_size=256,
                            shared_expert_intermediate_size=512, num_experts=6, num_experts_per_tok=2,
                            num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                            max_position_embeddings=256, bos_token_id=1, eos_token_id=2)
    Qwen2MoeForCausalLM(config).save_pretrained(folder)


def check_mixture(tare, script, folder):
    """Whether experts are stacked in the script's lines and single in the model does not matter."""
    make_mixture(folder)
    file = os.path.join(folder, "s.txt")
    subprocess.run([sys.executable, script, folder, "-o", file, "--tokens", "64"], check=True)
    for names in "--no-tokenizer", "--keep-names":
        out = subprocess.run([tare, "quantize", folder, os.path.join(folder, "q.gguf"), "--target-bpw", "5",
                              "--sensitivity", file, "--json", names, "-n"], check=True, capture_output=True)
        tensors = json.loads(out.stdout)["outputs"][0]["fit"]["tensors"]
        assert tensors and all(t["is_measured"] for t in tensors), names
    print(f"{len(tensors)} tensors of the mixture have theirs")


def main():
    tare, script = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        model, file = make(folder), os.path.join(folder, "s.txt")
        subprocess.run([sys.executable, script, folder, "-o", file, "--tokens", str(N_TOKENS)], check=True)
        with open(file, encoding="utf-8") as lines:
            rows = [line.split() for line in lines if not line.startswith("#")]
        values = {name: float(value) for name, value in rows}
        check(model, values)
        out = subprocess.run([tare, "quantize", folder, os.path.join(folder, "q.gguf"), "--target-bpw", "5",
                              "--sensitivity", file, "--json", "--no-tokenizer", "-n"],
                             check=True, capture_output=True)
        tensors = json.loads(out.stdout)["outputs"][0]["fit"]["tensors"]
        assert tensors and all(t["is_measured"] and t["name"].count("proj") == 0 for t in tensors)
        by_name = {t["name"]: t["sensitivity"] for t in tensors}
        assert abs(by_name["blk.2.ffn_down.weight"] / values["model.layers.2.mlp.down_proj.weight"] - 1) < 1e-9
        print(f"{len(tensors)} tensors of the GGUF file have theirs")
    with tempfile.TemporaryDirectory() as folder:
        check_mixture(tare, script, folder)


main()
