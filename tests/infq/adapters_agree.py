#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Merged adapters against sums of F32 in Python, bit by bit: adapters_agree.py TARE FOLDER.

W + scale * A * B, the products of an element added up in the order of the rank, then multiplied by
the scale and added to W, each step rounded to F32: for PEFT directories (rslora, patterns, names,
embeddings, Conv1D) and files with one pair (whichever way it lies), at every CPU level, at any
number of threads, and for every format of output the same."""
import json
import math
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import infq_package  # noqa: E402
from infq_agrees import Run, flat, raw_f32, read_safetensors, safetensors  # noqa: E402
from infq_codes import f16, f32, quantize_row  # noqa: E402

HEAD = "base_model.model."


class Numbers:
    def __init__(self, seed):
        self.state = seed

    def matrix(self, rows, cols, size=1.0):
        out = []
        for _ in range(rows):
            row = []
            for _ in range(cols):
                self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
                row.append(f32(((self.state >> 40) - 2**23) * 2.0**-23 * size))
            out.append(row)
        return out


def transposed(m):
    return [list(row) for row in zip(*m)]


def merged(w, a, b, scale):
    """Two F32 have an exact product in doubles, and a sum that is rounded to F32 once."""
    scale, out = f32(scale), []
    for row, left in zip(w, a):
        line = []
        for i, x in enumerate(row):
            total = 0.0
            for r, factor in enumerate(left):
                total = f32(total + f32(factor * b[r][i]))
            line.append(f32(x + f32(scale * total)))
        out.append(line)
    return out


def tensor(name, m, dtype="F32"):
    raw = raw_f32(flat(m)) if dtype == "F32" else struct.pack("<%de" % len(flat(m)), *flat(m))
    return (name, dtype, [len(m), len(m[0])], raw)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def write_peft(folder, tensors, **config):
    os.makedirs(folder, exist_ok=True)
    write(folder + "/adapter_model.safetensors", safetensors(tensors))
    whole = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "bias": "none", "use_dora": False,
             "modules_to_save": None, "target_modules": None, "init_lora_weights": True,
             "rank_pattern": {}, "alpha_pattern": {}, **config}
    write(folder + "/adapter_config.json", json.dumps(whole).encode())


SOME = Numbers(7)
# Rows longer than a panel and shorter than a vector; a matrix of two spans that part within a row.
BASE = {"model.layers.0.self_attn.q_proj.weight": SOME.matrix(37, 131),
        "model.layers.0.self_attn.k_proj.weight": SOME.matrix(5, 7),
        "model.layers.1.mlp.up_proj.weight": SOME.matrix(70, 64),
        "model.embed_tokens.weight": SOME.matrix(50, 33),
        "h.0.attn.c_attn.weight": SOME.matrix(24, 40),
        "model.layers.2.mlp.down_proj.weight": SOME.matrix(380, 351),
        "model.norm.weight": SOME.matrix(1, 33)}


def dequantized(row, top):
    codes, scale = quantize_row(row, top)
    return [f32(f16(scale) * code) for code in codes]


def pair(rows, cols, rank):
    return SOME.matrix(rows, rank, 0.5), SOME.matrix(rank, cols, 0.5)


def check_result(run, expected, *options, to="out.safetensors"):
    run.convert("base.safetensors", to, *options)
    if to != "out.safetensors":
        run.convert(to, "out.safetensors", "--tensor-type", ".=f32")
    _, found = read_safetensors(run.path("out.safetensors"))
    assert set(found) == set(BASE)
    for name, m in expected.items():
        assert found[name][2] == raw_f32(flat(m)), (name, options)


def check_peft(run):
    a, b = pair(37, 131, 4)
    small_a, small_b = pair(5, 7, 2)
    write_peft(run.path("plain"), [
        tensor(HEAD + "model.layers.0.self_attn.q_proj.lora_A.weight", b),
        tensor(HEAD + "model.layers.0.self_attn.q_proj.lora_B.weight", a),
        tensor(HEAD + "model.layers.0.self_attn.k_proj.lora_A.default.weight", small_b),
        tensor(HEAD + "model.layers.0.self_attn.k_proj.lora_B.default.weight", small_a)],
        rank_pattern={"k_proj": 2, "0.self_attn.k_.*": 7}, alpha_pattern={"layers\\.\\d+\\.self_attn\\.k_proj": 3})
    q, k = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight"
    expected = {**BASE, q: merged(BASE[q], a, b, 2), k: merged(BASE[k], small_a, small_b, 1.5)}
    plain = run.path("plain")
    for options in ([], ["--cpu", "c"], ["--threads", "3"], ["--verify"]):
        check_result(run, expected, "--apply-adapter", plain, *options)
    for to in ("out.gguf", "out.mcf"):
        check_result(run, expected, "--apply-adapter", plain, to=to)
    half = {**BASE, q: merged(BASE[q], a, b, 2 * -0.25), k: merged(BASE[k], small_a, small_b, 1.5 * -0.25)}
    check_result(run, half, "--apply-adapter", plain + ":-0.25")
    check_result(run, half, "--apply-adapter", plain + "/adapter_model.safetensors:-0.25")
    twice = {**expected, q: merged(expected[q], a, b, 2), k: merged(expected[k], small_a, small_b, 1.5)}
    check_result(run, twice, "--apply-adapter", plain, "--apply-adapter", plain)
    write_peft(run.path("rs"), [
        tensor(HEAD + "model.layers.0.self_attn.q_proj.lora_A.weight", b),
        tensor(HEAD + "model.layers.0.self_attn.q_proj.lora_B.weight", a)], use_rslora=True, lora_alpha=3)
    check_result(run, {q: merged(BASE[q], a, b, 3 / math.sqrt(4))}, "--apply-adapter", run.path("rs"))


def check_transposed(run):
    """Embeddings, and Conv1D's matrices, are the transposes of what lora_B and lora_A make."""
    left, right = pair(50, 33, 4)
    write_peft(run.path("embedding"), [
        tensor(HEAD + "model.embed_tokens.lora_embedding_A", transposed(left)),
        tensor(HEAD + "model.embed_tokens.lora_embedding_B", transposed(right))])
    name = "model.embed_tokens.weight"
    check_result(run, {**BASE, name: merged(BASE[name], left, right, 2)}, "--apply-adapter",
                 run.path("embedding"))
    left, right = pair(24, 40, 4)
    write_peft(run.path("conv1d"), [
        tensor(HEAD + "h.0.attn.c_attn.lora_A.weight", transposed(left)),
        tensor(HEAD + "h.0.attn.c_attn.lora_B.weight", transposed(right))], fan_in_fan_out=True)
    name = "h.0.attn.c_attn.weight"
    check_result(run, {**BASE, name: merged(BASE[name], left, right, 2)}, "--apply-adapter",
                 run.path("conv1d"))


