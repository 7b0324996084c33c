/* SPDX-License-Identifier: MIT
 *
 * The dialects of LoRA. kohya's scripts write module names with '_' for dots; diffusers has PEFT's
 * names without its prefix, and had its own before; MLX multiplies from the other side, so that its
 * factors are transposes. */
#include "model/lora_dialect.h"

#include <string.h>

#include "base/str.h"

static const tare_lora_dialect dialects[] = {
    {"kohya", ".lora_down.weight", ".lora_up.weight", ".alpha", false},
    {"diffusers", ".lora_A.weight", ".lora_B.weight", ".alpha", false},
    {"diffusers", ".lora.down.weight", ".lora.up.weight", ".alpha", false},
    {"MLX", ".lora_a", ".lora_b", NULL, true},
};

enum { N_DIALECTS = sizeof dialects / sizeof *dialects };

/* Tensors of other methods, and of what goes beyond two factors. */
static const struct {
    const char *suffix, *what;
} obstacles[] = {
    {".hada_w1_a", "LoHa: products of pairs of factors, element by element, are not merged"},
    {".hada_w1_b", "LoHa: products of pairs of factors, element by element, are not merged"},
    {".hada_w2_a", "LoHa: products of pairs of factors, element by element, are not merged"},
    {".hada_w2_b", "LoHa: products of pairs of factors, element by element, are not merged"},
    {".hada_t1", "LoHa: products of pairs of factors, element by element, are not merged"},
    {".hada_t2", "LoHa: products of pairs of factors, element by element, are not merged"},
    {".lokr_w1", "LoKr: Kronecker products are not merged"},
    {".lokr_w2", "LoKr: Kronecker products are not merged"},
    {".lokr_w1_a", "LoKr: Kronecker products are not merged"},
    {".lokr_w1_b", "LoKr: Kronecker products are not merged"},
    {".lokr_w2_a", "LoKr: Kronecker products are not merged"},
    {".lokr_w2_b", "LoKr: Kronecker products are not merged"},
    {".lokr_t2", "LoKr: Kronecker products are not merged"},
    {".dora_scale", "DoRA of LyCORIS: its magnitudes are not merged"},
    {".lora_magnitude_vector", "DoRA without PEFT's configuration: its magnitudes are not merged"},
    {".lora_magnitude_vector.weight",
     "DoRA without PEFT's configuration: its magnitudes are not merged"},
    {".lora_mid.weight", "a third factor (Tucker decomposition) is not merged"},
    {".oft_blocks", "OFT: rotations are not merged"},
    {".oft_diag", "OFT: rotations are not merged"},
    {".a1.weight", "GLoRA is not merged"},
    {".on_input", "IA3: factors of inputs are not merged"},
    {".diff", "whole differences of weights are not merged"},
    {".diff_b", "differences of biases are not merged"},
};

/* "LoHa" of "LoHa: ..."; a text without a name is of tensors that other models may have, too. */
tare_str tare_lora_method(const tare_model *m) {
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const char *what = tare_lora_obstacle(m->catalog.tensors[i].name);
        const char *end = what ? strchr(what, ':') : NULL;
        if (end) return (tare_str){what, (size_t)(end - what)};
    }
    return (tare_str){"", 0};
}

const char *tare_lora_obstacle(tare_str name) {
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++)
        if (tare_str_ends(name, tare_str_of(obstacles[i].suffix))) return obstacles[i].what;
    return NULL;
}

static bool cut_suffix(tare_str *module, tare_str name, const char *suffix) {
    const tare_str end = tare_str_of(suffix);
    if (!end.len || name.len <= end.len || !tare_str_ends(name, end)) return false;
    *module = (tare_str){name.ptr, name.len - end.len};
    return true;
}

bool tare_lora_name_parse(tare_lora_name *out, const tare_lora_dialect *dialect, tare_str name) {
    const char *const suffixes[] = {dialect->right, dialect->left, dialect->alpha};
    for (int i = 0; i < 3; i++) {
        out->part = (tare_lora_part)i;
        if (cut_suffix(&out->module, name, suffixes[i])) return true;
    }
    return false;
}

const tare_lora_dialect *tare_lora_dialect_of(const tare_model *m) {
    tare_str module;
    for (size_t i = 0; i < m->catalog.n_tensors; i++)
        for (size_t k = 0; k < N_DIALECTS; k++)
            if (cut_suffix(&module, m->catalog.tensors[i].name, dialects[k].right))
                return &dialects[k];
    return NULL;
}

bool tare_lora_is_llama_cpp(const tare_model *m) {
    for (size_t i = 0; i < m->catalog.n_metadata; i++) {
        const tare_metadata *e = &m->catalog.metadata[i];
        if (tare_str_is(e->key, "adapter.type")) return e->value.type == TARE_VALUE_STRING;
    }
    return false;
}

tare_str tare_lora_component(tare_str module) {
    static const char *const components[] = {"lora_unet",       "lora_te",      "lora_te1",
                                             "lora_te2",        "lora_te3",     "lora_transformer",
                                             "lora_prior_unet", "lora_prior_te"};
    for (size_t i = 0; i < sizeof components / sizeof *components; i++) {
        const tare_str c = tare_str_of(components[i]);
        if (tare_str_starts(module, c) && module.len > c.len + 1 && module.ptr[c.len] == '_')
            return (tare_str){module.ptr, c.len};
    }
    return (tare_str){"", 0};
}
