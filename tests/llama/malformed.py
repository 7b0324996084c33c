#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hugging Face models that contradict themselves: each is refused in one line that names the tensor, key or
file at fault, and no file is left. `malformed.py TARE FOLDER`"""
import json
import os
import shutil
import struct
import subprocess
import sys

try:
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import read_safetensors, safetensors  # noqa: E402


def load(directory):
    tensors = read_safetensors(os.path.join(directory, "model.safetensors"))[1]
    with open(os.path.join(directory, "config.json")) as f:
        return json.load(f), tensors


def store(directory, config, tensors, file="model.safetensors"):
    with open(os.path.join(directory, file), "wb") as f:
        f.write(safetensors((name, *t) for name, t in tensors.items()))
    with open(os.path.join(directory, "config.json"), "w") as f:
        json.dump(config, f)


# Model, what is done to it, what the line must name.
CASES = []


def case(name, *words):
    def register(change):
        CASES.append((change.__doc__, name, change, words))
        return change
    return register


def rename(tensors, old, new):
    tensors[new] = tensors.pop(old)


P = "model.layers.0."


@case("llama", "hidden_size is 4096", "the shape has 64", "transformers' default")
def _(c, t):
    "no width, and another by the class of transformers"
    del c["hidden_size"]


@case("llama", "rope.dimension_sections", "out of range")
def _(c, t):
    "a list with a number that no 32 bits hold"
    c["rope_scaling"] = {"rope_type": "default", "mrope_section": [2, 1e300, 2]}


@case("qwen2vl", "rope.dimension_sections", "neither three numbers nor four")
def _(c, t):
    "sections of positions of which one is missing"
    c["rope_scaling"]["mrope_section"].pop()


@case("gpt-oss", "ffn_gate_exps.bias", "expert_count")
def _(c, t):
    "biases of experts that lie the other way round"
    name = P + "mlp.experts.gate_up_proj_bias"
    dtype, shape, data = t[name]
    t[name] = (dtype, shape[::-1], data)


@case("gemma3", "vocab_size", "expected 1 to")
def _(c, t):
    "no words at all"
    c["vocab_size"] = 0


@case("qwen3moe", "vocab_size", "expected 1 to")
def _(c, t):
    "a list of how many words there are"
    c["vocab_size"] = [320]


@case("llama", "rope_theta", "it is null")
def _(c, t):
    "a base of positions that is null"
    c["rope_theta"] = None


@case("qwen2vl", "rope.dimension_sections", "not whole")
def _(c, t):
    "sections of positions of which one is a fraction"
    c["rope_scaling"]["mrope_section"][1] = 2.9


@case("gemma3", "sliding_window_pattern", "no whole number above 0")
def _(c, t):
    "every 2^64-th layer without a window"
    c["sliding_window_pattern"] = 18446744073709551616
    c.pop("layer_types", None)


@case("cohere2", "sliding_window_pattern", "no whole number above 0")
def _(c, t):
    "every layer and a half without a window"
    c["sliding_window_pattern"] = 2.5
    c.pop("layer_types", None)


@case("mellum", "layer_types: config.json: expected a list")
def _(c, t):
    "kinds of layers by their numbers"
    c["layer_types"] = {str(i): "full_attention" for i in range(len(c["layer_types"]))}


@case("lfm2-sound", "dense_2", "embedding_length_out")
def _(c, t):
    "spectra of another width than the last layer's"
    c["output_size"] = 64


@case("lfm2-sound", "dense_2", "embedding_length_out")
def _(c, t):
    "spectra of no width"
    del c["output_size"]


def widen_index(c, t, numerator, denominator):
    c["index_head_dim"] = c["index_head_dim"] * numerator // denominator
    for name, (dtype, shape, data) in t.items():
        if ".indexer." in name and "weights_proj" not in name:
            axis = 1 if name.endswith(".ape") else 0
            shape = [n * numerator // denominator if i == axis else n for i, n in enumerate(shape)]
            t[name] = (dtype, shape, (data * numerator)[:len(data) * numerator // denominator])


@case("dots3note", "attention.indexer.key_length", "192", "power of two")
def _(c, t):
    "an index of a width that no whole rotation has"
    widen_index(c, t, 3, 1)


@case("deepseek4", "attention.indexer.key_length", "48", "multiple of")
def _(c, t):
    "an index of a width that rotations do not make up"
    widen_index(c, t, 3, 4)


@case("graniteswitch", "lora_a", "adapters.count")
def _(c, t):
    "adapters of half the rank, and twice as many"
    n, rank = c["num_adapters"], c["max_lora_rank"]
    c.update(num_adapters=2 * n, max_lora_rank=rank // 2)
    for list_of in ("adapter_token_ids", "adapter_substitute_token_ids"):
        c[list_of] = c[list_of] * 2


@case("qwen2vl", "rope.dimension_sections", "wrong kind", "mrope_section")
def _(c, t):
    "a text among the sections of positions"
    c["rope_scaling"]["mrope_section"][1] = "3"


@case("step35", "swiglu_limits: has too few elements")
def _(c, t):
    "a list of fewer limits than there are layers"
    c["swiglu_limits"].pop()


@case("step35", "rope_theta: has too few elements")
def _(c, t):
    "one of two frequencies"
    c["rope_theta"].pop()


@case("olmo3", "layer_types: is not a text")
def _(c, t):
    "a kind of layer that is null"
    c["layer_types"][0] = None


@case("llama", "config.json", "hidden_size")
def _(c, t):
    "no width"
    del c["hidden_size"], c["model_type"]


@case("llama", "config.json", "hidden_size")
def _(c, t):
    "a width that is null"
    c["hidden_size"] = None


@case("llama", "config.json", "hidden_size")
def _(c, t):
    "a width of 0"
    c["hidden_size"], c["head_dim"] = 0, 16


@case("llama", "config.json", "layers")
def _(c, t):
    "no number of layers"
    del c["num_hidden_layers"], c["model_type"]


@case("llama", "mlp.strange_proj.weight", "no such tensor")
def _(c, t):
    "a tensor that the architecture does not have"
    rename(t, P + "mlp.up_proj.weight", P + "mlp.strange_proj.weight")


@case("llama", "q_proj.weight")
def _(c, t):
    "rows that are no whole number of heads"
    c["num_attention_heads"] = 7


@case("mixtral", "block_sparse_moe.experts", "missing")
def _(c, t):
    "an expert is missing"
    del t[P + "block_sparse_moe.experts.3.w2.weight"]


@case("mixtral", "experts.3", "fewer experts")
def _(c, t):
    "more experts than config.json has"
    c["num_local_experts"] = 3


@case("mixtral", "another shape")
def _(c, t):
    "an expert of another shape"
    dtype, shape, raw = t[P + "block_sparse_moe.experts.2.w1.weight"]
    t[P + "block_sparse_moe.experts.2.w1.weight"] = dtype, [shape[0] // 2, shape[1]], raw[:len(raw) // 2]


@case("mixtral", "config.json asks for more")
def _(c, t):
    "more experts than there are"
    c["num_local_experts"] = 9


@case("mixtral", "intermediate_size is 4096", "the shape has")
def _(c, t):
    "experts of another width"
    c["intermediate_size"] = 4096


@case("qwen2moe", "moe_intermediate_size is 4096", "the shape has")
def _(c, t):
    "experts of another width, which has a member of its own"
    c["moe_intermediate_size"] = 4096


@case("qwen2moe", "shared_expert_intermediate_size is 4096", "the shape has")
def _(c, t):
    "shared experts of another width"
    c["shared_expert_intermediate_size"] = 4096


@case("llama", "config.json", "intermediate_size", "missing")
def _(c, t):
    "no width of the feed-forward network"
    del c["intermediate_size"], c["model_type"]


@case("starcoder2", "config.json", "max_position_embeddings", "missing")
def _(c, t):
    "no length of the context"
    del c["max_position_embeddings"], c["model_type"]


@case("starcoder2", "config.json", "layer_norm_eps", "missing")
def _(c, t):
    "no epsilon"
    del c["model_type"]
    for name in "norm_epsilon", "layer_norm_epsilon", "rms_norm_eps":
        c.pop(name, None)


@case("bert", "config.json", "id2label", "a text for each number")
def _(c, t):
    "a list of labels"
    c["id2label"] = ["a", "b", "c"]


@case("bert", "config.json", "id2label", "a text for each number")
def _(c, t):
    "a label of no number"
    c["id2label"] = {"first": "a"}


@case("bert", "config.json", "id2label", "a text for each number")
def _(c, t):
    "a label that is no text"
    c["id2label"] = {"0": 1, "1": "b"}


@case("bert", "config.json", "num_labels", "100,000 at most")
def _(c, t):
    "more labels than could be"
    c["num_labels"] = 1e9


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 128}


@case("llama", "config.json", "hidden_size / num_attention_heads", "rotary positions")
def _(c, t):
    "no heads, whose width factors of rotary positions depend on"
    c["num_attention_heads"], c["rope_scaling"] = 0, LLAMA3


@case("llama", "config.json", "high_freq_factor", "rotary positions")
def _(c, t):
    "factors of rotary positions in the wrong order"
    c["rope_scaling"] = dict(LLAMA3, high_freq_factor=0.5)


@case("arctic", "intermediate_size", "block_sparse_moe.experts.0.w")
def _(c, t):
    "experts of another width"
    c["intermediate_size"] = 32


@case("dots1", "config.json", "scoring_func: 'tanh'")
def _(c, t):
    "a function of the router that llama.cpp has not"
    c["scoring_func"] = "tanh"


@case("llama", "config.json", "architectures")
def _(c, t):
    "no class"
    del c["architectures"]


@case("llama", "model.layers.0.mlp.up_proj.weight", "both would be one")
def _(c, t):
    "two tensors for one place"
    t["layers.0.mlp.up_proj.weight"] = t[P + "mlp.up_proj.weight"]


@case("granitemoe", "input_linear")
def _(c, t):
    "gate and up in a matrix of three dimensions too few"
    dtype, shape, raw = t[P + "block_sparse_moe.input_linear.weight"]
    t[P + "block_sparse_moe.input_linear.weight"] = dtype, [len(raw) // 2], raw


@case("qwen35", "linear_attn")
def _(c, t):
    "more key heads than there are rows"
    c["linear_num_key_heads"], c["linear_num_value_heads"] = 64, 128


@case("gptq", "qweight")
def _(c, t):
    "codes without zero points"
    del t[P + "self_attn.q_proj.qzeros"]


@case("gptq", "scales", "shape")
def _(c, t):
    "scales of fewer groups than zero points"
    dtype, shape, raw = t[P + "self_attn.q_proj.scales"]
    t[P + "self_attn.q_proj.scales"] = dtype, [shape[0] - 1, shape[1]], raw[:-2 * shape[1]]


@case("gptq", "g_idx", "group")
def _(c, t):
    "a column of a group that does not exist"
    dtype, shape, raw = t[P + "self_attn.q_proj.g_idx"]
    t[P + "self_attn.q_proj.g_idx"] = dtype, shape, struct.pack("<i", 99) + raw[4:]


@case("gptq", "qzeros", "shape")
def _(c, t):
    "zero points of a width that is no whole number of bits"
    dtype, shape, raw = t[P + "self_attn.q_proj.qzeros"]
    t[P + "self_attn.q_proj.qzeros"] = dtype, [shape[0], shape[1] - 1], raw[:-4 * shape[0]]


@case("packed", "weight_shape")
def _(c, t):
    "a shape that cannot be"
    dtype, shape, raw = t[P + "self_attn.q_proj.weight_shape"]
    t[P + "self_attn.q_proj.weight_shape"] = dtype, shape, struct.pack("<qq", -1, 128)


@case("packed", "weight_packed")
def _(c, t):
    "a shape that is not that of the codes"
    dtype, shape, raw = t[P + "self_attn.q_proj.weight_shape"]
    t[P + "self_attn.q_proj.weight_shape"] = dtype, shape, struct.pack("<qq", 128, 256)


@case("bnb-nf4-double", "quant_state")
def _(c, t):
    "a state that is no JSON"
    name = P + "self_attn.q_proj.weight.quant_state.bitsandbytes__nf4"
    t[name] = "U8", [4], b"{{{{"


@case("bnb-nf4-double", "absmax")
def _(c, t):
    "scales of scales that are missing"
    del t[P + "self_attn.q_proj.weight.nested_absmax"]


@case("bnb-nf4", "q_proj.weight")
def _(c, t):
    "fewer codes than the state's shape asks for"
    dtype, shape, raw = t[P + "self_attn.q_proj.weight"]
    t[P + "self_attn.q_proj.weight"] = dtype, [shape[0] - 1, 1], raw[:-1]


@case("gpt-oss-mxfp4", "_scales")
def _(c, t):
    "fewer scales than blocks"
    name = P + "mlp.experts.down_proj_scales"
    dtype, shape, raw = t[name]
    t[name] = dtype, [shape[0] - 1, *shape[1:]], raw[:len(raw) // shape[0] * (shape[0] - 1)]


# ---- towers ------------------------------------------------------------------------------------------------

def tower(name, *words):
    """The same of the part for pictures or sound; `c` has the files of the processor as "FILE.json"."""
    def register(change):
        CASES.append((change.__doc__, name, change, words, "--mmproj"))
        return change
    return register


V = "vision_tower.vision_model."


@tower("gemma3-vision", V + "encoder.layers.0.strange.weight", "no such tensor in this encoder")
def _(c, t):
    "a tensor that the tower does not have"
    rename(t, V + "encoder.layers.0.mlp.fc1.weight", V + "encoder.layers.0.strange.weight")


@tower("gemma3-vision", "audio_tower.x", "neither to the text model nor to the encoder")
def _(c, t):
    "a tensor that belongs to neither"
    t["audio_tower.x"] = t.pop("language_model.model.norm.weight")


@tower("gemma3-vision", "preprocessor_config.json", "image_mean")
def _(c, t):
    "no preprocessor_config.json"
    c["preprocessor_config.json"] = None


@tower("gemma3-vision", "preprocessor_config.json", "image_std", "three numbers")
def _(c, t):
    "two numbers for three colours"
    c["preprocessor_config.json"] = dict(image_mean=[0.5, 0.5, 0.5], image_std=[0.5, 0.5])


@tower("gemma3-vision", "preprocessor_config.json", "image_mean")
def _(c, t):
    "colours that are texts"
    c["preprocessor_config.json"] = dict(image_mean=["a", "b", "c"], image_std=[0.5, 0.5, 0.5])


@tower("gemma3-vision", "preprocessor_config.json")
def _(c, t):
    "a file of the processor that is no JSON"
    c["preprocessor_config.json"] = "{{"


@tower("gemma3-vision", "patch_embedding.weight", "view(32, 3, 16, 16) of [32, 3, 14, 14]")
def _(c, t):
    "patches of another size"
    c["vision_config"]["patch_size"] = 16


@tower("gemma3-vision", "position_embedding.weight", "64 positions", "16")
def _(c, t):
    "fewer positions than a picture has patches"
    c["vision_config"]["image_size"] = 112


@tower("gemma3-vision", "layer_norm1", "hidden_size is 64", "32")
def _(c, t):
    "another width"
    c["vision_config"]["hidden_size"] = 64


@tower("gemma3-vision", "num_hidden_layers is 5", "tensors have 4")
def _(c, t):
    "fewer layers than config.json counts"
    c["vision_config"]["num_hidden_layers"] = 5


@tower("gemma3-vision", "num_hidden_layers is 3", "tensors have 4")
def _(c, t):
    "more layers than config.json counts"
    c["vision_config"]["num_hidden_layers"] = 3


@tower("gemma3-vision", "input_projection", "hidden_size is 128")
def _(c, t):
    "vectors of another width than the text model's"
    c["text_config"]["hidden_size"] = 128


@tower("qwen2vl-vision", "attn.qkv", "equal parts")
def _(c, t):
    "queries, keys and values of unequal size"
    dtype, shape, raw = t["visual.blocks.0.attn.qkv.weight"]
    t["visual.blocks.0.attn.qkv.weight"] = dtype, [shape[0] - 1, shape[1]], raw[:-2 * shape[1]]


@tower("qwen2vl-vision", "patch_embed.proj.weight", "view")
def _(c, t):
    "patches of four frames"
    dtype, shape, raw = t["visual.patch_embed.proj.weight"]
    t["visual.patch_embed.proj.weight"] = dtype, [shape[0], shape[1], 4, *shape[3:]], raw * 2


@tower("qwen2.5vl-vision", "config.json", "fullatt_block_indexes")
def _(c, t):
    "windows without a pattern"
    c["vision_config"]["fullatt_block_indexes"] = [1, 2]


@tower("qwen3vl-vision", "deepstack_merger_list.1", "config.json lacks a key")
def _(c, t):
    "fewer levels than tensors"
    c["vision_config"]["deepstack_visual_indexes"] = [1]


@tower("pixtral", "tokenizer_config.json", "[IMG_BREAK]")
def _(c, t):
    "no token between the rows of a picture"
    c["tokenizer_config.json"], c["tokenizer.json"] = {}, {"added_tokens": []}


@tower("pixtral", "embed_tokens.weight", "fewer rows")
def _(c, t):
    "that token beyond the vocabulary"
    c["tokenizer_config.json"] = {"added_tokens_decoder": {"9999": {"content": "[IMG_BREAK]"}}}


@tower("pixtral", "config.json", "hidden_act")
def _(c, t):
    "an activation that llama.cpp does not have"
    c["vision_config"]["hidden_act"] = "relu"


@tower("internvl", "config.json", "downsample_ratio")
def _(c, t):
    "no ratio"
    del c["downsample_ratio"]


@tower("voxtral", "conv1.bias", "view")
def _(c, t):
    "a bias that is a matrix"
    dtype, shape, raw = t["audio_tower.conv1.bias"]
    t["audio_tower.conv1.bias"] = dtype, [2, shape[0] // 2], raw


@tower("granite4-vision", "config.json", "deepstack_layer_map", "pairs")
def _(c, t):
    "a layer without the one that it feeds"
    c["deepstack_layer_map"] = [[-1, 3], [0]]


@tower("granite4-vision", "config.json", "no such layer")
def _(c, t):
    "a projector for a layer that the text model lacks"
    c["spatial_target_layers"] = [2, 4]


@tower("granite4-vision", "config.json", "no such layer")
def _(c, t):
    "one that takes from a layer before the first"
    c["spatial_vision_layer"] = -5


@case("granite4-vision", "config.json", "no such layer")
def _(c, t):
    "a layer that is fed, beyond those that llama.cpp is told of"
    c["text_config"].update(n_layers=4, num_hidden_layers=900000)
    c["spatial_target_layers"] = [2, 899999]


@tower("granite4-vision", "layerwise_projectors.1.", "config.json lacks a key")
def _(c, t):
    "more projectors than config.json says"
    c["deepstack_layer_map"] = [[-1, 3]]


@tower("granite-speech-audio", "encoder.layers.0.conv.batch_norm.weight", "running_var")
def _(c, t):
    "a batch norm without its variance"
    del t["encoder.layers.0.conv.batch_norm.running_var"]


@tower("granite-speech-audio", "config.json", "encoder_config.num_layers is 3")
def _(c, t):
    "a layer of the encoder that is missing, whose number a layer of the projector has"
    c["encoder_config"]["num_layers"] = 3
    for name in [n for n in t if n.startswith("projector.qformer.encoder.layer.1.")]:
        t[name.replace("layer.1.", "layer.2.")] = t[name]


@tower("lfm2-audio", "conformer.layers.3.conv.batch_norm.weight", "bias")
def _(c, t):
    "a batch norm whose bias is longer"
    t["conformer.layers.3.conv.batch_norm.bias"] = t["conformer.layers.0.norm_feed_forward1.weight"][0], [8], bytes(16)


@tower("granite-speech-plus", "config.json", "encoder_hidden_size")
def _(c, t):
    "a projector of another width than all layers have that it takes"
    c["encoder_config"]["cat_hidden_layers"] = [0, 1]


@tower("llama", "config.json", "LlamaForCausalLM", "vision or audio")
def _(c, t):
    "a model that has no tower"


def store_files(model, config):
    """Puts the members of config that are files into files, and takes them out."""
    for file in [name for name in config if name.endswith(".json")]:
        content = config.pop(file)
        path = os.path.join(model, file)
        if content is None:
            os.remove(path)
            continue
        with open(path, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))


def faults(tare, folder, title, name, change, words, part="--no-tokenizer"):
    model, out = os.path.join(folder, "model"), os.path.join(folder, "out.gguf")
    shutil.rmtree(model, ignore_errors=True)
    tiny_models.write(model, name)
    config, tensors = load(model)
    change(config, tensors)
    store_files(model, config)
    store(model, config, tensors)
    run = subprocess.run([tare, "convert", model, out, part, "--quiet"], capture_output=True, text=True)
    lines = run.stderr.strip().split("\n")
    if run.returncode not in (3, 5):
        return [f"{title}: exit {run.returncode}: {run.stderr.strip()}"]
    if len(lines) != 1 or any(w not in lines[0] for w in words):
        return [f"{title}: {run.stderr.strip()}"]
    left = [f for f in os.listdir(folder) if f != "model"]
    return [f"{title}: left {left}"] if left else []


def missing_shard(tare, folder):
    model, out = os.path.join(folder, "model"), os.path.join(folder, "out.gguf")
    shutil.rmtree(model, ignore_errors=True)
    tiny_models.write(model, "llama")
    config, tensors = load(model)
    os.remove(os.path.join(model, "model.safetensors"))
    names = list(tensors)
    parts = {f"model-0000{k + 1}-of-00002.safetensors": names[k::2] for k in range(2)}
    for file, some in parts.items():
        store(model, config, {n: tensors[n] for n in some}, file)
    with open(os.path.join(model, "model.safetensors.index.json"), "w") as f:
        json.dump(dict(metadata={}, weight_map={n: f for f, some in parts.items() for n in some}), f)
    os.remove(os.path.join(model, "model-00002-of-00002.safetensors"))
    run = subprocess.run([tare, "convert", model, out, "--no-tokenizer", "--quiet"], capture_output=True, text=True)
    if run.returncode == 0 or "model-00002-of-00002.safetensors" not in run.stderr or os.path.exists(out):
        return [f"a missing shard: exit {run.returncode}: {run.stderr.strip()}"]
    return []


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found = [f for c in CASES for f in faults(tare, folder, *c)] + missing_shard(tare, folder)
    shutil.rmtree(folder)
    print("\n".join(found + [f"{len(CASES) + 1} models, {len(found)} not refused as they should be"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
