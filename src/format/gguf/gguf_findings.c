/* SPDX-License-Identifier: MIT
 *
 * What is unusual about a GGUF file but does not prevent opening it. Checked only if there is a
 * report to put it in: strings are then walked a second time. */
#include <inttypes.h>

#include "base/report.h"
#include "base/str.h"
#include "base/utf8.h"
#include "format/gguf/gguf.h"
#include "format/gguf/gguf_types.h"

#define SPEC_NAME_BYTES 64
#define SPEC_MOST_DIMS  4
#define TEXT_LENGTH     127 /* the longest string whose length is bytes of ASCII */

static void report(tare_gguf_reader *r, tare_finding f) {
    if (r->is_set) f.file = tare_str_of(r->m->files[r->file].name);
    tare_report_add(r->report, &f);
}

static tare_finding about_key(const tare_gguf_key *key, uint64_t i, uint64_t offset,
                              const char *text) {
    return (tare_finding){.level = TARE_LEVEL_ERROR,
                          .status = TARE_ERR_CORRUPT,
                          .item_kind = TARE_ITEM_KEY,
                          .item = (int64_t)i,
                          .offset = offset,
                          .item_name = key->entry.key,
                          .text = tare_str_of(text)};
}

void tare_gguf_report_file(tare_gguf_reader *r, tare_level level, const char *code, uint64_t offset,
                           const char *text) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, code);
    f.level = level;
    f.offset = offset;
    f.text = tare_str_of(text);
    report(r, f);
}

void tare_gguf_report_tensor(tare_gguf_reader *r, tare_level level, tare_status status,
                             const char *code, size_t tensor, uint64_t offset, const char *text) {
    tare_finding f = TARE_FINDING(WARNING, status, code);
    f.level = level;
    f.offset = offset;
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)tensor;
    f.item_name = r->m->catalog.tensors[tensor].name;
    f.text = tare_str_of(text);
    report(r, f);
}

/* ---- keys and values ------------------------------------------------------------------------- */

/* What a key has behind the architecture's name, which may have hyphens, and a dot; the whole where it
 * begins otherwise. A file may name its architecture behind the keys: then the first segment passes
 * for it. */
static tare_str behind_architecture(const tare_gguf_reader *r, tare_str key) {
    const tare_str name = r->architecture;
    size_t n = 0;
    while (n < key.len &&
           (key.ptr[n] == '-' || key.ptr[n] == '_' || (key.ptr[n] >= 'a' && key.ptr[n] <= 'z') ||
            (key.ptr[n] >= '0' && key.ptr[n] <= '9')))
        n++;
    const bool is_it = name.len ? tare_str_equal(name, (tare_str){key.ptr, n}) : n > 0;
    return is_it && n < key.len && key.ptr[n] == '.' ? tare_str_cut(key, n + 1) : key;
}

/* Segments of small letters, digits and underscores, joined by dots. Our own keys carry names of
 * files and of another container in them, others that of the architecture. */
static bool follows_key_rule(const tare_gguf_reader *r, tare_str key) {
    bool is_open = false; /* the current segment has a character */
    if (tare_str_starts(key, TARE_STR(TARE_GGUF_RESOURCE_PREFIX)) ||
        tare_str_starts(key, TARE_STR(TARE_GGUF_PAIR_PREFIX)))
        return true;
    key = behind_architecture(r, key);
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        if (c == '.' && !is_open) return false;
        if (c != '.' && c != '_' && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
            return false;
        is_open = c != '.';
    }
    return is_open;
}

typedef struct value_faults {
    uint64_t n_bad_bools, first_bool; /* offset of the first one */
    uint64_t n_bad_strings, first_string;
} value_faults;

static void note_string(value_faults *f, tare_str s, uint64_t at) {
    if (tare_str_is_utf8(s)) return;
    if (f->n_bad_strings++ == 0) f->first_string = at;
}

static void note_strings(const tare_gguf_reader *r, value_faults *f, const tare_array *a) {
    tare_array_walk walk;
    tare_value v;
    tare_array_begin(&walk, a);
    for (uint64_t at = 0; tare_array_next(&v, &walk); at = walk.position)
        note_string(f, v.as.s, tare_gguf_window_place(&r->w, a->bytes + at));
}