def stack(name, matrices):
    return (name, "F32", [len(matrices), len(matrices[0]), len(matrices[0][0])], raw_f32([x for m in matrices for x in flat(m)]))


def check_stacks(run):
    """Factors of all experts together: for matrices of single experts with gates and up apart, for stacks that lie turned,
    one of them square, and for those that Granite's files call otherwise."""
    n, rank, wide, inner = 3, 2, 6, 6
    base, want, tensors = [], {}, []
    granite = dict(gate_up_proj="mlp.input_linear.weight", down_proj="mlp.output_linear.weight")
    for layer in (0, 2, 1):
        there, factors = "model.layers.%d.mlp.experts." % layer, {}
        for which, rows, cols, nested in (("gate_up_proj", 2 * inner, wide, "base_layer."), ("down_proj", wide, inner, "")):
            a, b = SOME.matrix(rank * n, cols, 0.5), SOME.matrix(rows, rank * n, 0.5)
            tensors += [tensor(HEAD + there + nested + "lora_A.weight", a), tensor(HEAD + there + nested + "lora_B.weight", b)]
            factors[which] = [([row[e::n] for row in b], a[e * rank:(e + 1) * rank]) for e in range(n)]
        for e in range(n if layer == 0 else 0):
            left, right = factors["gate_up_proj"][e]
            for which, a, b in (("gate_proj", left[:inner], right), ("up_proj", left[inner:], right), ("down_proj", *factors["down_proj"][e])):
                w, name = SOME.matrix(len(a), len(b[0])), "%s%d.%s.weight" % (there, e, which)
                base.append(tensor(name, w))
                want[name] = raw_f32(flat(merged(w, a, b, 4)))
        for which, pairs in factors.items() if layer == 1 else ():
            ws = [SOME.matrix(len(b[0]), len(a)) for a, b in pairs]
            base.append(stack(there + which, ws))
            want[there + which] = stack("", [merged(w, transposed(b), transposed(a), 4) for w, (a, b) in zip(ws, pairs)])[3]
        for which, pairs in factors.items() if layer == 2 else ():
            ws, name = [SOME.matrix(len(a), len(b[0])) for a, b in pairs], "model.layers.2." + granite[which]
            base.append(stack(name, ws))
            want[name] = stack("", [merged(w, a, b, 4) for w, (a, b) in zip(ws, pairs)])[3]
    write(run.path("experts.safetensors"), safetensors(base))
    config = dict(r=rank, rank_pattern={"q_proj": 7}, target_parameters=["experts.down_proj", "mlp.experts.gate_up_proj"])
    write_peft(run.path("stacks"), tensors, **config)
    for options in ([], ["--threads", "3"], ["--verify"]):
        run.convert("experts.safetensors", "out.safetensors", "--apply-adapter", run.path("stacks"), *options)
        assert {name: t[2] for name, t in read_safetensors(run.path("out.safetensors"))[1].items()} == want, options

    code, _, text = run.call("convert", run.path("stacks"), run.path("refused"), "--as-adapter", "peft")
    assert code == 5 and "target_parameters" in text and not os.path.exists(run.path("refused")), text

    def no(code, words, tensors, **more):
        write_peft(run.path("bad"), tensors, **{**config, **more})
        out = run.path("refused.safetensors")
        found, _, text = run.call("convert", run.path("experts.safetensors"), out, "--apply-adapter", run.path("bad"))
        assert found == code and words in text and not os.path.exists(out), (code, words, found, text)

    def renamed(old, new):
        return [(t[0].replace(old, new), *t[1:]) for t in tensors]
    no(5, "which way round", tensors[-2:], target_parameters=["experts.down_proj"])
    no(5, "has the factors of one", tensors[2:4])
    no(5, "names fewer parameters", tensors, target_parameters=["experts.down_proj"])
    no(5, "an order that is known", tensors, target_parameters=["experts.down_proj", "experts.up"])
    no(5, "more than two", tensors, target_parameters=["experts.down_proj", "experts.gate_up_proj", "experts.gate_up_proj_bias"])
    no(3, "ranks are not as many", tensors, r=4)
    no(3, "expected an array", tensors, target_parameters={"experts": 1})
    no(5, "target_parameters", tensors, fan_in_fan_out=True)
    no(2, "matches no tensor", renamed("mlp.experts", "moe.gates"), target_parameters=["gates.down_proj", "gates.gate_up_proj"])
    swap = {"experts.lora": "experts.base_layer.lora", "experts.base_layer.lora": "experts.lora"}
    no(2, "differs in shape", [(t[0][:t[0].index("experts.")] + swap[t[0][t[0].index("experts."):t[0].rindex("_")]] + t[0][t[0].rindex("_"):], *t[1:])
                               for t in tensors])


