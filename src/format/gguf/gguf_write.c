/* SPDX-License-Identifier: MIT
 *
 * Laying out GGUF version 3, in either byte order: one file or shards. A model that was read from
 * one GGUF file keeps its offsets, gaps and the bytes in them, so that unmodified parts stay the
 * same; everything else is packed the way ggml does it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "format/gguf/gguf_types.h"
#include "format/gguf/gguf_write.h"

#define HEADER_BYTES 24
#define MOST_SHARDS  65535 /* split.count is a u16 */

static tare_status tensor_fault(const tare_gguf_writer *w, size_t i, const char *what,
                                tare_error *err) {
    tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, w->c->tensors[i].name);
    return TARE_ERR_UNSUPPORTED;
}

/* ---- what is written ------------------------------------------------------------------------- */

static bool is_gguf(const tare_layout *l) {
    return l && l->format == &tare_format_gguf;
}

/* The type number of a tensor; false: GGUF has none. Unknown types come from GGUF, perhaps carried
 * through another format in a record; one that claims the number of a known type is invalid. */
static bool type_of(const tare_tensor *t, uint32_t *type) {
    if (t->encoding->kind != TARE_KIND_UNKNOWN) return tare_gguf_type_of(t->encoding, type);
    *type = t->native_type;
    return tare_gguf_type_encoding(t->native_type) == NULL;
}

static tare_status check_tensors(const tare_gguf_writer *w, tare_error *err) {
    const tare_layout *l = w->c->layout;
    uint32_t type;
    bool turns = w->is_big_endian != (l && l->is_big_endian);
    for (size_t i = 0; i < w->c->n_tensors; i++) {
        const tare_tensor *t = &w->c->tensors[i];
        if (!type_of(t, &type)) return tensor_fault(w, i, "GGUF has no such type", err);
        if (t->encoding->kind == TARE_KIND_UNKNOWN && turns)
            return tensor_fault(w, i, "the byte order of an unknown type cannot be changed", err);
    }
    return TARE_OK;
}

/* The requested alignment, else the key's value, which every file that was once a GGUF has. */
static uint32_t choose_alignment(const tare_catalog *c, const tare_write_options *options) {
    int64_t i = tare_gguf_find_alignment(c);
    if (options->alignment) return options->alignment;
    if (i >= 0 && c->metadata[i].value.type == TARE_VALUE_U32 && c->metadata[i].value.as.u)
        return (uint32_t)c->metadata[i].value.as.u;
    return TARE_GGUF_ALIGNMENT;
}

/* ---- files ----------------------------------------------------------------------------------- */

static uint64_t info_size(const tare_tensor *t) {
    return 8 + (uint64_t)t->name.len + 4 + 8 * (uint64_t)t->n_dims + 4 + 8;
}

static void write_info(tare_gguf_writer *w, const tare_tensor *t, uint64_t relative) {
    uint32_t type = 0;
    type_of(t, &type);
    tare_buffer_put_u64(&w->run, t->name.len, w->is_big_endian);
    tare_buffer_put_str(&w->run, t->name);
    tare_buffer_put_u32(&w->run, t->n_dims, w->is_big_endian);
    for (uint32_t d = t->n_dims; d-- > 0;)
        tare_buffer_put_u64(&w->run, t->dims[d], w->is_big_endian);
    tare_buffer_put_u32(&w->run, type, w->is_big_endian);
    tare_buffer_put_u64(&w->run, relative, w->is_big_endian);
}

/* A file to be: tensors [first, end) and some keys. */
typedef struct part {
    size_t first, end;
    const tare_gguf_key_out *keys;
    size_t n_keys;
    uint64_t keys_size;
} part;

static tare_status align(const tare_gguf_writer *w, uint64_t a, uint64_t *out, tare_error *err) {
    return tare_align_u64(a, w->alignment, out)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits");
}

static tare_status header_size(const tare_gguf_writer *w, const part *p, uint64_t *out,
                               tare_error *err) {
    *out = HEADER_BYTES + p->keys_size;
    for (size_t i = p->first; i < p->end; i++) *out += info_size(&w->c->tensors[i]);
    return *out < p->keys_size ? tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits")
                               : TARE_OK;
}

