#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a class of Hugging Face computes though its config.json does not say it, and what llama.cpp computes whatever it
says: keys, tensor names, numbers and warnings of tiny models with another config.json. Each was once wrong: the file
ran, and gave other numbers than transformers (tests/llama/logits.py has the numbers). `facts.py TARE FOLDER`"""
import json
import os
import re
import shutil
import sys

try:
    import numpy as np
    import tiny_models
    from checks import Checks
    from gguf import GGUFReader
    from llama_runs import tokenizer
    from malformed import load, store
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)


NULL = object()  # of a member


class Facts(Checks):
    def __init__(self, tare, folder):
        super().__init__(tare)
        self.name = ""
        self.model, self.out, self.back = (os.path.join(folder, x) for x in ("model", "out.gguf", "back"))

    def make(self, name, config=None, rename=None, add=None, drop=(), files=None):
        """The tiny model with members set (None: taken out), tensors renamed, added and dropped."""
        shutil.rmtree(self.model, ignore_errors=True)
        tiny_models.write(self.model, name)
        c, tensors = load(self.model)
        for key, value in (config or {}).items():
            c[key] = None if value is NULL else value
            if value is None:
                del c[key]
        for old, new in (rename or {}).items():
            tensors = {re.sub(old, new, k): v for k, v in tensors.items()}
        tensors = {k: v for k, v in tensors.items() if not any(d in k for d in drop)}
        like = next(iter(tensors.values()))
        for key, shape in (add or {}).items():
            if isinstance(shape, np.ndarray):  # whole numbers
                tensors[key] = ("I64", list(shape.shape), shape.astype("<i8").tobytes())
                continue
            tensors[key] = (like[0], list(shape), bytes((4 if like[0] == "F32" else 2) * int(np.prod(shape))))
        store(self.model, c, tensors)
        for file, content in (files or {}).items():
            os.makedirs(os.path.dirname(os.path.join(self.model, file)), exist_ok=True)
            with open(os.path.join(self.model, file), "wb") as f:
                f.write(content if isinstance(content, bytes) else json.dumps(content).encode())
        self.name = name

    def write(self, *options, code=0):
        self.said = self.run("convert", self.model, self.out, "--type", "f32", "--no-tokenizer", "--no-sync", "--force", *options, code=code).stderr

    def convert(self, *model, options=(), **changes):
        """Such a model, converted: its keys and tensors."""
        self.make(*model, **changes)
        self.write(*options)
        reader = GGUFReader(self.out)
        self.keys = {f.name.split(".", 1)[1]: f.contents() for f in reader.fields.values() if "." in f.name}
        self.tensors = {t.name: t for t in reader.tensors}

    def refuses(self, name, said, options=(), **changes):
        """The same is an error, of which this is said."""
        self.make(name, **changes)
        self.write(*options, code=None)
        self.check(f"{name}: {said!r} is not in {self.said}", self.said.startswith("tare: ") and said in self.said)

    def key(self, name, value):
        got = self.keys.get(name)
        same = abs(got - value) < 1e-6 if isinstance(value, float) and got is not None else got == value
        self.check(f"{self.name}: {name} is {got}, not {value}", same)

    def warns(self, word):
        self.check(f"{self.name}: no warning of {word}: {self.said.strip()[-200:]}", f"{word}" in self.said and "llama.not-applied" in self.said)
        self.run("convert", self.model, self.out, "--type", "f32", "--no-tokenizer", "--no-sync", "--force", "--strict", "--quiet", code=5)

    def restored(self):
        shutil.rmtree(self.back, ignore_errors=True)
        self.run("convert", self.out, self.back, "--to", "hf", "--no-sync", "--quiet")
        return load(self.back)


def routers(f):
    for name, member in (("deepseek-v3", "scoring_func"), ("glm4moelite", "scoring_func"), ("dots1", "scoring_func"),
                         ("minimax-m2", "scoring_func"), ("exaone-moe", "scoring_func"), ("deepseek-v32", "scoring_func")):
        c = tiny_models.MODELS[name][0]()[0]
        f.convert(name, {member: None} if member in c else None)
        f.key("expert_gating_func", 2)
    f.convert("afmoe", {"route_norm": None})
    f.key("expert_weights_norm", True)
    f.convert("hunyuan-moe", {"moe_intermediate_size": None})
    f.key("expert_feed_forward_length", tiny_models.MODELS["hunyuan-moe"][0]()[0]["intermediate_size"])


def positions(f):
    f.convert("glm4moe", {"architectures": ["SolarOpenForCausalLM"], "model_type": "solar_open", "partial_rotary_factor": None})
    f.key("rope.dimension_count", f.keys["attention.key_length"])
    f.convert("llama-yarn")
    f.key("rope.scaling.attn_factor", 1.1 / (1 + 0.1 * np.log(4)))
    f.convert("ministral3")
    f.check("ministral3: llama.cpp divides by mscale_all_dim itself", "rope.scaling.attn_factor" not in f.keys)
    for name, members in (("gemma2", {}), ("gptneox", {}), ("falcon-7b", {}), ("phi2", {})):  # whose rows have keys of their own
        f.convert(name, dict(members, rope_parameters={"rope_theta": 300.0, "rope_type": "linear", "factor": 4.0}))
        f.key("rope.freq_base", 300.0)
        f.key("rope.scaling.type", "linear")
        f.key("rope.scaling.factor", 4.0)
        config, _ = f.restored()
        f.check(f"{name}: {config}", config.get("rope_theta", config.get("rotary_emb_base")) == 300 and config["rope_scaling"]["factor"] == 4)
        f.convert(name, dict(members, rope_parameters={"rope_theta": 300.0, "rope_type": "linear", "factor": 4.0}), options=("--like-reference",))
        f.check(f"{name}: {f.keys.keys()}", "rope.scaling.type" not in f.keys)
    for name in ("granite", "granitemoe", "granitehybrid"):
        f.convert(name, {"rope_parameters": {"rope_theta": 300.0, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                             "original_max_position_embeddings": 32}})
        f.check(f"{name}: {f.said}", 2 * len(f.tensors["rope_freqs.weight"].data) == f.keys["rope.dimension_count"] and "not-applied" not in f.said)
    f.convert("deepseek4", {"rope_scaling": None, "compress_rope_theta": 160000.0, "rope_parameters": {"main": {"rope_theta": 300.0}, "compress": {"rope_theta": 500.0}}})
    f.key("rope.freq_base", 300.0)
    f.key("attention.compress_rope_freq_base", 500.0)
    f.convert("ministral3", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 16.0, "original_max_position_embeddings": 16, "mscale": 1.0,
                                                 "mscale_all_dim": 1.0, "attention_factor": 1.2, "llama_4_scaling_beta": 0.1}})
    f.check("ministral3: attention_factor counts", "rope.scaling.yarn_log_multiplier" not in f.keys)
    f.key("rope.scaling.attn_factor", 1.2 / (1 + 0.1 * np.log(16)))
    f.convert("dbrx", {"rope_parameters": {"rope_theta": 300.0, "rope_type": "default"}})  # which transformers takes
    f.key("rope.freq_base", 300.0)
    f.warns("attn_config.rope_theta")
    config, _ = f.restored()
    f.check(f"dbrx: {config}", config["rope_theta"] == 300 and config["attn_config"]["rope_theta"] == 300)
    f.convert("gptneox", {"rope_parameters": None, "rotary_emb_base": 300, "rope_theta": 500, "rotary_pct": 0.25, "partial_rotary_factor": 0.5})
    f.key("rope.freq_base", 300.0)  # the names of its class count
    f.key("rope.dimension_count", f.keys["embedding_length"] // f.keys["attention.head_count"] // 4)
    f.convert("gptneox", {"rope_parameters": {"rope_theta": 500.0, "partial_rotary_factor": 0.5}, "rotary_pct": 0.25})
    f.key("rope.dimension_count", f.keys["embedding_length"] // f.keys["attention.head_count"] // 2)
    f.convert("qwen35-even")  # heads that are narrower than the usual sections together
    f.key("rope.dimension_sections", [1, 1, 0, 0])
    f.make("qwen35-even", {"rope_parameters": {"rope_theta": 10000.0, "mrope_section": [11, 11, 10]}})
    said = f.run("convert", f.model, f.back + ".gguf", "--no-tokenizer", "--no-sync", "--quiet", code=5).stderr
    f.check(f"qwen35-even: {said}", "its sections together are wider than a head" in said)
    f.make("qwen35-even", {"partial_rotary_factor": 0.2})
    said = f.run("convert", f.model, f.back + ".gguf", "--no-tokenizer", "--no-sync", "--quiet", code=5).stderr
    f.check(f"qwen35-even: {said}", "it is odd" in said)
    f.convert("olmoe", {"rms_norm_eps": 0.001})
    f.key("attention.layer_norm_rms_epsilon", 0.001)
    f.convert("mpt", {"layer_norm_epsilon": 0.001})
    f.key("attention.layer_norm_epsilon", 0.001)
    f.convert("roberta", {"architectures": ["CamembertModel"], "model_type": "camembert"})
    f.key("context_length", 512)
    f.convert("gptneox", {"rotary_emb_base": 300})  # as it was before rope_theta
    f.key("rope.freq_base", 300.0)
    for step, pattern in ((2, [True, False]), (6, None)):  # as it was before layer_types
        f.convert("gemma3", {"layer_types": None, "sliding_window_pattern": step})
        f.key("attention.sliding_window_pattern", pattern)


def spellings(f):
    c = tiny_models.MODELS["gemma4"][0]()[0]
    text = c.get("text_config", c)
    f.convert("gemma4")
    width, heads = f.keys["attention.key_length"], f.keys["attention.head_count_kv"]
    full = [i for i, t in enumerate(text["layer_types"]) if t == "full_attention"]
    layers = {str(i).zfill(2): {"head_dim": width} for i in full}
    new = {k: v for k, v in text.items() if k not in ("global_head_dim", "num_global_key_value_heads")}
    f.convert("gemma4", {"text_config": dict(new, per_layer_config=layers)} if "text_config" in c else
              {"global_head_dim": None, "per_layer_config": layers})
    f.key("attention.key_length", width)
    f.key("rope.dimension_count", width)
    f.check(f"gemma4: heads of keys {heads}", f.keys["attention.head_count_kv"] in (heads, [heads] * len(text["layer_types"])))
    f.convert("falcon-7b", {"num_kv_heads": 4, "multi_query": True})
    f.key("attention.head_count_kv", 1)
    for name, cls, cut in (("llama", "MistralModel", "^model."), ("phi3", "Phi3Model", "^model."), ("gpt2", "GPT2Model", "^transformer."),
                           ("qwen3moe", "Qwen3MoeModel", "^model.")):
        f.convert(name, {"architectures": [cls]}, {cut: ""}, drop=("lm_head",))
        f.check(f"{cls}: {sorted(f.tensors)[:3]}", "blk.0.attn_output.weight" in f.tensors)


def encoders(f):
    f.convert("bert-classes", {"id2label": None}, {"^(?!bert.|classifier)": ""},
              {"bert.pooler.dense.weight": (64, 64), "bert.pooler.dense.bias": (64,)})
    for t in ("cls.weight", "cls.bias", "cls.output.weight", "cls.output.bias"):
        f.check(f"bert: no {t}", t in f.tensors)
    config, tensors = f.restored()
    f.check(f"bert: {config['architectures']}", config["architectures"] == ["BertForSequenceClassification"])
    f.check("bert: no pooler comes back", any("pooler.dense.weight" in t for t in tensors) and any("classifier.weight" in t for t in tensors))
    for way, number in (("mean", 1), ("cls", 2), (None, 2)):
        f.convert("modern-bert", {"architectures": ["ModernBertForSequenceClassification"], "classifier_pooling": way} if way else
                  {"architectures": ["ModernBertForSequenceClassification"]}, None, {"classifier.weight": (2, 64), "classifier.bias": (2,)})
        f.key("classifier.pooling_type", number)
    matrices = {d: np.arange(a * b, dtype=np.float32).reshape(b, a) for d, (a, b) in (("2_Dense", (64, 96)), ("3_Dense", (96, 64)))}
    files = {"modules.json": [{"path": p, "type": "sentence_transformers.models." + p.partition("_")[2]} for p in ("1_Pooling", *matrices)],
             "1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}
    for d, m in matrices.items():
        head = json.dumps({"linear.weight": {"dtype": "F32", "shape": list(m.shape), "data_offsets": [0, m.nbytes]}}).encode()
        files[d + "/model.safetensors"] = len(head).to_bytes(8, "little") + head + m.tobytes()
        files[d + "/config.json"] = {"in_features": m.shape[1], "out_features": m.shape[0], "bias": False,
                                     "activation_function": "torch.nn.modules.linear.Identity"}
    f.convert("embeddinggemma", files=files)
    f.key("dense_2_feat_out", 96)
    f.key("dense_3_feat_in", 96)
    f.check("dense_3 is another matrix", np.array_equal(f.tensors["dense_3.weight"].data, matrices["3_Dense"]))
    f.convert("qwen3", files=files)
    f.warns("models.Dense: llama.cpp does not have this module")
    f.convert("embeddinggemma", files={"modules.json": [{"path": "2_LayerNorm", "type": "sentence_transformers.models.LayerNorm"}]})
    f.warns("models.LayerNorm: llama.cpp does not have this module")
    settings = files["2_Dense/config.json"]
    f.refuses("embeddinggemma", "which then is Tanh",
              files={**files, "2_Dense/config.json": {k: v for k, v in settings.items() if k != "activation_function"}})
    f.refuses("embeddinggemma", "no activation_function behind",
              files={**files, "2_Dense/config.json": {**settings, "activation_function": "torch.nn.modules.activation.Tanh"}})
    f.refuses("embeddinggemma", "3_Dense/model.safetensors\": linear.weight: its columns",
              files={**files, "3_Dense/model.safetensors": files["2_Dense/model.safetensors"]})
    f.refuses("embeddinggemma", "2_Dense/model.safetensors\": not of any known format", files={**files, "2_Dense/model.safetensors": b"nothing"})


def drawn(f):
    """Positions of 15 patches to a side for six: bilinear, the corners stay."""
    f.convert("nemotron-nano-vision", {"force_image_size": 96}, options=("--mmproj",))
    _, tensors = load(f.model)
    kind, shape, raw = tensors["vision_model.radio_model.model.patch_generator.pos_embed"]
    had = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").reshape(15, 15, -1).astype(float)
    at = np.arange(6) * 14 / 5
    first = np.minimum(at.astype(int), 13)
    part = (at - first)[:, None, None]
    rows = had[first] * (1 - part) + had[first + 1] * part
    part = (at - first)[None, :, None]
    want = rows[:, first] * (1 - part) + rows[:, first + 1] * part
    got = f.tensors["v.position_embd.weight"]
    f.check(f"{f.name}: {kind} {list(got.shape)}", kind == "BF16" and list(got.shape) == [shape[2], 36, 1])
    f.check(f"{f.name}: positions", np.abs(got.data.reshape(6, 6, -1) - want).max() < 1e-6)
    f.refuses("nemotron-nano-vision", "says no size of pictures", config={"force_image_size": 8}, options=("--mmproj",))


def assumed(f):
    f.convert("llama", {"hidden_act": "gelu"})
    f.warns("hidden_act")
    f.convert("llama", {"hidden_act": "silu"})
    f.check(f"llama: {f.said}", "not-applied" not in f.said)
    for name, members, word in (("t5", {"feed_forward_proj": "gated-silu"}, "feed_forward_proj"), ("jais", {"activation_function": "gelu"}, "activation"),
                                ("dbrx", {"ffn_config": {"ffn_hidden_size": 96, "moe_num_experts": 4, "moe_top_k": 2, "ffn_act_fn": {"name": "gelu"}}},
                                 "ffn_act_fn"),
                                ("openelm", {"activation_fn_name": "gelu"}, "activation_fn_name"),
                                ("nomic-bert", {"activation_function": "gelu"}, "activation"),
                                ("smallthinker", {"hidden_act": "silu"}, "hidden_act")):
        f.convert(name, members)
        f.warns(word)
    for norm, warns in ((None, True), (1.0, False), (2.0, True)):  # null is no norm
        f.make("dbrx")
        c = load(f.model)[0]["ffn_config"]
        f.convert("dbrx", {"ffn_config": dict(c, moe_normalize_expert_weights=norm)})
        f.check(f"dbrx, {norm}: {f.said}", ("moe_normalize_expert_weights" in f.said) == warns)
    linear = {"rope_type": "linear", "factor": 4.0}
    for members, warns in (({"rope_scaling": linear}, True), ({"rope_parameters": dict(linear, rope_theta=10000.0)}, False), ({"rope_scaling": NULL}, False)):
        f.convert("cohere2moe", members)
        f.check(f"cohere2moe, {members}: {f.said}", ("rope_scaling: transformers" in f.said) == warns)
    f.convert("smollm3", {"no_rope_layers": [1, 0]})
    f.warns("no_rope_layers")
    f.convert("qwen3moe", {"norm_topk_prob": False})
    f.warns("norm_topk_prob")
    f.convert("olmoe", {"norm_topk_prob": True})
    f.warns("norm_topk_prob")
    f.convert("mistral", {"sliding_window": 8, "model_type": "mistral"})
    f.warns("sliding_window")
    f.convert("llama-yarn", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 16.0}})
    f.warns("beta_fast")
    f.convert("llama-yarn", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "truncate": False}})
    f.warns("truncate")
    thetas = {S: {"rope_theta": base, "rope_type": "default"} for S, base in (("full_attention", 1e6), ("sliding_attention", 1e4))}
    f.convert("olmo3", {"rope_parameters": thetas})
    f.warns("sliding_attention.rope_theta")
    for name in ("deepseek-v3", "qwen3next"):
        f.convert(name, {"rms_norm_eps": 0.001})
        f.warns("rms_norm_eps")
        f.convert(name, {"rms_norm_eps": 0.00001})
        f.check(f"{name}: {f.said}", "not-applied" not in f.said)
    for name, members, word in (("t5", {"dense_act_fn": "silu"}, "dense_act_fn"), ("t5", {"dense_act_fn": "gelu_new", "is_gated_act": False}, "dense_act_fn"),
                                ("kimi-linear", {"moe_renormalize": False}, "moe_renormalize"), ("minimax-01", {"sliding_window": 8}, "sliding_window"),
                                *((n, {"rope_parameters": None, "rope_theta": 300.0}, "rope_theta") for n in ("laguna", "mellum")),
                                ("modern-bert", {"architectures": ["ModernBertForSequenceClassification"], "classifier_activation": "relu"},
                                 "classifier_activation")):
        f.convert(name, members)
        f.warns(word)
    for name, members in (("t5", {"dense_act_fn": "gelu_new", "is_gated_act": True}), ("kimi-linear", {"moe_renormalize": True}),
                          *((n, {"sliding_window": none}) for none in (0, False) for n in ("llama", "minimax-01", "exaone4"))):
        f.convert(name, members)
        f.check(f"{name}: {f.said}", "not-applied" not in f.said)
    f.convert("starcoder2", drop=("mlp.c_fc.bias", "mlp.c_proj.bias", "proj.bias"))
    zeros = f.tensors["blk.0.attn_output.bias"]
    f.check("starcoder2: zeros for the biases that are not there", not zeros.data.any() and len(zeros.data) == 64)
    f.convert("starcoder2", drop=("layers.1.mlp.c_proj.bias",))


    f.convert("t5")
    head = f.tensors["output.weight"].data
    f.convert("t5", {"tie_word_embeddings": True})
    f.check("t5: the head of the first T5 is scaled", np.allclose(f.tensors["output.weight"].data, head / 8, atol=1e-6))


def heads(f):
    """Gemma has no place for a head of its own."""
    rows = tiny_models.MODELS["gemma"][0]()[1]["model.embed_tokens.weight"]
    f.convert("gemma", {"tie_word_embeddings": False}, add={"lm_head.weight": rows})
    f.check(f"gemma: {f.said}", "unlike the embeddings" in f.said)
    f.convert("gemma")
    f.check(f"gemma: {f.said}", "llama.head" not in f.said)
    # A tied head that was stored instead of the embeddings is both, also where llama.cpp has but one of them.
    for name, embeddings, head in (("gemma", "model.embed_tokens", "lm_head"), ("cohere2", "model.embed_tokens", "lm_head"),
                                   ("stablelm", "model.embed_tokens", "lm_head"), ("gptneox", "gpt_neox.embed_in", "embed_out")):
        f.convert(name, {"tie_word_embeddings": True}, drop=(f"{head}.weight",))
        want = {n: t.data.copy() for n, t in f.tensors.items()}
        f.convert(name, {"tie_word_embeddings": True}, rename={f"^{head}.weight": "gone.lm", f"^{embeddings}.weight": f"{head}.weight"}, drop=("gone.lm",))
        f.check(f"{name}: a head instead of embeddings", want.keys() == f.tensors.keys() and all(np.array_equal(want[n], f.tensors[n].data) for n in want))


def uneven(f):
    """A norm or bias that one block has lost: llama.cpp runs without it."""
    for name, lost in (("qwen2", "layers.1.self_attn.q_proj.bias"), ("glm4moe", "layers.1.self_attn.q_norm.weight"),
                       ("deepseek-v3", None), ("bert", "layer.1.attention.self.key.bias"), ("stablelm-norms", "layers.1.post_attention_layernorm.bias"),
                       ("modern-bert", None), ("mimo2", None), ("rwkv7", None), ("gemma4", None), ("deci", None), ("jamba", None)):
        f.convert(name, drop=(lost,) if lost else ())
        f.check(f"{name}: {f.said}", ("llama.uneven" in f.said) == bool(lost))
    # What config.json or the class says that there is.
    for name, lost in (("t5", r"layer\.1\.DenseReluDense\.wi_0"), ("glm4moe", "k_norm"), ("gemma4", r"layers\.1\.self_attn\.v_proj"), ("stablelm", "post_attention"),
                       ("falcon-40b", "ln_attn"), ("bert", "token_type_embeddings"), ("distilbert", None), ("falcon-7b", None), ("roberta", None),
                       ("deepseek-v3", "e_score_correction_bias"), ("glm4moelite", "e_score_correction_bias"), ("dots1", "e_score_correction_bias"),
                       ("hy_v3", "expert_bias"), ("hy_v4", "e_score_correction_bias"), ("kimi-k3", "g_proj"), ("kimi-k3", "routed_expert_norm"),
                       ("deepseek-v32", "eh_proj"), ("lfm2-sound", r"^lin\."), ("lfm2-sound", None),
                       ("gpt2", r"c_fc\.bias"), ("phi2", r"lm_head\.bias"), ("qwen2", r"[qkv]_proj\.bias"), ("gptneox", r"dense\.bias"),
                       ("mamba2", r"conv1d\.bias"), ("bert", r"query\.bias"), ("gpt-oss", r"router\.bias"), ("qwen35", r"mtp\.norm"), ("jais2", r"o_proj\.bias"),
                       ("rwkv7", r"ffn_norm\.bias"), ("roberta-classes", r"classifier\.dense"),
                       *((n, None) for n in ("gpt2", "phi2", "qwen2", "gptneox", "mamba2", "gpt-oss", "qwen35", "falcon-h1", "rwkv7", "roberta-classes")), ("kimi-k3", None), ("deepseek-v32", None), ("mimo2", "e_score_correction_bias"), ("deepseek-v2", None),
                       ("grok", r"layers\.1\.mlp\.gate_proj"), ("gemma4-moe", None), ("nomic-bert", None), ("step35", None), ("t5encoder", None)):
        f.make(name)
        names = load(f.model)[1]
        f.convert(name, drop=[n for n in names if lost and re.search(lost, n)])
        f.check(f"{name}: {f.said}", ("llama.lost" in f.said) == bool(lost))
    for name, lost, said in (("apertus", "layers.1.mlp.act_fn.alpha_n", "missing in some blocks"),):
        f.refuses(name, said, drop=(lost,))
    f.convert("qwen", {"tie_word_embeddings": False}, drop=("lm_head",))
    f.check(f"qwen: {f.said}", "there is no head" in f.said)


def back(f):
    f.convert("deepseek-v2")
    config, _ = f.restored()
    f.check("q_lora_rank: null where there is none", config.get("q_lora_rank", 0) == f.keys.get("attention.q_lora_rank"))
    f.convert("granitehybrid")
    f.restored()
    f.convert("afmoe")
    config, _ = f.restored()
    f.check(f"afmoe: {config.get('mup_enabled')}", config["mup_enabled"] is True and config["layer_types"][0] == "sliding_attention")
    swapped = {"layers.0.mlp.": "layers.#.mlp.", "layers.1.mlp.": "layers.0.mlp.", "layers.#.mlp.": "layers.1.mlp."}
    f.convert("hy_v3", {"mlp_layer_types": ["sparse", "dense"]}, swapped)
    config, tensors = f.restored()
    f.check(f"hy_v3: {config['mlp_layer_types']}", config["mlp_layer_types"] == ["sparse", "dense"] and "model.layers.1.mlp.gate_proj.weight" in tensors)
    f.convert("ministral3")
    config, _ = f.restored()
    f.check(f"ministral3: {config['architectures']}", config["architectures"] == ["Ministral3ForCausalLM"] and "rope_scaling" not in config)
    f.convert("minicpm3")
    config, _ = f.restored()
    f.check(f"minicpm3: v_head_dim {config['v_head_dim']!r}", type(config["v_head_dim"]) is int)
    f.convert("modern-bert", {"architectures": ["ModernBertForMaskedLM"]}, add={"head.dense.weight": (64, 64), "head.norm.weight": (64,), "decoder.bias": (320,)})
    config, _ = f.restored()
    f.check(f"modern-bert: {config}", config["architectures"] == ["ModernBertForMaskedLM"] and config["decoder_bias"] is False)
    f.convert("exaone4", {"sliding_window": NULL, "layer_types": None})
    config, _ = f.restored()
    f.check(f"exaone4: {config}", config["sliding_window"] is None and set(config["layer_types"]) == {"full_attention"})
    f.convert("falcon-h1", {"mamba_rms_norm": True}, add={f"model.layers.{i}.mamba.norm.weight": (128,) for i in range(2)})
    config, _ = f.restored()
    f.check(f"falcon-h1: {config}", config["mamba_rms_norm"] is True and config["mamba_norm_before_gate"] is False)
    f.convert("qwen35", {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}})
    config, _ = f.restored()
    f.check(f"qwen35: {config}", config["rope_parameters"]["rope_type"] == "yarn" and "mrope_section" in config["rope_parameters"] and "rope_scaling" not in config)
    f.convert("gemma3n")
    config, _ = f.restored()
    f.check("gemma3n: floats", all(type(x) is float for x in config.get("activation_sparsity_pattern") or []))
    for low, high, context in ((1.0, 4.0, 8192), (1.0, 4.0, 32), (1.0, 4.0, 131072), (1.0, 4.0, 16), (1.25, 7.0, 64)):
        settings = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": context}
        f.convert("llama", {"rope_scaling": settings})
        wanted = f.tensors["rope_freqs.weight"].data.copy()
        config, _ = f.restored()
        f.convert("llama", {"rope_scaling": config["rope_scaling"]})
        got = f.tensors["rope_freqs.weight"].data
        f.check(f"llama3's factors: {config['rope_scaling']}, not {settings}", np.allclose(wanted, got, rtol=1e-4))
    proportional = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "factor": 1}
    f.convert("llama", {"rope_scaling": proportional})
    config, _ = f.restored()
    f.check(f"proportional: {config['rope_scaling']}", config["rope_scaling"] == proportional)
    with open(f.out, "r+b") as file:
        file.seek(f.tensors["rope_freqs.weight"].data_offset)
        file.write(np.float32(3).tobytes())
    said = f.run("convert", f.out, f.back, "--to", "hf", "--no-sync", "--force").stderr
    f.check(f"factors that no settings give: {said}", "rope_freqs.weight" in said and "llama.not-restored" in said)


SHARED = {"token_embd.weight", "output_norm.weight", "output.weight"}


def nextn(f):
    """Layers that predict more tokens alone, and the others alone: no tensor changes, and none is lost."""
    for name in ("qwen35", "qwen35moe", "glm4moe", "hy_v3-nextn", "mimo2", "step35-nextn"):
        f.convert(name)
        keys, tensors = f.keys, f.tensors
        n = keys["block_count"] - keys["nextn_predict_layers"]
        is_behind = {t for t in tensors if t.startswith("blk.") and int(t.split(".")[1]) >= n}
        for option, wanted, count in (("--mtp", is_behind | SHARED & set(tensors), keys["block_count"]), ("--no-mtp", set(tensors) - is_behind, n)):
            f.convert(name, options=(option,))
            f.check(f"{name} {option}: {sorted(wanted ^ set(f.tensors))[:4]}", wanted == set(f.tensors))
            f.check(f"{name} {option}: other numbers", all((f.tensors[t].data == tensors[t].data).all() for t in wanted))
            f.key("block_count", count)
            f.key("nextn_predict_layers", keys["nextn_predict_layers"] if option == "--mtp" else None)
            f.check(f"{name} {option}: {f.said}", "left-out" not in f.said and "not-runnable" not in f.said)
    said = f.run("convert", f.out, f.back, "--to", "hf", "--no-sync", "--force").stderr  # the last one, which is a model
    f.check(f"back: {said}", "not-hugging-face" not in said)
    f.convert("step35-nextn", options=("--mtp",))
    said = f.run("convert", f.out, f.back, "--to", "hf", "--no-sync", "--force").stderr  # and layers without their model
    f.check(f"back: {said}", "convert.not-hugging-face" in said)
    f.refuses("llama", "llama.cpp does not support multi-token prediction (MTP) layers in this architecture", options=("--mtp",))
    f.refuses("glm4moe", "the model has no multi-token prediction (MTP) layers", options=("--mtp",), config={"num_nextn_predict_layers": 0}, drop=(".layers.2.",))
    f.convert("glm4moe", options=("--no-mtp",), config={"num_nextn_predict_layers": 0}, drop=(".layers.2.",))
    f.convert("deepseek4-nextn")  # whose layers llama.cpp has in a file of their own
    f.check(f"apart: {f.said}", "llama.nextn-apart" in f.said and not any(t.startswith("blk.3.") for t in f.tensors))
    f.key("nextn_predict_layers", None)
    f.convert("deepseek4-nextn", options=("--no-mtp",))
    f.check(f"left out: {f.said}", "llama.nextn-apart" not in f.said)
    f.convert("deepseek4-nextn", options=("--mtp",))
    f.key("nextn_predict_layers", 1)
    of_mtp = [t for t in f.tensors if t not in SHARED and not t.startswith("output_hc_")]
    f.check(f"alone: {of_mtp}", len(of_mtp) == 28 and all(t.startswith("blk.3.") for t in of_mtp))
    f.refuses("deepseek4", "element 639, of 4", add={"layers.0.ffn.gate.tid2eid": np.arange(640).reshape(320, 2) // 639 * 4})
    f.make("exaone-moe")
    f.run("convert", f.model, f.out, "--mtp", "--no-tokenizer", "--no-sync", "--quiet", code=5)  # which llama.cpp does not load by themselves
    f.make("glm4moe", files={"tokenizer.json": tokenizer(320)})
    for options, text in (((), "runs it"), (("--mtp",), "runs it beside the model that it drafts for")):
        f.run("convert", f.model, f.out, "--pre", "default", "--no-sync", "--quiet", "--force", *options)
        said = re.search("llama.cpp +(.*)", f.run("info", f.out).stdout).group(1)
        f.check(f"info says {said!r} instead of {text!r}", said == text)


def deeper(f, name, n, shared, of=(0, 1)):
    """A model of two layers, the first with a window, with `n`: kinds `of` them, the last ones without keys and values."""
    f.make(name)
    c, tensors = load(f.model)
    more = {re.sub("layers.[01]", f"layers.{i}", k): t[1] for i in range(2, n) for k, t in tensors.items()
            if f"layers.{of[i % 2]}." in k and not (i >= n - shared and re.search("[kv]_(proj|norm)", k))}
    wide = {k: [s * n // 2 if s == 2 * c["hidden_size_per_layer_input"] and at == at_n else s for at, s in enumerate(tensors[k][1])]
            for k, at_n in (("model.embed_tokens_per_layer.weight", 1), ("model.per_layer_model_projection.weight", 0))}
    members = {"num_hidden_layers": n, "num_kv_shared_layers": shared, "layer_types": [c["layer_types"][of[i % 2]] for i in range(n)]}
    if isinstance(c["intermediate_size"], list):
        members.update(intermediate_size=c["intermediate_size"][:1] * n, activation_sparsity_pattern=[0.95] * 10 + [0.0] * (n - 10))
    f.make(name, members, add={**more, **wide})


def shared(f):
    """Layers that compute with the keys and values of earlier ones, and that transformers saves none for."""
    deeper(f, "gemma4", 4, 2)
    f.write()
    f.check(f"gemma4: {f.said}", "not-runnable" not in f.said and "llama.uneven" not in f.said and "llama.lost" not in f.said)
    f.restored()
    for n, wrong in ((1, ""), (2, "one with a window and one without")):  # the last two with keys: 2 and 3, 1 and 2
        deeper(f, "gemma4", 5, n)
        f.write()
        f.check(f"gemma4, {n} of 5: {f.said}", wrong in f.said and ("not-runnable" in f.said) == bool(wrong))
    deeper(f, "gemma3n", 22, 2)
    f.write()
    f.check(f"gemma3n: {f.said}", "missing" not in f.said and "not-applied" not in f.said)
    tensors = {t.name: t for t in GGUFReader(f.out).tensors}
    f.check("gemma3n: the last layers have what the loader asks for",
            all((tensors[f"blk.{i}.{x}.weight"].data == tensors[f"blk.19.{x}.weight"].data).all() for i in (20, 21) for x in ("attn_k", "attn_v", "attn_k_norm")))
    deeper(f, "gemma3n", 22, 4)
    f.write()
    f.check(f"gemma3n: {f.said}", "num_kv_shared_layers" in f.said)


def without_alpha(f):
    """HunYuan's positions of type dynamic are scaled by alpha, and not at all without it."""
    dynamic = {"type": "dynamic", "factor": 4.0}
    f.convert("hunyuan-dense", {"rope_scaling": dynamic})
    f.key("rope.freq_base", 10000.0)
    f.convert("hunyuan-dense", {"rope_scaling": dict(dynamic, alpha=50.0)})
    f.check(f"hunyuan-dense: {f.keys['rope.freq_base']}", f.keys["rope.freq_base"] > 1e5)


