/* SPDX-License-Identifier: MIT
 *
 * Encoders of models that see and hear: Qwen 2.5 Omni, Qwen 3 Omni; and of Qwen 3 ASR, which hears
 * as the latter does. */
#include <math.h>

#include "base/str.h"
#include "llama/arch/tower_rows.h"

/* ---- positions in time ----------------------------------------------------------------------- */

enum { SOUND_STEPS = 1500, MOST_WIDTH = 16384 };

/* Sines of all frequencies, then cosines, in the steps of f32 that torch takes. */
static void put_positions(float *out, size_t width) {
    const size_t n = width / 2;
    const float step = (float)-(log(10000.0) / (double)(n - 1));
    for (size_t i = 0; i < n; i++) {
        const float frequency = (float)exp((double)(step * (float)i));
        for (size_t t = 0; t < SOUND_STEPS; t++) {
            const double at = (double)((float)t * frequency);
            out[t * width + i] = (float)sin(at);
            out[t * width + n + i] = (float)cos(at);
        }
    }
}

/* Whisper's positions, which these models compute. */
static tare_status add_positions(tare_llama_mapping *m, tare_error *err) {
    double width;
    TARE_TRY(tare_llama_number(&width, m, "audio_config.d_model", 0, err));
    if (!(width >= 4 && width <= MOST_WIDTH) || fmod(width, 2) != 0) {
        tare_fail(err, TARE_ERR_CORRUPT, "no width that an encoder of sounds could have");
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
        tare_error_detail(err, "audio_config.d_model is %.0f", width);
        return TARE_ERR_CORRUPT;
    }
    const size_t bytes = SOUND_STEPS * (size_t)width * sizeof(float);
    float *values = tare_alloc(m->out->allocator, bytes);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "positions");
    put_positions(values, (size_t)width);
    const uint64_t dims[] = {SOUND_STEPS, (uint64_t)width};
    const tare_status status =
        tare_llama_generate_shaped(m, "a.position_embd.weight", values, dims, 2, err);
    tare_free(m->out->allocator, values, bytes);
    return status;
}

/* ---- what they share ------------------------------------------------------------------------- */

/* Speaking is no part of either file. */
#define DROP_SPEECH RULE_DROP("talker.*"), RULE_DROP("token2wav.*"), RULE_DROP("code2wav.*")
#define OMNI_RULES                                                                                 \
    DROP_SPEECH, WHISPER_BLOCKS("audio_tower."), {                                                 \
        "audio_tower.ln_post@", "=a.post_ln", NULL                                                 \
    }

/* ---- Qwen 2.5 Omni --------------------------------------------------------------------------- */

static const char *const omni25_defaults[] = {"vision_config.image_size = 560", NULL};
static const tare_llama_key omni25_keys[] = {VISION_KEYS,
                                             AUDIO_KEYS("audio_config"),
                                             KEYS_WHISPER("audio_config"),
                                             KEY_PROJECTOR("qwen2.5o"),
                                             KEY_SILU,
                                             {"vision.n_wa_pattern", U32, FULL_STEP},
                                             KEY_VISION_EPS("0.000001"),
                                             END_OF_KEYS};
static const tare_llama_rule omni25_rules[] = {OMNI_RULES,
                                               QWEN_BLOCKS,
                                               SPLIT_QKV("visual.blocks.#.attn.qkv@"),
                                               QWEN_GATED,
                                               QWEN_MERGER,
                                               WHISPER_CONVOLVE("audio_tower."),
                                               {"audio_tower.proj@", "=mm.a.fc", NULL},
                                               RULE_DROP("audio_tower.audio_bos_eos_token.weight"),
                                               END_OF_RULES};
static const tare_llama_must omni25_musts[] = {{FULL_IS_REGULAR, IRREGULAR}, {NULL, NULL}};
static const tare_llama_tower omni25_tower = {.projector = "qwen2.5o",
                                              .takes = "visual. audio_tower.",
                                              .layers = "vision_config.depth",
                                              .f16 = WHISPER_CONVOLUTIONS,
                                              .musts = omni25_musts,
                                              .generate = add_positions};

