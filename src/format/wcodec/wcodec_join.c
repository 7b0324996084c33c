/* SPDX-License-Identifier: MIT
 *
 * Parts of a .wcodec become one: layers get their numbers and places, those of the same bytes are stored
 * once, and the index is written and read again, as any that comes from a stranger. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/str.h"
#include "format/packed.h"
#include "format/wcodec/wcodec_index.h"

enum { NUMBER = 4 + 32, COUNTS = 12, TAIL = 24, FEWEST_BYTES = 64 + TARE_WCODEC_FOOTER };

/* Where a layer's data is: in a part. */
typedef struct origin {
    uint32_t part, number;
    uint64_t offset;
    uint8_t digest[32];
    tare_wcodec_layer layer;
} origin;

struct tare_packed_join {
    tare_arena arena;
    tare_limits limits;
    uint32_t n_parts;
    tare_wcodec_index index; /* of the whole */
    origin *origins;         /* of what parts have, then, once planned, of each layer */
    size_t n_origins, capacity;
    uint32_t *duplicates; /* for each layer: the one whose data it has, or itself */
    uint64_t end;         /* of all data */
    uint8_t header[TARE_WCODEC_HEADER];
    tare_buffer text; /* of the index */
    tare_packed_move *moves;
    size_t n_moves;
};

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "layers of parts");
}

tare_status tare_packed_join_new(tare_packed_join **out, const tare_limits *limits,
                                 const tare_allocator *allocator, tare_error *err) {
    tare_packed_join *j = tare_alloc(allocator, sizeof *j);
    *out = j;
    if (!j) return no_memory(err);
    *j = (tare_packed_join){.limits = *limits};
    tare_arena_init(&j->arena, allocator);
    tare_buffer_init(&j->text, allocator);
    return TARE_OK;
}

void tare_packed_join_free(tare_packed_join *j) {
    if (!j) return;
    const tare_allocator *a = j->arena.allocator;
    tare_buffer_free(&j->text);
    tare_free(a, j->origins, j->capacity * sizeof *j->origins);
    tare_arena_free(&j->arena);
    tare_free(a, j, sizeof *j);
}

/* ---- reading a part -------------------------------------------------------------------------- */

/* What stands around the layers of a part. */
typedef struct part {
    const uint8_t *rest; /* from the index on */
    uint64_t index_at, n_index, container, n_rest;
    uint64_t n_records;
    uint8_t header[TARE_WCODEC_HEADER];
    tare_wcodec_index index;
} part;

static tare_status refuse(tare_error *err, uint64_t at, const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, at, what);
}

static tare_status find_rest(part *p, const tare_packed_join *j, const tare_reader *file,
                             tare_error *err) {
    uint8_t tail[TAIL];
    if (file->size < TARE_WCODEC_HEADER + FEWEST_BYTES + COUNTS + TAIL)
        return refuse(err, file->size, "part of a .wcodec: ends too early");
    TARE_TRY(tare_reader_read(file, file->size - TAIL, tail, TAIL, err));
    if (memcmp(tail + 16, "WCPART\0\1", 8) != 0)
        return refuse(err, file->size - 8, "part of a .wcodec: magic: expected WCPART");
    p->container = tare_load_le64(tail);
    p->n_records = tare_load_le64(tail + 8);
    if (p->container > file->size - TAIL - COUNTS ||
        p->n_records > file->size - TAIL - COUNTS - p->container ||
        p->container < TARE_WCODEC_HEADER)
        return refuse(err, file->size - TAIL, "part of a .wcodec: sizes that it does not have");
    TARE_TRY(tare_reader_read(file, 0, p->header, sizeof p->header, err));
    TARE_TRY(tare_wcodec_find_index(&p->index_at, &p->n_index, p->header, p->container, &j->limits,
                                    err));
    p->n_rest = file->size - p->index_at;
    return TARE_OK;
}

static tare_status take_layers(tare_packed_join *j, const part *p, tare_cursor *c,
                               tare_error *err) {
    const char ends[] = "part of a .wcodec: ends inside its layers";
    const size_t n = j->n_origins + p->index.n_layers;
    if (!tare_grow(j->arena.allocator, (void **)&j->origins, &j->capacity, n, sizeof *j->origins))
        return no_memory(err);
    for (uint32_t i = 0; i < p->index.n_layers; i++) {
        origin *o = &j->origins[j->n_origins];
        *o = (origin){.part = j->n_parts,
                      .offset = p->index.layers[i].coded.offset,
                      .layer = p->index.layers[i]};
        const uint64_t at = tare_cursor_offset(c);
        o->number = tare_cursor_u32(c, ends);
        const uint8_t *digest = tare_cursor_take(c, 32, ends);
        if (!digest) return tare_cursor_status(c, err);
        if (o->number >= j->index.n_layers)
            return refuse(err, at, "number of a layer: out of range");
        memcpy(o->digest, digest, sizeof o->digest);
        j->n_origins++;
    }
    return TARE_OK;
}