def check_pairs(run):
    name = "model.layers.1.mlp.up_proj.weight"
    a, b = pair(70, 64, 3)
    expected = {**BASE, name: merged(BASE[name], a, b, 0.5)}
    for i, (first, second) in enumerate((("A", "B"), ("a", "b"), ("Adapter.A", "ADAPTER.b"))):
        for k, (left, right) in enumerate(((a, b), (b, a))):
            path = run.path("pair%d%d.safetensors" % (i, k))
            write(path, safetensors([tensor(first, left), tensor(second, right)]))
            check_result(run, expected, "--apply-adapter", name + "=" + path + ":0.5")
    large, (a, b) = "model.layers.2.mlp.down_proj.weight", pair(380, 351, 2)
    write(run.path("large.safetensors"), safetensors([tensor("A", a), tensor("B", b)]))
    for level in ("c", "avx2", "avx512"):
        options = ["--threads", "2", "--cpu", level]
        code, _, text = run.call("convert", run.path("base.safetensors"), "-", "--to", "gguf",
                                 "--dry-run", *options)
        if code == 5 and "this machine has" in text:
            print("skip", level)
            continue
        check_result(run, {large: merged(BASE[large], a, b, 1)}, "--apply-adapter",
                     large + "=" + run.path("large.safetensors"), *options)
    a, b = pair(70, 64, 3)
    path = run.path("last.safetensors")
    write(path, safetensors([tensor("A", a), tensor("B", b)]))
    # A matrix of F16 stays one, and factors of F16 are what they are.
    half_a, half_b = ([[f32(round(x * 64) / 64) for x in row] for row in m] for m in (a, b))
    write(run.path("half.safetensors"), safetensors([tensor("A", half_a, "F16"), tensor("B", half_b, "F16")]))
    check_result(run, {name: merged(BASE[name], half_a, half_b, 1)}, "--apply-adapter",
                 name[:-len(".weight")] + "=" + run.path("half.safetensors"))
    run.convert("base.safetensors", "f16.safetensors", "--tensor-type", "up_proj=f16")
    run.convert("f16.safetensors", "f16out.safetensors", "--apply-adapter", name + "=" + path)
    _, before = read_safetensors(run.path("f16.safetensors"))
    _, after = read_safetensors(run.path("f16out.safetensors"))
    w = struct.unpack("<%de" % (70 * 64), before[name][2])
    w = [list(w[i:i + 64]) for i in range(0, len(w), 64)]
    assert after[name][0] == "F16"
    assert after[name][2] == struct.pack("<%de" % (70 * 64), *flat(merged(w, a, b, 1)))