/* The position of tensor i in the data section of its file, and where the next may begin. */
static tare_status place_next(const tare_gguf_writer *w, size_t i, uint64_t *relative,
                              uint64_t *running, tare_error *err) {
    const tare_tensor *t = &w->c->tensors[i];
    uint64_t end;
    *relative = w->kept ? t->planes[0].offset - w->kept->data_offset : *running;
    if (!tare_add_u64(*relative, t->size_bytes, &end))
        return tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits");
    if (!w->kept) return align(w, end, running, err);
    if (t->size_bytes) *running = tare_max_u64(*running, end); /* an empty one may lie anywhere */
    return TARE_OK;
}

static tare_status write_header(tare_gguf_writer *w, const part *p, tare_error *err) {
    uint64_t running = 0, relative;
    w->at = 0;
    tare_buffer_put_text(&w->run, "GGUF");
    tare_buffer_put_u32(&w->run, 3, w->is_big_endian);
    tare_buffer_put_u64(&w->run, p->end - p->first, w->is_big_endian);
    tare_buffer_put_u64(&w->run, p->n_keys, w->is_big_endian);
    for (size_t i = 0; i < p->n_keys; i++) TARE_TRY(tare_gguf_write_key(w, &p->keys[i], err));
    for (size_t i = p->first; i < p->end; i++) {
        TARE_TRY(place_next(w, i, &relative, &running, err));
        write_info(w, &w->c->tensors[i], relative);
    }
    return tare_gguf_flush(w, err);
}

static tare_status write_data(tare_gguf_writer *w, const part *p, uint64_t data_offset,
                              uint64_t *end, tare_error *err) {
    uint64_t running = 0, relative;
    for (size_t i = p->first; i < p->end; i++) {
        TARE_TRY(place_next(w, i, &relative, &running, err));
        tare_extent e = {.kind = TARE_EXTENT_TENSOR,
                         .file = w->file,
                         .size = w->c->tensors[i].size_bytes,
                         .item = i};
        uint64_t last;
        if (!tare_add_u64(data_offset, relative, &e.offset) ||
            !tare_add_u64(e.offset, e.size, &last))
            return tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits");
        if (e.size) TARE_TRY(tare_write_plan_add(w->plan, &e, err));
    }
    return tare_add_u64(data_offset, running, end)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits");
}

/* The gaps of a file that is repeated. The bytes before the data are only repeated if the header
 * has kept its size; otherwise they become new padding. */
static tare_status write_fillers(tare_gguf_writer *w, uint64_t header, uint64_t data_offset,
                                 uint64_t *end, tare_error *err) {
    const tare_layout *l = w->kept;
    uint64_t size = w->detail->file_size;
    for (size_t i = 0; i < l->n_fillers; i++) {
        const tare_filler *f = &l->fillers[i];
        bool is_before = f->offset < l->data_offset;
        if (is_before && header != w->detail->infos_end) continue;
        tare_extent e = {.kind = TARE_EXTENT_COPY,
                         .file = w->file,
                         .offset = is_before ? f->offset : f->offset - l->data_offset + data_offset,
                         .size = f->size,
                         .item = f->file,
                         .source_offset = f->offset};
        TARE_TRY(tare_write_plan_add(w->plan, &e, err));
    }
    uint64_t old_end = size >= l->data_offset ? size - l->data_offset + data_offset
                                              : size - w->detail->infos_end + header;
    if (size < l->data_offset && *end == data_offset) *end = tare_min_u64(old_end, data_offset);
    *end = tare_max_u64(*end, old_end);
    return TARE_OK;
}

static tare_status write_part(tare_gguf_writer *w, const part *p, const char *name,
                              tare_error *err) {
    uint64_t header, data_offset, end = 0;
    TARE_TRY(tare_write_plan_add_file(w->plan, name, &w->file, err));
    TARE_TRY(header_size(w, p, &header, err));
    TARE_TRY(align(w, header, &data_offset, err));
    TARE_TRY(write_header(w, p, err));
    TARE_TRY(write_data(w, p, data_offset, &end, err));
    if (w->kept) TARE_TRY(write_fillers(w, header, data_offset, &end, err));
    w->plan->files[w->file].size = end;
    return TARE_OK;
}

/* ---- shards ---------------------------------------------------------------------------------- */

