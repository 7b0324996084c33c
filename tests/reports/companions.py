#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""FP8 codes are no numbers without their scale: it is multiplied where its name and shape are known, and where a tensor beside the
codes may be one and is not known, no command decodes them. Copies of the bytes stay as they were.
`companions.py TARE FOLDER`"""
import json
import struct
import sys

from side_parts import E4M3, Program, floats, np, put, read_safetensors, save

CODES = (np.arange(48 * 64).reshape(48, 64) * 7 % 120).astype(np.uint8)
F32 = np.float32


def known(p):
    """The names that published checkpoints have, in the shapes that they have."""
    blocks = np.repeat(np.repeat(np.arange(1, 13).reshape(3, 4), 16, 0), 16, 1)
    shapes = {"one": (F32(.25), .25), "row": (np.arange(1, 49), np.arange(1, 49)[:, None]),
              "blocks": (np.arange(1, 13).reshape(3, 4), blocks)}
    for name in ("m.weight_scale", "m.weight_scale_inv", "m.scale_weight", "m.scale", "m.qscale_weight"):
        for kind, (scale, factors) in shapes.items():
            save(p.path("in.safetensors"), {"m.weight": (CODES, "F8_E4M3"), name: (scale, "F32"), "m.input_scale": (F32(2), "F32"),
                                            "scaled_fp8": (np.zeros(2), "F8_E4M3"), "n.bias": (np.ones(4), "F32")})
            want = E4M3[CODES] * np.asarray(factors, F32)
            for out in ("out.safetensors", "out.gguf"):
                code, text = p.run("convert", p.path("in.safetensors"), p.path(out), "--type", "f32", "--force", "-v")
                made = floats(p.path(out)) if code == 0 else {}
                p.expect(f"{name}, {kind}, {out}", set(made) == {"m.weight", "n.bias"} and np.array_equal(made["m.weight"], want), text)
                p.expect(f"{name}: says so", "convert.decoded" in text, text)
            code, text = p.run("convert", p.path("in.safetensors"), p.path("same.safetensors"), "--force")
            p.expect(f"{name}: a copy", code == 0 and set(read_safetensors(p.path("same.safetensors"))[1]) ==
                     {"m.weight", name, "m.input_scale", "scaled_fp8", "n.bias"}, text)
    code, text = p.run("extract", p.path("in.safetensors"), "m.weight", "-o", p.path("m.npy"), "--force")
    p.expect("extract", code == 0 and np.array_equal(np.load(p.path("m.npy")), want), text)


def unknown(p):
    """Any other name with a scale in it, or with the weight's name and a word more, and scales of another shape or type."""
    one = (F32(.5), "F32")
    cases = {name: one for name in (
        "m.scales", "m.weight_scales", "m.weight.scale_2", "m.input_scale", "m.act_scale", "m.k_scale", "m.v_scale", "m.output_scale",
        "m.weight_global_scale", "m.pre_quant_scale", "m.weight_quantizer._scale", "m.SCALE", "m.weight_descale", "m.dequant_scale_w",
        "m.weight_multiplier", "m.weight.delta", "m.weight_scb", "m.weight_max", "m.weight_q_step",
        "m.dequant_factor", "m.alpha", "m.gain", "m.q_multiplier")}
    cases["m.weight_scale"] = (np.ones(5), "F32")
    cases["m.weight_scale_inv"] = (np.full((3, 4), 127), "I32")
    for name, scale in cases.items():
        path = p.path("in.safetensors")
        save(path, {"m.weight": (CODES, "F8_E4M3"), name: scale})
        both = ["m.weight\"", name.replace(".", r"\.")]
        for out in ("out.safetensors", "out.gguf", "out.infq", "out.wcodec"):
            p.refused(f"{name} to {out}", both, "convert", path, p.path(out), "--type", "bf16" if "infq" not in out else "int8_rowwise", "--force")
        p.refused(f"{name}: quantize", both, "quantize", path, p.path("out.gguf"), "Q8_0", "--force")
        p.refused(f"{name}: extract", both, "extract", path, "m.weight", "-o", p.path("m.npy"), "--force")
        p.refused(f"{name}: statistics", both, "info", "-t", "--stats", path)
        code, text = p.run("convert", path, p.path("same.safetensors"), "--force")
        p.expect(f"{name}: a copy", code == 0 and set(read_safetensors(p.path("same.safetensors"))[1]) == {"m.weight", name}, text)
    save(path, {"m.weight": (CODES, "F8_E4M3"), "m.weight_scale": one, "m.pre_quant_scale": (np.ones(64), "F32")})
    p.refused("a second scale", ["pre_quant_scale"], "convert", path, p.path("out.safetensors"), "--type", "f32", "--force")
    save(path, {"m.weight": (CODES, "F8_E4M3"), "logit_scale": one, "n.layer_scale": one, "m.bias": one, "m.weighting": one, "m.alphabet": one,
                "n.weight_g": one, "n.weight": (np.ones((2, 2)), "F32"), "m.weight_format": (np.zeros(1, "u1"), "U8")})
    code, text = p.run("convert", path, p.path("out.safetensors"), "--type", "f32", "--force")
    p.expect("scales of other modules", code == 0 and np.array_equal(floats(p.path("out.safetensors"))["m.weight"], E4M3[CODES]), text)


