#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A word of config.json that is one of few is known in all of its spellings, and another one is an error that names it,
never a silent "no". `closed_lists.py TARE FOLDER`"""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "llama"))
try:
    import gguf
    import tiny_models
    from checks import Checks
    from malformed import faults, load, store
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

SCALED = {"factor": 4.0, "original_max_position_embeddings": 128}

# ---- words that nobody knows: the model, what its config.json says, what the error names -------------

UNKNOWN = [
    ("llama", dict(rope_scaling=dict(SCALED, rope_type="spiral")), "rope_scaling.rope_type: 'spiral'"),
    ("llama", dict(rope_scaling=dict(SCALED, type="spiral")), "rope_scaling.type: 'spiral'"),
    ("qwen3", dict(rope_parameters=dict(SCALED, rope_type="spiral")), "rope_parameters.rope_type: 'spiral'"),
    ("gemma4", dict(rope_parameters={"full_attention": {"rope_type": "spiral"}}), "full_attention.rope_type: 'spiral'"),
    ("grok", dict(rope_type="spiral"), "rope_type: 'spiral'"),
    ("nemotron-h", dict(rope_scaling=dict(SCALED, rope_type="spiral")), "rope_type: 'spiral'"),
    ("granitehybrid", dict(layer_types=["mamba", "spiral"]), "layer_types: 'spiral'"),
    ("granitehybrid", dict(layer_types=["mamba", "conv", "mamba"]), "layer_types: 'conv'"),
    ("granitehybrid", dict(layer_types=["mamba"]), "layer_types: 1 for 3"),
    ("nemotron-h", dict(hybrid_override_pattern="MS-*"), "hybrid_override_pattern: 'S'"),
    ("nemotron-h", dict(hybrid_override_pattern="M"), "hybrid_override_pattern: 1 for 4"),
    ("lfm2", dict(layer_types=["conv", "spiral"]), "layer_types: 'spiral'"),
    ("lfm2moe", dict(layer_types=["conv", "mamba"]), "layer_types: 'mamba'"),
    ("cohere2moe", dict(layer_types=["sliding_attention", "conv"]), "layer_types: 'conv'"),
    ("gpt-oss", dict(layer_types=["sliding_attention", "spiral"]), "layer_types: 'spiral'"),
    ("gemma3n", dict(layer_types=["sliding_attention", "mamba"]), "layer_types: 'mamba'"),
    ("gemma4", dict(layer_types=["sliding_attention", "conv"]), "layer_types: 'conv'"),
    ("exaone4", dict(layer_types=["sliding_attention", "conv"], sliding_window=8), "layer_types: 'conv'"),
    ("exaone4", dict(layer_types=None, sliding_window=8, sliding_window_pattern="LG"), "sliding_window_pattern: 'LG'"),
    ("mellum", dict(layer_types=["sliding_attention", "conv"]), "layer_types: 'conv'"),
    ("olmo3", dict(layer_types=["sliding_attention", "conv"]), "layer_types: 'conv'"),
    ("step35", dict(layer_types=["full_attention", "mamba"]), "layer_types: 'mamba'"),
    ("laguna", dict(mlp_layer_types=["dense", "spiral", "sparse", "sparse", "sparse"]), "mlp_layer_types: 'spiral'"),
    ("laguna", dict(layer_types="zzz"), "layer_types: config.json: expected a list"),
    ("llama", dict(rope_scaling=dict(SCALED, rope_type="longrope", long_factor=2.0, short_factor=[1.0])), "long_factor: config.json: expected a list"),
    ("llama", dict(layer_types=["full_attention", "spiral"]), "layer_types: 'spiral'"),
    ("qwen3next", dict(layer_types=["spiral"] * 4), "layer_types: 'spiral'"),
    ("glm-dsa", dict(indexer_types=["full", "spiral"]), "indexer_types: 'spiral'"),
    ("dots1", dict(scoring_func="tanh"), "scoring_func: 'tanh'"),
    ("afmoe", dict(score_func="tanh"), "score_func: 'tanh'"),
    ("kimi-linear", dict(moe_router_activation_func="tanh"), "moe_router_activation_func: 'tanh'"),
    ("cohere2moe", dict(expert_selection_fn="tanh"), "expert_selection_fn: 'tanh'"),
    ("glm4moe", dict(scoring_func="softmax"), "scoring_func: 'softmax'"),
    ("lfm2moe", dict(scoring_func="softmax"), "scoring_func: 'softmax'"),
    ("llama", dict(hidden_act="spiral"), "hidden_act: 'spiral'"),
    ("gemma2", dict(hidden_activation="spiral"), "hidden_activation: 'spiral'"),
    ("bert", dict(hidden_act="spiral"), "hidden_act: 'spiral'"),
    ("nemotron-h", dict(mlp_hidden_act="spiral"), "mlp_hidden_act: 'spiral'"),
    ("bert", dict(position_embedding_type="spiral"), "position_embedding_type: 'spiral'"),
    ("deepseek-v3", dict(topk_method="spiral"), "topk_method: 'spiral'"),
    ("mimo2", dict(topk_method="spiral"), "topk_method: 'spiral'"),
    ("laguna", dict(gating="spiral"), "gating: 'spiral'"),
    ("mellum", dict(rope_parameters={"sliding_attention": {"rope_type": "spiral"}}), "sliding_attention.rope_type: 'spiral'"),
    ("jais", dict(position_embedding_type="spiral"), "position_embedding_type: 'spiral'"),
    ("granitehybrid", dict(position_embedding_type="spiral"), "position_embedding_type: 'spiral'"),
    ("nemotron-h", dict(mamba_hidden_act="spiral"), "mamba_hidden_act: 'spiral'"),
    ("minimax-m3", dict(hidden_act="spiral"), "hidden_act: 'spiral'"),
    ("cohere2moe", dict(shared_expert_combination_strategy="spiral"), "shared_expert_combination_strategy: 'spiral'"),
    ("step35", dict(moe_layers_enum="spiral"), "moe_layers_enum: 'spiral'"),
    ("llama", dict(rope_scaling="linear"), "rope_scaling: settings"),
    ("qwen3", dict(rope_parameters=[1]), "rope_parameters: settings"),
    ("llama", dict(rope_scaling={"type": "linear", "factor": 0}), "factor: this setting"),
    ("llama", dict(rope_scaling={"type": "yarn", "factor": -2.0}), "factor: this setting"),
    # what transformers has no default for
    ("llama", dict(rope_scaling={"type": "linear"}), "factor: this type"),
    ("llama", dict(rope_scaling={"type": "linear", "factor": None}), "factor: this type"),
    ("llama", dict(rope_scaling={"type": "dynamic"}), "factor: this type"),
    ("llama", dict(rope_scaling={"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}), "factor: this type"),
    ("llama", dict(rope_scaling={"rope_type": "llama3", "factor": 8.0, "high_freq_factor": 4.0}), "low_freq_factor: this type"),
    ("llama", dict(rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}), "high_freq_factor: this type"),
    ("qwen3", dict(rope_parameters={"rope_type": "yarn", "rope_theta": 1e6}), "factor: this type"),
    ("gpt2", dict(rope_scaling={"rope_type": "yarn"}), "factor: this type"),
    ("exaone4", dict(rope_scaling={"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}), "factor: this type"),
    ("gemma4", dict(rope_parameters={"full_attention": {"rope_type": "linear"}}), "factor: this type"),
    ("phi3", dict(rope_scaling={"type": "longrope", "short_factor": [1.0] * 8}), "long_factor: this type"),
    ("phi3", dict(rope_scaling={"type": "longrope", "long_factor": [1.0] * 8}), "short_factor: this type"),
    ("llama", dict(rope_theta=0), "rope_theta: this setting"),
    ("llama", dict(rope_theta=-10000.0), "rope_theta: this setting"),
    ("qwen3", dict(rope_parameters={"rope_type": "default", "rope_theta": 0.0}), "rope_theta: this setting"),
    ("gemma3", dict(rope_local_base_freq=0), "rope_theta of layers with a window: this setting"),
    ("llama", dict(rope_scaling=dict(SCALED, type="yarn", original_max_position_embeddings=0)),
     "original_max_position_embeddings: this setting"),
    # numbers and truths that are texts
    ("llama", dict(tie_word_embeddings="false"), "tie_word_embeddings"),
    ("llama", dict(hidden_size="64"), "hidden_size"),
    ("llama", dict(num_hidden_layers="2"), "num_hidden_layers"),
    ("llama", dict(num_key_value_heads="2"), "num_key_value_heads"),
    ("llama", dict(rms_norm_eps="1e-05"), "rms_norm_eps"),
    ("llama", dict(rope_theta="10000"), "rope_theta"),
    ("llama", dict(rope_scaling={"type": "linear", "factor": "2"}), "rope_scaling.factor"),
    ("falcon-h1", dict(attention_bias="false"), "attention_bias"),
    ("qwen3moe", dict(norm_topk_prob="false"), "norm_topk_prob"),
    ("gpt2", dict(scale_attn_weights="true"), "scale_attn_weights"),
    ("gemma2", dict(query_pre_attn_scalar="16"), "query_pre_attn_scalar"),
    ("cohere2", dict(logit_scale="0.1"), "logit_scale"),
    ("gemma3n", dict(intermediate_size=["96"] * 4), "intermediate_size"),
    ("falcon-7b", dict(alibi="false"), "alibi"),
]

# ---- two spellings of the same: models are the same but for their names ------------------------------

SAME = [
    ("granitehybrid", dict(layer_types=["mamba", "attention", "mamba"]),
     dict(layer_types=["linear_attention", "full_attention", "linear_attention"])),
    ("granitehybrid", dict(layer_types=["mamba", "attention", "mamba"]),
     dict(layer_types=None, layers_block_type=["linear_attention", "full_attention", "mamba"])),
    ("granitehybrid-attention", dict(layer_types=["attention"] * 2), dict(layer_types=["full_attention"] * 2)),
    ("nemotron-h", dict(hybrid_override_pattern="M-*-"),
     dict(hybrid_override_pattern=None, num_hidden_layers=None, layers_block_type=["linear_attention", "mlp", "full_attention", "mlp"])),
    ("nemotron-h", dict(hybrid_override_pattern="M-*-"),
     dict(hybrid_override_pattern=None, layer_types=["mamba", "mlp", "attention", "mlp"])),
    ("lfm2", dict(layer_types=["conv", "full_attention"]), dict(layer_types=["conv", "attention"])),
    ("phi3", dict(rope_scaling={"type": "su", "long_factor": [1.0] * 8, "short_factor": [1.0] * 8}),
     dict(rope_scaling={"type": "longrope", "long_factor": [1.0] * 8, "short_factor": [1.0] * 8})),
    ("dots1", dict(scoring_func="sigmoid"), dict(scoring_func="noaux_tc")),
    ("llama", dict(rope_scaling=dict(SCALED, type="yarn", factor=2.0, original_max_position_embeddings=64), max_position_embeddings=128),
     dict(rope_scaling=dict(SCALED, type="yarn", factor=None, original_max_position_embeddings=64), max_position_embeddings=128)),
    ("llama", dict(rope_scaling=dict(SCALED, type="yarn")),
     dict(rope_scaling=dict(SCALED, type="yarn"), rope_parameters={"rope_type": "linear", "factor": 8.0, "rope_theta": 5.0})),
]

# ---- what llama.cpp has in other architectures only: said, by the member ------------------------------

NULL = object()  # a member that is there; None: it is gone
WARNED = [
    ("qwen3", dict(rope_scaling=dict(SCALED, rope_type="llama3", low_freq_factor=1.0, high_freq_factor=4.0)), "rope_type llama3"),
    ("gpt2", dict(rope_scaling=dict(SCALED, rope_type="longrope", long_factor=[1.0] * 8, short_factor=[1.0] * 8)), "rope_type longrope"),
    ("qwen3", dict(layer_types=["full_attention", "sliding_attention"], sliding_window=8, use_sliding_window=True),
     "layer_types has sliding_attention"),
    ("llama", dict(rope_scaling={"type": "dynamic", "factor": 2.0}), "rope_type dynamic"),
    ("llama", dict(rope_scaling={"factor": 2.0}), "a factor and no type"),
    ("llama", dict(rope_scaling=dict(SCALED, type="yarn"), rope_parameters=dict(SCALED, rope_type="linear")), "rope_parameters says"),
    ("llama", dict(rope_scaling=dict(SCALED, type="yarn"), rope_parameters={"rope_type": "default", "rope_theta": 1e6}), "rope_parameters says"),
    ("llama", dict(quantization_config={"quant_method": "spiral"}), "quant_method: tare does not know 'spiral'"),
    ("llama", dict(quantization_config={"bits": 4}), "quantization_config has no quant_method"),
    ("bert", dict(position_embedding_type="relative_key"), "position_embedding_type"),
    ("bert", dict(hidden_act="relu"), "hidden_act"),
    ("mellum", dict(rope_parameters={"sliding_attention": {"rope_type": "linear", "factor": 2.0}}), "sliding_attention.rope_type"),
    ("lfm2moe", dict(routed_scaling_factor=2.5), "routed_scaling_factor"),
    ("mimo2", dict(routed_scaling_factor=2.5), "routed_scaling_factor"),
    ("mamba2", dict(time_step_limit=[0.0, 0.1]), "time_step_limit"),
    ("falcon-h1", dict(time_step_limit=[0.01, {"__float__": "Infinity"}]), "time_step_limit"),
    ("nemotron-h", dict(time_step_min=0.01), "time_step_min"),
    ("nemotron-h", dict(mamba_hidden_act="gelu"), "mamba_hidden_act"),
    ("falcon-h1", dict(mamba_rms_norm=True, mamba_norm_before_gate=True), "mamba_norm_before_gate"),
    ("bloom", dict(apply_residual_connection_post_layernorm=True), "apply_residual_connection_post_layernorm"),
    ("gemma3", dict(attn_logit_softcapping=50.0), "attn_logit_softcapping"),
    ("gemma2", dict(attn_logit_softcapping=NULL), "attn_logit_softcapping null"),
    ("gemma3n", dict(final_logit_softcapping=NULL), "final_logit_softcapping"),
    ("gemma3", dict(use_bidirectional_attention=True), "use_bidirectional_attention"),
    ("embeddinggemma", dict(use_bidirectional_attention=False), "use_bidirectional_attention false"),
    ("gemma4", dict(use_bidirectional_attention="all"), "use_bidirectional_attention all"),
    ("gemma3n", dict(altup_correct_scale=False), "altup_correct_scale"),
    ("gpt-oss", {}, "truncate false"),
    ("gpt-oss", dict(swiglu_limit=5.0), "swiglu_limit"),
    ("gpt-oss", dict(swiglu_alpha=1.5), "swiglu_alpha"),
    ("laguna", dict(moe_router_logit_softcapping=30.0), "moe_router_logit_softcapping"),
    ("cohere2moe", dict(shared_expert_combination_strategy="sum"), "shared_expert_combination_strategy"),
    ("t5", dict(relative_attention_max_distance=64), "relative_attention_max_distance"),
    ("deepseek-v3", dict(rope_interleave=False), "rope_interleave"),
    ("minicpm3", dict(scale_emb=1), "scale_emb"),
    ("minicpm3", dict(scale_depth=1.0), "scale_depth"),
    ("llama4", dict(use_qk_norm=False), "use_qk_norm"),
    ("llama4", dict(floor_scale=4096), "floor_scale"),
    ("nomic-bert", dict(causal=True), "causal"),
    ("bert", dict(is_decoder=True), "is_decoder"),
    ("jais", dict(position_embedding_type="learned"), "position_embedding_type"),
    ("mpt", dict(logit_scale="inv_sqrt_d_model"), "logit_scale"),
    ("starcoder", dict(multi_query=False), "multi_query"),
    ("dbrx", dict(ffn_config=dict(ffn_hidden_size=96, moe_num_experts=4, moe_top_k=2, moe_normalize_expert_weights=2)),
     "moe_normalize_expert_weights"),
]
# How the states of tokens become one: a mode that llama.cpp has not, or two at once; what is said, the key.
POOLING = [
    ({"pooling_mode_mean_tokens": True}, None, 1),
    ({"pooling_mode": "cls"}, None, 2),
    ({"pooling_mode_max_tokens": True}, "pooling mode max_tokens", None),
    ({"pooling_mode": "spiral"}, "pooling mode spiral", None),
    ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "and others", None),
]
QUIET = [
    ("llama", dict(quantization_config={"quant_method": "compressed-tensors", "format": "dense"})),
    ("llama", dict(rope_theta=1e6, rope_scaling=dict(SCALED, type="yarn"), rope_parameters=dict(SCALED, rope_type="yarn", rope_theta=1000000))),
    ("llama", dict(rope_scaling={}, rope_parameters=dict(SCALED, rope_type="linear"))),
    ("llama-yarn", {}), ("llama-factors", {}), ("gemma4", {}), ("phi3", dict(sliding_window=None)), ("hunyuan-vl", {}), ("grok", {}),
    ("qwen3", dict(layer_types=["full_attention", "sliding_attention"], sliding_window=8, use_sliding_window=False)),
    ("nemotron-h", dict(rope_scaling=dict(SCALED, rope_type="yarn"))),
    ("mamba2", dict(time_step_limit=[0.0, float("inf")])), ("falcon-h1", dict(time_step_limit=[0.0, {"__float__": "Infinity"}])),
    ("llama4", {}), ("minicpm3", {}), ("mimo2", {}), ("jais", {}), ("nomic-bert", {}), ("deepseek-v3", {}), ("laguna", {}),
]


def bytes_of(path):
    """And the file is gone; None: there was none."""
    if not os.path.exists(path):
        return None
    with open(path, "rb") as f:
        content = f.read()
    os.remove(path)
    return content


def changed(model, name, members):
    shutil.rmtree(model, ignore_errors=True)
    tiny_models.write(model, name)
    config, tensors = load(model)
    config.update(members)
    store(model, {k: None if v is NULL else v for k, v in config.items() if v is not None or k not in members}, tensors)


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model, *outs = (os.path.join(folder, x) for x in ("model", "out.gguf", "other.gguf"))
    checks = Checks(tare)
    for name, members, said in UNKNOWN:
        for key in [k for k, v in members.items() if v is None]:
            del members[key]
        checks.found += faults(tare, folder, f"{name}: {members}", name, lambda c, t: c.update(members), ("config.json", said))
    for name, *both in SAME:
        for members, out in zip(both, outs):
            changed(model, name, members)
            checks.run("convert", model, out, "--no-tokenizer", "--no-sync", "--force", "--quiet")
        files = [bytes_of(out) for out in outs]
        checks.check(f"{name}: {both[1]} is another file than {both[0]}", files[0] == files[1])
    for name, members, *said in WARNED + QUIET:
        changed(model, name, members)
        done = checks.run("convert", model, outs[0], "--no-tokenizer", "--no-sync", "--force", "-v")
        is_said = "llama.not-applied" in done.stderr
        checks.check(f"{name}: {members}: {done.stderr}", said[0] in done.stderr if said else not is_said)
    for settings, said, number in POOLING:
        changed(model, "bert", {})
        for name, content in (("modules.json", [{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]),
                              ("1_Pooling/config.json", settings)):
            os.makedirs(os.path.dirname(os.path.join(model, name)), exist_ok=True)
            with open(os.path.join(model, name), "w", encoding="utf-8") as f:
                json.dump(content, f)
        done = checks.run("convert", model, outs[0], "--no-tokenizer", "--no-sync", "--force")
        key = gguf.GGUFReader(outs[0]).get_field("bert.pooling_type")
        checks.check(f"{settings}: {done.stderr}", (said or "") in done.stderr and done.stderr.count("not-applied") == bool(said)
                     and (key.contents() if key else None) == number)
    shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
