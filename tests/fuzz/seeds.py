#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets: seeds.py FOLDER. They are the cases of the malformed
corpus (tests/golden), each below 64 KiB, in the form each target takes, and a few texts."""
import argparse
import json
import math
import os
import struct
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "golden"), os.path.join(TESTS, "wcodec"),
                os.path.join(TESTS, "support")]
import casebook  # noqa: E402
import gguf_cases  # noqa: E402, F401  (the modules fill casebook.CASES)
import gguf_odd_cases  # noqa: E402, F401
import safetensors_cases  # noqa: E402, F401
import directory_cases  # noqa: E402, F401
import not_a_model_cases  # noqa: E402, F401
import importance_cases  # noqa: E402, F401
import infq_cases  # noqa: E402, F401
import mcf_cases  # noqa: E402, F401
import meta_cases  # noqa: E402, F401
import dcp_cases  # noqa: E402, F401
import flax_cases  # noqa: E402, F401
import numpy_cases  # noqa: E402, F401
import onnx_cases  # noqa: E402, F401
import tflite_cases  # noqa: E402, F401
import whisper_cases  # noqa: E402, F401
import torch_cases  # noqa: E402, F401
import wcodec_decoder  # noqa: E402
from safetensors_file import safetensors  # noqa: E402
from ggufbuilder import (BF16, BLOCKS, BOOL, F16, F32, F32V, I32, Q4_0, Q4_K, Q8_0,  # noqa: E402
                         STRING, TF64, TI32, TI8, U32, U8, Gguf)

LARGEST = 1 << 16
PYTHON_JSON = [b'{"a": [Infinity, -Infinity, NaN], "b": {"__float__": "NaN"}}', b"\xef\xbb\xbf[1e400]"]
STORE_ANSWERS = [
    b'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="a"><IsTruncated>true</IsTruncated>'
    b"<Contents><Key>f/b &amp;&#x20ac;.x</Key><Size>12</Size></Contents><Contents><Key>f/</Key><Size>0"
    b"</Size></Contents><NextContinuationToken>t/+=</NextContinuationToken></ListBucketResult>",
    b"<Error><Code>SlowDown</Code><Message>no</Message></Error>",
    b"<InitiateMultipartUploadResult><UploadId>a&quot;b</UploadId></InitiateMultipartUploadResult>",
    b"<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k&amp;</NextKeyMarker><NextUploadIdMarker>2"
    b"</NextUploadIdMarker><Upload><Key>a/b</Key><UploadId>1</UploadId><Initiated>2026-11-29T00:00:00Z</Initiated></Upload>"
    b"</ListMultipartUploadsResult>",
    b"<ListPartsResult><Part><PartNumber>1</PartNumber><Size>16777216</Size></Part><IsTruncated>true</IsTruncated>"
    b"<NextPartNumberMarker>1</NextPartNumberMarker></ListPartsResult>",
    b"<!-- --><a b='>'/>", b"<!DOCTYPE a>", b"<a><a><a><a><a><a><a><a><a>",
]

HUB_LISTS = (
    b'{"id":"o/n","sha":"0123456789abcdef0123456789abcdef01234567","siblings":[{"rfilename":"a/b",'
    b'"size":12,"lfs":{"size":12}},{"rfilename":"README.md","size":null}],"tags":["x"]}',
    b'{"siblings":[{"rfilename":"../a"}]}', b'{"siblings":[{"rfilename":"a"},{"rfilename":"a"}]}',
    b'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-9/100\r\nContent-Length: 10\r\n'
    b'ETag: "x"\r\nX-Repo-Commit: 0123456789abcdef0123456789abcdef01234567\r\n\r\n',
    b'HTTP/2 416\r\ncontent-range: bytes */0\r\nretry-after: 7\r\nx-error-code: GatedRepo\r\n',
    b'HTTP/1.1 429 x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:47 GMT\r\n'
    b'RateLimit: "a";r=0;t=30, "b";r=1;t=300\r\n', b'/org/name/blob/main/sub/m.gguf',
)
NAMES = ("Mixtral-8x7B-v0.1-KQ2.gguf", "Grok-100B-v1.0-Q4_0-00003-of-00009.gguf",
         "Hermes-2-Pro-Llama-3-8B-v1.0-F16.gguf", "not-a-known-arrangement.gguf",
         "Phi-3-mini-3.8B-ContextLength4k-instruct-v1.0.gguf", "mmproj-a-7B-v1.0-LoRA.gguf")
METADATA = (
    '[{"key":"v.u8","type":"u8","value":255},{"key":"v.i64","type":"i64",'
    '"value":-9223372036854775808},{"key":"v.f64","type":"f64","value":1.5e+300}]',
    '[{"key":"v.bool","type":"bool","value":true},{"key":"v.string","type":"string",'
    '"value":"\\u00e9"},{"key":"v.bytes","type":"string","value":{"hex":"ff00"}}]',
    '[{"key":"a","type":"array","value":{"of":"array","items":[{"of":"string","items":["x","yz"]},'
    '{"of":"u16","items":[7]},{"of":"f64","items":[]}]}}]')
CARRIED = (
    '{"version":1,"tensors":[{"stored":"a","name":"true name","type":"u8","shape":[8,8]},'
    '{"stored":"b","name":"b","type":"u16","shape":[4,8]}]}',
    '{"version":1,"tensors":[{"stored":"c","name":"c","type":"f4","shape":[2,1,1,1,8,8]},'
    '{"stored":"a","name":"a","type":"c64","shape":[8]}]}')

TEMPLATED = (
    b'{"b": [1, 2.50, 1e21, 1e-7, -0, 12345678901234567890], "a": {"z": null, "y": true, "z": "<"}}',
    b'{"chat_template": " \\n", "\\u00e9": "\\ud83d\\ude00 \\ud800 \xff \xe2\x80\xa8"}\x1e {{ a }}\xff\n',
    b'\x1e{{ a }}', b'{ }\x1e \xe3\x80\x80', b'null', b'[1]\x1ex')


PATTERNS = [br"blk\.(\d+)\.attn_[qkv]\.weight" + b"\0blk.3.attn_q.weight", b"a.*b\0" + 99 * b"a",
            b"(a|b+)*c{2,9}$\0abbacc", br"^[^[:digit:]x-z\]]+\b(?:|e)?" + b"\0token", b"((a{9}){9}){9}\0aaa"]
CARDS = [b"---\nlicense: [mit, 'b, c'] # d\ntags:\n- x\n- \"\\u00e9\\L\"\nbase_model: >\n  a\n  b\n---\n# T\n",
         b"\xef\xbb\xbf---\nname: 'it''s'\nlist: [a,\n  b]\nnone: ~\n---\n", b"\\L", b"\\ud83d\\ude00", b"\xff\xfe"]


def archive(case, opened):
    """The files of a case in the form of fuzz_read_index.c; None where it has folders."""
    names = [path.split("/", 1)[1] for path in case.files]
    if any("/" in name for name in names) or case.links:
        return None
    chosen = names.index(opened) + 1 if opened else 0
    out = struct.pack("B", chosen | (0x80 if "one-shard" in case.lines else 0))
    for name, content in zip(names, case.files.values()):
        content = casebook.content_of(content)
        out += struct.pack("B", len(name)) + name.encode() + struct.pack("<H", len(content)) + content
    return out


def package(case):
    """The files of an INFQ case in the form of fuzz_read_infq.c."""
    files = {path.split("/", 1)[1]: casebook.content_of(c) for path, c in case.files.items()}
    out = b""
    for name in ("manifest.json", "w.bin"):
        content = files.get(name, b"")
        out += struct.pack("<H", len(content)) + content
    return out + files.get("o.bin", b"")


def write(folder, target, name, content):
    if content is not None and len(content) <= LARGEST:
        path = os.path.join(folder, target)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, name), "wb") as f:
            f.write(content)


def write_wcodec(folder):
    """The test vectors, whole and segment by segment, in the forms of fuzz_wcodec_*.c."""
    vectors = os.path.join(TESTS, "wcodec", "vectors")
    for name in sorted(n for n in os.listdir(vectors) if n.endswith(".wcodec")):
        with open(os.path.join(vectors, name), "rb") as f:
            data = f.read()
        write(folder, "wcodec_file", name, data)
        write(folder, "view", name, data)
        n_layers, index = struct.unpack_from("<IQ", data, 47)
        for n_files, name_of in ((0, ""), (2 ** 32 - 1, "-files")):
            part = data + b"".join(struct.pack("<I", i) + bytes((i,)) * 32 for i in range(n_layers))
            part += struct.pack("<IIBBHQQ", n_layers, n_files, 0, 0, 0, len(data), 0) + b"WCPART\0\1"
            write(folder, "packed_join", name + name_of, struct.pack("<I", len(part)) + part)
        if any(data[index + 40:index + 48]): # its records are packed, by a library that is not needed to build
            continue
        for i, layer in enumerate(wcodec_decoder.Container(data).layers):
            at = layer.offset
            for j, p in enumerate(layer.streams):
                head = data[at:at + p.head_bytes]
                at += p.head_bytes
                unit = {4: 1, 6: 3, 8: 1, 16: 2}[p.value_bits]
                for k, size in enumerate(p.sizes):
                    n = min(p.segment_bytes, p.n_bytes - k * p.segment_bytes) - unit
                    choices = (4, 6, 8, 16).index(p.value_bits) | (p.flags != 0) << 2 | (layer.base != 0) << 3
                    content = struct.pack("<BHB", choices, n, len(head) // 64) + head
                    content += data[at:at + size]
                    write(folder, "wcodec_segment", "%s-%d-%d-%d" % (name, i, j, k), content)
                    for more in (0, 16, 32): # as it is, with room between units, joined
                        write(folder, "cuda_decode", "%s-%d-%d-%d-%d" % (name, i, j, k, more),
                              bytes((choices | more,)) + content[1:])
                    at += size
    for i in range(24):
        content = bytes(b * b // 50 % (7 + i) & 255 for b in range(600 + 100 * i))
        write(folder, "wcodec_plane", "plane-%d" % i, bytes((i * 11 & 255, i, 16 + i, i)) + content)
        choices = (1 + i % 2 | (i & 2) << 2, 3 + i % 8, i % 5, i % 3, i % 2, 5 * i, i % 4, 3 * i)
        write(folder, "wcodec_join", "join-%d" % i,
              bytes(choices + tuple(j * (i + 3) % 11 for j in range(10))) + content + content)


def write_planes(folder):
    """Tensors large enough to be cut into planes, of many types, in both byte orders; two are the same."""
    for big in (False, True):
        for i, kinds in enumerate(((F32, F16, BF16), (Q8_0, Q4_0, Q4_K), (TI8, TI32, TF64))):
            model = Gguf(big=big)
            for j, kind in enumerate(kinds + kinds[:1]):
                block, size = BLOCKS[kind]
                rows = 6144 // size
                data = bytes((b * b // 61 ^ b >> 3 + j % 3) % (9 + 40 * i) for b in range(rows * size))
                model.tensor("t%d" % j, [block, rows], kind, data=data)
            write(folder, "pack", "planes-%d-%s" % (i, "big" if big else "little"), model.file())


def write_lossy(folder):
    """Records of loss: all that counts, columns, several tensors, a step, and some that are refused."""
    head = '{"version":1,"container":"gguf","method":"uniform steps","target_bpw":3.5,"lambda":0.1,' \
           '"damage":0.01,"is_weighted":true,"source":"%s","tensors":[%%s]}' % ("0a" * 32)
    entries = ('{"tensor":0,"type":"f32"}', '{"tensor":1,"type":"bf16","columns":"0AOPQo"}',
               '{"tensor":0,"type":"f16","columns":"PPP\\\\PP"},{"tensor":1,"type":"f32","later":[{}]}',
               '{"tensor":1,"type":"f16"},{"tensor":0,"type":"f16"}', '{"tensor":2,"type":"q4_k"}', "",
               '{"tensor":2,"type":"f16","step":1052770304}', '{"tensor":2,"type":"f32","step":1,"columns":"PPPPPP"}',
               '{"tensor":0,"type":"f32","step":1052770304}')
    for i, text in enumerate([head % e for e in entries] + ['{"version":2}', "[]", ""]):
        write(folder, "lossy", "record-%d" % i, text.encode())


def write_peft(folder):
    """Configurations with all that counts in them, and some that are refused, over the same factors."""
    model = safetensors([("base_model.model.%s.lora_%s.weight" % (module, which), "F32", shape, bytes(48))
                         for module in ("model.layers.0.self_attn.q_proj", "model.layers.1.mlp.up_proj")
                         for which, shape in (("A", [2, 6]), ("B", [6, 2]))])
    for i, more in enumerate((
            {}, {"use_rslora": True}, {"fan_in_fan_out": True}, {"use_dora": True}, {"bias": "all"},
            {"rank_pattern": {"up_proj": 2, "layers.0.*": 2}, "alpha_pattern": {"q_proj$": 32}},
            {"modules_to_save": ["lm_head"]}, {"target_parameters": ["q_proj.weight", "mlp.up_proj.weight"], "r": 1}, {"r": 0}, {"lora_alpha": 1e400}, {"peft_type": "IA3"})):
        text = json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 16, **more}).encode()
        write(folder, "read_peft", "peft-%d" % i, struct.pack("<H", len(text)) + text + model)


def write_mapped(folder):
    """Models that are mapped to llama.cpp: dense, with experts and with packed weights of each kind."""
    state = json.dumps({"quant_type": "nf4", "blocksize": 64, "shape": [16, 16], "nested_blocksize": 256,
                        "nested_offset": 0.5}).encode()
    q = "model.layers.0.self_attn.q_proj."
    plain = [("model.embed_tokens.weight", "BF16", [8, 16]), ("model.norm.weight", "F32", [16])]
    kinds = {
        "dense": [(q + "weight", "BF16", [16, 16]), ("model.layers.0.mlp.up_proj.weight", "F16", [32, 16])],
        "gptq": [(q + "qweight", "I32", [2, 16]), (q + "qzeros", "I32", [1, 2]), (q + "scales", "F16", [1, 16]),
                 (q + "g_idx", "I32", [16])],
        "awq": [(q + "qweight", "I32", [16, 2]), (q + "qzeros", "I32", [1, 2]), (q + "scales", "F16", [1, 16])],
        "packed": [(q + "weight_packed", "I32", [16, 2]), (q + "weight_scale", "F16", [16, 1]),
                   (q + "weight_shape", "I64", struct.pack("<qq", 16, 16), [2])],
        "int8": [(q + "weight", "I8", [16, 16]), (q + "weight_scale", "F32", [16, 1])],
        "bnb8": [(q + "weight", "I8", [16, 16]), (q + "SCB", "F32", [16])],
        "nf4": [(q + "weight", "U8", [128, 1]), (q + "weight.absmax", "U8", [4]),
                (q + "weight.nested_absmax", "F32", [1]), (q + "weight.nested_quant_map", "F32", [256]),
                (q + "weight.quant_map", "F32", [16]),
                (q + "weight.quant_state.bitsandbytes__nf4", "U8", state, [len(state)])],
        "bitnet": [(q + "weight", "U8", [4, 16]), (q + "weight_scale", "F32", [1])],
        "nvfp4": [(q + "weight", "U8", [16, 8]), (q + "weight_scale", "F8_E4M3", [16, 1]),
                  (q + "weight_scale_2", "F32", [])],
        "granite4": [(q + "weight", "BF16", [16, 16])],
        "experts": [("model.layers.0.block_sparse_moe.experts.%d.w1.weight" % e, "BF16", [16, 16]) for e in (0, 1)]}
    width = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8}
    for kind, tensors in kinds.items():
        rows = []
        for name, dtype, *rest in plain + tensors:
            shape, n = rest[-1], width.get(dtype, 1)
            for d in shape:
                n *= d
            rows.append((name, dtype, shape, rest[0] if len(rest) > 1 else bytes(n)))
        names = {"experts": "MixtralForCausalLM", "granite4": "Granite4VisionForConditionalGeneration"}
        config = {"architectures": [names.get(kind, "LlamaForCausalLM")], **(GRANITE4 if kind == "granite4" else {}),
                  "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 8,
                  "num_key_value_heads": 2, "num_local_experts": 2,
                  "quantization_config": {"quant_method": kind, "bits": 4}}
        text = json.dumps(config).encode()
        write(folder, "llama_map", kind, struct.pack("<H", len(text)) + text + safetensors(rows))


# What its text model reads of it, too.
GRANITE4 = {"downsample_rate": "2/4", "deepstack_layer_map": [[-1, 0]], "spatial_target_layers": [0], "spatial_vision_layer": 0,
            "image_grid_pinpoints": [[4, 8]], "num_hidden_layers": 1, "max_position_embeddings": 8,
            "rms_norm_eps": 1e-5, "vision_config": {"num_hidden_layers": 1}}


WHISPER = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "vocab_size": 8, "d_model": 4, "max_source_positions": 6,
           "max_target_positions": 5, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_layers": 1,
           "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "num_mel_bins": 3}
VOCABULARY = {"a": 0, "\u0120b": 1, "\u0100": 2}


def whisper_tensors():
    """(name of Hugging Face, name of whisper.cpp, shape) of a model of a layer on each side."""
    def both(hf, ours, rows, *cols):
        return [(hf + ".weight", ours + ".weight", [rows, *cols]), (hf + ".bias", ours + ".bias", [rows])]

    out = both("encoder.conv1", "encoder.conv1", 4, 3, 3) + both("encoder.conv2", "encoder.conv2", 4, 4, 3)
    out += [("encoder.embed_positions.weight", "encoder.positional_embedding", [6, 4]),
            ("decoder.embed_positions.weight", "decoder.positional_embedding", [5, 4]),
            ("decoder.embed_tokens.weight", "decoder.token_embedding.weight", [8, 4])]
    for part, last in ("encoder", "ln_post"), ("decoder", "ln"):
        hf, ours = part + ".layers.0.", part + ".blocks.0."
        for a, b in (("self_attn", "attn"), ("encoder_attn", "cross_attn"))[:1 + (part == "decoder")]:
            for c, d in ("q_proj", "query"), ("v_proj", "value"), ("out_proj", "out"), ("k_proj", "key"):
                out += both(hf + a + "." + c, ours + b + "." + d, 4, 4)[:1 if d == "key" else 2]
            out += both(hf + a + "_layer_norm", ours + b + "_ln", 4)
        for a, b, *shape in ("fc1", "mlp.0", 16, 4), ("fc2", "mlp.2", 4, 16), ("final_layer_norm", "mlp_ln", 4):
            out += both(hf + a, ours + b, *shape)
        out += both(part + ".layer_norm", part + "." + last, 4)
    return out


LAYER = "model.layers.0."
STACK = {f"{LAYER}mlp.switch_mlp.{n}_proj.weight": [2, 4, 32] for n in ("gate", "up", "down")}
MLX = {  # kind, what config.json has more, tensors; "codes" of matrices whose rows are codes
    "switch": ("qwen3_moe", {}, STACK), "fused": ("qwen3_5_moe", {}, STACK), "turned": ("qwen3_vl_moe", {}, {**STACK, LAYER + "mlp.switch_mlp.down_proj.weight": [2, 32, 4]}),
    "mingled": ("gpt_oss", {}, {**{n.replace("switch_mlp", "experts"): s for n, s in STACK.items()}, LAYER + "mlp.experts.gate_proj.bias": [2, 4], LAYER + "mlp.experts.up_proj.bias": [2, 4]}),
    "norms": ("qwen3_next", {}, {LAYER + "linear_attn.conv1d.weight": [8, 4, 1], LAYER + "input_layernorm.weight": [32], "model.norm.weight": [32]}),
    "keys": ("deepseek_v3", {}, {LAYER + "self_attn.embed_q.weight": [2, 32, 6], LAYER + "self_attn.unembed_out.weight": [2, 5, 32]}),
    "gathered": ("dbrx", {}, {f"transformer.blocks.0.ffn.experts.{i}.{n}.weight": [4, 32] for i in range(2) for n in ("w1", "w2")}),
    "divided": ("falcon_h1", {"lm_head_multiplier": .5, "ssm_in_multiplier": 2, "ssm_multipliers": [1, 2, 3, 4, 5], "mamba_d_ssm": 2, "mamba_n_groups": 1, "mamba_d_state": 1, "mamba_n_heads": 1},
                {LAYER + "mamba.conv1d.weight": [8, 4, 1], "lm_head.weight": [4, 32], LAYER + "mamba.in_proj.weight": [7, 32]}),
    "told": ("step3p5", {}, {**STACK, "model.norm.weight": [32]}), "vectors": ("rwkv7", {}, {LAYER + "attn.k_k": [4, 8]}),
    "pictures": ("qwen2_vl", {}, {"vision_tower.patch_embed.proj.weight": [4, 2, 5, 5, 3], "language_model.model.norm.weight": [32]}),
    "unknown": ("phi3_v", {}, {"vision_tower.patch_embed.proj.weight": [4, 5, 5, 3]}), "columns": ("gpt2", {}, {"model.h.0.attn.c_attn.weight": [12, 32]}),
}


def write_mlx(folder):
    """Models in MLX's form, plain and as codes of 8 bits, for each use (fuzz_mlx_form.c)."""
    for name, (kind, more, shapes) in MLX.items():
        codes = {"quantization": {"group_size": 32, "bits": 8}}
        for form, settings in (("plain", {}), ("packed", codes)):
            tensors = []
            for n, s in shapes.items():
                is_packed = settings and len(s) > 1 and s[-1] == 32 and n.endswith(".weight")
                tensors.append((n, "U32" if is_packed else "F16", [*s[:-1], s[-1] // 4] if is_packed else s))
                if is_packed:
                    tensors += [(n[:-6] + part, "F16", [*s[:-1], 1]) for part in ("scales", "biases")]
            model = safetensors([(n, k, s, bytes({"F16": 2, "U32": 4}[k] * math.prod(s))) for n, k, s in tensors], {"format": "mlx"})
            config = json.dumps({"model_type": kind, **more, **settings}).encode()
            for use in range(4):
                write(folder, "mlx_form", "%s-%s-%d" % (name, form, use), struct.pack("<BH", use, len(config)) + config + model)


def write_other_forms(folder):
    """Meta's form, of one rank and of two, a directory of Whisper and a model of whisper.cpp (fuzz_other_forms.c)."""
    def sized(form, *files):
        return bytes((form,)) + b"".join(struct.pack("<H", len(f)) for f in files[:-1]) + b"".join(files)

    for case in casebook.CASES:
        if not case.name.startswith("meta-"):
            continue
        files = {path.split("/", 1)[1]: casebook.content_of(c) for path, c in case.files.items()}
        ranks = [files[n] for n in sorted(files) if n.startswith("consolidated.")]
        if "params.json" in files and 1 <= len(ranks) <= 2:
            write(folder, "other_forms", case.name, sized(len(ranks) - 1, files["params.json"], *ranks))
    params = {**meta_cases.PARAMS, "n_heads": 2, "n_kv_heads": 1, "norm_eps": 1e-5}
    for ranks in 1, 2:
        made = meta_cases.files(ranks, params=params)
        write(folder, "other_forms", "meta-mapped-%d" % ranks,
              sized(ranks - 1, made["params.json"], *(made[n] for n in sorted(made) if n.startswith("consolidated."))))
    size = {"F16": 2, "F32": 4}
    tensors = [(hf, ours, "F16" if len(shape) > 1 else "F32", shape) for hf, ours, shape in whisper_tensors()]
    data = [bytes(size[kind] * math.prod(shape)) for _, _, kind, shape in tensors]
    for name, config in ("whisper", WHISPER), ("whisper-shapes", {**WHISPER, "d_model": 5}), ("whisper-layers", {**WHISPER, "encoder_layers": 2}):
        model = safetensors([("model." + hf, kind, shape, d) for (hf, _, kind, shape), d in zip(tensors, data)])
        write(folder, "other_forms", name, sized(2, json.dumps(config).encode(), json.dumps(VOCABULARY).encode(), model))
    for numbers in (8, 6, 4, 2, 1, 5, 4, 2, 1, 3, 1), (51865, 6, 4, 2, 1, 5, 4, 2, 1, 3, 1):
        content = whisper_cases.head(numbers, (3, 201), bytes(4 * 3 * 201))
        for (_, ours, kind, shape), d in zip(tensors, data):
            if ours.startswith("encoder.conv") and len(shape) == 1:
                shape = [*shape, 1]
            content += whisper_cases.tensor(ours, shape, int(kind == "F16"), d)
        write(folder, "other_forms", "whisper.cpp-%d" % numbers[0], b"\x03" + content)
    for case in casebook.CASES:
        (path, content) = next(iter(case.files.items()))
        if path.endswith(".whisper.bin"):
            write(folder, "other_forms", case.name, b"\x03" + content)


def write_towers(folder):
    """Models with a part for pictures or sound: SigLIP's, Qwen's in two frames, Pixtral's with a token, Whisper's;
    several projectors, batch norms."""
    see = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
           "image_size": 4, "patch_size": 2, "hidden_act": "gelu"}
    p, w, q = "vision_tower.vision_model.", ".weight", "encoder.layers.0.conv.batch_norm."
    kinds = {
        "gemma3": ("Gemma3ForConditionalGeneration", {"vision_config": see}, [
            (p + "embeddings.patch_embedding" + w, [8, 3, 2, 2]), (p + "embeddings.position_embedding" + w, [4, 8]),
            (p + "encoder.layers.0.self_attn.q_proj" + w, [8, 8]), (p + "encoder.layers.0.layer_norm1" + w, [8]),
            ("multi_modal_projector.mm_input_projection_weight", [8, 16]),
            ("multi_modal_projector.mm_soft_emb_norm" + w, [8])]),
        "qwen3vl": ("Qwen3VLForConditionalGeneration", {"vision_config": {
            "depth": 1, "hidden_size": 8, "intermediate_size": 16, "num_heads": 2, "patch_size": 2,
            "num_position_embeddings": 4, "deepstack_visual_indexes": [0]}}, [
            ("model.visual.patch_embed.proj" + w, [8, 3, 2, 2, 2]), ("model.visual.blocks.0.norm1" + w, [8]),
            ("model.visual.pos_embed" + w, [4, 8]), ("model.visual.deepstack_merger_list.0.norm" + w, [8])]),
        "qwen2vl": ("Qwen2VLForConditionalGeneration", {"vision_config": {
            "depth": 1, "embed_dim": 8, "hidden_size": 16, "num_heads": 2, "patch_size": 2}}, [
            ("visual.patch_embed.proj" + w, [8, 3, 2, 2, 2]), ("visual.blocks.0.attn.qkv" + w, [24, 8]),
            ("visual.blocks.0.attn.qkv.bias", [24]), ("visual.merger.mlp.2" + w, [16, 32])]),
        "pixtral": ("LlavaForConditionalGeneration", {"vision_config": dict(see, model_type="pixtral")}, [
            ("language_model.model.embed_tokens" + w, [8, 16]), ("vision_tower.patch_conv" + w, [8, 3, 2, 2]),
            ("vision_tower.transformer.layers.0.attention.q_proj" + w, [8, 8])]),
        "granite4": ("Granite4VisionForConditionalGeneration", {**GRANITE4, "vision_config": see}, [
            (p + "embeddings.patch_embedding" + w, [8, 3, 2, 2]), (p + "encoder.layers.0.layer_norm1" + w, [8]),
            (p + "embeddings.position_embedding" + w, [4, 8]), ("image_newline", [16]),
            ("layerwise_projectors.0.query", [1, 4, 8]), ("spatial_projectors.0.qformer.layernorm" + w, [8])]),
        "granite-speech": ("GraniteSpeechForConditionalGeneration", {"encoder_config": {
            "hidden_dim": 8, "feedforward_mult": 2, "num_heads": 2, "num_layers": 1, "input_dim": 4}},
            [(q + x, [8]) for x in ("weight", "bias", "running_mean", "running_var")] +
            [("encoder.layers.0.attn.to_kv" + w, [16, 8]), ("projector.query", [1, 3, 8])]),
        "voxtral": ("VoxtralForConditionalGeneration", {"audio_config": {
            "d_model": 8, "encoder_layers": 1, "encoder_ffn_dim": 16, "encoder_attention_heads": 2}}, [
            ("audio_tower.conv1" + w, [8, 4, 3]), ("audio_tower.conv1.bias", [8]),
            ("audio_tower.layers.0.fc1" + w, [16, 8])])}
    for kind, (architecture, config, tensors) in kinds.items():
        rows = []
        for name, shape in tensors:
            n = 2
            for d in shape:
                n *= d
            rows.append((name, "BF16", shape, bytes(n)))
        config = json.dumps(dict(config, architectures=[architecture], text_config={"hidden_size": 16})).encode()
        processor = json.dumps({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.25, 1], "image_seq_length": 1,
                                "media_proc_cfg": {"size": {"longest_edge": 8}}}).encode()
        head = struct.pack("<HH", len(config), len(processor))
        write(folder, "llama_tower", kind, head + config + processor + safetensors(rows))


def piece(text, score, kind):
    """A piece of a SentencePiece model, as a field of the model."""
    inner = b"\x0a%c%b\x15%b\x18%c" % (len(text), text, struct.pack("<f", score), kind)
    return b"\x0a%c%b" % (len(inner), inner)


def write_tokenizers(folder):
    """A small tokenizer of each kind, behind the number of its file (fuzz_tokenizer.c)."""
    sentencepiece = b"".join((piece(b"<unk>", 0, 2), piece(b"<s>", 0, 3), piece(b"</s>", 0, 3),
                              piece(b"\xe2\x96\x81a", -1.5, 1), b"\x12\x02\x18\x01",
                              b"\x1a\x07\x12\x01x\x18\x00\x20\x01"))
    added = [{"id": 3, "content": "<s>", "special": True}]
    split = {"type": "Split", "pattern": {"Regex": "\\p{N}"}, "behavior": "Isolated"}
    stages = {"type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel"}]}
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
                                                         {"Sequence": {"id": "A"}}], "pair": []}
    bpe = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b", ["a", "b"]]}
    files = [(0, sentencepiece), (8, sentencepiece), (7 + 16, sentencepiece)]
    for model in (bpe, {**bpe, "byte_fallback": True},
                  {"type": "WordPiece", "vocab": {"a": 0, "##b": 1}},
                  {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.5], ["b", 0]]}):
        files.append((1, json.dumps({"model": model, "added_tokens": added, "pre_tokenizer": stages
                                     if model is bpe else None, "post_processor": template}).encode()))
    tekken = {"config": {"default_vocab_size": 3, "default_num_special_tokens": 1},
              "vocab": [{"rank": 0, "token_bytes": "YQ=="}, {"rank": 1, "token_bytes": "YWE="}],
              "special_tokens": [{"rank": 0, "token_str": "<s>"}]}
    files += [(2, json.dumps(tekken).encode()), (3, b"YQ== 0\nYWE= 1\n"),
              (4, b"1 'a' 1\n2 b'\\xff' 1\n3 '\\u00e9' 2\n"),
              (5, b'["a", -1.5, "NORMAL"]\n["b", 0, "BYTE"]\n'), (6, b"[PAD]\na\n##b\n")]
    for i, (kind, content) in enumerate(files):
        write(folder, "tokenizer", "tokenizer-%d" % i, bytes([kind]) + content)


