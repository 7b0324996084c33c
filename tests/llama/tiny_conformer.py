# SPDX-License-Identifier: MIT
"""Tiny models that hear with convolutions between the parts of a block: Granite Speech, LFM2-Audio; Granite 4 Vision,
whose projectors are like those of Granite Speech."""
import numpy as np
from tiny_parts import MODELS, base, blocks, dense, model
from tiny_towers import HALF, TEXT, WIDTH, processor, siglip, vision, whole


def with_biases(t, shapes):
    for name, shape in shapes.items():
        t[name + ".weight"], t[name + ".bias"] = shape, shape[:1]
    return t


def batch_norms(t, names, seed):
    """Their variances are above 0."""
    rng = np.random.default_rng(seed)
    for name in names:
        t[name + ".num_batches_tracked"] = np.array(7, dtype=np.int64)
        t[name + ".running_var"] = (0.25 + rng.random(2 * WIDTH)).astype(np.float32)
        t[name + ".running_mean"] = t[name + ".weight"] = t[name + ".bias"] = (2 * WIDTH,)
    return t


def qformer(t, q, wide=1):
    """A layer of a Q-Former; `wide`: what it looks at is so many times as wide."""
    for kind, rows in (("attention.", WIDTH), ("crossattention.", wide * WIDTH)):
        with_biases(t, {q + kind + "attention.query": (WIDTH, WIDTH), q + kind + "attention.key": (WIDTH, rows),
                        q + kind + "attention.value": (WIDTH, rows), q + kind + "output.dense": (WIDTH, WIDTH),
                        q + kind + "output.LayerNorm": (WIDTH,)})
    return with_biases(t, {q + "intermediate_query.dense": (64, WIDTH), q + "output_query.dense": (WIDTH, 64),
                           q + "output_query.LayerNorm": (WIDTH,)})


# ---- Granite Speech -------------------------------------------------------------------------------------

def granite(architecture, model_type, wide=1, **more):
    c = base("GraniteForCausalLM", "granite", attention_multiplier=0.125, embedding_multiplier=12.0,
             residual_multiplier=0.25, logits_scaling=8.0)
    t = {"language_model." + k: v for k, v in dense(c).items()}
    p = "encoder.layers."
    t.update(blocks(p, 2, {
        "ff1.pre_norm@": (WIDTH,), "ff1.up_proj@": (2 * WIDTH, WIDTH), "ff1.down_proj@": (WIDTH, 2 * WIDTH),
        "ff2.pre_norm@": (WIDTH,), "ff2.up_proj@": (2 * WIDTH, WIDTH), "ff2.down_proj@": (WIDTH, 2 * WIDTH),
        "attn.pre_norm@": (WIDTH,), "attn.to_q.weight": (WIDTH, WIDTH), "attn.to_kv.weight": (2 * WIDTH, WIDTH),
        "attn.to_out@": (WIDTH, WIDTH), "attn.rel_pos_emb.weight": (1025, WIDTH // 4), "conv.norm@": (WIDTH,),
        "conv.up_conv@": (4 * WIDTH, WIDTH, 1), "conv.depth_conv.conv.weight": (2 * WIDTH, 1, 15),
        "conv.down_conv@": (WIDTH, 2 * WIDTH, 1), "post_norm@": (WIDTH,)}))
    batch_norms(t, [f"{p}{i}.conv.batch_norm" for i in range(2)], 16)
    t["encoder.attention_dists"] = np.zeros((200, 200), dtype=np.int64)
    with_biases(t, {"encoder.input_linear": (WIDTH, 160), "encoder.out": (42, WIDTH), "encoder.out_mid": (WIDTH, 42),
                    "projector.qformer.layernorm": (WIDTH,), "projector.linear": (TEXT, WIDTH)})
    t["projector.query"] = (1, 3, WIDTH)
    for i in range(2):
        qformer(t, f"projector.qformer.encoder.layer.{i}.", wide)
    encoder = dict(model_type="granite_speech_encoder", hidden_dim=WIDTH, feedforward_mult=2, num_heads=4, dim_head=8,
                   num_layers=2, input_dim=160, context_size=200, conv_kernel_size=15, conv_expansion_factor=2,
                   max_pos_emb=512, output_dim=42, **more)
    projector = dict(model_type="blip_2_qformer", hidden_size=WIDTH, encoder_hidden_size=wide * WIDTH, intermediate_size=64,
                     num_attention_heads=4, num_hidden_layers=2, cross_attention_frequency=1)
    config = whole(c, architecture, model_type, encoder, key="encoder_config", projector_config=projector, window_size=15,
                   downsample_rate=5, has_lora_adapter=False)
    config["text_config"]["architectures"] = ["GraniteForCausalLM"]
    return config, t


@model("granite-speech-audio", tower="audio")
def _():
    return granite("GraniteSpeechForConditionalGeneration", "granite_speech")


@model("granite-speech-plus", tower="audio")
def _():
    return granite("GraniteSpeechPlusForConditionalGeneration", "granite_speech_plus", 2, cat_hidden_layers=[1])


# ---- Granite 4 Vision -----------------------------------------------------------------------------------

@model("granite4-vision", tower=True, files=processor(HALF, HALF))
def _():
    c = base("GraniteForCausalLM", "granite", num_hidden_layers=4, attention_multiplier=0.125, embedding_multiplier=12.0,
             residual_multiplier=0.25, logits_scaling=8.0)
    t = {"model.language_model." + k.replace("model.", "", 1) if k != "lm_head.weight" else k: v
         for k, v in dense(c).items()}
    seen = siglip("model.vision_tower.vision_model.", head=True)
    for name in ("layerwise_projectors.0", "layerwise_projectors.1", "spatial_projectors.0", "spatial_projectors.1"):
        p = f"model.{name}."
        seen[p + "query"], seen[p + "image_positions"] = (1, 4, WIDTH), (1, 16, WIDTH)
        with_biases(seen, {p + "norm": (WIDTH,), p + "qformer.layernorm": (WIDTH,), p + "out_linear": (TEXT, WIDTH)})
        qformer(seen, p + "qformer.encoder.layer.0.")
    # llama.cpp's heads are 64 wide
    t.update({k: tuple(64 if n == WIDTH else n for n in shape) for k, shape in seen.items()})
    t["model.image_newline"] = (TEXT,)
    v = vision("siglip_vision_model", layer_norm_eps=1e-6, hidden_size=64)
    config = whole(c, "Granite4VisionForConditionalGeneration", "granite4_vision", v, downsample_rate="2/4",
                   deepstack_layer_map=[[-1, 3], [-3, 0]], spatial_target_layers=[2, 1], spatial_vision_layer=-2,
                   image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]])
    config["text_config"]["architectures"] = ["GraniteForCausalLM"]
    return config, t


