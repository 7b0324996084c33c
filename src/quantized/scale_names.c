/* SPDX-License-Identifier: MIT
 *
 * Names of scales. Those that schemes give are in schemes.c; here are all others, so that codes whose
 * scale is not known are not taken for numbers. */
#include "quantized/scale_names.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"

/* ---- words ------------------------------------------------------------------------------------- */

static bool is_same_letter(char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
}

/* Where a word in small letters begins in a text; text.len: nowhere. */
static size_t find_word(tare_str text, tare_str word) {
    for (size_t i = 0; i + word.len <= text.len; i++) {
        size_t n = 0;
        while (n < word.len && is_same_letter(text.ptr[i + n], word.ptr[n])) n++;
        if (n == word.len) return i;
    }
    return text.len;
}

/* A name without its last part; empty: it has one. */
static tare_str parent_of(tare_str name) {
    while (name.len && name.ptr[name.len - 1] != '.') name.len--;
    if (name.len) name.len--;
    return name;
}

static tare_str last_part(tare_str name) {
    const tare_str parent = parent_of(name);
    return tare_str_cut(name, parent.len ? parent.len + 1 : 0);
}

bool tare_is_activation_scale(tare_str name) {
    static const char *const parts[] = {"input_scale",
                                        "input_global_scale",
                                        "activation_scale",
                                        "activation_scales",
                                        "act_scale",
                                        "qscale_act",
                                        "output_scale",
                                        "q_scale",
                                        "k_scale",
                                        "v_scale",
                                        "kv_scale",
                                        "kv_cache_scale",
                                        "k_cache_scale",
                                        "v_cache_scale",
                                        "scale_input",
                                        "input_scale_ub",
                                        "activation_scale_ub",
                                        "prob_output_scale",
                                        "prob_scale",
                                        "output_global_scale",
                                        "k_zero_point",
                                        "v_zero_point",
                                        "q_zero_point",
                                        "input_zero_point",
                                        "output_zero_point",
                                        "k_global_scale",
                                        "v_global_scale",
                                        "q_global_scale"};
    const tare_str part = last_part(name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tare_str_is(part, parts[i])) return true;
    return tare_str_ends(part, TARE_STR("_activation_scale"));
}

bool tare_is_codes(const tare_weight_search *s, int64_t i) {
    if (i < 0) return false;
    const tare_tensor *t = &s->m->catalog.tensors[i];
    const bool is_fp8 = t->encoding->kind == TARE_KIND_FLOAT &&
                        t->encoding->planes[0].unit_bytes == 1 &&
                        t->encoding->id != TARE_ENCODING_F8_E8M0;
    return is_fp8 || (t->encoding->kind == TARE_KIND_INTEGER && t->n_dims >= 2);
}

bool tare_is_named_scale(tare_str name) {
    const tare_str part = last_part(name);
    return find_word(part, TARE_STR("scale")) < part.len;
}

/* What the names of codes end in after the stem of a module, each once; NULL: no row has a new one. */
static const char *codes_suffix(const tare_scheme *row) {
    const char *suffix = row->parts[0].suffix;
    for (const tare_scheme *other = tare_schemes; other < row; other++)
        if (strcmp(other->parts[0].suffix, suffix) == 0) return NULL;
    return suffix;
}

int64_t tare_codes_of(const tare_weight_search *s, tare_str stem) {
    for (const tare_scheme *row = tare_schemes; row->name; row++) {
        const char *suffix = codes_suffix(row);
        const int64_t codes = suffix ? tare_weight_find(s, stem, suffix) : -1;
        if (tare_is_codes(s, codes)) return codes;
    }
    return -1;
}

/* For scales: X.scales or X.weight_quantizer.pre_scale beside X.weight, X_scale beside X or X.weight,
 * X.scale.2 beside X.weight._data. */
