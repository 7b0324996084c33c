/* SPDX-License-Identifier: MIT
 *
 * MCF's ModelInfo: the hyperparameters of a language model in fixed fields (docs/mcf.md,
 * "ModelInfo"). It is written from the model's own metadata, whatever container it comes from. In a
 * file without our metadata its fields become keys under GGUF's names. A ModelInfo that cannot be
 * read is a finding: nothing depends on it. */
#include <stdio.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

#define FIXED_BYTES 88 /* with the header */
#define KV_BYTES    24

typedef enum kv_type {
    KV_U32 = 1,
    KV_F32 = 2,
    KV_STRING = 3,
} kv_type;

/* What model_type and general.architecture begin with. */
static const struct {
    uint32_t number;
    const char *name;
} architectures[] = {
    {1, "llama"}, {2, "mistral"}, {3, "qwen"}, {4, "gemma"}, {5, "granite"}, {6, "smollm3"},
};
#define N_ARCHITECTURES (sizeof architectures / sizeof *architectures)

/* The fields that are numbers, in their order from byte 16 on, under GGUF's names. */
static const struct {
    const char *key; /* after "ARCH."; NULL: has none */
    int param;       /* tare_param; -1: none */
} numbers[] = {
    {"vocab_size", TARE_PARAM_VOCAB_SIZE},
    {"embedding_length", TARE_PARAM_EMBEDDING_LENGTH},
    {"block_count", TARE_PARAM_LAYER_COUNT},
    {"attention.head_count", TARE_PARAM_HEAD_COUNT},
    {"attention.head_count_kv", TARE_PARAM_HEAD_COUNT_KV},
    {"context_length", TARE_PARAM_CONTEXT_LENGTH},
    {"rope.scaling.original_context_length", -1},
};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

static const char *const rope_types[] = {NULL, NULL, "linear", "yarn"};
#define N_ROPE_TYPES (sizeof rope_types / sizeof *rope_types)

#define KEY_NAME       "general.name"
#define KEY_BASE_MODEL "general.base_model.0.name"
#define KEY_ROPE_TYPE  "rope.scaling.type"
#define KEY_ROPE_BASE  "rope.freq_base"
#define KEY_ROPE_SCALE "rope.scaling.factor"

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct info_reader {
    tare_mcf_reader *r;
    tare_cursor section; /* at its beginning */
    tare_str prefix;     /* of keys */
    tare_error err;
} info_reader;

/* A cursor at an offset of the section. */
static tare_cursor at_offset(const info_reader *x, uint64_t offset) {
    tare_cursor c = x->section;
    tare_cursor_take(&c, offset, "ModelInfo: offset beyond the section");
    return c;
}

static bool add_key(info_reader *x, tare_str prefix, tare_str key, tare_value value,
                    uint64_t offset) {
    tare_catalog *c = &x->r->m->catalog;
    tare_arena *arena = &x->r->m->arena;
    size_t dot = prefix.len ? 1 : 0, n = c->n_metadata;
    char *text = tare_arena_take(arena, prefix.len + dot + key.len);
    /* The list doubles whenever its length is a power of two. */
    if (text && (n & (n - 1)) == 0) {
        tare_metadata *more = TARE_NEW_ARRAY(arena, tare_metadata, n ? 2 * (uint64_t)n : 1);
        if (more && n) memcpy(more, c->metadata, n * sizeof *more);
        if (more) c->metadata = more;
        if (!more) text = NULL;
    }
    if (!text) return tare_fail(&x->err, TARE_ERR_NOMEM, "ModelInfo") == TARE_OK;
    if (prefix.len) memcpy(text, prefix.ptr, prefix.len);
    if (dot) text[prefix.len] = '.';
    memcpy(text + prefix.len + dot, key.ptr, key.len);
    c->metadata[c->n_metadata++] = (tare_metadata){.key = {text, prefix.len + dot + key.len},
                                                   .value = value,
                                                   .space = TARE_KEYS_MODEL,
                                                   .offset = offset};
    return true;
}

static bool take_string(info_reader *x, uint64_t offset, tare_str *out) {
    tare_cursor c = at_offset(x, offset);
    uint32_t size = tare_cursor_u32(&c, "ModelInfo: string");
    *out = (tare_str){(const char *)tare_cursor_take(&c, size, "ModelInfo: string"), size};
    return tare_cursor_status(&c, &x->err) == TARE_OK;
}

