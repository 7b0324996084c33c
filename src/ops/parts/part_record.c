/* SPDX-License-Identifier: MIT
 *
 * Records of parts: JSON, for schedulers and people that want to look. Read as any file from a
 * stranger: a record says what is to be written where. */
#include "ops/parts/part_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json_node.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/utf8.h"

#define VERSION      "tare.part/1"
#define READ_BYTES   ((size_t)1 << 20)
#define RECORD_BYTES ((uint64_t)1 << 30) /* at most; 100,000 files of long names are 30 MB */

/* ---- names ----------------------------------------------------------------------------------- */

static size_t trimmed(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return n;
}

tare_str tare_part_output_name(const char *out_path) {
    const size_t n = trimmed(out_path);
    size_t from = n;
    while (from > 0 && out_path[from - 1] != '/') from--;
    return (tare_str){out_path + from, n - from};
}

static const char *with_tail(tare_arena *arena, const char *path, const char *tail) {
    const size_t n = trimmed(path), n_tail = strlen(tail);
    char *text = tare_arena_take(arena, n + n_tail + 1);
    if (!text) return NULL;
    memcpy(text, path, n);
    memcpy(text + n, tail, n_tail + 1);
    return text;
}

const char *tare_part_path(tare_arena *arena, const char *out_path, uint32_t index,
                           uint32_t count) {
    char tail[48];
    snprintf(tail, sizeof tail, ".part-%05" PRIu32 "-of-%05" PRIu32, index, count);
    return with_tail(arena, out_path, tail);
}

const char *tare_part_record_path(tare_arena *arena, const char *part_path) {
    return with_tail(arena, part_path, ".json");
}

const char *tare_part_shared_path(tare_arena *arena, const char *out_path) {
    return with_tail(arena, out_path, ".parts");
}

