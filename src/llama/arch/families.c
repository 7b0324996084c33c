/* SPDX-License-Identifier: MIT
 *
 * All architectures, by families. */
#include <stdio.h>

#include "base/str.h"
#include "llama/arch/rows.h"

static const tare_llama_arch *const families[] = {
    tare_llama_family_drafts,    tare_llama_family_llama,   tare_llama_family_qwen,
    tare_llama_family_gemma,     tare_llama_family_phi,     tare_llama_family_bert,
    tare_llama_family_gpt,       tare_llama_family_dense,   tare_llama_family_moe,
    tare_llama_family_glm,       tare_llama_family_granite, tare_llama_family_deepseek,
    tare_llama_family_mamba,     tare_llama_family_t5,      tare_llama_family_towers,
    tare_llama_family_encoders,  tare_llama_family_hybrid,  tare_llama_family_delta,
    tare_llama_family_sparse,    tare_llama_family_rwkv,    tare_llama_family_ernie,
    tare_llama_family_exaone,    tare_llama_family_hunyuan, tare_llama_family_lfm2,
    tare_llama_family_plamo,     tare_llama_family_others,  tare_llama_family_muse,
    tare_llama_family_deepseek4,
};

static const tare_llama_arch *const towers[] = {
    tare_llama_towers_siglip,    tare_llama_towers_qwen,      tare_llama_towers_vision,
    tare_llama_towers_clip,      tare_llama_towers_documents, tare_llama_towers_deepseek,
    tare_llama_towers_audio,     tare_llama_towers_omni,      tare_llama_towers_gemma,
    tare_llama_towers_conformer, tare_llama_towers_granite,   tare_llama_towers_gemma3n,
    tare_llama_towers_muse,      tare_llama_towers_dots3,     tare_llama_towers_nemotron};

static const tare_llama_arch *row_at(const tare_llama_arch *const *lists, size_t n, size_t i) {
    for (size_t k = 0; k < n; k++)
        for (const tare_llama_arch *a = lists[k]; a->name; a++)
            if (i-- == 0) return a;
    return NULL;
}

const tare_llama_arch *tare_llama_arch_at(size_t i) {
    return row_at(families, sizeof families / sizeof *families, i);
}
const tare_llama_arch *tare_llama_tower_at(size_t i) {
    return row_at(towers, sizeof towers / sizeof *towers, i);
}

/* Whether the formula that a row requires holds for the model. One with a fault does: whoever maps by
 * the row computes it again, and tells of the fault. */
static bool holds(const tare_llama_arch *a, const tare_llama_config *config) {
    tare_llama_value v;
    if (!a->requires) return true;
    return tare_llama_formula(&v, tare_str_of(a->requires), config, NULL, NULL) != TARE_OK ||
           (v.kind != TARE_LLAMA_ABSENT && v.number != 0);
}

static const tare_llama_arch *find(const tare_llama_arch *(*at)(size_t i), tare_str hf_class,
                                   tare_llama_config *config) {
    const tare_llama_arch *a;
    for (size_t i = 0; (a = at(i)); i++) {
        if (!tare_llama_is_one_of(hf_class, a->classes)) continue;
        config->defaults = a->defaults;
        if (holds(a, config)) return a;
    }
    config->defaults = NULL;
    return NULL;
}

/* The row of "Qwen3ForCausalLM" for "Qwen3Model", which is the same without a head. */
static const tare_llama_arch *find_with_head(tare_str hf_class, tare_llama_config *config) {
    static const char *const heads[] = {"ForCausalLM", "LMHeadModel"};
    const tare_str end = TARE_STR("Model");
    const tare_llama_arch *arch = NULL;
    char whole[112];
    if (!tare_str_ends(hf_class, end) || hf_class.len > 80) return NULL;
    for (size_t i = 0; i < sizeof heads / sizeof *heads && !arch; i++) {
        snprintf(whole, sizeof whole, "%.*s%s", (int)(hf_class.len - end.len), hf_class.ptr,
                 heads[i]);
        arch = find(tare_llama_arch_at, tare_str_of(whole), config);
    }
    return arch;
}

const tare_llama_arch *tare_llama_arch_find(tare_str hf_class, tare_llama_config *config) {
    const tare_llama_arch *arch = find(tare_llama_arch_at, hf_class, config);
    return arch ? arch : find_with_head(hf_class, config);
}

/* What tensor names begin with on the way back: "model." of "model.layers. model.norm", */
const char *tare_llama_layers(const tare_llama_arch *arch) {
    return arch->layers ? arch->layers : TARE_LLAMA_LAYERS;
}

tare_str tare_llama_arch_prefix(const tare_llama_arch *arch, tare_str hf_class) {
    if (arch->prefix) return tare_str_of(arch->prefix);
    if (tare_llama_is_one_of(hf_class, arch->classes) || !arch->back) return TARE_STR("");
    if (arch->back->lead) return tare_str_of(arch->back->lead);
    return (tare_str){arch->back->names, strcspn(arch->back->names, ".") + 1};
}
const tare_llama_arch *tare_llama_tower_find(tare_str hf_class, tare_llama_config *config) {
    return find(tare_llama_tower_at, hf_class, config);
}

tare_str tare_llama_class_name(const tare_llama_arch *arch, tare_str name) {
    for (const char *c = arch->classes; *c;) {
        size_t n = strcspn(c, " ");
        if (tare_str_equal(name, (tare_str){c, n})) return (tare_str){c, n};
        c += n;
        while (*c == ' ') c++;
    }
    return (tare_str){arch->classes, strcspn(arch->classes, " ")};
}
