# SPDX-License-Identifier: MIT
"""Llama in Meta's form, as torch.save writes the ranks' files, is the tensors that torch.cat makes of the parts, its files come
back from a pack, and as a Hugging Face directory its weights are those that transformers' script makes. Run by judge.py; 77: there is no PyTorch here."""
import filecmp
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file
except ImportError as missing:
    print("SKIP:", missing)
    sys.exit(77)

TARE = os.environ["TARE_COMMAND"]
WIDTH, HEADS, KEYS, WORDS, INNER, LAYERS = 64, 8, 4, 96, 160, 2
SHAPES = {"attention.wq": (WIDTH, WIDTH), "attention.wk": (WIDTH // HEADS * KEYS, WIDTH), "attention.wv": (WIDTH // HEADS * KEYS, WIDTH),
          "attention.wo": (WIDTH, WIDTH), "feed_forward.w1": (INNER, WIDTH), "feed_forward.w2": (WIDTH, INNER),
          "feed_forward.w3": (INNER, WIDTH), "attention_norm": (WIDTH,), "ffn_norm": (WIDTH,)}


def tensors():
    shapes = {"tok_embeddings.weight": (WORDS, WIDTH), "norm.weight": (WIDTH,), "output.weight": (WORDS, WIDTH), "rope.freqs": (4,)}
    for layer in range(LAYERS):
        shapes.update({"layers.%d.%s.weight" % (layer, name): shape for name, shape in SHAPES.items()})
    return {name: torch.randn(shape).to(torch.bfloat16) for name, shape in shapes.items()}


def axis(name, embeddings):
    """along which a tensor is divided; None: each rank has all of it"""
    if name.startswith("tok_embeddings"):
        return embeddings
    if "norm" in name or "rope" in name:
        return None
    return 1 if ".wo." in name or ".w2." in name else 0


HF = {"tok_embeddings": "model.embed_tokens", "norm": "model.norm", "output": "lm_head", "attention.wq": "self_attn.q_proj",
      "attention.wk": "self_attn.k_proj", "attention.wv": "self_attn.v_proj", "attention.wo": "self_attn.o_proj",
      "feed_forward.w1": "mlp.gate_proj", "feed_forward.w2": "mlp.down_proj", "feed_forward.w3": "mlp.up_proj",
      "attention_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}


def renamed(full):
    """what transformers' script makes of the tensors"""
    out = {}
    for name, t in full.items():
        layer, own = name.split(".")[1] if name.startswith("layers.") else None, name.removesuffix(".weight")
        own = own if layer is None else own.split(".", 2)[2]
        if own in ("attention.wq", "attention.wk"):
            heads = HEADS if own == "attention.wq" else KEYS
            t = t.view(heads, t.shape[0] // heads // 2, 2, t.shape[1]).transpose(1, 2).reshape(t.shape)
        if own != "rope.freqs":
            out[("" if layer is None else "model.layers.%s." % layer) + HF[own] + ".weight"] = t
    return out


def tare(*args):
    subprocess.run([TARE, *args, "--quiet"], check=True)


def check(folder, ranks, embeddings, is_zip):
    os.mkdir(folder)
    full = tensors()
    along = {name: axis(name, embeddings) for name in full}
    for rank in range(ranks):
        torch.save({name: t if along[name] is None else t.chunk(ranks, along[name])[rank].clone() for name, t in full.items()},
                   "%s/consolidated.%02d.pth" % (folder, rank), _use_new_zipfile_serialization=is_zip)
    with open(folder + "/params.json", "w", encoding="utf-8") as f:
        json.dump({"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "n_kv_heads": KEYS, "vocab_size": WORDS}, f)
    parts = [torch.load("%s/consolidated.%02d.pth" % (folder, rank)) for rank in range(ranks)]
    expected = {name: parts[0][name] if along[name] is None else torch.cat([p[name] for p in parts], along[name]) for name in full}
    tare("convert", folder, folder + ".safetensors", "--no-sync")
    got = load_file(folder + ".safetensors")
    assert set(got) == set(expected), set(got) ^ set(expected)
    for name, t in expected.items():
        assert got[name].dtype == t.dtype and torch.equal(got[name], t), (folder, name)
    tare("convert", folder, folder + ".hf", "--to", "hf", "--no-sync")
    got, expected = load_file(folder + ".hf/model.safetensors"), renamed(expected)
    assert set(got) == set(expected), set(got) ^ set(expected)
    for name, t in expected.items():
        assert got[name].dtype == t.dtype and torch.equal(got[name], t), (folder, name)
    tare("verify", "--deep", folder)
    tare("pack", folder, folder + ".wcodec", "--no-sync")
    tare("unpack", folder + ".wcodec", folder + ".back", "--no-sync")
    assert sorted(os.listdir(folder)) == sorted(os.listdir(folder + ".back"))
    for path in os.listdir(folder):
        assert filecmp.cmp(folder + "/" + path, folder + ".back/" + path, shallow=False), path


torch.manual_seed(7)
with tempfile.TemporaryDirectory() as work:
    for ranks in (1, 2, 4):
        for embeddings in (0, 1):
            for is_zip in (True, False):
                check("%s/m%d%d%d" % (work, ranks, embeddings, is_zip), ranks, embeddings, is_zip)
print("12 models: every tensor is what torch.cat makes, and what transformers has")