int64_t tare_codes_before_word(const tare_weight_search *s, tare_str name, tare_str word) {
    enum { MOST_PARTS = 64 }; /* names of models have a dozen */
    bool has_word = false;
    unsigned n_tried = 0;
    for (size_t n = name.len; n-- > 1 && n_tried < MOST_PARTS;) {
        const tare_str here = {name.ptr + n, (size_t)tare_min_u64(name.len - n, word.len)};
        const bool is_word = here.len == word.len && find_word(here, word) == 0;
        has_word = has_word || is_word;
        if (!has_word || (!is_word && name.ptr[n] != '.' && name.ptr[n] != '_')) continue;
        const int64_t codes = tare_codes_of(s, (tare_str){name.ptr, n});
        if (codes >= 0) return codes;
        n_tried++;
    }
    return -1;
}

/* The codes X.weight of a tensor of floats whose name is theirs and a word more, whatever that says
 * (X.weight_multiplier, X.weight.delta); -1: there are none. */
static int64_t codes_before(const tare_weight_search *s, tare_str name) {
    const int64_t self = tare_weight_find(s, name, "");
    if (self < 0 || s->m->catalog.tensors[self].encoding->kind != TARE_KIND_FLOAT) return -1;
    for (size_t n = name.len; n-- > 1;) {
        const tare_str head = {name.ptr, n};
        if ((name.ptr[n] != '_' && name.ptr[n] != '.') || !tare_str_ends(head, TARE_STR("weight")))
            continue;
        const int64_t codes = tare_weight_find(s, head, "");
        if (codes != self && tare_is_codes(s, codes)) return codes;
    }
    return -1;
}

/* ---- what changes codes, and is no scale ------------------------------------------------------- */

typedef bool (*says)(tare_str word);

static bool is_listed(tare_str word, const char *const *words) {
    for (; *words; words++)
        if (word.len == strlen(*words) && find_word(word, tare_str_of(*words)) == 0) return true;
    return false;
}

/* Words of what is added to a weight, or says in which order or basis it is. */
static bool says_change(tare_str word) {
    static const char *const words[] = {
        "perm",     "permutation", "order", "reorder",  "outlier", "outliers", "sparse",
        "residual", "residuals",   "svd",   "codebook", "lowrank", "rank",     "codebooks",
        "mask",     "correction",  "su",    "sv",       "suh",     "svh",      "had",
        "hadamard", "rotation",    "rot",   "indices",  NULL};
    return is_listed(word, words);
}

/* Words of what a weight is multiplied by, where it is not called a scale. */
static bool says_factor(tare_str word) {
    static const char *const words[] = {"factor",  "factors",    "alpha", "gain",    "gains",
                                        "dequant", "multiplier", "mult",  "divisor", "step",
                                        "steps",   "delta",      NULL};
    return is_listed(word, words);
}

/* The codes in the module of a tensor, if one of the words of its last part says so; -1: none. */
static int64_t codes_beside(const tare_weight_search *s, tare_str name, says says_so) {
    const tare_str part = last_part(name), module = parent_of(name);
    bool is_said = false;
    if (module.len == 0 || tare_str_ends(part, TARE_STR("bias"))) return -1;
    for (size_t from = 0, to; from < part.len; from = to + 1) {
        for (to = from; to < part.len && part.ptr[to] != '_'; to++) continue;
        is_said = is_said || says_so((tare_str){part.ptr + from, to - from});
    }
    return is_said ? tare_codes_of(s, module) : -1;
}

int64_t tare_codes_changed_by(const tare_weight_search *s, tare_str name) {
    return codes_beside(s, name, says_change);
}

int64_t tare_codes_times(const tare_weight_search *s, tare_str name) {
    const int64_t self = tare_weight_find(s, name, "");
    if (self < 0 || s->m->catalog.tensors[self].encoding->kind != TARE_KIND_FLOAT) return -1;
    return codes_beside(s, name, says_factor);
}

/* ---- what nothing uses ------------------------------------------------------------------------- */

int64_t tare_codes_around(const tare_weight_search *s, tare_str name) {
    const tare_str part = last_part(name), module = parent_of(name);
    if (module.len == 0 || tare_str_ends(part, TARE_STR("bias"))) return -1;
    const int64_t codes = tare_codes_of(s, module), self = tare_weight_find(s, module, "");
    return codes < 0 && tare_is_codes(s, self) ? self : codes;
}