/* A field of the fixed part as a key; 0 is absent. */
static bool add_number(info_reader *x, const char *key, tare_cursor *c, bool is_float) {
    tare_value v = {.type = is_float ? TARE_VALUE_F32 : TARE_VALUE_U32};
    uint64_t at = tare_cursor_offset(c);
    uint32_t bits = tare_cursor_u32(c, "ModelInfo: field");
    if (tare_cursor_status(c, &x->err) != TARE_OK) return false;
    if (is_float)
        v.as.f = (double)tare_f32_of_bits(bits);
    else
        v.as.u = bits;
    return bits == 0 || add_key(x, x->prefix, tare_str_of(key), v, at);
}

static bool add_text(info_reader *x, tare_str prefix, const char *key, uint64_t string_at,
                     uint64_t at) {
    tare_value v = {.type = TARE_VALUE_STRING};
    if (string_at == 0) return true;
    return take_string(x, string_at, &v.as.s) && add_key(x, prefix, tare_str_of(key), v, at);
}

static bool add_fixed(info_reader *x, tare_cursor *c) {
    const tare_str none = {"", 0};
    uint64_t arch_at = tare_cursor_offset(c);
    uint32_t arch = tare_cursor_u32(c, "ModelInfo: arch");
    tare_cursor_u32(c, "ModelInfo: padding");
    x->prefix = TARE_STR("llm");
    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        if (architectures[i].number == arch) x->prefix = tare_str_of(architectures[i].name);
    tare_value name = {.type = TARE_VALUE_STRING, .as.s = x->prefix};
    if (arch >= 1 && arch <= N_ARCHITECTURES &&
        !add_key(x, none, TARE_STR("general.architecture"), name, arch_at))
        return false;
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (!add_number(x, numbers[i].key, c, false)) return false;
    uint64_t rope_at = tare_cursor_offset(c);
    uint32_t rope = tare_cursor_u32(c, "ModelInfo: rope_type");
    tare_value rope_name = {.type = TARE_VALUE_STRING};
    if (rope < N_ROPE_TYPES && rope_types[rope]) {
        rope_name.as.s = tare_str_of(rope_types[rope]);
        if (!add_key(x, x->prefix, TARE_STR(KEY_ROPE_TYPE), rope_name, rope_at)) return false;
    }
    return add_number(x, KEY_ROPE_BASE, c, true) && add_number(x, KEY_ROPE_SCALE, c, true);
}

/* One pair of the list after the fixed part. */
static bool add_pair(info_reader *x, tare_cursor *c) {
    uint64_t at = tare_cursor_offset(c), key_off = tare_cursor_u64(c, "ModelInfo: key_off");
    uint32_t type = tare_cursor_u32(c, "ModelInfo: type");
    tare_cursor_u32(c, "ModelInfo: padding");
    uint64_t value_off = tare_cursor_u64(c, "ModelInfo: value_off");
    const tare_str none = {"", 0};
    tare_str key;
    tare_value v = {.type = TARE_VALUE_STRING};
    if (tare_cursor_status(c, &x->err) != TARE_OK || !take_string(x, key_off, &key)) return false;
    if (key.len == 0)
        return tare_fail_at(&x->err, TARE_ERR_CORRUPT, at, "ModelInfo: an empty key") == TARE_OK;
    if (type == KV_STRING)
        return take_string(x, value_off, &v.as.s) && add_key(x, none, key, v, at);
    if (type != KV_U32 && type != KV_F32)
        return tare_fail_at(&x->err, TARE_ERR_CORRUPT, at + 8,
                            "ModelInfo: type of a value, expected 1, 2 or 3") == TARE_OK;
    tare_cursor value = at_offset(x, value_off);
    uint32_t bits = tare_cursor_u32(&value, "ModelInfo: value");
    v.type = type == KV_U32 ? TARE_VALUE_U32 : TARE_VALUE_F32;
    if (type == KV_U32)
        v.as.u = bits;
    else
        v.as.f = (double)tare_f32_of_bits(bits);
    return tare_cursor_status(&value, &x->err) == TARE_OK && add_key(x, none, key, v, at);
}