/* Keys about the split, and the alignment if it must be stated. */
static size_t split_keys(const tare_gguf_writer *w, tare_gguf_key_out *out, uint64_t no,
                         uint64_t count, bool with_alignment) {
    const tare_gguf_key_out keys[] = {
        {{"", 0}, TARE_STR("split.no"), tare_gguf_number(TARE_VALUE_U16, no), false, 0},
        {{"", 0}, TARE_STR("split.count"), tare_gguf_number(TARE_VALUE_U16, count), false, 0},
        {{"", 0},
         TARE_STR("split.tensors.count"),
         tare_gguf_number(TARE_VALUE_I32, w->c->n_tensors),
         false,
         0},
        {{"", 0},
         TARE_STR(TARE_GGUF_ALIGNMENT_KEY),
         tare_gguf_number(TARE_VALUE_U32, w->alignment),
         false,
         0}};
    size_t n = with_alignment && w->alignment != TARE_GGUF_ALIGNMENT ? 4 : 3;
    memcpy(out, keys, n * sizeof *out);
    return n;
}

/* The size of a file of tensors [first, end), nothing written. */
static tare_status part_size(const tare_gguf_writer *w, const part *p, uint64_t *out,
                             tare_error *err) {
    uint64_t header, data_offset, running = 0, relative;
    TARE_TRY(header_size(w, p, &header, err));
    TARE_TRY(align(w, header, &data_offset, err));
    for (size_t i = p->first; i < p->end; i++) TARE_TRY(place_next(w, i, &relative, &running, err));
    return tare_add_u64(data_offset, running, out)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_LIMIT, "file: its size exceeds 64 bits");
}

/* How far shard `number`, which begins at p->first, goes: as the caller wants, else as long as the
 * whole file stays within the size; but a tensor too large for any shard gets its own. */
static tare_status fill_part(const tare_gguf_writer *w, part *p, uint64_t number,
                             uint64_t bare_keys, tare_error *err) {
    uint64_t infos = 0, running = 0, relative, header, size;
    const uint32_t *part_of = w->options->part_of;
    p->end = p->first;
    if (part_of) {
        while (p->end < w->c->n_tensors && part_of[p->end] == number) p->end++;
        return TARE_OK;
    }
    for (size_t i = p->first; i < w->c->n_tensors; i++) {
        infos += info_size(&w->c->tensors[i]);
        TARE_TRY(place_next(w, i, &relative, &running, err));
        TARE_TRY(align(w, HEADER_BYTES + p->keys_size + infos, &header, err));
        if (tare_add_u64(header, running, &size) && size <= w->options->shard_size) {
            p->end = i + 1;
            continue;
        }
        if (i > p->first) return TARE_OK;
        part alone = {.first = i, .end = i + 1, .keys_size = bare_keys};
        TARE_TRY(part_size(w, &alone, &size, err));
        if (size > w->options->shard_size || p->keys_size == bare_keys) p->end = i + 1;
        return TARE_OK;
    }
    return TARE_OK;
}

/* Walks the shards in order; `count` 0: only counts them. */
static tare_status walk_shards(tare_gguf_writer *w, uint64_t count, uint64_t *n, tare_error *err) {
    const char *stem = w->options->stem ? w->options->stem : "model";
    uint64_t bare_keys = 0;
    size_t first = 0;
    *n = 0;
    do {
        tare_gguf_key_out own[4];
        size_t n_own = split_keys(w, own, *n, count, *n > 0), name_size = strlen(stem) + 32;
        part p = {.first = first, .keys = own, .n_keys = n_own};
        for (size_t i = 0; i < n_own; i++) p.keys_size += tare_gguf_key_size(w, &own[i]);
        if (*n) bare_keys = p.keys_size;
        if (*n == 0) {
            tare_gguf_key_out bare[4];
            size_t n_bare = split_keys(w, bare, 0, 0, true);
            for (size_t i = 0; i < n_bare; i++) bare_keys += tare_gguf_key_size(w, &bare[i]);
            memcpy(w->keys + w->n_keys, own, n_own * sizeof *own);
            p.keys = w->keys;
            p.n_keys = w->n_keys + n_own;
            p.keys_size += w->keys_size;
        }
        TARE_TRY(fill_part(w, &p, *n, bare_keys, err));
        if (count) {
            char *name = tare_arena_take(w->plan->arena, name_size);
            if (!name) return tare_fail(err, TARE_ERR_NOMEM, "shard name");
            snprintf(name, name_size, "%s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", stem, *n + 1,
                     count);
            TARE_TRY(write_part(w, &p, name, err));
        }
        first = p.end;
        if (++*n > MOST_SHARDS || *n > w->options->limits->shards)
            return tare_fail(err, TARE_ERR_LIMIT, "more shards than GGUF can count");
    } while (first < w->c->n_tensors || *n < w->options->n_parts);
    return TARE_OK;
}