def restorable(kind, experts=0, quantized=F32, more=(), architecture="llama", lists=()):
    """A model of one layer, usually llama, with a tokenizer of a kind, as llama.cpp names its parts; `lists`: keys that
    are arrays."""
    g = Gguf()
    g.kv("general.architecture", STRING, architecture).kv("general.name", STRING, "Tiny")
    sizes = {"block_count": 1, "context_length": 8, "embedding_length": 32, "feed_forward_length": 32,
             "attention.head_count": 2, "attention.head_count_kv": 1, "rope.dimension_count": 16,
             "vocab_size": 4, **({"expert_count": experts, "expert_used_count": 1} if experts else {})}
    own = architecture + "."
    for name, value in sizes.items():
        if name not in dict(lists):
            g.kv(own + name, U32, value)
    for name, values in dict(lists).items():
        g.array(own + name, STRING if "labels" in name else I32, values)
    g.kv(own + "rope.freq_base", F32V, 10000).kv(own + "attention.layer_norm_rms_epsilon", F32V, 1e-5)
    g.kv("tokenizer.ggml.model", STRING, kind)
    g.kv("tokenizer.ggml.pre", STRING, "llama-bpe" if kind == "gpt2" else "default")
    g.array("tokenizer.ggml.tokens", STRING, ["<s>", "a", "b", "ab"])
    g.array("tokenizer.ggml.token_type", I32, [3, 1, 1, 1])
    if kind == "gpt2":
        g.array("tokenizer.ggml.merges", STRING, ["a b"])
    else:
        g.array("tokenizer.ggml.scores", F32V, [0, -1, -2, -3])
    if kind == "t5":
        g.array("tokenizer.ggml.precompiled_charsmap", U8, [1, 2, 3, 4])
    g.kv("tokenizer.ggml.bos_token_id", U32, 0).kv("tokenizer.ggml.add_bos_token", BOOL, 1)
    g.kv("tokenizer.chat_template", STRING, "{{ a }}")
    shapes = {"token_embd": [32, 4], "output_norm": [32], "output": [32, 4], "blk.0.attn_norm": [32],
              "blk.0.attn_q": [32, 32], "blk.0.attn_k": [32, 16], "blk.0.attn_v": [32, 16],
              "blk.0.attn_output": [32, 32], "blk.0.ffn_norm": [32]}
    for name in ("ffn_gate", "ffn_up", "ffn_down"):
        shapes["blk.0." + name + ("_exps" if experts else "")] = [32, 32] + [experts] * (experts > 0)
    if experts:
        shapes["blk.0.ffn_gate_inp"] = [32, experts]
    shapes.update(more)
    for name, dims in shapes.items():
        g.tensor(name + ".weight", dims, quantized if len(dims) > 1 else F32)
    return g.file()