def move_to_adapters(folder, entries):
    """Makes adapters of tensors of a package: name -> (rank, A, B, more fields)."""
    path = os.path.join(folder, "manifest.json")
    with open(path, encoding="utf-8") as f:
        manifest = json.load(f)
    by_name = {t["name"]: t for t in manifest["tensors"]}
    for name, (rank, a, b, more) in entries.items():
        left, right = by_name.pop(a), by_name.pop(b)
        if more.pop("is_nameless", False):
            del left["name"], right["name"]
        manifest["adapters"].append({"name": name, "rank": rank, "A": left, "B": right, **more})
    manifest["tensors"] = list(by_name.values())
    write(path, json.dumps(manifest).encode())


def read_package(run, name):
    """The adapters of a package by the independent reader, which sees their factors as tensors."""
    copy = run.path("copy of " + name)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run.path(name), copy)
    with open(copy + "/manifest.json", encoding="utf-8") as f:
        manifest = json.load(f)
    adapters = manifest["adapters"]
    manifest["adapters"] = []
    for i, entry in enumerate(adapters):
        for factor in "AB":
            assert entry[factor]["name"] == entry["name"] + "." + factor
            manifest["tensors"].append({**entry[factor], "name": "%d%s" % (i, factor)})
    write(copy + "/manifest.json", json.dumps(manifest).encode())
    _, tensors = infq_package.read(copy)
    out = {}
    for i, entry in enumerate(adapters):
        factors = []
        for factor, rows in (("A", entry["A"]["rows"]), ("B", entry["B"]["rows"])):
            values = tensors["%d%s" % (i, factor)][-1]
            n = len(values) // rows
            factors.append([values[k:k + n] for k in range(0, len(values), n)])
        assert entry["rank"] == len(factors[1])
        out[entry["name"]] = (*factors, entry["scale"], entry)
    return out