/* What all parts say of the whole. */
static tare_status take_whole(tare_packed_join *j, const part *p, const uint8_t *counts,
                              uint64_t at, tare_error *err) {
    const tare_wcodec_index whole = {.n_layers = tare_load_le32(counts),
                                     .n_files = tare_load_le32(counts + 4),
                                     .files_form = counts[8],
                                     .base_quant = counts[9],
                                     .tile_rows = p->index.tile_rows,
                                     .tile_cols = p->index.tile_cols,
                                     .zstd_version = p->index.zstd_version};
    const tare_wcodec_index *x = &j->index;
    if (j->n_parts == 0) {
        if (whole.n_layers > j->limits.tensors)
            return tare_fail_at(err, TARE_ERR_LIMIT, at, "number of layers");
        j->index = whole;
        return TARE_OK;
    }
    if (x->zstd_version != whole.zstd_version)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, 80,
                            "version of zstd: not that of the first part, so that one machine "
                            "would not have made these bytes");
    if (x->n_layers != whole.n_layers || x->n_files != whole.n_files ||
        x->files_form != whole.files_form || x->base_quant != whole.base_quant ||
        x->tile_rows != whole.tile_rows || x->tile_cols != whole.tile_cols)
        return refuse(err, at, "layers and files of the whole: not those of the first part");
    return TARE_OK;
}

static tare_status take(tare_packed_join *j, part *p, tare_error *err) {
    const uint64_t n_numbers = (uint64_t)p->index.n_layers * NUMBER;
    const uint64_t begin = p->container - p->index_at, end = p->n_rest - TAIL;
    tare_cursor c;
    if (end - begin - COUNTS - p->n_records != n_numbers)
        return refuse(err, p->container, "layers of a part: not as many as its index has");
    const uint64_t counts = begin + n_numbers;
    TARE_TRY(take_whole(j, p, p->rest + counts, p->index_at + counts, err));
    tare_cursor_init(&c, p->rest + begin, n_numbers, p->container);
    TARE_TRY(take_layers(j, p, &c, err));
    if (j->n_parts == 0) {
        const char *records = (const char *)p->rest + counts + COUNTS;
        j->index.file_records = tare_arena_str(&j->arena, (tare_str){records, p->n_records});
        if (!j->index.file_records.ptr) return no_memory(err);
    } else if (p->n_records) {
        return refuse(err, p->container, "records of files: only the first part has them");
    }
    j->n_parts++;
    return TARE_OK;
}