uint64_t tare_part_bytes(const tare_part_record *r) {
    return !r->is_packed ? r->end - r->begin : r->n_pieces ? r->pieces[0].n_bytes : 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

tare_status tare_part_pieces(tare_part_record *r, const tare_part_layout *layout, tare_arena *arena,
                             tare_error *err) {
    size_t n = 0, first = tare_part_layout_file(layout, r->begin);
    while (first > 0 && layout->starts[first] == r->begin) first--;
    r->pieces = TARE_NEW_ARRAY(arena, tare_part_piece, layout->n_files - first);
    if (!r->pieces) return tare_fail(err, TARE_ERR_NOMEM, "record of a part");
    for (size_t i = first; i < layout->n_files && layout->starts[i] <= r->end; i++) {
        const uint64_t start = layout->starts[i], next = layout->starts[i + 1];
        const uint64_t from = tare_max_u64(start, r->begin), to = tare_min_u64(next, r->end);
        const bool is_last = r->index == r->count;
        const bool is_ours =
            start == next ? start >= r->begin && (start < r->end || is_last) : from < to;
        if (is_ours)
            r->pieces[n++] =
                (tare_part_piece){layout->files[i], from - start, to - from, 0, (uint32_t)i};
    }
    r->n_pieces = n;
    return TARE_OK;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static tare_status add_bytes(uint32_t *crc, const tare_reader *file, uint64_t from, uint64_t n,
                             uint8_t *room, const tare_context *context, tare_error *err) {
    for (uint64_t at = 0; at < n;) {
        const size_t take = (size_t)tare_min_u64(READ_BYTES, n - at);
        TARE_TRY(tare_cancel_check(context->cancel, err));
        TARE_TRY(tare_reader_read(file, from + at, room, take, err));
        *crc = tare_crc32(*crc, room, take);
        at += take;
    }
    return TARE_OK;
}

tare_status tare_part_piece_crc(uint32_t *out, const tare_part_piece *piece, const char *path,
                                uint64_t from, const tare_context *context, tare_error *err) {
    tare_reader file;
    *out = 0;
    if (piece->file.kind != TARE_VIEW_FILE || !piece->n_bytes) return TARE_OK;
    uint8_t *room = tare_alloc(context->allocator, READ_BYTES);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    tare_status status = tare_reader_open(&file, path, TARE_MAP_NONE, err);
    if (status == TARE_OK) {
        status = add_bytes(out, &file, from, piece->n_bytes, room, context, err);
        tare_reader_close(&file);
    }
    tare_free(context->allocator, room, READ_BYTES);
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

tare_status tare_part_piece_check(const tare_part_piece *piece, const char *path, uint64_t from,
                                  const tare_context *context, tare_error *err) {
    uint32_t crc;
    TARE_TRY(tare_part_piece_crc(&crc, piece, path, from, context, err));
    if (crc == piece->crc) return TARE_OK;
    tare_fail_at(err, TARE_ERR_CORRUPT, from,
                 "from here on, bytes are not those that were written: remove this file, and make "
                 "its parts again, with `force`");
    tare_error_file(err, path);
    return TARE_ERR_CORRUPT;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_text(tare_arena *a, tare_json_node *to, const char *key, tare_str text) {
    tare_json_add(to, tare_str_of(key), tare_json_new(a, TARE_JSON_STRING, text));
}

static void add_flag(tare_arena *a, tare_json_node *to, const char *key, bool x) {
    const tare_json_type type = x ? TARE_JSON_TRUE : TARE_JSON_FALSE;
    tare_json_add(to, tare_str_of(key), tare_json_new(a, type, TARE_STR("")));
}

static void add_number(tare_arena *a, tare_json_node *to, const char *key, uint64_t x, bool minus) {
    char text[24];
    snprintf(text, sizeof text, "%s%" PRIu64, minus ? "-" : "", minus ? 0 - x : x);
    const tare_str kept = tare_arena_str(a, tare_str_of(text));
    tare_json_add(to, tare_str_of(key), kept.ptr ? tare_json_new(a, TARE_JSON_NUMBER, kept) : NULL);
}

static tare_json_node *piece_node(tare_arena *a, const tare_part_piece *p) {
    tare_json_node *node = tare_json_new(a, TARE_JSON_OBJECT, TARE_STR(""));
    const tare_view_file *f = &p->file;
    add_text(a, node, "name", f->name);
    if (f->kind == TARE_VIEW_LINK) add_text(a, node, "link_to", f->target);
    if (f->kind == TARE_VIEW_FOLDER) add_flag(a, node, "is_folder", true);
    add_number(a, node, "size_bytes", f->n_bytes, false);
    add_number(a, node, "offset", p->offset, false);
    add_number(a, node, "part_bytes", p->n_bytes, false);
    if (f->kind == TARE_VIEW_FILE) add_number(a, node, "crc32", p->crc, false);
    if (f->is_stated) {
        add_number(a, node, "mode", f->mode, false);
        add_number(a, node, "seconds", (uint64_t)f->seconds, f->seconds < 0);
        add_number(a, node, "nanoseconds", f->nanoseconds, false);
    }
    return node;
}

static tare_json_node *record_node(tare_arena *a, const tare_part_record *r) {
    tare_json_node *node = tare_json_new(a, TARE_JSON_OBJECT, TARE_STR(""));
    tare_json_node *list = tare_json_new(a, TARE_JSON_ARRAY, TARE_STR(""));
    char hex[65];
    tare_hex(hex, r->plan, sizeof r->plan);
    add_text(a, node, "schema", TARE_STR(VERSION));
    add_text(a, node, "output", r->output);
    add_text(a, node, "plan", tare_arena_str(a, tare_str_of(hex)));
    add_number(a, node, "part", r->index, false);
    add_number(a, node, "part_count", r->count, false);
    add_number(a, node, "begin", r->begin, false);
    add_number(a, node, "end", r->end, false);
    add_number(a, node, "total_bytes", r->total, false);
    add_flag(a, node, "is_directory", r->is_directory);
    add_flag(a, node, "is_shared", r->is_shared);
    if (r->is_packed) add_flag(a, node, "is_packed", true);
    add_number(a, node, "withheld", r->withheld, false);
    for (size_t i = 0; i < r->n_pieces; i++)
        tare_json_add(list, TARE_STR(""), piece_node(a, &r->pieces[i]));
    tare_json_add(node, TARE_STR("files"), list);
    return node;
}

static tare_status check_names(const tare_part_record *r, tare_error *err) {
    bool is_text = tare_is_utf8(r->output.ptr, r->output.len);
    for (size_t i = 0; i < r->n_pieces && is_text; i++) {
        const tare_view_file *f = &r->pieces[i].file;
        is_text = tare_is_utf8(f->name.ptr, f->name.len) &&
                  (f->kind != TARE_VIEW_LINK || tare_is_utf8(f->target.ptr, f->target.len));
    }
    if (is_text) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "a file of the output has a name that is not UTF-8: parts cannot record it");
}

tare_status tare_part_record_write(const char *path, const tare_part_record *r,
                                   const tare_output_options *output, const tare_context *context,
                                   tare_error *err) {
    const tare_json_style style = {.indent = 1};
    tare_output_options o = *output;
    tare_buffer text;
    tare_arena arena;
    TARE_TRY(check_names(r, err));
    o.force = true;
    tare_arena_init(&arena, context->allocator);
    tare_buffer_init(&text, context->allocator);
    tare_json_put_tree(&text, record_node(&arena, r), &style);
    tare_buffer_put_text(&text, "\n");
    tare_status status = tare_buffer_status(&text, err);
    if (status == TARE_OK)
        status = tare_file_write(path, text.data, text.size, NULL, &o, context, err);
    tare_buffer_free(&text);
    tare_arena_free(&arena);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct source {
    const char *path;
    tare_arena *arena;
    tare_error *err;
} source;

static tare_status wrong(const source *s, const tare_json_node *at, const char *what) {
    tare_fail_at(s->err, TARE_ERR_CORRUPT, at ? at->offset : 0, what);
    tare_error_file(s->err, s->path);
    return TARE_ERR_CORRUPT;
}

static bool take_number(uint64_t *out, const tare_json_node *object, const char *key,
                        uint64_t most) {
    const tare_json_node *node = tare_json_member(object, tare_str_of(key));
    return node && tare_json_node_u64(node, out) && *out <= most;
}

static bool take_flag(bool *out, const tare_json_node *object, const char *key) {
    const tare_json_node *node = tare_json_member(object, tare_str_of(key));
    *out = node && node->type == TARE_JSON_TRUE;
    return node && (node->type == TARE_JSON_TRUE || node->type == TARE_JSON_FALSE);
}

static bool take_stamp(tare_view_file *f, const tare_json_node *node) {
    uint64_t mode, nanoseconds;
    if (!tare_json_names(node, TARE_STR("mode"))) return true;
    const tare_json_node *seconds = tare_json_member(node, TARE_STR("seconds"));
    if (!seconds || !take_number(&mode, node, "mode", 0777) ||
        !take_number(&nanoseconds, node, "nanoseconds", 999999999))
        return false;
    const tare_json_value value = {.type = seconds->type, .raw = seconds->text};
    f->is_stated = true;
    f->mode = (uint16_t)mode;
    f->nanoseconds = (uint32_t)nanoseconds;
    return tare_json_i64(&value, &f->seconds);
}

/* With a NUL. */
static tare_str text_of(const source *s, const tare_json_node *object, const char *key) {
    return tare_arena_str(s->arena,
                          tare_json_node_text(tare_json_member(object, tare_str_of(key))));
}

/* A link leads to a text that a path can have; false is what no writer says of a folder. */
static bool take_kind(tare_view_file *f, const tare_json_node *node) {
    const bool is_link = tare_json_names(node, TARE_STR("link_to"));
    const bool is_folder = tare_json_names(node, TARE_STR("is_folder"));
    bool says = true;
    if (is_link) f->kind = TARE_VIEW_LINK;
    if (is_folder) f->kind = TARE_VIEW_FOLDER;
    if (is_folder && !(take_flag(&says, node, "is_folder") && says)) return false;
    return is_link ? !is_folder && f->target.len && !memchr(f->target.ptr, 0, f->target.len) : true;
}

static tare_status read_piece(tare_part_piece *p, const source *s, const tare_json_node *node,
                              bool is_directory) {
    tare_view_file *f = &p->file;
    uint64_t crc = 0;
    *f = tare_view_file_default();
    f->name = text_of(s, node, "name");
    f->target = text_of(s, node, "link_to");
    if (!f->name.ptr || !f->target.ptr)
        return tare_fail(s->err, TARE_ERR_NOMEM, "record of a part");
    if (!take_kind(f, node)) return wrong(s, node, "link_to, is_folder: what a file is");
    if (is_directory ? !tare_is_inner_path(f->name) : f->name.len > 0)
        return wrong(s, node, "name of a file");
    if (!take_number(&f->n_bytes, node, "size_bytes", INT64_MAX) ||
        !take_number(&p->offset, node, "offset", f->n_bytes) ||
        !take_number(&p->n_bytes, node, "part_bytes", f->n_bytes - p->offset) ||
        (f->kind != TARE_VIEW_FILE && f->n_bytes))
        return wrong(s, node, "range of a file");
    if (f->kind == TARE_VIEW_FILE && !take_number(&crc, node, "crc32", UINT32_MAX))
        return wrong(s, node, "crc32");
    p->crc = (uint32_t)crc;
    return take_stamp(f, node) ? TARE_OK : wrong(s, node, "permissions and time of a file");
}

static tare_status read_pieces(tare_part_record *out, const source *s, const tare_json_node *root) {
    const tare_json_node *list = tare_json_member(root, TARE_STR("files"));
    uint64_t sum = 0;
    if (!list || list->type != TARE_JSON_ARRAY) return wrong(s, root, "files: a list");
    out->pieces = TARE_NEW_ARRAY(s->arena, tare_part_piece, list->n);
    if (!out->pieces) return tare_fail(s->err, TARE_ERR_NOMEM, "record of a part");
    for (const tare_json_node *node = list->child; node; node = node->next) {
        tare_part_piece *p = &out->pieces[out->n_pieces++];
        TARE_TRY(read_piece(p, s, node, out->is_directory));
        if (!tare_add_u64(sum, p->n_bytes, &sum)) return wrong(s, node, "range of a file");
    }
    if (out->is_packed) {
        const tare_part_piece *p = out->pieces;
        const bool is_file = out->n_pieces == 1 && p->file.kind == TARE_VIEW_FILE;
        return is_file && p->n_bytes == p->file.n_bytes
                   ? TARE_OK
                   : wrong(s, list, "files: not one whole file");
    }
    if (sum != out->end - out->begin) return wrong(s, list, "files: not the bytes of the part");
    return TARE_OK;
}

static tare_status read_root(tare_part_record *out, const source *s, const tare_json_node *root) {
    uint64_t index, count, withheld;
    if (!tare_json_node_is(tare_json_member(root, TARE_STR("schema")), VERSION))
        return wrong(s, root, "schema: not " VERSION);
    const tare_str hex = tare_json_node_text(tare_json_member(root, TARE_STR("plan")));
    out->output = tare_json_node_text(tare_json_member(root, TARE_STR("output")));
    if (hex.len != 64 || !tare_unhex(out->plan, hex.ptr, sizeof out->plan))
        return wrong(s, root, "plan: 64 hexadecimal digits");
    if (!take_number(&count, root, "part_count", TARE_PARTS_MOST) || count == 0 ||
        !take_number(&index, root, "part", count) || index == 0)
        return wrong(s, root, "part, part_count: a number from 1 on");
    if (!take_number(&out->total, root, "total_bytes", INT64_MAX) ||
        !take_number(&out->end, root, "end", out->total) ||
        !take_number(&out->begin, root, "begin", out->end))
        return wrong(s, root, "begin, end: a range of the output");
    if (!take_flag(&out->is_directory, root, "is_directory") ||
        !take_flag(&out->is_shared, root, "is_shared") ||
        !take_number(&withheld, root, "withheld", 0777))
        return wrong(s, root, "is_directory, is_shared, withheld");
    if (tare_json_names(root, TARE_STR("is_packed")) &&
        (!take_flag(&out->is_packed, root, "is_packed") ||
         (out->is_packed && (out->is_shared || out->is_directory))))
        return wrong(s, root, "is_packed");
    out->index = (uint32_t)index;
    out->count = (uint32_t)count;
    out->withheld = (uint16_t)withheld;
    return read_pieces(out, s, root);
}

tare_status tare_part_record_read(tare_part_record *out, const char *path, tare_arena *arena,
                                  tare_error *err) {
    const source s = {path, arena, err};
    const tare_json_node *root;
    tare_reader file;
    *out = (tare_part_record){0};
    TARE_TRY(tare_reader_open(&file, path, TARE_MAP_NONE, err));
    tare_status status = TARE_OK;
    char *text = NULL;
    if (file.size > RECORD_BYTES)
        status = wrong(&s, NULL, "too large for a record of a part");
    else if (!(text = tare_arena_take(arena, (size_t)file.size)))
        status = tare_fail(err, TARE_ERR_NOMEM, "record of a part");
    if (status == TARE_OK) status = tare_reader_read(&file, 0, text, (size_t)file.size, err);
    if (status == TARE_OK)
        status = tare_json_tree(&root, (tare_str){text, (size_t)file.size}, arena, err);
    if (status == TARE_OK) status = read_root(out, &s, root);
    if (status != TARE_OK) tare_error_file(err, path);
    tare_reader_close(&file);
    return status;
}