static bool read_info(info_reader *x) {
    const tare_str none = {"", 0};
    tare_cursor c = x->section;
    uint32_t version = tare_cursor_u32(&c, "ModelInfo: version");
    if (tare_cursor_ok(&c) && version != 1)
        tare_cursor_fail(&c, TARE_ERR_UNSUPPORTED, c.base_offset, "ModelInfo: version, expected 1");
    tare_cursor_u32(&c, "ModelInfo: flags");
    if (!add_fixed(x, &c)) return false;
    uint64_t at = tare_cursor_offset(&c);
    uint64_t name_off = tare_cursor_u64(&c, "ModelInfo: model_name_off");
    uint64_t base_off = tare_cursor_u64(&c, "ModelInfo: base_model_off");
    uint64_t count_at = tare_cursor_offset(&c);
    uint32_t n = tare_cursor_u32(&c, "ModelInfo: kv_count");
    tare_cursor_u32(&c, "ModelInfo: padding");
    uint64_t kv_off = tare_cursor_u64(&c, "ModelInfo: kv_off");
    if (tare_cursor_status(&c, &x->err) != TARE_OK) return false;
    if (!add_text(x, none, KEY_NAME, name_off, at) ||
        !add_text(x, none, KEY_BASE_MODEL, base_off, at + 8))
        return false;
    if (n == 0) return true;
    c = at_offset(x, kv_off);
    tare_cursor_fits(&c, n, KV_BYTES, count_at, "ModelInfo: kv_count");
    for (uint32_t i = 0; i < n && tare_cursor_ok(&c); i++)
        if (!add_pair(x, &c)) return false;
    return tare_cursor_status(&c, &x->err) == TARE_OK;
}

/* Of two fields or pairs with the same name the first one counts, as keys are unique. */
static void drop_twice(const tare_mcf_reader *r) {
    tare_catalog *c = &r->m->catalog;
    size_t n = 0;
    for (size_t i = 0; i < c->n_metadata; i++) {
        size_t k = 0;
        while (k < n && !tare_str_equal(c->metadata[k].key, c->metadata[i].key)) k++;
        if (k < n)
            tare_mcf_report(r, TARE_LEVEL_WARNING, "mcf.model-info-key", -1, c->metadata[i].offset,
                            "ModelInfo has a key twice: the second is ignored");
        else
            c->metadata[n++] = c->metadata[i];
    }
    c->n_metadata = n;
}

/* More pairs than this cannot be hyperparameters, and looking for duplicates takes quadratic time.
 */
#define MOST_PAIRS 4096

tare_status tare_mcf_read_model_info(tare_mcf_reader *r, tare_mcf_layout *layout, bool as_metadata,
                                     tare_error *err) {
    const tare_mcf_section *s = tare_mcf_find(r, TARE_MCF_MODEL_INFO);
    info_reader x = {.r = r, .err = TARE_ERROR_NONE};
    if (!s) return TARE_OK;
    TARE_TRY(tare_mcf_load(r, s, 0, s->size, &x.section, err));
    layout->model_info = (tare_str){(const char *)x.section.pos, (size_t)s->size};
    bool is_read = read_info(&x);
    if (x.err.status == TARE_ERR_NOMEM) return tare_fail(err, TARE_ERR_NOMEM, "ModelInfo");
    if (is_read && r->m->catalog.n_metadata > MOST_PAIRS)
        is_read = tare_fail_at(&x.err, TARE_ERR_LIMIT, s->offset, "ModelInfo: number of pairs") ==
                  TARE_OK;
    if (!is_read)
        tare_mcf_report(r, TARE_LEVEL_ERROR, "mcf.model-info", -1, x.err.offset, x.err.what);
    if (!is_read || !as_metadata)
        r->m->catalog.n_metadata = 0;
    else
        drop_twice(r);
    return TARE_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const tare_value *find_value(const tare_model *m, tare_str prefix, const char *key) {
    char text[256];
    if (!m || prefix.len > 128) return NULL;
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)prefix.len, prefix.ptr,
                     prefix.len ? "." : "", key);
    int64_t i = tare_model_find_key(m, (tare_str){text, (size_t)n});
    return i >= 0 ? &m->catalog.metadata[i].value : NULL;
}

