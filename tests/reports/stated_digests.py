# SPDX-License-Identifier: MIT
"""An INFQ package states the SHA-256 of each tensor, and an archive the CRC-32 of each member: a flipped bit is found by whatever computes
with it, also where tensors get other names and shapes on the way."""
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys

for place in ("support", "golden"):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", place))
from safetensors_file import safetensors  # noqa: E402
from torchbuilder import archive, dict_of, storage, tensor  # noqa: E402


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 4]))


def whole_models(run):
    """Models with tokenizers, whose tensors llama.cpp has under other names, and torch's archive of such a one."""
    run(0, "synth", "llama-chat:bf16", "hf", "--to", "hf")
    run(0, "convert", "hf", "b.infq", "--type", "int8_rowwise")
    run(0, "convert", "b.infq", "sound.gguf")
    at = next(t for t in json.load(open("b.infq/manifest.json"))["tensors"] if t["name"].endswith("layers.0.self_attn.q_proj.weight"))["offset_data"]
    flip("b.infq/weights.bin", at + 5)
    shutil.copytree("hf", "torch")
    for name in os.listdir("torch"):
        if "safetensors" in name:
            os.remove("torch/" + name)
    with open("hf/model.safetensors", "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        entries = {k: v for k, v in json.loads(f.read(n)).items() if k != "__metadata__"}
        data = f.read()
    tensors, storages = {}, {}
    for i, (name, entry) in enumerate(entries.items()):
        (begin, end), shape = entry["data_offsets"], entry["shape"]
        strides = [math.prod(shape[k + 1:]) for k in range(len(shape))]
        tensors[name] = tensor(shape, strides, data=storage(str(i), (end - begin) // 2, "BFloat16Storage"))
        storages[str(i)] = data[begin:end]
    made = archive(dict_of(**tensors), storages)
    with open("torch/pytorch_model.bin", "wb") as f:
        f.write(made.file())
    run(0, "convert", "torch", "sound-too.gguf")
    place = list(entries).index("model.layers.0.self_attn.q_proj.weight")
    flip("torch/pytorch_model.bin", made.at[f"archive/data/{place} data"] + 5)
    for model, word in (("b.infq", "sha256"), ("torch", "CRC-32")):
        for arguments in (["convert", model, "out.gguf"], ["convert", model, "-", "--to", "gguf"], ["quantize", model, "out.gguf", "Q8_0", "--allow-requantize"],
                          ["convert", model, "out", "--to", "hf"], ["quantize", model, "out", "nvfp4a16", "--to", "hf", "--allow-requantize"],
                          ["convert", model, "out.safetensors", "--rename-tensor", "model.*=m.*"], ["pack", model, "out.wcodec"], ["pack", "hf", "out.wcodec", "--base", model], ["convert", model, "out.gguf", "--part", "1/2"]):
            said = run(3, *arguments)
            assert "self_attn.q_proj" in said and word in said, (arguments, said)


def adapters(run):
    """Factors in torch's archive, which are merged, stored or named for llama.cpp."""
    os.mkdir("adapter")
    with open("adapter/adapter_config.json", "w") as f:
        json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": ["q_proj"]}, f)
    module = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    factors = {f"{module}{side}.weight": tensor(shape, (shape[1], 1), data=storage(side, 512))
               for side, shape in (("A", (2, 256)), ("B", (256, 2)))}
    made = archive(dict_of(**factors), {side: struct.pack("<512f", *(random.gauss(0, 1) for _ in range(512))) for side in "AB"})
    with open("adapter/adapter_model.bin", "wb") as f:
        f.write(made.file())
    uses = [["convert", "hf", "out.safetensors", "--apply-adapter", "adapter"], ["convert", "hf", "out.gguf", "--apply-adapter", "adapter"],
            ["convert", "hf", "out.infq", "--adapter", "n=adapter"], ["quantize", "hf", "out.gguf", "Q8_0", "--apply-adapter", "adapter"],
            ["convert", "hf", "out.gguf", "--lora", "adapter"]]
    for i, arguments in enumerate(uses):
        run(0, *arguments[:2], f"adapted-{i}" + arguments[2][3:], *arguments[3:])
    flip("adapter/adapter_model.bin", made.at["archive/data/B data"] + 5)
    for arguments in uses:
        said = run(3, *arguments)
        assert "lora_B" in said and "CRC-32" in said, (arguments, said)


def main():
    tare, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for name in ("a.infq", "b.infq", "hf", "torch", "adapter", "out"):
        shutil.rmtree(name, ignore_errors=True)

    def run(code, *arguments):
        force = [] if arguments[0] in ("diff", "info") else ["--force"]
        done = subprocess.run([tare, *arguments, *force], capture_output=True)
        assert done.returncode == code, (arguments, done.returncode, done.stderr)
        return done.stderr.decode()

    random.seed(1)
    numbers = struct.pack("<4096f", *(random.gauss(0, 1) for _ in range(4096)))
    with open("a.safetensors", "wb") as f:
        f.write(safetensors([("first", "F32", [64, 64], numbers), ("second", "F32", [64, 64], numbers[8192:] + numbers[:8192])]))
    run(0, "convert", "a.safetensors", "a.infq", "--type", "int8_rowwise")
    run(0, "convert", "a.infq", "sound.safetensors")
    sizes = {n: os.path.getsize("a.infq/" + n) for n in os.listdir("a.infq") if n.endswith(".bin")}
    flip("a.infq/" + max(sizes, key=sizes.get), max(sizes.values()) - 5)
    for arguments in (["convert", "a.infq", "out.safetensors"], ["convert", "a.infq", "out.gguf"],
                      ["convert", "a.infq", "out.wcodec"], ["convert", "a.infq", "-", "--to", "gguf"],
                      ["quantize", "a.infq", "out.gguf", "Q8_0", "--keep-names", "--allow-requantize"],
                      ["diff", "a.infq", "sound.safetensors"], ["diff", "sound.safetensors", "a.infq"],
                      ["report", "a.infq", "-o", "out.html"], ["info", "--stats", "a.infq"],
                      ["info", "--stats", "--filter", "second", "a.infq"]):
        said = run(3, *arguments)
        assert "second" in said and "sha256" in said, said
    run(0, "info", "--stats", "--filter", "first", "a.infq")
    whole_models(run)
    adapters(run)
    assert not [n for n in os.listdir(".") if n.startswith("out")]
    print("a flipped bit is found before numbers are made of it")


main()