def shapes(f):
    """What llama.cpp derives of other keys, whatever config.json says."""
    wide = {f"model.layers.{i}.self_attn.{x}_proj.weight": s for i in range(2) for x, s in (("q", (128, 64)), ("k", (64, 64)), ("v", (64, 64)), ("o", (64, 128)))}
    for name in ("cohere2", "eurobert", "exaone4"):
        f.make(name, {"head_dim": 32}, add=dict(wide, **{f"model.layers.{i}.self_attn.{x}_norm.weight": (32,) for i in range(2) for x in "qk" if name == "exaone4"}))
        said = f.run("convert", f.model, f.back + ".gguf", "--no-tokenizer", "--no-sync", "--quiet", code=5).stderr
        f.check(f"{name}: {said}", "heads that together are as wide as the model" in said)
    f.make("olmoe", {"num_key_value_heads": 2}, add={f"model.layers.{i}.self_attn.{x}": (32, 64)[:n] for i in range(2) for x, n in
                                                     (("k_proj.weight", 2), ("v_proj.weight", 2), ("k_norm.weight", 1))})
    said = f.run("convert", f.model, f.back + ".gguf", "--no-tokenizer", "--no-sync", "--quiet", code=5).stderr
    f.check(f"olmoe: {said}", "as many KV heads as query heads" in said)
    for width, code in ((128, 0), (64, 5)):  # linear attention has heads of its own width in the other layers
        p = "model.layers.1.self_attn."
        f.make("kimi-linear", {"v_head_dim": 32}, add={p + "kv_b_proj.weight": (192, 32), p + "o_proj.weight": (64, width)})
        f.run("convert", f.model, f.back + ".gguf", "--no-tokenizer", "--no-sync", "--quiet", code=code)
    f.make("llama4", {"num_hidden_layers": 2}, drop=(".layers.2.", ".layers.3."))
    said = f.run("convert", f.model, f.back + ".gguf", "--no-tokenizer", "--no-sync", "--quiet", code=5).stderr
    f.check(f"llama4: {said}", "fewer than four" in said)