# ---- LFM2-Audio -----------------------------------------------------------------------------------------

@model("lfm2-audio", tower="audio")
def _():
    c, t = MODELS["lfm2"][0]()
    t = {k.replace("model.", "lfm.", 1): v for k, v in t.items()}
    p = "conformer.layers."
    t.update(blocks(p, 7, {  # as many as the reference takes its convolutions for
        "norm_feed_forward1@": (WIDTH,), "feed_forward1.linear1@": (4 * WIDTH, WIDTH), "feed_forward1.linear2@": (WIDTH, 4 * WIDTH),
        "norm_feed_forward2@": (WIDTH,), "feed_forward2.linear1@": (4 * WIDTH, WIDTH), "feed_forward2.linear2@": (WIDTH, 4 * WIDTH),
        "norm_self_att@": (WIDTH,), "self_attn.linear_q@": (WIDTH, WIDTH), "self_attn.linear_k@": (WIDTH, WIDTH),
        "self_attn.linear_v@": (WIDTH, WIDTH), "self_attn.linear_out@": (WIDTH, WIDTH),
        "self_attn.linear_pos.weight": (WIDTH, WIDTH), "self_attn.pos_bias_u": (4, WIDTH // 4),
        "self_attn.pos_bias_v": (4, WIDTH // 4), "norm_conv@": (WIDTH,), "conv.pointwise_conv1@": (2 * WIDTH, WIDTH, 1),
        "conv.depthwise_conv@": (WIDTH, 1, 9), "conv.pointwise_conv2@": (WIDTH, WIDTH, 1), "norm_out@": (WIDTH,)}))
    batch_norms(t, [f"{p}{i}.conv.batch_norm" for i in range(7)], 17)
    for i in range(7):
        q = f"{p}{i}.conv.batch_norm."
        t[q + "running_var"] = t[q + "running_var"][:WIDTH]
        t[q + "running_mean"] = t[q + "weight"] = t[q + "bias"] = (WIDTH,)
    with_biases(t, {"conformer.pre_encode.conv.0": (WIDTH, 1, 3, 3), "conformer.pre_encode.conv.2": (WIDTH, 1, 3, 3),
                    "conformer.pre_encode.conv.3": (WIDTH, WIDTH, 1, 1), "conformer.pre_encode.conv.5": (WIDTH, 1, 3, 3),
                    "conformer.pre_encode.conv.6": (WIDTH, WIDTH, 1, 1), "conformer.pre_encode.out": (WIDTH, 16 * WIDTH),
                    "audio_adapter.model.0": (WIDTH,), "audio_adapter.model.1": (64, WIDTH), "audio_adapter.model.3": (TEXT, 64)})
    t.update({"audio_embedding.embedding.weight": (96, TEXT), "audio_embedding.embedding_norm.weight": (TEXT,),
              "audio_embedding.to_logits.weight": (96, TEXT), "codebook_offsets": np.arange(8, dtype=np.int64),
              "audio_loss_weights": (8,), "depth_linear.weight": (64, TEXT), "depth_embeddings.0.embedding.weight": (96, 64),
              "depthformer.layers.0.operator_norm.weight": (64,)})
    encoder = dict(feat_in=128, n_layers=7, d_model=WIDTH, n_heads=4, subsampling_factor=8, conv_kernel_size=9,
                   ff_expansion_factor=4)
    inner = {k: v for k, v in c.items() if k != "torch_dtype"}
    return {"architectures": ["Lfm2AudioForConditionalGeneration"], "model_type": "lfm2_audio", "torch_dtype": "bfloat16",
            "lfm": inner, "encoder": encoder}, t
