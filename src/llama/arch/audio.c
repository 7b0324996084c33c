/* SPDX-License-Identifier: MIT
 *
 * Audio encoders: Whisper's encoder in Ultravox, Voxtral, Qwen 2 Audio, Audio Flamingo 3, GLM-ASR,
 * MERaLiON 2. */
#include "llama/arch/tower_rows.h"

/* `c`: the member of config.json that tells of the encoder. */
#define AUDIO_LAYERS(c) c ".num_hidden_layers | " c ".encoder_layers"
#define AUDIO_KEYS(c)                                                                              \
    KEY_FILE_TYPE, {"has_audio_encoder", BOOL, "true"},                                            \
        {"audio.projection_dim", U32, "hidden_size | n_embd"},                                     \
        {"audio.embedding_length", U32, c ".hidden_size | " c ".d_model"},                         \
        {"audio.feed_forward_length", U32, c ".intermediate_size | " c ".encoder_ffn_dim"},        \
        {"audio.block_count", U32, "layers"}, {                                                    \
        "audio.attention.head_count", U32,                                                         \
            c ".num_attention_heads | " c ".encoder_attention_heads"                               \
    }
#define WHISPER_KEYS_OF(c, projector)                                                              \
    AUDIO_KEYS(c), KEY_PROJECTOR(projector), {"audio.num_mel_bins", U32, c ".num_mel_bins"}, {     \
        "audio.attention.layer_norm_epsilon", F32, c ".layer_norm_eps | 0.00001"                   \
    }
#define WHISPER_KEYS(projector) WHISPER_KEYS_OF("audio_config", projector)
#define KEY_STACK(formula)                                                                         \
    { "audio.projector.stack_factor", U32, formula }
static const tare_llama_key qwen2_keys[] = {WHISPER_KEYS("qwen2a"), END_OF_KEYS};
static const tare_llama_key ultravox_keys[] = {WHISPER_KEYS("ultravox"), KEY_STACK("stack_factor"),
                                               END_OF_KEYS};
static const tare_llama_key flamingo_keys[] = {WHISPER_KEYS("musicflamingo"), END_OF_KEYS};
static const tare_llama_key glm_keys[] = {WHISPER_KEYS_OF("whisper_config", "glma"),
                                          KEY_STACK("merge_factor"), END_OF_KEYS};
static const tare_llama_key meralion_keys[] = {WHISPER_KEYS_OF("speech_config", "meralion"),
                                               KEY_STACK("speech_mlp_scale_factor | 15"),
                                               END_OF_KEYS};
static const tare_llama_key voxtral_keys[] = {WHISPER_KEYS("voxtral"), KEY_STACK("4"), END_OF_KEYS};
static const char *const whisper_defaults[] = {"hidden_size = 4096",
                                               "audio_config.d_model = 1280",
                                               "audio_config.encoder_ffn_dim = 5120",
                                               "audio_config.encoder_layers = 32",
                                               "audio_config.encoder_attention_heads = 20",
                                               "audio_config.num_mel_bins = 128",
                                               "stack_factor = 8",
                                               NULL};

/* `p`: what stands before names. A bias of a convolution is a column, which is added to all steps
 * in time. */
#define WHISPER_BLOCK(p, name, to)                                                                 \
    { p "layers.#." name "@", "=a.blk.#." to, NULL }
#define WHISPER_RULES(p)                                                                           \
    {p "embed_positions.weight", "=a.position_embd.weight", NULL},                                 \
        {p "conv1.weight", "=a.conv1d.1.weight", NULL},                                            \
        {p "conv2.weight", "=a.conv1d.2.weight", NULL},                                            \
        {p "conv1.bias", "=a.conv1d.1.bias", "view(d0, 1)"},                                       \
        {p "conv2.bias", "=a.conv1d.2.bias", "view(d0, 1)"},                                       \
        WHISPER_BLOCK(p, "self_attn.q_proj", "attn_q"),                                            \
        WHISPER_BLOCK(p, "self_attn.k_proj", "attn_k"),                                            \
        WHISPER_BLOCK(p, "self_attn.v_proj", "attn_v"),                                            \
        WHISPER_BLOCK(p, "self_attn.out_proj", "attn_out"),                                        \
        WHISPER_BLOCK(p, "self_attn_layer_norm", "ln1"),                                           \
        WHISPER_BLOCK(p, "final_layer_norm", "ln2"), WHISPER_BLOCK(p, "fc1", "ffn_up"),            \
        WHISPER_BLOCK(p, "fc2", "ffn_down"), {                                                     \
        p "layer_norm@", "=a.post_ln", NULL                                                        \
    }