def restorable_tower(projector, tensors, **more):
    """An encoder of one block and what leads from it to a text model, as llama.cpp names them."""
    g = Gguf()
    g.kv("general.architecture", STRING, "clip").kv("clip.projector_type", STRING, projector)
    g.kv("general.type", STRING, "mmproj").kv("clip.has_vision_encoder", BOOL, 1).kv("clip.use_gelu", BOOL, 1)
    for name, value in {"projection_dim": 8, "image_size": 4, "patch_size": 2, "embedding_length": 8, "block_count": 1,
                        "feed_forward_length": 16, "attention.head_count": 2, **more}.items():
        g.kv("clip.vision." + name, U32, value)
    g.kv("clip.vision.attention.layer_norm_epsilon", F32V, 1e-6)
    for name in ("image_mean", "image_std"):
        g.array("clip.vision." + name, F32V, [0.5, 0.5, 0.5])
    shapes = {"v.patch_embd.weight": [2, 2, 3, 8], "v.blk.0.attn_out.weight": [8, 8], "v.blk.0.ffn_up.weight": [8, 16],
              "v.blk.0.ffn_down.weight": [16, 8], "v.blk.0.ln1.weight": [8], "v.blk.0.ln2.weight": [8], **tensors}
    for part in "qkv":
        shapes[f"v.blk.0.attn_{part}.weight"], shapes[f"v.blk.0.attn_{part}.bias"] = [8, 8], [8]
    for name, dims in shapes.items():
        g.tensor(name, dims, F32)
    return g.file()


