#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Settings of packed weights that are of another kind than they must be, words that nobody knows, and files of settings
that are no JSON are errors that name them: never the numbers of another setting. `settings.py TARE FOLDER`"""
import os

from side_parts import E4M3, Program, floats, np, put, save

GPTQ = {"x.qweight": (np.arange(128).reshape(4, 32) * 1234567, "I32"), "x.scales": (np.ones((1, 32)), "F16"),
        "x.qzeros": (np.full((1, 4), 0x54321543), "I32")}
AWQ = {"x.qweight": (np.arange(128).reshape(32, 4) * 1234567, "I32"), "x.scales": (np.ones((1, 32)), "F16"),
       "x.qzeros": (np.full((1, 4), 0x54321543), "I32")}
BITNET = {"x.weight": (np.arange(64).reshape(4, 16) % 3, "U8"), "x.weight_scale": (np.full(1, 4), "F32")}
QUARK = {"x.weight": (np.arange(128).reshape(32, 4) * 1234567, "I32"), "x.weight_scale": (np.ones((1, 32)), "F32"),
         "x.weight_zero_point": (np.full((1, 4), 0x54321543), "I32")}
FP8 = {"x.weight": (np.arange(80 * 80).reshape(80, 80) % 100, "F8_E4M3"), "x.weight_scale": (np.array([[1, 2], [3, 4.0]]), "F32")}
MLX = {"x.weight": (np.arange(64).reshape(4, 16) * 1234567, "U32"), "x.scales": (np.ones((4, 2)), "F16"), "x.biases": (np.zeros((4, 2)), "F16")}
GEMMA = {"x.weight": (np.arange(64).reshape(4, 16), "U8"), "x.weight_scale": (np.ones((4, 1)), "F32")}
WORDS = {"x.weight_packed": (np.arange(16).reshape(8, 2) * 1234567, "I32"), "x.weight_scale": (np.ones((8, 1)), "F32"),
         "x.weight_shape": ([8, 10], "I64")}

# the parts, settings that are right, and a member that is wrong: path, value, what the error says
WRONG = [
    (GPTQ, {"quant_method": "gptq"}, ("checkpoint_format", 2), "a text expected"),
    (GPTQ, {"quant_method": "gptq"}, ("checkpoint_format", ["gptq_v2"]), "a text expected"),
    (GPTQ, {"quant_method": "gptq"}, ("checkpoint_format", "gptq_v7"), "tare does not know 'gptq_v7'"),
    (GPTQ, {"quant_method": "gptq"}, ("packing_format", "auto_round:new"), "tare does not know 'auto_round:new'"),
    (GPTQ, {"quant_method": "gptq"}, ("sym", "false"), "true or false expected"),
    (GPTQ, {"quant_method": "gptq"}, ("is_marlin_format", "true"), "true or false expected"),
    (GPTQ, {"quant_method": "gptq"}, ("format", 4), "a text expected"),
    (AWQ, {"quant_method": "awq", "bits": 4}, ("version", 2), "a text expected"),
    (AWQ, {"quant_method": "awq", "bits": 4}, ("version", "gemw"), "tare does not know 'gemw'"),
    (BITNET, {"quant_method": "bitnet"}, ("linear_class", True), "a text expected"),
    (BITNET, {"quant_method": "bitnet"}, ("linear_class", "newlinear"), "tare does not know 'newlinear'"),
    (QUARK, {"quant_method": "quark"}, ("export", "reorder"), "an object expected"),
    (QUARK, {"quant_method": "quark"}, ("export", {"pack_method": 1}), "pack_method: a text expected"),
    (QUARK, {"quant_method": "quark"}, ("export", {"pack_method": "new"}), "tare does not know 'new'"),
    (FP8, {"quant_method": "fp8"}, ("weight_block_size", 64), "a list of two whole numbers expected"),
    (FP8, {"quant_method": "fp8"}, ("weight_block_size", ["64", "64"]), "a list of two whole numbers expected"),
    (FP8, {"quant_method": "fp8"}, ("weight_block_size", [64.5, 64]), "a list of two whole numbers expected"),
    (FP8, {"quant_method": "fp8"}, ("weight_block_size", [64, 64, 64]), "a list of two whole numbers expected"),
    (FP8, {"quant_method": "compressed-tensors"}, ("config_groups", [1]), "an object expected"),
    (FP8, {"quant_method": "compressed-tensors"}, ("config_groups", {"a": 4}), "objects or lists expected"),
    (FP8, {"quant_method": "compressed-tensors"}, ("config_groups", {"a": {"weights": "fp8"}}), "weights: an object expected"),
    (FP8, {"quant_method": "compressed-tensors"}, ("config_groups", {"a": {"weights": {"block_structure": "48by48"}}}), "block_structure"),
    (WORDS, {"quant_method": "compressed-tensors"}, ("config_groups", {"a": {"weights": {"num_bits": "5"}}}), "num_bits: a whole number expected"),
    (WORDS, {"quant_method": "compressed-tensors"}, ("config_groups", {"a": {"weights": {"num_bits": True}}}), "num_bits: a whole number expected"),
    (WORDS, {"quant_method": "compressed-tensors"},
     ("config_groups", {f"g{i}": {"weights": {"num_bits": 4, "block_structure": [1, i + 1]}} for i in range(65)}), "too many groups that differ"),
    (GPTQ, {"quant_method": "gptq"}, ("dynamic", {f"x{i}": {"group_size": i + 1} for i in range(65)}), "group_size: too many values"),
    (GEMMA, {"quant_method": "gemma", "num_bits": 4}, ("module_quant_configs", {"(": {}}), "a name in it is not a pattern"),
    (GEMMA, {"quant_method": "gemma", "num_bits": 4}, ("module_quant_configs", ["x"]), "an object expected"),
    (GEMMA, {"quant_method": "gemma", "num_bits": 4}, ("module_quant_configs", {"x": {"num_bits": "2"}}), "num_bits: a whole number expected"),
]


def model(p, parts, files):
    path = p.path("m")
    save(path + "/model.safetensors", parts)
    for name in ("config.json", "hf_quant_config.json", "quantize_config.json"):
        put(f"{path}/{name}", files.get(name, "{}"))
    return path


def refused(p, what, words, parts, files):
    path = model(p, parts, files)
    p.refused(what, words, "convert", path, p.path("o.safetensors"), "--type", "f32")
    code, text = p.run("info", path)
    p.expect(f"{what}: info", code == 0 and all(w.replace("\\", "") in text for w in words), text)


def kinds(p):
    for parts, right, (name, value), words in WRONG:
        for config in (right, {**right, name: None}):
            code, text = p.run("convert", model(p, parts, {"config.json": {"quantization_config": config}}), p.path("o.safetensors"), "--type", "f32", "--force")
            p.expect(f"{right} is right", code == 0 or parts is WORDS, text)
            if code == 0:
                os.remove(p.path("o.safetensors"))
        wrong = {**right, name: value}
        refused(p, f"{name}: {value}", [words, "quantization_config"], parts, {"config.json": {"quantization_config": wrong}})


def places(p):
    """Where settings stand: files and members that are no objects, or no JSON."""
    for name in ("quantization_config", "compression_config", "quantization"):
        for value in ("gptq", 4, True, [{"quant_method": "gptq"}]):
            refused(p, f"{name}: {value}", [f"{name}: an object expected"], GPTQ, {"config.json": {name: value}})
    refused(p, "broken config.json", ["config.json: "], GPTQ, {"config.json": '{"quantization_config": {"checkpoint_format": "gptq_v2"'})
    for file in ("quantize_config.json", "hf_quant_config.json"):
        refused(p, file, [f"{file}: an object expected"], GPTQ, {file: [1]})
        refused(p, f"{file} of a pointer", ["Git LFS"], GPTQ, {file: "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"})
    refused(p, "quantization", ["hf_quant_config.json: quantization: an object expected"], GPTQ, {"hf_quant_config.json": {"quantization": "gptq"}})
    refused(p, "quantize_config.json", ["quantize_config.json.checkpoint_format: a text expected"], GPTQ, {"quantize_config.json": {"checkpoint_format": 2}})


def blocks(p):
    """A block as compressed-tensors takes it, too."""
    for structure in ([64, 64], "64x64"):
        config = {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"block_structure": structure}}}}
        p.run("convert", model(p, FP8, {"config.json": {"quantization_config": config}}), p.path("b.safetensors"), "--type", "f32", "--force")
        got, codes = floats(p.path("b.safetensors"))["x.weight"], E4M3[FP8["x.weight"][0]]
        scales = np.repeat(np.repeat(FP8["x.weight_scale"][0], 64, 0), 64, 1)[:80, :80]
        p.expect(f"block {structure}", np.array_equal(got, codes * scales))
    for shape in ((2, 2), (2, 1), (1, 2)):  # more scales than blocks of this size
        parts = {**FP8, "x.weight_scale": (np.ones(shape), "F32")}
        refused(p, f"scales {shape}", ["x.weight_scale: named like the scale"], parts,
                {"config.json": {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}})


def modules(p):
    """MLX's settings by module; ComfyUI's notes."""
    for value, words in (({"group_size": "32"}, "group_size: a whole number expected"), ("4 bits", "true or an object expected"),
                         ({"group_size": 64, "bits": 8}, "another number of bits")):
        refused(p, f"MLX: {value}", [words], MLX, {"config.json": {"quantization": {"group_size": 64, "bits": 4, "x": value}}})
    fp8 = {"x.weight": (np.arange(32 * 32).reshape(32, 32) % 100, "F8_E4M3"), "x.weight_scale": (np.ones(1), "F32")}
    for text, words in (('{"format": 4}', "format: a text expected"), ('{"format": "float8_e4m3fn", "convrot": 1}', "convrot: true or false expected"),
                        ('{"format": "float8_e4m3fn"', "bytes of a JSON text expected"), ('{"params": []}', "params: an object expected"),
                        ("[]", "an object or a text expected")):
        note = np.frombuffer(text.encode(), "u1")
        refused(p, f"ComfyUI: {text}", [words], {**fp8, "x.comfy_quant": (note, "U8")}, {})


def stated(p):
    """What the settings say is there, and is not; a method that nobody knows."""
    two = {**GPTQ, "x.scales": (np.ones((2, 32)), "F16"), "x.qzeros": (np.full((2, 4), 0x54321543), "I32")}
    codes = {"x.weight": FP8["x.weight"]}
    int8 = {"x.weight": (np.arange(64).reshape(4, 16), "I8"), "x.weight_scale": (np.ones((4, 1)), "F32")}
    groups = {"a": {"weights": {"num_bits": 5, "symmetric": False}}}
    for what, parts, config, words in (
            ("order of columns", two, {"quant_method": "gptq", "desc_act": True}, "g_idx is missing"),
            ("scales", codes, {"quant_method": "fp8"}, "no scale was found"),
            ("scales", codes, {"quant_method": "compressed-tensors", "config_groups": {}}, "no scale was found"),
            ("zero points", WORDS, {"quant_method": "compressed-tensors", "config_groups": groups, "version": "0.20"}, "zero points"),
            ("zero points of bytes", int8, {"quant_method": "compressed-tensors", "config_groups": groups}, "zero points")):
        refused(p, f"no {what}", [words], parts, {"config.json": {"quantization_config": config}})
    for parts, config in ((two, {"quant_method": "gptq", "desc_act": False}), (GPTQ, {"quant_method": "gptq", "desc_act": True}), (codes, {})):
        code, text = p.run("convert", model(p, parts, {"config.json": {"quantization_config": config}}), p.path("o.safetensors"), "--type", "f32", "--force")
        p.expect(f"{config} is right", code == 0 and "does not know" not in text, text)
    for parts in (GPTQ, AWQ, FP8):
        code, text = p.run("convert", model(p, parts, {"config.json": {"quantization_config": {"quant_method": "newq"}}}), p.path("o.safetensors"),
                           "--type", "f32", "--force")
        p.expect("a method that is not known", code == 0 and "tare does not know 'newq'" in text, text)


def main():
    p = Program()
    kinds(p)
    stated(p)
    places(p)
    blocks(p)
    modules(p)
    return p.end("settings of packed weights")


if __name__ == "__main__":
    raise SystemExit(main())