def no_numbers(p):
    """Scales and zero points with which weights are none: NaN, infinite, 0 where it divides."""
    fp8 = {"m.weight": (CODES, "F8_E4M3")}
    cases = {"NaN": {**fp8, "m.weight_scale": (F32("nan"), "F32")}, "infinite": {**fp8, "m.weight_scale": (np.full((48, 1), np.inf), "F32")},
             "a block": {**fp8, "m.weight_scale_inv": (np.where(np.arange(12) == 7, np.nan, 1).reshape(3, 4), "F32")},
             "an exponent": {**fp8, "m.weight_scale_inv": (np.full((48, 2), 255, "u1"), "F8_E8M0")}}
    for name, tensors in cases.items():
        save(p.path("in.safetensors"), tensors)
        for out in ("out.safetensors", "out.gguf"):
            p.refused(f"{name} to {out}", [r"m\.(weight_scale|biases)", "number"], "convert", p.path("in.safetensors"), p.path(out), "--type", "f32", "--force")
    put(p.path("mlx") + "/config.json", {"model_type": "x", "quantization": {"group_size": 64, "bits": 4}})
    save(p.path("mlx") + "/model.safetensors", {"m.weight": (np.zeros((48, 8)), "U32"), "m.scales": (np.ones((48, 1)), "F16"), "m.biases": (np.full((48, 1), np.inf), "F16")})
    p.refused("zero points", [r"m\.biases", "zero point"], "convert", p.path("mlx"), p.path("out.safetensors"), "--type", "f32", "--force")


def beside_others(p):
    """Schemes whose codes are not called X.weight; names of which the word is anywhere behind X."""
    one, bytes_, rows = (F32(.5), "F32"), CODES % 64, np.ones((48, 1))
    schemes = {"torchao": {"m._weight_qdata": (bytes_, "I8"), "m._weight_scale": (rows, "F32")},
               "quanto": {"m.weight._data": (bytes_, "I8"), "m.weight._scale": (rows, "F32")},
               "compressed-tensors": {"m.weight_packed": (np.ones((48, 8)), "I32"), "m.weight_scale": (rows, "F32"), "m.weight_shape": ([48, 64], "I64")},
               "fp8": {"m.weight": (CODES, "F8_E4M3"), "m.weight_scale": one}}
    for scheme, parts in schemes.items():
        path = p.path("in.safetensors")
        for name in ("m.weight_scale_3", "m.pre_scale", "m.rowscale", "m.SCALE_X", "m.my.scale", "m.weight.my_scale", "m.scales.0", "m_scale"):
            save(path, {**parts, name: one})
            for out in ("out.safetensors", "out.gguf"):
                p.refused(f"{scheme}: {name} to {out}", [name.replace(".", r"\.") + ":", "not used"], "convert", path, p.path(out), "--type", "f32", "--force")
        for form in ((), ("--json",)):
            code, text = p.run("info", *form, path)
            p.expect(f"{scheme}: info {form}", code == 0 and f"{name}: named like the scale" in text and "cannot be decoded" in text, text)
        save(path, {**parts, "m.input_scale": one, "n.my.scale": one, "mm.scale": one, "scale": one})
        code, text = p.run("convert", path, p.path("out.safetensors"), "--type", "f32", "--force")
        p.expect(f"{scheme}: scales of others", code == 0 and set(floats(p.path("out.safetensors"))) == {"m.weight", "n.my.scale", "mm.scale", "scale"}, text)