bool tare_is_part_name(tare_str name) {
    static const char *const words[] = {"weight", "qzeros", "g_idx",     "absmax", "qscale",
                                        "scales", "SCB",    "quant_map", "nbits"};
    for (const tare_scheme *row = tare_schemes; row->name; row++)
        for (size_t p = 1; p < TARE_SCHEME_PARTS && row->parts[p].suffix; p++) {
            const char *end = row->parts[p].suffix;
            bool tells = false;
            for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                tells |= strstr(end, words[i]) != NULL && strcmp(end, ".weight") != 0;
            if (tells && tare_str_ends(name, tare_str_of(end))) return true;
        }
    return false;
}

/* ---- any name ---------------------------------------------------------------------------------- */

/* Words that say what a tensor is, not which weight it is of. */
static bool is_general(tare_str word) {
    static const char *const words[] = {
        "weight", "weights", "qweight", "quant",   "dequant", "inv",    "block",
        "blocks", "group",   "tensor",  "channel", "global",  "factor", "factors",
        "for",    "of",      "data",    "qdata",   "packed",  "absmax", "amax"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tare_str_is(word, words[i])) return true;
    return tare_str_starts(word, TARE_STR("scale")) || tare_str_starts(word, TARE_STR("scaling"));
}

static bool says_scale(tare_str word) {
    return find_word(word, TARE_STR("scal")) < word.len ||
           find_word(word, TARE_STR("absmax")) == 0 || tare_str_is(word, "amax");
}

/* The words of a name that are not general, one behind the other, as a number; *is_scale: one of the
 * words says that it is one. Names are cut after 512 bytes: published ones are far shorter. */
static uint64_t key_of(tare_str name, bool *is_scale, const tare_hash_key *hash) {
    char text[512];
    size_t n = 0;
    *is_scale = false;
    for (size_t from = 0, to; from < name.len; from = to + 1) {
        for (to = from; to < name.len && !strchr("._-/", name.ptr[to]); to++) continue;
        const tare_str word = {name.ptr + from, to - from};
        *is_scale = *is_scale || says_scale(word);
        if (word.len == 0 || is_general(word) || n + word.len > sizeof text) continue;
        memcpy(text + n, word.ptr, word.len);
        n += word.len;
    }
    return tare_str_hash((tare_str){text, n}, hash);
}

static int by_key(const void *a, const void *b) {
    const tare_codes_key *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* All codes by what is left of their names. */
static tare_status list_keys(tare_weight_search *s, tare_error *err) {
    const size_t n = s->m->catalog.n_tensors;
    bool is_scale;
    s->keys = TARE_NEW_ARRAY(s->arena, tare_codes_key, n);
    if (!s->keys) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    s->hash = tare_hash_key_new();
    for (size_t i = 0; i < n; i++)
        if (tare_is_codes(s, (int64_t)i))
            s->keys[s->n_keys++] = (tare_codes_key){
                key_of(s->m->catalog.tensors[i].name, &is_scale, &s->hash), (int64_t)i};
    if (s->n_keys) qsort(s->keys, s->n_keys, sizeof *s->keys, by_key);
    return TARE_OK;
}

tare_status tare_scaled_codes(int64_t *out, tare_weight_search *s, tare_str name, tare_error *err) {
    bool is_scale;
    *out = tare_codes_before_word(s, name, TARE_STR("scal"));
    if (*out >= 0 || tare_is_activation_scale(name)) return TARE_OK;
    *out = codes_before(s, name);
    if (*out >= 0) return TARE_OK;
    if (!s->keys) TARE_TRY(list_keys(s, err));
    const tare_codes_key wanted = {key_of(name, &is_scale, &s->hash), -1};
    const tare_codes_key *found =
        is_scale && s->n_keys ? bsearch(&wanted, s->keys, s->n_keys, sizeof wanted, by_key) : NULL;
    if (found) *out = found->tensor;
    return TARE_OK;
}