tare_status tare_packed_join_add(tare_packed_join *j, const tare_reader *file, tare_error *err) {
    const tare_allocator *a = j->arena.allocator;
    part p = {.rest = NULL};
    TARE_TRY(find_rest(&p, j, file, err));
    if (p.n_rest > SIZE_MAX) return no_memory(err);
    uint8_t *rest = tare_alloc(a, (size_t)p.n_rest);
    if (!rest) return no_memory(err);
    tare_status status = tare_reader_read(file, p.index_at, rest, (size_t)p.n_rest, err);
    p.rest = rest;
    if (status == TARE_OK)
        status = tare_wcodec_index_read(&p.index, p.header, rest, p.index_at, p.n_index, &j->limits,
                                        &j->arena, err);
    if (status == TARE_OK && p.index.n_bases)
        status = refuse(err, p.index_at, "part of a .wcodec: it has bases");
    if (status == TARE_OK) status = take(j, &p, err);
    tare_free(a, rest, (size_t)p.n_rest);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    const origin *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* As many as there are, in their order: a number that is missing or there twice is seen. */
static tare_status order_layers(tare_packed_join *j, tare_error *err) {
    const uint32_t n = j->index.n_layers;
    if (j->n_origins) qsort(j->origins, j->n_origins, sizeof *j->origins, by_number);
    for (size_t i = 0; i < j->n_origins; i++)
        if (j->origins[i].number != i)
            return refuse(err, TARE_NO_OFFSET, "a layer that no part has, or that several have");
    if (j->n_origins != n) return refuse(err, TARE_NO_OFFSET, "a layer that no part has");
    j->index.layers = TARE_NEW_ARRAY(&j->arena, tare_wcodec_layer, n);
    if (!j->index.layers) return no_memory(err);
    for (uint32_t i = 0; i < n; i++) j->index.layers[i] = j->origins[i].layer;
    return TARE_OK;
}

/* A tensor, to be sorted by what it holds. */
typedef struct content {
    const uint8_t *digest;
    uint32_t number;
} content;

static int by_digest(const void *a, const void *b) {
    const content *x = a, *y = b;
    const int order = memcmp(x->digest, y->digest, 32);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Tensors of the same bytes, type and shape are stored with the first of them. */
static tare_status find_duplicates(tare_packed_join *j, tare_error *err) {
    const uint32_t n = j->index.n_layers;
    content *list = TARE_NEW_ARRAY(&j->arena, content, n);
    j->duplicates = TARE_NEW_ARRAY(&j->arena, uint32_t, n);
    size_t n_tensors = 0;
    if (!list || !j->duplicates) return no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        j->duplicates[i] = i;
        if (j->index.layers[i].kind == TARE_WCODEC_TENSOR)
            list[n_tensors++] = (content){j->origins[i].digest, i};
    }
    if (n_tensors) qsort(list, n_tensors, sizeof *list, by_digest);
    for (size_t i = 1; i < n_tensors; i++)
        if (memcmp(list[i].digest, list[i - 1].digest, 32) == 0)
            j->duplicates[list[i].number] = j->duplicates[list[i - 1].number];
    return TARE_OK;
}

/* A move goes on with the one before it, or begins one. */
static void add_move(tare_packed_join *j, const origin *from, uint64_t to, uint64_t n) {
    tare_packed_move *last = j->n_moves ? &j->moves[j->n_moves - 1] : NULL;
    if (last && last->part == from->part && last->from + last->n == from->offset &&
        last->to + last->n == to)
        last->n += n;
    else
        j->moves[j->n_moves++] = (tare_packed_move){from->part, from->offset, to, n};
}

/* As one machine places them: what is no tensor comes first. */
static tare_status place_layers(tare_packed_join *j, tare_error *err) {
    tare_wcodec_index *x = &j->index;
    uint64_t at = TARE_WCODEC_HEADER;
    j->moves = TARE_NEW_ARRAY(&j->arena, tare_packed_move, x->n_layers);
    if (!j->moves) return no_memory(err);
    for (int of_tensors = 0; of_tensors < 2; of_tensors++)
        for (uint32_t i = 0; i < x->n_layers; i++) {
            tare_wcodec_layer *l = &x->layers[i];
            if ((l->kind == TARE_WCODEC_TENSOR) != of_tensors || j->duplicates[i] != i ||
                !l->coded.size)
                continue;
            add_move(j, &j->origins[i], at, l->coded.size);
            l->coded.offset = at;
            if (!tare_add_u64(at, l->coded.size, &at))
                return tare_fail(err, TARE_ERR_LIMIT, "size of the output");
        }
    for (uint32_t i = 0; i < x->n_layers; i++) {
        tare_wcodec_layer *l = &x->layers[i];
        const tare_wcodec_layer *first = &x->layers[j->duplicates[i]];
        if (l == first) continue;
        if (l->coded.n_regions != first->coded.n_regions)
            return refuse(err, TARE_NO_OFFSET, "layers of one digest and several forms");
        l->coded = first->coded;
    }
    j->end = at;
    return TARE_OK;
}

static tare_status make_digest(tare_packed_join *j, tare_packed_digest_fn digest, tare_error *err) {
    const uint32_t n = j->index.n_layers;
    tare_tensor *tensors = TARE_NEW_ARRAY(&j->arena, tare_tensor, n);
    tare_digest *digests = TARE_NEW_ARRAY(&j->arena, tare_digest, n);
    size_t n_tensors = 0;
    if (!tensors || !digests) return no_memory(err);
    for (uint32_t i = 0; i < n; i++) {
        if (j->index.layers[i].kind != TARE_WCODEC_TENSOR) continue;
        tensors[n_tensors] = (tare_tensor){.name = j->index.layers[i].name};
        memcpy(digests[n_tensors++].bytes, j->origins[i].digest, sizeof digests->bytes);
    }
    return digest(j->index.digest, tensors, digests, n_tensors, j->arena.allocator, err);
}

tare_status tare_packed_join_plan(tare_packed_join *j, tare_packed_digest_fn digest,
                                  tare_error *err) {
    tare_wcodec_index again;
    TARE_TRY(order_layers(j, err));
    TARE_TRY(find_duplicates(j, err));
    TARE_TRY(place_layers(j, err));
    TARE_TRY(make_digest(j, digest, err));
    tare_wcodec_index_write(&j->text, j->header, &j->index, j->end);
    TARE_TRY(tare_buffer_status(&j->text, err));
    return tare_wcodec_index_read(&again, j->header, j->text.data, j->end,
                                  j->text.size - TARE_WCODEC_FOOTER, &j->limits, &j->arena, err);
}

tare_packed_joined tare_packed_join_result(const tare_packed_join *j) {
    return (tare_packed_joined){.header = j->header,
                                .n_header = sizeof j->header,
                                .index = j->text.data,
                                .n_index = j->text.size,
                                .index_at = j->end,
                                .moves = j->moves,
                                .n_moves = j->n_moves};
}