/* ---- room for later ---------------------------------------------------------------------- */

/* A key that takes up room in the header: enough to keep the data in place, or the requested amount
 * of free space. */
static tare_status put_spare(tare_gguf_writer *w, part *p, tare_error *err) {
    uint64_t header, n = w->options->spare;
    bool is_wanted = n > 0;
    TARE_TRY(header_size(w, p, &header, err));
    if (w->options->keeps_place && w->kept && header <= w->kept->data_offset) {
        const uint64_t room = w->kept->data_offset - header;
        if (room < w->alignment) return TARE_OK; /* padding as everywhere */
        is_wanted = is_wanted || room >= TARE_GGUF_SPARE_BYTES;
        if (room >= TARE_GGUF_SPARE_BYTES) n = room - TARE_GGUF_SPARE_BYTES;
    }
    if (!is_wanted) return TARE_OK;
    tare_array zeros = {.type = TARE_VALUE_U8, .count = n, .size_bytes = n};
    zeros.bytes =
        n <= w->options->limits->array_elements ? TARE_NEW_ARRAY(w->plan->arena, uint8_t, n) : NULL;
    if (!zeros.bytes) return tare_fail(err, TARE_ERR_LIMIT, "spare room in the header");
    const tare_gguf_key_out key = {.prefix = {"", 0},
                                   .key = TARE_STR(TARE_SPARE_KEY),
                                   .value = {.type = TARE_VALUE_ARRAY, .as.a = zeros}};
    w->keys[p->n_keys++] = key; /* the last one, after all that are listed */
    p->keys_size += tare_gguf_key_size(w, &key);
    return TARE_OK;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static tare_status write_all(tare_gguf_writer *w, tare_error *err) {
    part whole = {.end = w->c->n_tensors};
    uint64_t size, n, again;
    bool shards = w->options->shard_size > 0 || w->options->part_of;
    TARE_TRY(tare_gguf_list_keys(w, shards, err));
    whole.keys = w->keys;
    whole.n_keys = w->n_keys;
    whole.keys_size = w->keys_size;
    if (!shards) TARE_TRY(put_spare(w, &whole, err));
    if (!shards) return write_part(w, &whole, NULL, err);
    w->plan->is_directory = true;
    TARE_TRY(part_size(w, &whole, &size, err));
    if (!w->options->part_of && size <= w->options->shard_size) {
        const char *stem = w->options->stem ? w->options->stem : "model";
        size_t name_size = strlen(stem) + sizeof ".gguf";
        char *name = tare_arena_take(w->plan->arena, name_size);
        if (!name) return tare_fail(err, TARE_ERR_NOMEM, "file name");
        snprintf(name, name_size, "%s.gguf", stem);
        return write_part(w, &whole, name, err);
    }
    TARE_TRY(walk_shards(w, 0, &n, err));
    return walk_shards(w, n, &again, err);
}

/* Repeating needs the layout of one GGUF file, unsplit and of unchanged alignment. */
static void choose_layout(tare_gguf_writer *w) {
    const tare_layout *l = w->c->layout;
    if (!w->options->is_identity || !is_gguf(l) || !l->detail || w->options->shard_size) return;
    if (w->options->part_of) return;
    if (w->alignment != l->alignment) return;
    w->kept = l;
    w->detail = l->detail;
}

tare_status tare_gguf_plan(tare_write_plan *out, const tare_catalog *catalog,
                           const tare_write_options *options, tare_error *err) {
    const tare_layout *l = catalog->layout;
    tare_gguf_writer w = {.plan = out, .c = catalog, .options = options};
    if (options->alignment % 8 != 0)
        return tare_fail(err, TARE_ERR_ARG, "alignment: GGUF requires a multiple of 8");
    w.is_big_endian = options->order == TARE_ORDER_BIG ||
                      (options->order == TARE_ORDER_KEEP && l && l->is_big_endian);
    w.alignment = choose_alignment(catalog, options);
    choose_layout(&w);
    out->is_big_endian = w.is_big_endian;
    TARE_TRY(check_tensors(&w, err));
    tare_buffer_init(&w.run, out->arena->allocator);
    tare_status s = write_all(&w, err);
    tare_buffer_free(&w.run);
    return s;
}