def unused(p):
    """What else looks like a part of a weight stays a tensor, which is said; codes without their scale are no numbers in ComfyUI's
    formats that always have one."""
    path, codes = p.path("in.safetensors"), {"m.weight": (CODES, "F8_E4M3"), "m.weight_scale": (F32(.5), "F32")}
    beside, lost = "beside the codes of a packed weight", "of which there are no codes"
    cases = {"m.smoothing_factor": beside, "m.zero": beside, "m.g_idx2": beside, "n.weight_scale": lost, "n.weight_zero_point": lost,
             "n.qzeros": lost, "m.bias": None, "n.bias": None, "n.scale": None, "smoothing_factor": None}
    for name, said in cases.items():
        save(path, {**codes, name: (np.ones(48), "F32")})
        code, text = p.run("convert", path, p.path("out.safetensors"), "--type", "f32", "--force")
        p.expect(f"{name} beside codes", code == 0 and set(floats(p.path("out.safetensors"))) == {"m.weight", name}, text)
        p.expect(f"{name}: what is said", (f'"{name}": ' in text and said in text) if said else "packed.unused" not in text, text)
    save(path, {"n.weight_scale": (F32(.5), "F32"), "n.weight": (np.ones((2, 2)), "F32")})
    code, text = p.run("verify", path)
    p.expect("a plain model", code == 0 and "packed" not in text, text)
    for kind, words in (("I8", "int8_tensorwise"), ("F8_E4M3", "mxfp8"), ("F8_E4M3", "float8_e4m3fn")):
        note = np.frombuffer(b'{"format": "%s"}' % words.encode(), "u1")
        save(path, {"m.weight": (CODES % 100, kind), "m.comfy_quant": (note, "U8")})
        if words == "float8_e4m3fn":
            p.expect(words, p.run("convert", path, p.path("out.safetensors"), "--type", "f32", "--force")[0] == 0, "")
        else:
            p.refused(words, [r"m\.weight", "no scale was found"], "convert", path, p.path("out.safetensors"), "--type", "f32", "--force")


def listed(p):
    """ComfyUI's metadata says what codes are (rotated ones, for one): where it lists a layer that is not there, codes that it does not list
    may be that one."""
    path, parts = p.path("in.safetensors"), {"model.m.weight": (CODES % 100, "I8"), "model.m.weight_scale": (F32(.5), "F32")}
    for names, fits in ((["model.m"], True), (["m"], True), (["net.model.m"], True), (["net.m"], False), (["net.m", "m"], True), ([], True)):
        put_with_metadata(path, parts, {name: {"format": "int8_tensorwise"} for name in names})
        words = "convert", path, p.path("out.safetensors"), "--type", "f32", "--force"
        if fits:
            p.expect(f"layers {names}", p.run(*words)[0] == 0, "")
        else:
            p.refused(f"layers {names}", [r"model\.m\.weight", "lists layers that are not in the file"], *words)


def put_with_metadata(path, tensors, layers):
    save(path, tensors)
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    header["__metadata__"] = {"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": layers})}
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def differences(p):
    """Numbers are compared with the scale, never codes with numbers."""
    save(p.path("a.safetensors"), {"m.weight": (CODES, "F8_E4M3"), "m.scale_weight": (F32(.5), "F32")})
    save(p.path("b.safetensors"), {"m.weight": (E4M3[CODES] * F32(.5), "F32")})
    code, text = p.run("diff", "--json", p.path("a.safetensors"), p.path("b.safetensors"))
    p.expect("diff", '"max_abs": 0' in text or '"max_abs":0' in text or "max_abs" not in text, text)
    save(p.path("a.safetensors"), {"m.weight": (CODES, "F8_E4M3"), "m.scales": (F32(.5), "F32")})
    p.refused("diff of unknown scales", ["m.scales"], "diff", p.path("a.safetensors"), p.path("b.safetensors"))


