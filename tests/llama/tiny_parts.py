# SPDX-License-Identifier: MIT
"""What tiny models are made of: the registry, and the tensors that many architectures share."""
MODELS = {}


def model(name, **about):
    """Registers a function that gives (config, {tensor: shape}); `about`: dtype, files."""
    def register(function):
        MODELS[name] = (function, about)
        return function
    return register


# ---- parts ------------------------------------------------------------------------------------------

def dense(config, layers=None, prefix="model.", bias=False, qk_norm=False, gate=True, norm="weight",
          post="post_attention_layernorm", head=True, fused=False):
    """The tensors of a decoder with Llama's names."""
    c = config
    h = c["hidden_size"]
    heads = c["num_attention_heads"]
    kv = c.get("num_key_value_heads") or heads
    d = c.get("head_dim") or h // heads
    ff = c["intermediate_size"]
    t = {prefix + "embed_tokens.weight": (c["vocab_size"], h), prefix + "norm.weight": (h,)}
    if head:
        t["lm_head.weight"] = (c["vocab_size"], h)
    for n in range(layers or c["num_hidden_layers"]):
        p = f"{prefix}layers.{n}."
        t[p + "input_layernorm.weight"] = (h,)
        t[p + post + ".weight"] = (h,)
        if fused:
            t[p + "self_attn.qkv_proj.weight"] = ((heads + 2 * kv) * d, h)
            t[p + "mlp.gate_up_proj.weight"] = (2 * ff, h)
        else:
            for x, rows in (("q", heads * d), ("k", kv * d), ("v", kv * d)):
                t[p + f"self_attn.{x}_proj.weight"] = (rows, h)
                if bias:
                    t[p + f"self_attn.{x}_proj.bias"] = (rows,)
            t[p + "mlp.up_proj.weight"] = (ff, h)
            if gate:
                t[p + "mlp.gate_proj.weight"] = (ff, h)
        t[p + "self_attn.o_proj.weight"] = (h, heads * d)
        t[p + "mlp.down_proj.weight"] = (h, ff)
        if qk_norm:
            t[p + "self_attn.q_norm.weight"] = (d,)
            t[p + "self_attn.k_norm.weight"] = (d,)
    return t


def base(architecture, model_type, **more):
    c = dict(architectures=[architecture], model_type=model_type, vocab_size=320, hidden_size=64,
             intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, rms_norm_eps=1e-5, rope_theta=10000.0,
             tie_word_embeddings=False, torch_dtype="bfloat16")
    c.update(more)
    return {k: v for k, v in c.items() if v is not None}


def experts(t, c, n, ff, names=("gate_proj", "up_proj", "down_proj"), block="mlp", router="gate",
            layers=None):
    """Replaces the dense feed-forward of layers by n experts."""
    h = c["hidden_size"]
    for i in layers if layers is not None else range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for x in ("gate_proj", "up_proj", "down_proj"):
            t.pop(p + f"mlp.{x}.weight", None)
        t[p + f"{block}.{router}.weight"] = (n, h)
        for e in range(n):
            gate, up, down = names
            t[p + f"{block}.experts.{e}.{gate}.weight"] = (ff, h)
            t[p + f"{block}.experts.{e}.{up}.weight"] = (ff, h)
            t[p + f"{block}.experts.{e}.{down}.weight"] = (h, ff)
    return t


def blocks(prefix, n, shapes):
    """The same tensors in each of n blocks; "NAME@" has a bias beside its weight."""
    t = {}
    for i in range(n):
        for name, shape in shapes.items():
            if name.endswith("@"):
                t[f"{prefix}{i}.{name[:-1]}.weight"] = shape
                t[f"{prefix}{i}.{name[:-1]}.bias"] = shape[:1]
            else:
                t[f"{prefix}{i}.{name}"] = shape
    return t


def ends(t, **shapes):
    """Tensors outside blocks, dots in names written as "__"."""
    t.update({name.replace("__", "."): shape for name, shape in shapes.items()})
    return t
