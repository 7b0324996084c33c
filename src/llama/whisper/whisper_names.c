/* SPDX-License-Identifier: MIT
 *
 * The tensors of Whisper, in the order in which transformers lists its modules, which is that of the
 * files of whisper.cpp's own script. */
#include <stdio.h>

#include "llama/whisper/whisper_parts.h"

typedef struct row {
    const char *hf, *ours;
} row;

#define BOTH(a, b)                                                                                 \
    {a ".weight", b ".weight"}, {                                                                  \
        a ".bias", b ".bias"                                                                       \
    }
#define ATTENTION(a, b)                                                                            \
    {a ".k_proj.weight", b ".key.weight"}, BOTH(a ".v_proj", b ".value"),                          \
        BOTH(a ".q_proj", b ".query"), BOTH(a ".out_proj", b ".out"),                              \
        BOTH(a "_layer_norm", b "_ln")
#define FEED_FORWARD BOTH("fc1", "mlp.0"), BOTH("fc2", "mlp.2"), BOTH("final_layer_norm", "mlp_ln")

static const row encoder_first[] = {BOTH("conv1", "conv1"),
                                    BOTH("conv2", "conv2"),
                                    {"embed_positions.weight", "positional_embedding"}};
static const row encoder_layer[] = {ATTENTION("self_attn", "attn"), FEED_FORWARD};
static const row encoder_last[] = {BOTH("layer_norm", "ln_post")};
static const row decoder_first[] = {{"embed_tokens.weight", "token_embedding.weight"},
                                    {"embed_positions.weight", "positional_embedding"}};
static const row decoder_layer[] = {ATTENTION("self_attn", "attn"),
                                    ATTENTION("encoder_attn", "cross_attn"), FEED_FORWARD};
static const row decoder_last[] = {BOTH("layer_norm", "ln")};

typedef struct section {
    const char *part;
    const row *rows;
    size_t n;
    uint64_t repeats; /* layers; 0: none, it is there once */
} section;

static bool is_column(const char *part, const char *name) {
    return strcmp(part, "encoder") == 0 && strncmp(name, "conv", 4) == 0 && strstr(name, ".bias");
}

static void spell(tare_whisper_place *out, const section *s, uint64_t i) {
    const row *r = &s->rows[i % s->n];
    const unsigned long long layer = i / s->n;
    *out = (tare_whisper_place){.is_column = is_column(s->part, r->ours)};
    if (s->repeats) {
        snprintf(out->hf, sizeof out->hf, "%s.layers.%llu.%s", s->part, layer, r->hf);
        snprintf(out->ours, sizeof out->ours, "%s.blocks.%llu.%s", s->part, layer, r->ours);
    } else {
        snprintf(out->hf, sizeof out->hf, "%s.%s", s->part, r->hf);
        snprintf(out->ours, sizeof out->ours, "%s.%s", s->part, r->ours);
    }
}

#define ROWS(list) list, sizeof list / sizeof *list

bool tare_whisper_place_at(tare_whisper_place *out, uint64_t i, uint64_t n_encoder,
                           uint64_t n_decoder) {
    const section sections[] = {
        {"encoder", ROWS(encoder_first), 0},         {"encoder", ROWS(encoder_layer), n_encoder},
        {"encoder", ROWS(encoder_last), 0},          {"decoder", ROWS(decoder_first), 0},
        {"decoder", ROWS(decoder_layer), n_decoder}, {"decoder", ROWS(decoder_last), 0}};
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        const section *s = &sections[k];
        const uint64_t n = s->n * (s->repeats ? s->repeats : 1);
        if (i < n) {
            spell(out, s, i);
            return true;
        }
        i -= n;
    }
    return false;
}