def write_restored(folder):
    """Models that are taken back to Hugging Face: each kind of tokenizer, experts, factors of positions, encoders."""
    towers = (("gemma3", {"v.position_embd.weight": [8, 4], "mm.input_projection.weight": [8, 8],
                          "mm.soft_emb_norm.weight": [8]}, {}),
              ("qwen2vl_merger", {"v.patch_embd.weight.1": [2, 2, 3, 8], "mm.0.weight": [32, 32], "mm.2.weight": [32, 8],
                                  "v.post_ln.weight": [8]}, {"feed_forward_length": 8}),
              ("qwen2.5vl_merger", {"mm.0.weight": [32, 32]}, {"n_wa_pattern": 1}),
              ("qwen3vl_merger", {"v.deepstack.0.norm.weight": [8]}, {"spatial_merge_size": 2}),
              ("janus_pro", {"v.position_embd.weight": [8, 4], "mm.0.weight": [8, 8], "mm.1.weight": [8, 8]}, {}),
              ("mlp", {"v.class_embd": [8], "v.position_embd.weight": [8, 5], "mm.0.weight": [8, 8]}, {}),
              ("pixtral", {"mm.1.weight": [8, 8], "v.token_embd.img_break": [8]}, {}),
              ("internvl", {"v.class_embd": [8], "v.position_embd.weight": [8, 5], "mm.model.mlp.1.weight": [32, 8]},
               {"projector.scale_factor": 2}))
    for projector, tensors, more in towers:
        write(folder, "restore", "tower-" + projector, restorable_tower(projector, tensors, **more))
    factors = {"rope_freqs": [8]}, {"rope_factors_long": [8], "rope_factors_short": [8]}
    for i, (kind, experts, quantized, more) in enumerate((
            ("gpt2", 0, Q8_0, ()), ("llama", 0, Q8_0, ()), ("bert", 0, Q8_0, ()), ("t5", 0, Q8_0, ()),
            ("rwkv", 0, F16, ()), ("gpt2", 2, Q8_0, ()), ("gpt2", 0, Q8_0, factors[0]),
            ("gpt2", 0, Q8_0, factors[1]))):
        write(folder, "restore", "model-%d" % i, restorable(kind, experts, quantized, more))
    each = {"attention.head_count": [2], "attention.head_count_kv": [1], "feed_forward_length": [32]}
    write(folder, "restore", "lists", restorable("gpt2", architecture="deci", lists=each))
    for i, labels in enumerate(([], ["no", "yes"])):
        write(folder, "restore", "labels-%d" % i, restorable("gpt2", lists={"classifier.output_labels": labels}))
    pairs = (("idefics3", {"v.position_embd.weight": [8, 4], "v.post_ln.weight": [8], "mm.model.fc.weight": [32, 32]},
              {"projector.scale_factor": 2}),
             ("pixtral", {"mm.1.weight": [8, 32], "mm.2.weight": [32, 32], "v.token_embd.img_break": [32]}, {}))
    for projector, tensors, more in pairs:
        text = restorable("llama")
        tower = restorable_tower(projector, tensors, projection_dim=32, **more)
        write(folder, "restore", "pair-" + projector, b"PAIR" + struct.pack("<I", len(text)) + text + tower)


