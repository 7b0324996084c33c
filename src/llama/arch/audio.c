/* SPDX-License-Identifier: MIT
 *
 * Audio encoders: Whisper's encoder in Ultravox, Voxtral, Qwen 2 Audio. */
#include "llama/arch/tower_rows.h"

#define AUDIO_LAYERS "audio_config.num_hidden_layers | audio_config.encoder_layers"
#define AUDIO_KEYS                                                                                 \
    KEY_FILE_TYPE, {"has_audio_encoder", BOOL, "true"},                                            \
        {"audio.projection_dim", U32, "hidden_size | n_embd"},                                     \
        {"audio.embedding_length", U32, "audio_config.hidden_size | audio_config.d_model"},        \
        {"audio.feed_forward_length", U32,                                                         \
         "audio_config.intermediate_size | audio_config.encoder_ffn_dim"},                         \
        {"audio.block_count", U32, "layers"}, {                                                    \
        "audio.attention.head_count", U32,                                                         \
            "audio_config.num_attention_heads | audio_config.encoder_attention_heads"              \
    }
#define WHISPER_KEYS(projector)                                                                    \
    AUDIO_KEYS, KEY_PROJECTOR(projector),                                                          \
        {"audio.num_mel_bins", U32, "audio_config.num_mel_bins"}, {                                \
        "audio.attention.layer_norm_epsilon", F32, "audio_config.layer_norm_eps | 0.00001"         \
    }
#define KEY_STACK(formula)                                                                         \
    { "audio.projector.stack_factor", U32, formula }
static const tare_llama_key qwen2_keys[] = {WHISPER_KEYS("qwen2a"), END_OF_KEYS};
static const tare_llama_key ultravox_keys[] = {WHISPER_KEYS("ultravox"), KEY_STACK("stack_factor"),
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

#define WHISPER_BLOCK(name, to)                                                                    \
    { "audio_tower.layers.#." name "@", "=a.blk.#." to, NULL }
static const tare_llama_rule whisper_rules[] = {
    {"audio_tower.embed_positions.weight", "=a.position_embd.weight", NULL},
    {"audio_tower.conv1.weight", "=a.conv1d.1.weight", NULL},
    {"audio_tower.conv2.weight", "=a.conv1d.2.weight", NULL},
    /* a column, which is added to all steps in time */
    {"audio_tower.conv1.bias", "=a.conv1d.1.bias", "view(d0, 1)"},
    {"audio_tower.conv2.bias", "=a.conv1d.2.bias", "view(d0, 1)"},
    WHISPER_BLOCK("self_attn.q_proj", "attn_q"),
    WHISPER_BLOCK("self_attn.k_proj", "attn_k"),
    WHISPER_BLOCK("self_attn.v_proj", "attn_v"),
    WHISPER_BLOCK("self_attn.out_proj", "attn_out"),
    WHISPER_BLOCK("self_attn_layer_norm", "ln1"),
    WHISPER_BLOCK("final_layer_norm", "ln2"),
    WHISPER_BLOCK("fc1", "ffn_up"),
    WHISPER_BLOCK("fc2", "ffn_down"),
    {"audio_tower.layer_norm@", "=a.post_ln", NULL},
    {"multi_modal_projector.linear@", "=mm.a.fc", NULL},
    {"multi_modal_projector.linear_1@", "=mm.a.mlp.1", NULL},
    {"multi_modal_projector.linear_2@", "=mm.a.mlp.2", NULL},
    {"multi_modal_projector.ln_pre@", "=mm.a.norm_pre", NULL},
    {"multi_modal_projector.ln_mid@", "=mm.a.norm_mid", NULL},
    END_OF_RULES};
#define WHISPER_TOWER(type)                                                                        \
    {                                                                                              \
        .projector = type, .takes = "audio_tower. multi_modal_projector.", .layers = AUDIO_LAYERS, \
        .f16 = "a.conv1d.1 a.conv1d.2"                                                             \
    }
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
    {.name = NULL},
};