def side_files(f):
    """Values of another kind than their members have are named, not passed over."""
    for file, member, value, said in (("tokenizer_config.json", "chat_template", {"content": "{{ a }}"}, "chat_template is left out"),
                                      ("tokenizer_config.json", "chat_template", [True], "chat_template is left out"),
                                      ("tokenizer_config.json", "chat_template", None, None),
                                      ("generation_config.json", "eos_token_id", "20", "eos_token_id is left out"),
                                      ("generation_config.json", "eos_token_id", [float("inf")], "eos_token_id is left out"),
                                      ("generation_config.json", "eos_token_id", 20.5, "eos_token_id is left out"),
                                      ("generation_config.json", "eos_token_id", [[20]], "eos_token_id is left out"),
                                      ("generation_config.json", "eos_token_id", -1, None),
                                      ("generation_config.json", "eos_token_id", [20], None)):
        f.make("qwen3", files={"tokenizer.json": tokenizer(320), file: {member: value}})
        text = f.run("convert", f.model, f.out, "--pre", "default", "--no-sync", "--force").stderr
        f.check(f"{member}: {value!r}: {text}", said in text if said else "is left out" not in text)


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    f = Facts(tare, folder)
    for part in (routers, positions, spellings, encoders, drawn, assumed, heads, uneven, nextn, without_alpha, shared, shapes, side_files, back):
        try:
            part(f)
        except (KeyError, IndexError, OSError, ValueError) as fault:
            f.check(f"{part.__name__}: {f.name}: {type(fault).__name__} {fault}", False)
    shutil.rmtree(folder)
    return f.end()


if __name__ == "__main__":
    sys.exit(main())
