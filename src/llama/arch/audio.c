/* SPDX-License-Identifier: MIT
 *
 * Audio encoders: Whisper's encoder in Ultravox, Voxtral, Qwen 2 Audio, Audio Flamingo 3, GLM-ASR,
 * MERaLiON 2. */
#include "llama/arch/tower_rows.h"

#define WHISPER_KEYS_OF(c, projector)                                                              \
    KEY_FILE_TYPE, AUDIO_KEYS(c), KEY_PROJECTOR(projector), KEYS_WHISPER(c)
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

#define WHISPER_RULES(p)                                                                           \
    {p "embed_positions.weight", "=a.position_embd.weight", NULL}, WHISPER_CONVOLVE(p),            \
        WHISPER_BLOCKS(p), {                                                                       \
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

#define WHISPER_TOWER(type, without)                                                               \
    {                                                                                              \
        .projector = type, .optional = without, .takes = "audio_tower. multi_modal_projector.",    \
        .layers = AUDIO_LAYERS("audio_config"), .f16 = WHISPER_CONVOLUTIONS                        \
    }
/* Its numbers do not fit F16. */
static const tare_llama_tower flamingo_tower = {.optional = "mm.a.fc mm.a.norm_pre mm.a.norm_mid",
                                                .projector = "musicflamingo",
                                                .takes = "audio_tower. multi_modal_projector.",
                                                .layers = AUDIO_LAYERS("audio_config"),
                                                .f32 = WHISPER_CONVOLUTIONS};
static const tare_llama_tower glm_tower = {.optional = "a.post_ln",
                                           .projector = "glma",
                                           .takes = "audio_encoder.",
                                           .layers = AUDIO_LAYERS("whisper_config"),
                                           .f16 = WHISPER_CONVOLUTIONS};
static const tare_llama_tower meralion_tower = {
    .projector = "meralion",
    .takes = "speech_encoder. ln_speech. speech_audio_adapter.",
    .layers = AUDIO_LAYERS("speech_config"),
    .f16 = WHISPER_CONVOLUTIONS};
static const tare_llama_tower qwen2_tower =
    WHISPER_TOWER("qwen2a", "mm.a.mlp.1 mm.a.mlp.2 mm.a.norm_pre mm.a.norm_mid");
static const tare_llama_tower ultravox_tower = WHISPER_TOWER("ultravox", "mm.a.fc");
static const tare_llama_tower voxtral_tower =
    WHISPER_TOWER("voxtral", "mm.a.fc mm.a.norm_pre mm.a.norm_mid");

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