/* The next strings of an array, up to n of at most `longest` bytes: an array of their own. */
static tare_array take_run(tare_cursor *c, const tare_array *a, uint64_t n, uint64_t longest) {
    tare_array run = *a;
    uint64_t lengths = 0;
    run.bytes = c->pos;
    run.count = tare_cursor_skip_strings(c, n, longest, &lengths);
    run.size_bytes = (uint64_t)(c->pos - run.bytes);
    return run;
}

/* Strings between longer ones need no look of their own where the run of them is UTF-8. */
static void look_at_runs(const tare_gguf_reader *r, value_faults *f, const tare_array *a) {
    tare_cursor c;
    tare_cursor_init(&c, a->bytes, a->size_bytes, 0);
    c.is_big_endian = a->is_big_endian;
    tare_array run;
    uint64_t left = a->count;
    do {
        run = take_run(&c, a, left, TEXT_LENGTH);
        left -= run.count;
        if (!tare_is_utf8(run.bytes, (size_t)run.size_bytes)) note_strings(r, f, &run);
        run = take_run(&c, a, left ? 1 : 0, UINT64_MAX);
        left -= run.count;
        note_strings(r, f, &run);
    } while (run.count);
}

/* Where everything is ASCII, lengths below 128 included, no string needs a look of its own; nor where
 * everything is UTF-8 and the lengths are ASCII, for then no character reaches over one. */
static void look_at_strings(const tare_gguf_reader *r, value_faults *f, const tare_array *a) {
    if (tare_is_ascii(a->bytes, (size_t)a->size_bytes)) return;
    if (r->string_lengths <= TEXT_LENGTH && tare_is_utf8(a->bytes, (size_t)a->size_bytes)) return;
    if (a->has_short_lengths)
        note_strings(r, f, a);
    else
        look_at_runs(r, f, a);
}

static void note_bool(value_faults *f, uint64_t value, uint64_t at) {
    if (value > 1 && f->n_bad_bools++ == 0) f->first_bool = at;
}

static void look_at_array(const tare_gguf_reader *r, value_faults *f, const tare_array *a) {
    tare_array_walk walk;
    tare_value v;
    if (a->type == TARE_VALUE_STRING) look_at_strings(r, f, a);
    if (a->type != TARE_VALUE_BOOL && a->type != TARE_VALUE_ARRAY) return;
    tare_array_begin(&walk, a);
    uint64_t at = tare_gguf_window_place(&r->w, a->bytes);
    while (tare_array_next(&v, &walk)) {
        if (v.type == TARE_VALUE_BOOL)
            note_bool(f, v.as.u, at);
        else
            look_at_array(r, f, &v.as.a);
        at = tare_gguf_window_place(&r->w, a->bytes + walk.position);
    }
}

static void report_faults(tare_gguf_reader *r, const tare_gguf_key *key, uint64_t i, uint64_t n,
                          uint64_t first, const char *code, const char *text) {
    if (n == 0) return;
    tare_finding f = about_key(key, i, first, text);
    f.code = code;
    if (n == 1) {
        report(r, f);
        return;
    }
    if (r->is_set) f.file = tare_str_of(r->m->files[r->file].name);
    tare_report_addf(r->report, &f, "%s, and %" PRIu64 " more of this array", text, n - 1);
}

static void report_alignment(tare_gguf_reader *r, const tare_gguf_key *key, uint64_t i) {
    uint64_t n = key->entry.value.as.u;
    bool is_small = n == 1 || n == 2 || n == 4;
    if (n % 8 == 0) return;
    tare_finding f =
        about_key(key, i, key->value_at,
                  is_small ? "alignment below 8" : "alignment that is not a multiple of 8");
    f.level = is_small ? TARE_LEVEL_WARNING : TARE_LEVEL_ERROR;
    f.code = "gguf.alignment";
    report(r, f);
}