static const tare_llama_rule whisper_rules[] = {
    WHISPER_RULES("audio_tower."),
    {"multi_modal_projector.linear@", "=mm.a.fc", NULL},
    {"multi_modal_projector.linear_1@", "=mm.a.mlp.1", NULL},
    {"multi_modal_projector.linear_2@", "=mm.a.mlp.2", NULL},
    {"multi_modal_projector.ln_pre@", "=mm.a.norm_pre", NULL},
    {"multi_modal_projector.ln_mid@", "=mm.a.norm_mid", NULL},
    END_OF_RULES};
static const tare_llama_rule glm_rules[] = {
    WHISPER_RULES("audio_encoder.whisper."),
    /* what stands before and after a sound */
    {"audio_encoder.audio_bos_eos_token.weight", "=v.boi", "rows(0, 0, 1) view(d1)"},
    {"audio_encoder.audio_bos_eos_token.weight", "=v.eoi", "rows(0, 1, 1) view(d1)"},
    {"audio_encoder.layer_norm@", "=mm.a.norm_pre", NULL},
    {"audio_encoder.adapting.0@", "=mm.a.mlp.1", NULL},
    {"audio_encoder.adapting.2@", "=mm.a.mlp.2", NULL},
    RULE_DROP("audio_encoder.proj@"),
    END_OF_RULES};
static const tare_llama_rule meralion_rules[] = {
    WHISPER_RULES("speech_encoder."),
    {"ln_speech@", "=mm.a.norm_pre", NULL},
    {"speech_audio_adapter.mlp_adapter.0@", "=mm.a.mlp.0", NULL},
    {"speech_audio_adapter.gate_proj@", "=mm.a.mlp.1", NULL},
    {"speech_audio_adapter.pool_proj@", "=mm.a.mlp.2", NULL},
    {"speech_audio_adapter.out_proj@", "=mm.a.mlp.3", NULL},
    END_OF_RULES};

#define WHISPER_CONVOLUTIONS "a.conv1d.1 a.conv1d.2"
#define WHISPER_TOWER(type)                                                                        \
    {                                                                                              \
        .projector = type, .takes = "audio_tower. multi_modal_projector.",                         \
        .layers = AUDIO_LAYERS("audio_config"), .f16 = WHISPER_CONVOLUTIONS                        \
    }
/* Its numbers do not fit F16. */
static const tare_llama_tower flamingo_tower = {.projector = "musicflamingo",
                                                .takes = "audio_tower. multi_modal_projector.",
                                                .layers = AUDIO_LAYERS("audio_config"),
                                                .f32 = WHISPER_CONVOLUTIONS};
static const tare_llama_tower glm_tower = {.projector = "glma",
                                           .takes = "audio_encoder.",
                                           .layers = AUDIO_LAYERS("whisper_config"),
                                           .f16 = WHISPER_CONVOLUTIONS};
static const tare_llama_tower meralion_tower = {
    .projector = "meralion",
    .takes = "speech_encoder. ln_speech. speech_audio_adapter.",
    .layers = AUDIO_LAYERS("speech_config"),
    .f16 = WHISPER_CONVOLUTIONS};
static const tare_llama_tower qwen2_tower = WHISPER_TOWER("qwen2a");
static const tare_llama_tower ultravox_tower = WHISPER_TOWER("ultravox");
static const tare_llama_tower voxtral_tower = WHISPER_TOWER("voxtral");

const tare_llama_arch tare_llama_towers_audio[] = {
    {.name = CLIP,
     .classes = "Qwen2AudioForConditionalGeneration",
     .tensors = "",
     .defaults = whisper_defaults,
     .own = qwen2_keys,
     .rules = whisper_rules,
     .tower = &qwen2_tower},
    {.name = CLIP,
     .classes = "UltravoxModel",
     .tensors = "",
     .defaults = whisper_defaults,
     .own = ultravox_keys,
     .rules = whisper_rules,
     .tower = &ultravox_tower},
    {.name = CLIP,
     .classes = "VoxtralForConditionalGeneration",
     .tensors = "",
     .defaults = whisper_defaults,
     .own = voxtral_keys,
     .rules = whisper_rules,
     .tower = &voxtral_tower},
    {.name = CLIP,
     .classes = "AudioFlamingo3ForConditionalGeneration",
     .tensors = "",
     .defaults = whisper_defaults,
     .own = flamingo_keys,
     .rules = whisper_rules,
     .tower = &flamingo_tower},
    {.name = CLIP,
     .classes = "GlmasrModel",
     .tensors = "",
     .own = glm_keys,
     .rules = glm_rules,
     .tower = &glm_tower},
    {.name = CLIP,
     .classes = "MERaLiON2ForConditionalGeneration",
     .tensors = "",
     .own = meralion_keys,
     .rules = meralion_rules,
     .tower = &meralion_tower},
    {.name = NULL},
};