def write_sensitivities(folder):
    """Lines by both kinds of names, and those that no file should have."""
    layer = "model.layers.0.self_attn.q_proj.weight"
    texts = {"names": f"# measured\n{layer} 0.25\n\n blk.1.ffn_down.weight\t8e-1\r\n",
             "other": "other.weight 1\n", "twice": f"{layer} 1\n{layer} 2\n",
             "negative": f"{layer} -1\n", "huge": f"{layer} 1e400\n", "alone": layer,
             "experts": "model.layers.0.mlp.experts.3.up_proj.weight 1\nblk.0.attn_kv_a_mqa.weight 2"}
    for name, text in texts.items():
        write(folder, "sensitivity", name, text.encode())


def write_part_records(folder):
    """Of one file, of a folder with each kind of entry, and one that names a file outside."""
    head = {"schema": "tare.part/1", "output": "out", "plan": "0f" * 32, "part": 1, "part_count": 1, "begin": 0,
            "end": 3, "total_bytes": 3, "is_directory": True, "is_shared": False, "withheld": 0}
    file = {"name": "a/b", "size_bytes": 3, "offset": 0, "part_bytes": 3, "crc32": 891568578,
            "mode": 420, "seconds": -1, "nanoseconds": 5}
    empty = {"size_bytes": 0, "offset": 0, "part_bytes": 0}
    entries = [file, {"name": "link", "link_to": "a/b", **empty}, {"name": "none", "is_folder": True, **empty}]
    records = {"file": {**head, "is_directory": False, "files": [{**file, "name": ""}]},
               "folder": {**head, "files": entries}, "shared": {**head, "is_shared": True, "files": entries},
               "outside": {**head, "files": [{**file, "name": "../b"}]}}
    for name, record in records.items():
        write(folder, "part_record", name, json.dumps(record).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    write_restored(folder)
    write_tokenizers(folder)
    write_peft(folder)
    write_mapped(folder)
    write_towers(folder)
    write_other_forms(folder)
    write_mlx(folder)
    write_lossy(folder)
    write_wcodec(folder)
    write_sensitivities(folder)
    write_part_records(folder)
    write_planes(folder)
    for case in casebook.CASES:
        if any("/" in path for path in case.files):
            opened = case.lines[0].split(" ", 1)[1].partition("/")[2]
            write(folder, "read_index", case.name, archive(case, opened))
            if case.name.startswith("infq-"):
                write(folder, "read_infq", case.name, package(case))
            continue
        (path, content), = case.files.items()
        if path.endswith(".safetensors"):
            write(folder, "read_safetensors", case.name, content)
            write(folder, "read_json", case.name, content[8:])
        elif path.endswith(".gguf"):
            write(folder, "read_gguf", case.name, content)
        elif path.endswith(".mcf"):
            write(folder, "read_mcf", case.name, content)
        elif path.endswith(".pt"):
            write(folder, "read_torch", case.name, content)
        elif path.endswith(".msgpack"):
            write(folder, "read_flax", case.name, content)
        elif path.endswith((".npy", ".npz")):
            write(folder, "read_numpy", case.name, content)
        elif path.endswith(".onnx"):
            write(folder, "read_onnx", case.name, content)
        elif path.endswith(".whisper.bin"):
            write(folder, "read_whisper", case.name, content)
        elif path.endswith(".tflite"):
            write(folder, "read_tflite", case.name, content)
        if "importance" in case.lines:
            write(folder, "importance", case.name, content)
        for target in ("read_any", "convert", "pack", "quantize", "oom"):
            write(folder, target, case.name, content)
    for i, name in enumerate(NAMES):
        write(folder, "gguf_name", "name-%d" % i, name.encode())
    for i, text in enumerate(PYTHON_JSON):
        write(folder, "read_json", "python-%d" % i, text)
    for i, text in enumerate(HUB_LISTS):
        write(folder, "hub_list", "answer-%d" % i, text)
    for i, text in enumerate(STORE_ANSWERS):
        write(folder, "store_answer", "answer-%d" % i, text)
    for i, text in enumerate(PATTERNS):
        write(folder, "pattern", "expression-%d" % i, text)
    for i, text in enumerate(CARDS):
        write(folder, "model_card", "card-%d" % i, text)
    head = b"TAREJRNL" + struct.pack("<II8s3Q", 2, 2, b"12345678", 11, 12, 13)
    patch = struct.pack("<IIIIQQ6s16s16sQQQQQ4s", 6, 0, 1, 0, 14, 0, b"m.gguf", b"old", b"new", 100, 100, 1, 96, 4, b"data")
    rename = struct.pack("<IIIIQQ4s5s16s16sQQQ", 4, 5, 0, 0, 15, 16, b"x.js", b".x.js", b"", b"", 0, 9, 0)
    write(folder, "edit_journal", "two", head + patch + rename)
    for i, text in enumerate(TEMPLATED):
        write(folder, "go_json", "config-%d" % i, text)
    for kind, texts in ((b"\0", CARRIED), (b"\1", METADATA)):
        for i, text in enumerate(texts):
            write(folder, "stand_in", "text-%d-%d" % (kind[0], i), kind + text.encode())
    with open(os.path.join(folder, "written"), "w"):
        pass


if __name__ == "__main__":
    main()