void tare_gguf_report_key(tare_gguf_reader *r, const tare_gguf_key *key, uint64_t i) {
    const tare_metadata *e = &key->entry;
    value_faults faults = {0};
    if (!r->report) return;
    if (!tare_str_is_utf8(e->key)) {
        tare_finding f = about_key(key, i, e->offset, "key is not valid UTF-8");
        f.code = "gguf.utf8";
        report(r, f);
    } else if (!follows_key_rule(r, e->key)) {
        tare_finding f = about_key(key, i, e->offset,
                                   "key is not made of lower_snake_case segments joined by dots");
        f.level = TARE_LEVEL_WARNING;
        f.code = "gguf.key-characters";
        report(r, f);
    }
    if (tare_str_is(e->key, TARE_GGUF_ALIGNMENT_KEY)) report_alignment(r, key, i);
    if (key->is_resource) return;
    if (e->value.type == TARE_VALUE_STRING)
        note_string(&faults, e->value.as.s, key->value_at);
    else if (e->value.type == TARE_VALUE_BOOL)
        note_bool(&faults, e->value.as.u, key->value_at);
    else if (e->value.type == TARE_VALUE_ARRAY)
        look_at_array(r, &faults, &e->value.as.a);
    report_faults(r, key, i, faults.n_bad_strings, faults.first_string, "gguf.utf8",
                  "string is not valid UTF-8");
    report_faults(r, key, i, faults.n_bad_bools, faults.first_bool, "gguf.bool",
                  "bool is neither 0 nor 1");
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool has_control(tare_str s) {
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = (uint8_t)s.ptr[i], next = i + 1 < s.len ? (uint8_t)s.ptr[i + 1] : 0;
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0)) return true;
    }
    return false;
}

static void report_type(tare_gguf_reader *r, const tare_gguf_info *info, size_t tensor) {
    const char *removed = tare_gguf_type_removed(info->type);
    const char *elsewhere = tare_gguf_type_elsewhere(info->type);
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "gguf.type-unknown");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)tensor;
    f.item_name = info->name;
    f.offset = info->type_at;
    if (r->is_set) f.file = tare_str_of(r->m->files[r->file].name);
    if (removed) {
        f.level = TARE_LEVEL_ERROR;
        f.code = "gguf.type-removed";
        tare_report_addf(r->report, &f, "type %" PRIu32 ": %s", info->type, removed);
    } else if (elsewhere) {
        tare_report_addf(r->report, &f, "unknown type %" PRIu32 " (%s of ik_llama.cpp)", info->type,
                         elsewhere);
    } else {
        tare_report_addf(r->report, &f, "unknown type %" PRIu32, info->type);
    }
}

void tare_gguf_report_info(tare_gguf_reader *r, const tare_gguf_info *info, size_t tensor) {
    if (!r->report) return;
    size_t length = r->version == 1 ? 4 : 8;
    if (!tare_str_is_utf8(info->name))
        tare_gguf_report_tensor(r, TARE_LEVEL_ERROR, TARE_ERR_CORRUPT, "gguf.utf8", tensor,
                                info->at, "tensor name is not valid UTF-8");
    else if (has_control(info->name))
        tare_gguf_report_tensor(r, TARE_LEVEL_WARNING, TARE_ERR_CORRUPT, "gguf.name-characters",
                                tensor, info->at, "control character in a tensor name");
    if (info->name.len > SPEC_NAME_BYTES)
        tare_gguf_report_tensor(r, TARE_LEVEL_WARNING, TARE_ERR_CORRUPT, "gguf.name-length", tensor,
                                info->at, "tensor name longer than 64 bytes");
    if (info->n_dims == 0 || info->n_dims > SPEC_MOST_DIMS)
        tare_gguf_report_tensor(r, TARE_LEVEL_WARNING, TARE_ERR_CORRUPT, "gguf.dims-count", tensor,
                                info->n_dims_at, "number of dimensions other than 1 to 4");
    for (uint32_t d = 0; d < info->n_dims; d++)
        if (info->dims[d] == 0)
            tare_gguf_report_tensor(r, TARE_LEVEL_WARNING, TARE_ERR_CORRUPT, "gguf.dim-zero",
                                    tensor, info->dims_at + d * length, "dimension of 0");
    if (!tare_gguf_type_encoding(info->type)) report_type(r, info, tensor);
}
