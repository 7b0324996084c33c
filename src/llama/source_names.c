/* SPDX-License-Identifier: MIT
 *
 * Names of the input's tensors: which are left out, how an architecture wants them spelled, which
 * patterns of rules they match. */
#include <stdio.h>

#include "base/str.h"
#include "llama/mapping.h"

/* ---- which are left out ---------------------------------------------------------------------- */

bool tare_llama_contains(tare_str text, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.len; i++)
        if (memcmp(text.ptr + i, part, n) == 0) return true;
    return false;
}

bool tare_llama_is_buffer(tare_str name) {
    static const char *const ends[] = {".attention.masked_bias", ".attention.bias",
                                       ".rotary_emb.inv_freq"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (tare_str_ends(name, tare_str_of(ends[i]))) return true;
    return false;
}

/* Vision and audio encoders, projectors, and buffers that are no weights. */
bool tare_llama_is_left_out(tare_str name) {
    static const char *const starts[] = {"mlp",
                                         "vit.",
                                         "vpm.",
                                         "siglip2.",
                                         "conformer.",
                                         "merger.",
                                         "linear_proj.",
                                         "resampler.",
                                         "sound_encoder.",
                                         "sound_projection.",
                                         "speech_embeddings."};
    static const char *const parts[] = {"visual.",          "vision.",
                                        "audio.",           "talker.",
                                        "vision_",          "audio_",
                                        "token2wav.",       "code2wav.",
                                        "projector.",       "pre_mm_projector_norm",
                                        "image_newline",    "view_seperator",
                                        "patch_embed",      "patch_merger.",
                                        "patch_merge_mlp.", "model.connector."};
    /* of CogVLM's decoder, for the tokens of images */
    if (tare_llama_contains(name, ".vision_expert_") || tare_llama_contains(name, ".vision_mlp."))
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (tare_str_starts(name, tare_str_of(starts[i]))) return true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tare_llama_contains(name, parts[i])) return true;
    return tare_llama_is_buffer(name);
}

/* ---- names ----------------------------------------------------------------------------------- */

tare_str tare_llama_replaced(tare_str name, const char *from, const char *to, tare_arena *arena) {
    size_t n = strlen(from), k = strlen(to);
    if (!tare_llama_contains(name, from)) return name;
    char *out = tare_arena_take(arena, name.len + (name.len / n + 1) * k + 1);
    size_t at = 0;
    if (!out) return (tare_str){NULL, 0};
    for (size_t i = 0; i < name.len;) {
        if (i + n <= name.len && memcmp(name.ptr + i, from, n) == 0) {
            memcpy(out + at, to, k);
            at += k;
            i += n;
        } else {
            out[at++] = name.ptr[i++];
        }
    }
    return (tare_str){out, at};
}

/* "text_model. ernie.>model. .a=.b": texts to cut out, or to replace; with '=' the way back inserts
 * them again. */
static tare_str apply_cuts(tare_str name, const char *cuts, tare_arena *arena) {
    while (cuts && *cuts && name.ptr) {
        char from[48], to[48];
        size_t n = strcspn(cuts, " "), k = 0;
        const char *arrow = memchr(cuts, '>', n);
        if (!arrow) arrow = memchr(cuts, '=', n);
        size_t n_from = arrow ? (size_t)(arrow - cuts) : n;
        for (; k < n_from && k + 1 < sizeof from; k++) from[k] = cuts[k];
        from[k] = '\0';
        for (k = 0; arrow && k < n - n_from - 1 && k + 1 < sizeof to; k++) to[k] = arrow[1 + k];
        to[k] = '\0';
        name = tare_llama_replaced(name, from, to, arena);
        cuts += n;
        while (*cuts == ' ') cuts++;
    }
    return name;
}

tare_str tare_llama_cut_name(const tare_llama_mapping *m, tare_str name) {
    return apply_cuts(name, m->arch->cut, &m->out->arena);
}

tare_str tare_llama_joined(tare_str a, tare_str b, tare_arena *arena) {
    char *out = tare_arena_take(arena, a.len + b.len + 1);
    if (!out) return (tare_str){NULL, 0};
    memcpy(out, a.ptr, a.len);
    memcpy(out + a.len, b.ptr, b.len);
    return (tare_str){out, a.len + b.len};
}

/* Tensors beside the layers that predict more tokens, and the names that DeepSeek gave them. */
static const char *const shared[][2] = {{"fc.", "eh_proj."},
                                        {"pre_fc_norm_embedding.", "enorm."},
                                        {"pre_fc_norm_hidden.", "hnorm."},
                                        {"norm.", "shared_head.norm."}};

