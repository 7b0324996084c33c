/* SPDX-License-Identifier: MIT
 *
 * config.json of a model whose weights are plain, or of another type: settings of packing are cut out
 * of the text, the name of the type is replaced, everything else stays as it is. */
#include "base/buffer.h"
#include "base/json.h"
#include "base/str.h"
#include "quantized/quantized.h"

bool tare_quantized_is_settings(tare_str name) {
    static const char *const files[] = {"hf_quant_config.json", "quantize_config.json",
                                        "quant_config.json", "quanto_qmap.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (tare_str_is(name, files[i])) return true;
    return false;
}

typedef struct editing {
    tare_json json;
    tare_buffer out;
    const char *copied; /* the text up to here is in `out` */
    const char *dtype;  /* NULL: it stays */
    bool is_plain;      /* settings of packing go */
    bool has_changed;
} editing;

static bool is_packing(const tare_json_value *key) {
    static const char *const names[] = {"quantization_config", "compression_config",
                                        "quantization"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tare_json_is(key, names[i])) return true;
    return false;
}

/* The text up to `from`, then nothing until `to`. */
static void cut(editing *e, const char *from, const char *to) {
    if (from > e->copied) tare_buffer_put(&e->out, e->copied, (size_t)(from - e->copied));
    if (to > e->copied) e->copied = to;
    e->has_changed = true;
}

static void replace_type(editing *e, const tare_json_value *v) {
    cut(e, v->raw.ptr, v->raw.ptr + v->raw.len);
    tare_buffer_printf(&e->out, "\"%s\"", e->dtype);
}

/* Where a member begins that has to go: at the end of what was before it, if that stays; else its own
 * key. */
typedef struct level {
    const char *before; /* end of the last member or of the bracket */
    bool has_kept;
    const char *cut_from; /* NULL: nothing waits for the next key */
    bool is_object;
} level;

/* A member that goes. */
static bool remove_member(editing *e, level *l, const tare_json_value *key,
                          const tare_json_value *value) {
    tare_str raw;
    if (!tare_json_skip(&e->json, value, &raw)) return false;
    if (l->has_kept)
        cut(e, l->before, raw.ptr + raw.len);
    else if (!l->cut_from)
        l->cut_from = key->raw.ptr;
    l->before = raw.ptr + raw.len;
    return true;
}

/* Members of one object; those of objects in it, too. Depth is the reader's. */
static void walk(editing *e, const tare_json_value *first) {
    level levels[TARE_JSON_MAX_DEPTH + 1];
    size_t depth = 0;
    levels[depth++] = (level){.before = first->raw.ptr + 1, .is_object = true};
    while (depth) {
        level *l = &levels[depth - 1];
        tare_json_value key, v;
        if (tare_json_key(&e->json, &key) == TARE_JSON_END) {
            if (l->cut_from) cut(e, l->cut_from, l->before);
            if (--depth) levels[depth - 1].before = e->json.pos;
            if (tare_json_status(&e->json, NULL) != TARE_OK) return;
            continue;
        }
        if (tare_json_next(&e->json, &v) == TARE_JSON_END) return;
        if (e->is_plain && is_packing(&key) &&
            (v.type == TARE_JSON_OBJECT || v.type == TARE_JSON_NULL)) {
            if (!remove_member(e, l, &key, &v)) return;
            continue;
        }
        if (l->cut_from) cut(e, l->cut_from, key.raw.ptr);
        l->cut_from = NULL;
        l->has_kept = true;
        const bool is_type = tare_json_is(&key, "torch_dtype") || tare_json_is(&key, "dtype");
        if (is_type && v.type == TARE_JSON_STRING && e->dtype) replace_type(e, &v);
        if (v.type == TARE_JSON_OBJECT) {
            levels[depth++] = (level){.before = v.raw.ptr + 1, .is_object = true};
            continue;
        }
        tare_str raw;
        if (!tare_json_skip(&e->json, &v, &raw)) return;
        l->before = raw.ptr + raw.len;
    }
}

static tare_status edit(tare_str *out, tare_str text, editing e, tare_arena *arena,
                        tare_error *err) {
    tare_json_value first;
    *out = (tare_str){NULL, 0};
    e.copied = text.ptr;
    tare_buffer_init(&e.out, arena->allocator);
    tare_json_init_python(&e.json, text, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&e.json, &first) == TARE_JSON_OBJECT) walk(&e, &first);
    tare_json_finish(&e.json);
    tare_buffer_put(&e.out, e.copied, (size_t)(text.ptr + text.len - e.copied));
    const bool is_json = tare_json_status(&e.json, NULL) == TARE_OK;
    tare_status status = tare_buffer_status(&e.out, err);
    if (status == TARE_OK && is_json && e.has_changed) {
        *out = tare_arena_str(arena, (tare_str){(const char *)e.out.data, e.out.size});
        if (!out->ptr) status = tare_fail(err, TARE_ERR_NOMEM, "config.json");
    }
    tare_buffer_free(&e.out);
    return status;
}

tare_status tare_quantized_plain_config(tare_str *out, tare_str text, const char *dtype,
                                        tare_arena *arena, tare_error *err) {
    return edit(out, text, (editing){.dtype = dtype, .is_plain = true}, arena, err);
}

tare_status tare_quantized_retyped_config(tare_str *out, tare_str text, const char *dtype,
                                          tare_arena *arena, tare_error *err) {
    return edit(out, text, (editing){.dtype = dtype}, arena, err);
}