def models(p):
    """Scales of a cache alone, and BitNet, whose weights are measured while it is mapped."""
    with_scales = p.model("cache", quantization_config={"quant_method": "compressed-tensors", "format": "dense",
                                                        "kv_cache_scheme": {"num_bits": 8, "type": "float"}})
    tensors = read_safetensors(with_scales + "/model.safetensors")[1]
    more = {f"model.layers.0.self_attn.{x}_proj.output_scale": (F32(.5), "F32") for x in "kv"}
    write_more(with_scales, tensors, more)
    code, text = p.run("convert", with_scales, p.path("out.gguf"), "--no-tokenizer", "--force")
    p.expect("cache scales alone", code == 0 and not any("scale" in n for n in floats(p.path("out.gguf"))), text)
    mlx = p.model("mlx", quantization={"group_size": 32, "bits": 4})
    tensors = read_safetensors(mlx + "/model.safetensors")[1]
    name = "model.layers.0.mlp.up_proj"
    rows, cols = tensors.pop(name + ".weight")[1]
    write_more(mlx, tensors, {name + ".weight": (np.ones((rows, cols // 8)), "I32"), name + ".scales": (np.ones((rows, cols // 32)), "F16"),
                              name + ".biases": (np.ones((rows, cols // 32)), "F16")})
    code, text = p.run("convert", mlx, p.path("out.gguf"), "--no-tokenizer", "--force", "--type", "f32")
    p.expect("MLX", code == 0 and np.all(np.isin(floats(p.path("out.gguf"))["blk.0.ffn_up.weight"], (1, 2))), text)


def write_more(folder, tensors, more):
    from side_parts import put, raw, safetensors
    put(folder + "/model.safetensors", safetensors([(n, k, s, b) for n, (k, s, b) in tensors.items()] +
                                                   [(n, k, list(np.shape(x)), raw(x, k)) for n, (x, k) in more.items()]))


def bitnet(p):
    folder = p.model("bitnet", of="bitnet", quantization_config={"quant_method": "compressed-tensors", "format": "float-quantized"})
    tensors = read_safetensors(folder + "/model.safetensors")[1]
    more = {}
    for name in [n for n in tensors if n.endswith("_proj.weight")]:
        rows, cols = tensors.pop(name)[1]
        more[name] = (np.arange(rows * cols).reshape(rows, cols) % 120, "F8_E4M3")
        more[name + "_scale"] = (np.full((rows, 1), .004), "F32")
    write_more(folder, tensors, more)
    code, text = p.run("convert", folder, p.path("out.gguf"), "--no-tokenizer", "--force")
    p.expect("BitNet in FP8", code == 0, text)


def zero_points(p):
    """GPTQ: where the weights are symmetric, the zero point is the middle of the codes, however it is stored."""
    rng = np.random.default_rng(1)
    name = "model.layers.0.mlp.down_proj"
    for bits, stored, form, zero in ((4, 7, None, 8), (4, 8, None, 8), (4, 8, "gptq", 8), (4, 7, "gptq_v2", 8), (4, 8, "gptq_v2", 8),
                                     (2, 2, None, 2), (2, 1, None, 2), (8, 128, "gptq", 128), (8, 127, "gptq", 128)):
        config = {"quant_method": "gptq", "bits": bits, "group_size": 32, "sym": True, **({"checkpoint_format": form} if form else {})}
        folder = p.model("gptq", quantization_config=config)
        tensors = read_safetensors(folder + "/model.safetensors")[1]
        rows, cols = tensors.pop(name + ".weight")[1]
        per = 32 // bits
        q = rng.integers(0, 1 << bits, (cols, rows))
        s = (rng.integers(1, 9, (cols // 32, rows)) / 64).astype(np.float16)
        pack = lambda x, axis: sum(np.take(x, np.arange(k, x.shape[axis], per), axis).astype(np.int64) << bits * k for k in range(per)).astype(np.uint32).view(np.int32)
        write_more(folder, tensors, {name + ".qweight": (pack(q, 0), "I32"), name + ".scales": (s, "F16"),
                                     name + ".qzeros": (pack(np.full(s.shape, stored), 1), "I32")})
        code, text = p.run("convert", folder, p.path("out.gguf"), "--no-tokenizer", "--force", "--type", "f32")
        want = ((q - zero) * np.repeat(s, 32, 0).astype(np.float32)).T
        p.expect(f"{bits} bits, {stored}, {form}", code == 0 and np.array_equal(floats(p.path("out.gguf"))["blk.0.ffn_down.weight"], want), text)
        contradicts = (stored == zero) != (form == "gptq_v2")
        p.expect(f"{bits} bits, {stored}, {form}: said", contradicts == ("zero points" in text), text)


def without_settings(p):
    """What only settings tell is as most files have it, which is said where another way would be other numbers."""
    gptq = {"m.qweight": (np.arange(8 * 16).reshape(8, 16), "I32"), "m.scales": (np.ones((2, 16)), "F16")}
    middle, others = np.full((2, 2), 0x77777777), np.full((2, 2), 0x12345678)
    bitnet = {"m.weight": (CODES % 3, "U8"), "m.weight_scale": (np.ones(1), "F32")}
    for what, parts, config, is_said in (("middle", {**gptq, "m.qzeros": (middle, "I32")}, None, False), ("others", {**gptq, "m.qzeros": (others, "I32")}, None, True),
                                         ("gptq", {**gptq, "m.qzeros": (others, "I32")}, {"quant_method": "gptq", "sym": False}, False),
                                         ("bitnet", bitnet, None, True), ("bitnet with settings", bitnet, {"quant_method": "bitnet"}, False)):
        folder = p.path("set")
        put(folder + "/config.json", {"model_type": "x", **({"quantization_config": config} if config else {})})
        save(folder + "/model.safetensors", parts)
        code, text = p.run("convert", folder, p.path("out.safetensors"), "--type", "f32", "--force")
        p.expect(f"without settings: {what}", code == 0 and ("packed.assumed" in text) == is_said, text)


def main():
    p = Program()
    for part in (known, unknown, no_numbers, beside_others, unused, listed, differences, models, bitnet, zero_points, without_settings):
        part(p)
    return p.end("companions")


if __name__ == "__main__":
    sys.exit(main())