tare_str tare_llama_nextn_shared(tare_str name) {
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (tare_str_starts(name, tare_str_of(shared[i][1]))) return tare_str_of(shared[i][0]);
    return (tare_str){NULL, 0};
}

/* "mtp.layers.0.X", "mtp.0.X" and the tensors beside the layers as those of the first block after the
 * others. */
static tare_str nextn_name(const tare_llama_mapping *m, tare_str name) {
    const tare_str layers = TARE_STR("layers.");
    char head[64];
    bool is_beside = true;
    uint64_t block = m->n_layers - m->n_extra_layers;
    name = tare_str_cut(name, strlen(m->arch->nextn));
    const bool is_layer = tare_str_starts(name, layers);
    if (is_layer || (name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9')) {
        uint64_t n = 0;
        name = tare_str_cut(name, is_layer ? layers.len : 0);
        for (; name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9'; name = tare_str_cut(name, 1))
            n = n < 1000000 ? 10 * n + (uint64_t)(name.ptr[0] - '0') : n;
        block += n;
        name = tare_str_cut(name, 1);
        is_beside = false;
    }
    const char *to = "";
    for (size_t i = 0; is_beside && i < sizeof shared / sizeof *shared; i++) {
        tare_str from = tare_str_of(shared[i][0]);
        if (!tare_str_starts(name, from)) continue;
        name = tare_str_cut(name, from.len);
        to = shared[i][1];
        break;
    }
    snprintf(head, sizeof head, "model.layers.%llu.%s", (unsigned long long)block, to);
    return tare_llama_joined(tare_str_of(head), name, &m->out->arena);
}

/* The name that rules are held against. ptr NULL: memory is out. */
tare_str tare_llama_normal_name(const tare_llama_mapping *m, tare_str name) {
    tare_arena *arena = &m->out->arena;
    name = tare_llama_replaced(name, "e_score_correction_bias", "e_score_correction.bias", arena);
    if (name.ptr) name = tare_llama_replaced(name, "language_model.", "", arena);
    if (name.ptr) name = apply_cuts(name, m->arch->cut, arena);
    if (name.ptr && m->arch->nextn && tare_str_starts(name, tare_str_of(m->arch->nextn)))
        return nextn_name(m, name);
    const tare_str prefix = tare_llama_arch_prefix(m->arch, m->hf_class);
    if (name.ptr && !tare_str_starts(name, prefix)) name = tare_llama_joined(prefix, name, arena);
    return name;
}

/* The numbers of the first and of the last dotted part that is one; -1: none. */
void tare_llama_numbers_of(tare_str name, int64_t *first, int64_t *last) {
    *first = *last = -1;
    for (size_t i = 0; i < name.len; i++) {
        size_t from = i;
        int64_t n = 0;
        bool is_number = true;
        for (; i < name.len && name.ptr[i] != '.'; i++) {
            is_number = is_number && name.ptr[i] >= '0' && name.ptr[i] <= '9' && i - from < 9;
            n = is_number ? 10 * n + (name.ptr[i] - '0') : 0;
        }
        if (!is_number || i == from) continue;
        if (*first < 0) *first = n;
        *last = n;
    }
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Whether a name matches a pattern of '*' and '#'; *tail: where what stands after the last '*'
 * begins in the name. */
static bool matches(tare_str name, tare_str pattern, size_t *tail) {
    size_t i = 0, p = 0, star = SIZE_MAX, resume = 0;
    *tail = 0;
    while (i < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            resume = i;
            *tail = i;
        } else if (p < pattern.len && pattern.ptr[p] == '#' && name.ptr[i] >= '0' &&
                   name.ptr[i] <= '9') {
            while (i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9') i++;
            p++;
        } else if (p < pattern.len && pattern.ptr[p] == name.ptr[i]) {
            i++;
            p++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            i = ++resume;
            *tail = i;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') {
        p++;
        *tail = name.len;
    }
    return p == pattern.len;
}

bool tare_llama_rule_matches(const tare_llama_rule *rule, tare_str name, tare_str target,
                             size_t *tail, tare_str *suffix) {
    tare_str pattern = tare_str_of(rule->match);
    const tare_str weight = TARE_STR(".weight"), bias = TARE_STR(".bias");
    *suffix = (tare_str){"", 0};
    if (rule->match[0] == '=') {
        if (!target.ptr) return false;
        pattern = tare_str_cut(pattern, 1);
        name = target;
    }
    if (tare_str_ends(pattern, TARE_STR("@"))) {
        if (tare_str_ends(name, weight))
            *suffix = weight;
        else if (tare_str_ends(name, bias))
            *suffix = bias;
        else
            return false;
        pattern.len--;
        name.len -= suffix->len;
    }
    return matches(name, pattern, tail);
}