def check_written(run):
    """Adapters that are stored are those that the independent reader finds; they merge as they are
    stored, and leave the package as PEFT directories and files."""
    write_peft(run.path("stored"), [
        tensor(HEAD + "model.layers.0.self_attn.q_proj.lora_A.weight", SOME.matrix(4, 131)),
        tensor(HEAD + "model.layers.0.self_attn.q_proj.lora_B.weight", SOME.matrix(37, 4)),
        tensor(HEAD + "model.layers.1.mlp.up_proj.lora_A.weight", SOME.matrix(3, 64)),
        tensor(HEAD + "model.layers.1.mlp.up_proj.lora_B.weight", SOME.matrix(70, 3))],
        lora_alpha=1, rank_pattern={"up_proj": 3})
    write(run.path("norm.safetensors"), safetensors(
        [tensor("a", SOME.matrix(1, 1)), tensor("b", SOME.matrix(1, 33))]))
    run.convert("base.safetensors", "pkg.infq", "--adapter", "sql=" + run.path("stored"), "--adapter",
                "model.norm=" + run.path("norm.safetensors"), "--verify")
    run.must("verify", "--strict", "--deep", run.path("pkg.infq"))
    found = read_package(run, "pkg.infq")
    assert [(n, v[2]) for n, v in found.items()] == [
        ("sql.model.layers.0.self_attn.q_proj", 0.25), ("sql.model.layers.1.mlp.up_proj", 1 / 3),
        ("model.norm", 1)], found.keys()
    told = json.loads(run.must("info", "--json", run.path("pkg.infq")))["models"][0]["adapters"]
    assert [(a["name"], a["rank"], a["row_count"], a["column_count"]) for a in told] == [
        ("sql.model.layers.0.self_attn.q_proj", 4, 37, 131), ("sql.model.layers.1.mlp.up_proj", 3, 70, 64),
        ("model.norm", 1, 1, 33)], told
    run.convert("pkg.infq", "again.infq")
    for name in ("manifest.json", "adapters.bin", "weights.bin"):
        with open(run.path("pkg.infq/" + name), "rb") as a, open(run.path("again.infq/" + name), "rb") as b:
            assert a.read() == b.read(), name
    expected = dict(BASE)
    for name, (a, b, scale, _) in found.items():
        target = name.removeprefix("sql.") + ".weight"
        expected[target] = merged(BASE[target], a, b, scale)
    check_result(run, expected, "--apply-adapter", run.path("pkg.infq"))
    run.must("extract", run.path("pkg.infq"), "sql", "--adapter", "-o", run.path("peft"), "--force")
    run.must("extract", run.path("pkg.infq"), "model.norm", "--adapter", "-o", run.path("norm.out.safetensors"))
    check_result(run, expected, "--apply-adapter", run.path("peft"), "--apply-adapter",
                 "model.norm=" + run.path("norm.out.safetensors"))
    # One of them merged into the package's own base is not stored any more; the rest stays.
    run.convert("pkg.infq", "less.infq", "--apply-adapter", "sql")
    assert list(read_package(run, "less.infq")) == ["model.norm"]
    code, _, text = run.call("convert", run.path("pkg.infq"), run.path("lost.gguf"))
    assert code == 0 and "lost" in text, text
    code, _, text = run.call("convert", run.path("pkg.infq"), run.path("no.infq2"), "--to", "hf", "--strict",
                             "--tensor-type", ".=f32")
    assert code == 5 and "lost" in text and not os.path.exists(run.path("no.infq2")), text