/* ---- Qwen 3 Omni, Qwen 3 ASR ----------------------------------------------------------------- */

static const char *const omni3_defaults[] = {QWEN3_IMAGE_SIZE, NULL};
#define KEY_HEARS                                                                                  \
    { "audio.projector_type", TEXT, "'qwen3a'" }
static const tare_llama_key omni3_keys[] = {VISION_KEYS,
                                            AUDIO_KEYS("audio_config"),
                                            KEYS_WHISPER("audio_config"),
                                            KEY_GELU,
                                            KEY_VISION_MERGE("vision_config.spatial_merge_size"),
                                            KEY_VISION_EPS("rms_norm_eps | 0.000001"),
                                            KEY_DEEPSTACK,
                                            {"vision.projector_type", TEXT, "'qwen3vl_merger'"},
                                            KEY_HEARS,
                                            END_OF_KEYS};
static const tare_llama_key asr_keys[] = {KEY_FILE_TYPE, AUDIO_KEYS("audio_config"),
                                          KEYS_WHISPER("audio_config"), KEY_HEARS, END_OF_KEYS};
#define SOUND2D(n)                                                                                 \
    {"audio_tower.conv2d" n ".weight", "=a.conv2d." n ".weight", NULL}, {                          \
        "audio_tower.conv2d" n ".bias", "=a.conv2d." n ".bias", "view(d0, 1, 1)"                   \
    }
#define OMNI3_RULES                                                                                \
    OMNI_RULES, SOUND2D("1"), SOUND2D("2"), SOUND2D("3"),                                          \
        {"audio_tower.conv_out@", "=a.conv_out", NULL},                                            \
        {"audio_tower.proj1@", "=mm.a.mlp.1", NULL}, {                                             \
        "audio_tower.proj2@", "=mm.a.mlp.2", NULL                                                  \
    }
#define SOUND2D_F16 "a.conv2d.1 a.conv2d.2 a.conv2d.3 a.conv_out"
static const tare_llama_rule omni3_rules[] = {OMNI3_RULES,
                                              QWEN3_BLOCKS,
                                              {"visual.merger.ln_q@", "=v.post_ln", NULL},
                                              {"visual.merger.mlp.#@", "=mm.#", NULL},
                                              DEEPSTACK("merger_list.#.ln_q", "norm"),
                                              DEEPSTACK("merger_list.#.mlp.0", "fc1"),
                                              DEEPSTACK("merger_list.#.mlp.2", "fc2"),
                                              END_OF_RULES};
static const tare_llama_rule asr_rules[] = {OMNI3_RULES, END_OF_RULES};
static const tare_llama_tower omni3_tower = {.projector = "qwen3a",
                                             .takes = "visual. audio_tower.",
                                             .layers = "vision_config.depth",
                                             .positions = VISION_GRID,
                                             .f16 = SOUND2D_F16,
                                             .generate = add_positions};
static const tare_llama_tower asr_tower = {.projector = "qwen3a",
                                           .takes = "audio_tower.",
                                           .layers = AUDIO_LAYERS("audio_config"),
                                           .f16 = SOUND2D_F16,
                                           .generate = add_positions};

const tare_llama_arch tare_llama_towers_omni[] = {
    {.name = CLIP,
     .classes = "Qwen2_5OmniModel Qwen2_5OmniForConditionalGeneration",
     .tensors = "",
     .defaults = omni25_defaults,
     .own = omni25_keys,
     .rules = omni25_rules,
     .tower = &omni25_tower},
    {.name = CLIP,
     .classes = "Qwen3OmniMoeForConditionalGeneration",
     .tensors = "",
     .defaults = omni3_defaults,
     .own = omni3_keys,
     .rules = omni3_rules,
     .tower = &omni3_tower},
    {.name = CLIP,
     .classes = "Qwen3ASRForConditionalGeneration",
     .tensors = "",
     .own = asr_keys,
     .rules = asr_rules,
     .tower = &asr_tower},
    {.name = NULL},
};