static uint32_t number_of(const tare_model *m, tare_str arch, size_t i) {
    const tare_value *v = find_value(m, arch, numbers[i].key);
    uint64_t n;
    if (numbers[i].param >= 0 ? tare_model_param(&n, m, (tare_param)numbers[i].param)
                              : v && tare_value_u64(&n, v))
        return n <= UINT32_MAX ? (uint32_t)n : 0;
    return 0;
}

static float float_of(const tare_model *m, tare_str arch, const char *key) {
    const tare_value *v = find_value(m, arch, key);
    double f;
    return v && tare_value_f64(&f, v) ? (float)f : 0;
}

static uint32_t rope_of(const tare_model *m, tare_str arch, float base) {
    const tare_value *v = find_value(m, arch, KEY_ROPE_TYPE);
    for (uint32_t i = 0; v && v->type == TARE_VALUE_STRING && i < N_ROPE_TYPES; i++)
        if (rope_types[i] && tare_str_is(v->as.s, rope_types[i])) return i;
    return base != 0;
}

static uint32_t architecture_of(tare_str name) {
    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        if (tare_str_starts(name, tare_str_of(architectures[i].name)))
            return architectures[i].number;
    return 0;
}

/* A string at a multiple of 8; returns its offset, 0 for an empty one. */
static uint64_t put_string(tare_buffer *out, const tare_value *v) {
    if (!v || v->type != TARE_VALUE_STRING || v->as.s.len == 0 || v->as.s.len > UINT32_MAX)
        return 0;
    tare_buffer_put_zeros(out, (8 - out->size % 8) % 8);
    uint64_t at = out->size;
    tare_buffer_put_u32(out, (uint32_t)v->as.s.len, false);
    tare_buffer_put_str(out, v->as.s);
    return at;
}

static void store_u64(tare_buffer *out, size_t at, uint64_t v) {
    if (!out->failed) tare_store_le64(out->data + at, v);
}

/* The source as its keys will be. */
static tare_status edited(tare_model *out, const tare_mcf_writer *w, tare_error *err) {
    *out = *w->options->source;
    out->catalog.metadata = w->c->metadata;
    out->catalog.n_metadata = w->c->n_metadata;
    out->architecture = tare_catalog_get_str(w->c, "general.architecture");
    return tare_model_index_keys(out, w->plan->arena, err);
}

tare_status tare_mcf_put_model_info(tare_buffer *out, const tare_mcf_writer *w, tare_error *err) {
    const tare_layout *l = w->c->layout;
    const tare_model *m = w->options->source;
    const tare_str none = {"", 0};
    tare_model changed;
    if (m && w->options->is_edited) {
        TARE_TRY(edited(&changed, w, err));
        m = &changed;
    } else if (l && l->format == &tare_format_mcf) {
        tare_buffer_put_str(out, ((const tare_mcf_layout *)l->detail)->model_info);
        return tare_buffer_status(out, err);
    }
    if (!m) return TARE_OK;
    tare_str arch = tare_model_architecture(m);
    float base = float_of(m, arch, KEY_ROPE_BASE);
    if (base == 0) base = (float)m->rope_freq_base;
    uint32_t known = architecture_of(arch);
    tare_buffer_put_u32(out, 1, false);
    tare_buffer_put_u32(out, 0, false);
    tare_buffer_put_u32(out, known, false);
    tare_buffer_put_u32(out, 0, false);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        uint32_t n = number_of(m, arch, i);
        known |= n;
        tare_buffer_put_u32(out, n, false);
    }
    tare_buffer_put_u32(out, rope_of(m, arch, base), false);
    tare_buffer_put_u32(out, tare_f32_bits(base), false);
    tare_buffer_put_u32(out, tare_f32_bits(float_of(m, arch, KEY_ROPE_SCALE)), false);
    size_t strings = out->size;
    tare_buffer_put_zeros(out, FIXED_BYTES - strings);
    store_u64(out, strings, put_string(out, find_value(m, none, KEY_NAME)));
    store_u64(out, strings + 8, put_string(out, find_value(m, none, KEY_BASE_MODEL)));
    if (known == 0 && out->size == FIXED_BYTES) out->size = 0; /* nothing is known */
    return tare_buffer_status(out, err);
}