def check_foreign(run):
    """Packages of other programs: factors without names, with scales apart, fields nobody knows."""
    q = "model.layers.0.self_attn.q_proj"
    for folder, apart in (("theirs", False), ("apart", True)):
        a, b = pair(37, 131, 5)
        infq_package.write(run.path(folder), {
            **{n: ("int8_rowwise", m) for n, m in BASE.items()}, "fa": ("int8_rowwise", a),
            "fb": ("int4_rowwise", b)}, apart, adapters=[])
        move_to_adapters(run.path(folder), {"adapter." + q: (5, "fa", "fb", {
            "is_nameless": apart, "scale": -0.75, "by": {"who": [1, None]}})})
        run.convert(folder, "ours.infq")
        left, right, scale, entry = read_package(run, "ours.infq")["adapter." + q]
        assert scale == -0.75 and entry["by"] == {"who": [1, None]}
        assert entry["A"]["note \"x\""] == {"kept": [1, 2.5, None]} and entry["B"]["dtype"] == "int4_rowwise"
        assert left == [dequantized(row, 127) for row in a] and right == [dequantized(row, 7) for row in b]
        expected = {q + ".weight": merged(BASE[q + ".weight"], left, right, scale * 2)}
        check_result(run, expected, "--apply-adapter", run.path(folder) + ":2")
        run.convert(folder, "float.safetensors", "--apply-adapter", "adapter", "--tensor-type", ".=f32")
        base = [dequantized(row, 127) for row in BASE[q + ".weight"]]
        _, found = read_safetensors(run.path("float.safetensors"))
        assert found[q + ".weight"][2] == raw_f32(flat(merged(base, left, right, scale)))


def refused(run, code, words, *options):
    out = run.path("refused.safetensors")
    found, _, text = run.call("convert", run.path("base.safetensors"), out, *options)
    assert found == code and words in text and not os.path.exists(out), (code, words, found, text)


def check_refused(run):
    a, b = pair(37, 131, 4)
    q = HEAD + "model.layers.0.self_attn.q_proj."
    good = [tensor(q + "lora_A.weight", b), tensor(q + "lora_B.weight", a)]

    def peft(code, words, tensors, **config):
        write_peft(run.path("bad"), tensors, **config)
        refused(run, code, words, "--apply-adapter", run.path("bad"))

    peft(2, "matches no tensor", [tensor(HEAD + "m.x.lora_A.weight", b), tensor(HEAD + "m.x.lora_B.weight", a)])
    other = pair(37, 130, 4)
    peft(2, "makes [37, 130] of rank 4, the tensor is [37, 131]",
         [tensor(q + "lora_A.weight", other[1]), tensor(q + "lora_B.weight", other[0])])
    peft(3, "other factor", good[:1])
    peft(3, "a rank other than", good, r=5)
    peft(3, "different ranks", [good[0], tensor(q + "lora_B.weight", pair(37, 1, 3)[0])])
    peft(3, "magnitudes are missing", good, use_dora=True)
    peft(3, "modules_to_save", good, modules_to_save=["lm_head"])
    peft(3, "lora_bias", good, lora_bias=True)
    peft(5, "bias", good, bias="all")
    peft(5, "LORA", good, peft_type="IA3")
    peft(5, "changes the base", good, init_lora_weights="pissa")
    peft(3, "use_dora", good + [tensor(q + "lora_magnitude_vector", a)])
    peft(3, "lora_alpha", good, lora_alpha=-1)
    peft(5, "NaN", [good[0], tensor(q + "lora_B.weight", [[math.nan] + r[1:] for r in a])])
    write(run.path("alone.safetensors"), safetensors(good))
    refused(run, 2, "adapter_config.json", "--apply-adapter", run.path("alone.safetensors"))
    square = SOME.matrix(8, 8)
    write(run.path("square.safetensors"), safetensors([tensor("A", square), tensor("B", square)]))
    refused(run, 3, "ambiguous", "--apply-adapter", "x=" + run.path("square.safetensors"))
    write(run.path("pair.safetensors"), safetensors([tensor("A", a), tensor("B", b)]))
    refused(run, 2, "which tensor", "--apply-adapter", run.path("pair.safetensors"))
    refused(run, 2, "no such file", "--apply-adapter", "nothing")


if __name__ == "__main__":
    it = Run(*sys.argv[1:])
    write(it.path("base.safetensors"), safetensors([tensor(n, m) for n, m in BASE.items()]))
    for check in (check_peft, check_transposed, check_stacks, check_pairs, check_written, check_foreign, check_refused):
        check(it)
