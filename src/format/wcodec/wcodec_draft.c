/* SPDX-License-Identifier: MIT
 *
 * Assembling a .wcodec: docs/wcodec.md, 2 to 5 and 12. */
#include "format/wcodec/wcodec_draft.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/arith.h"
#include "encoding/table.h"
#include "wcodec/layer/wc_join_choice.h"
#include "wcodec/layer/wc_pair_choice.h"

enum { TILE = 16 };

void tare_wcodec_draft_init(tare_wcodec_draft *d, const tare_wc_effort *effort,
                            const tare_allocator *allocator) {
    *d = (tare_wcodec_draft){.effort = *effort};
    tare_arena_init(&d->arena, allocator);
    d->index.tile_rows = d->index.tile_cols = TILE;
    d->index.zstd_version = ZSTD_versionNumber();
}

void tare_wcodec_draft_free(tare_wcodec_draft *d) {
    const tare_allocator *a = d->arena.allocator;
    tare_free(a, d->index.layers, d->layers_capacity * sizeof *d->index.layers);
    tare_free(a, d->jobs, d->jobs_capacity * sizeof *d->jobs);
    tare_free(a, d->duplicates, d->duplicates_capacity * sizeof *d->duplicates);
    tare_free(a, d->spans, d->spans_capacity * sizeof *d->spans);
    tare_free(a, d->is_elsewhere, d->elsewhere_capacity * sizeof *d->is_elsewhere);
    tare_arena_free(&d->arena);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "layers");
}

/* Whether a layer of so many bytes, the next one from *at on, is another part's. */
static bool is_elsewhere(const tare_wcodec_draft *d, uint64_t *at, uint64_t n) {
    const uint64_t middle = *at + n / 2;
    *at += n;
    return tare_share_side(d->share.of, d->share.total, middle) != 0;
}

/* A new layer, with its regions and streams; with a duplicate, those of that. */
static tare_status add_layer(tare_wcodec_draft *d, tare_wcodec_layer **out, const tare_wc_cut *cut,
                             const tare_wc_source *source, int64_t duplicate,
                             const tare_wcodec_base_tensor *base_tensor, bool elsewhere,
                             tare_error *err) {
    const tare_allocator *a = d->arena.allocator;
    uint32_t i = d->index.n_layers;
    if (i == UINT32_C(1) << 24) return tare_fail(err, TARE_ERR_LIMIT, "more than 2^24 layers");
    if (!tare_grow(a, (void **)&d->index.layers, &d->layers_capacity, i + 1,
                   sizeof *d->index.layers) ||
        !tare_grow(a, (void **)&d->duplicates, &d->duplicates_capacity, i + 1,
                   sizeof *d->duplicates) ||
        !tare_grow(a, (void **)&d->is_elsewhere, &d->elsewhere_capacity, i + 1,
                   sizeof *d->is_elsewhere) ||
        !tare_grow(a, (void **)&d->jobs, &d->jobs_capacity, d->n_jobs + 1, sizeof *d->jobs))
        return no_memory(err);
    *out = &d->index.layers[i];
    **out = (tare_wcodec_layer){
        .coded = {.offset = TARE_WCODEC_HEADER, .has_base = base_tensor != NULL}};
    if (base_tensor && base_tensor->derived.is_set)
        (*out)->derived = base_tensor->derived;
    else if (base_tensor)
        (*out)->base = base_tensor->base + 1;
    d->duplicates[i] = duplicate >= 0 ? (uint32_t)duplicate : i;
    d->is_elsewhere[i] = elsewhere;
    d->index.n_layers++;
    if (duplicate >= 0) {
        (*out)->coded.n_regions = cut->n_regions;
        memcpy((*out)->coded.region_bytes, cut->region_bytes, sizeof cut->region_bytes);
        return TARE_OK;
    }
    TARE_TRY(tare_wc_apply_cut(&(*out)->coded, cut, &d->arena, err));
    tare_wc_source *held = base_tensor ? TARE_NEW(&d->arena, tare_wc_source) : NULL;
    if (base_tensor && !held) return no_memory(err);
    if (base_tensor) *held = base_tensor->source;
    d->jobs[d->n_jobs++] =
        (tare_wc_layer_job){.how = cut->how,
                            .own = *source,
                            .base = held,
                            .may_be_whole = d->effort.mode == TARE_CODED_SMALLEST};
    return TARE_OK;
}

/* Records count the bytes of a name in 16 bits. */
static tare_status hold_name(tare_wcodec_draft *d, tare_str *out, tare_str name, tare_error *err) {
    if (name.len > UINT16_MAX)
        return tare_fail(err, TARE_ERR_LIMIT, "name: longer than 65,535 bytes");
    *out = tare_arena_str(&d->arena, name);
    return out->ptr ? TARE_OK : no_memory(err);
}

static tare_status note_spans(tare_wcodec_draft *d, const tare_wc_source *source,
                              const tare_tensor *t, tare_error *err) {
    uint32_t n = t->encoding->n_planes;
    if (!tare_grow(d->arena.allocator, (void **)&d->spans, &d->spans_capacity, d->n_spans + n,
                   sizeof *d->spans))
        return no_memory(err);
    for (uint32_t p = 0; p < n; p++) {
        if (!t->planes[p].size) continue;
        d->spans[d->n_spans++] = (tare_wcodec_span){.reader = source->readers[p],
                                                    .offset = source->starts[p],
                                                    .size = t->planes[p].size,
                                                    .layer = d->index.n_layers - 1,
                                                    .region = (uint8_t)p};
    }
    return TARE_OK;
}

/* Nearly all differences are 0: bytes as they lie, so that each is encoded once to be compared with, in
 * segments that are short to read in part. */
static void cut_derived(tare_wc_cut *cut, const uint64_t *sizes, const tare_wc_effort *effort) {
    enum { LOG2_SEGMENT = 20 };
    tare_wc_effort own = *effort;
    if (!own.log2_segment) own.log2_segment = LOG2_SEGMENT;
    tare_wc_cut_whole(cut, sizes, 1, &own);
}

tare_status tare_wcodec_draft_tensor(tare_wcodec_draft *d, const tare_tensor *t,
                                     const tare_wc_source *source, bool is_big_endian,
                                     int64_t duplicate, const tare_wcodec_base_tensor *base_tensor,
                                     tare_error *err) {
    uint64_t sizes[TARE_MAX_PLANES];
    tare_wc_cut cut;
    tare_wcodec_layer *l = NULL;
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) sizes[p] = t->planes[p].size;
    tare_wc_effort effort = d->effort;
    const bool elsewhere = is_elsewhere(d, &d->tensors_at, t->size_bytes);
    const bool is_ours = duplicate < 0 && !elsewhere;
    if (is_ours)
        TARE_TRY(tare_wc_joining_pays(&effort.joins_small, t->encoding, sizes, t->dims, t->n_dims,
                                      is_big_endian, &effort, source, err));
    if (is_ours && !base_tensor)
        TARE_TRY(tare_wc_pairing_pays(&effort.pairs_codes, t->encoding, sizes, t->dims, t->n_dims,
                                      &effort, source, err));
    tare_wc_cut_tensor(&cut, t->encoding, sizes, t->dims, t->n_dims, is_big_endian, &effort);
    if (base_tensor && base_tensor->derived.is_set) cut_derived(&cut, sizes, &effort);
    TARE_TRY(add_layer(d, &l, &cut, source, duplicate, base_tensor, elsewhere, err));
    l->kind = TARE_WCODEC_TENSOR;
    l->is_big_endian = is_big_endian;
    l->n_dims = (uint8_t)t->n_dims;
    for (uint32_t i = 0; i < t->n_dims; i++) l->dims[i] = t->dims[i];
    l->encoding = (tare_str){t->encoding->name, strlen(t->encoding->name)};
    TARE_TRY(hold_name(d, &l->name, t->name, err));
    return note_spans(d, source, t, err);
}

tare_status tare_wcodec_draft_bytes(tare_wcodec_draft *d, tare_wcodec_kind kind, tare_str name,
                                    const tare_reader *reader, uint64_t offset, uint64_t n,
                                    tare_error *err) {
    tare_wc_cut cut;
    tare_wcodec_layer *l = NULL;
    const tare_wc_source source = {.readers = {reader}, .starts = {offset}};
    tare_wc_cut_bytes(&cut, n, &d->effort);
    const bool elsewhere = is_elsewhere(d, &d->others_at, n);
    TARE_TRY(add_layer(d, &l, &cut, &source, -1, NULL, elsewhere, err));
    l->kind = (uint8_t)kind;
    return hold_name(d, &l->name, name, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The bytes of a file that no tensor holds, concatenated. */
typedef struct gaps {
    const tare_reader *file;
    size_t n;
    uint64_t *offsets; /* in the file */
    uint64_t *starts;  /* among the gaps; n + 1 of them */
} gaps;

static tare_status read_gaps(void *ctx, uint64_t offset, void *buf, size_t n) {
    const gaps *g = ctx;
    uint8_t *to = buf;
    size_t first = tare_part_of(g->starts, g->n, sizeof *g->starts, offset);
    for (size_t i = first; n; i++) {
        uint64_t skip = offset - g->starts[i];
        size_t take = (size_t)tare_min_u64(n, g->starts[i + 1] - offset);
        TARE_TRY(tare_reader_read(g->file, g->offsets[i] + skip, to, take, NULL));
        to += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static int by_place(const void *a, const void *b) {
    const tare_wcodec_span *x = a, *y = b;
    uintptr_t x_file = (uintptr_t)x->reader, y_file = (uintptr_t)y->reader;
    if (x_file != y_file) return x_file < y_file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* The number of a file's first span, or of that which would follow it. */
static size_t find_spans(const tare_wcodec_draft *d, const tare_reader *reader) {
    size_t low = 0, high = d->n_spans;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if ((uintptr_t)d->spans[mid].reader < (uintptr_t)reader)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void put_range(tare_packed_file *f, uint32_t layer, uint8_t region, uint64_t offset,
                      uint64_t length) {
    f->ranges[f->n_ranges++] = (tare_packed_range){layer, region, offset, length};
}

/* Goes through a file from its beginning to its end: spans, and gaps between them. Overlapping
 * spans (tensors that share their bytes) contribute only what earlier ones do not cover. */
static void cut_file(tare_packed_file *f, gaps *g, const tare_wcodec_span *s,
                     const tare_wcodec_span *end, uint32_t bytes_layer) {
    uint64_t at = 0, kept = 0;
    for (;; s++) {
        bool is_end = s == end;
        uint64_t from = is_end ? f->size : s->offset;
        if (from > at) {
            put_range(f, bytes_layer, 0, kept, from - at);
            g->offsets[g->n] = at;
            g->starts[g->n++] = kept;
            kept += from - at;
            at = from;
        }
        if (is_end) break;
        if (s->offset + s->size <= at) continue;
        put_range(f, s->layer, s->region, at - s->offset, s->offset + s->size - at);
        at = s->offset + s->size;
    }
    g->starts[g->n] = kept;
}

/* Puts runs of another header in place of the first gap, whose rest stays in the file's own layer. */
static tare_status apply_shared(tare_wcodec_draft *d, tare_packed_file *f, gaps *g,
                                const tare_wcodec_shared *s, uint32_t bytes_layer,
                                tare_error *err) {
    const tare_packed_file old = *f;
    const gaps was = *g;
    uint64_t at = 0, kept = 0, end = old.ranges[0].length;
    f->ranges = TARE_NEW_ARRAY(&d->arena, tare_packed_range, old.n_ranges + 2 * s->n + 1);
    g->offsets = TARE_NEW_ARRAY(&d->arena, uint64_t, was.n + s->n + 1);
    g->starts = TARE_NEW_ARRAY(&d->arena, uint64_t, was.n + s->n + 2);
    if (!f->ranges || !g->offsets || !g->starts) return no_memory(err);
    f->n_ranges = 0;
    g->n = 0;
    for (size_t i = 0; i <= s->n; i++) {
        const uint64_t from = i < s->n ? s->runs[i].at : end;
        if (from > at) {
            put_range(f, bytes_layer, 0, kept, from - at);
            g->offsets[g->n] = at;
            g->starts[g->n++] = kept;
            kept += from - at;
        }
        if (i == s->n) break;
        put_range(f, s->layer, 0, s->runs[i].offset, s->runs[i].length);
        at = from + s->runs[i].length;
    }
    const uint64_t less = end - kept; /* than the layer would have had */
    for (uint32_t i = 1; i < old.n_ranges; i++) {
        f->ranges[f->n_ranges] = old.ranges[i];
        if (old.ranges[i].layer == bytes_layer) f->ranges[f->n_ranges].offset -= less;
        f->n_ranges++;
    }
    for (size_t i = 1; i < was.n; i++) {
        g->offsets[g->n] = was.offsets[i];
        g->starts[g->n++] = was.starts[i] - less;
    }
    g->starts[g->n] = was.starts[was.n] - less;
    return TARE_OK;
}

/* The first gap of a model's file is its header, of which all files of a ladder have most: runs that an
 * earlier one has are ranges of that one's layer. */
static tare_status share_header(tare_wcodec_draft *d, tare_packed_file *f, gaps *g,
                                uint32_t bytes_layer, tare_error *err) {
    tare_wcodec_shared shared;
    if (!d->shares_headers || !g->n || g->offsets[0] != 0 || f->n_ranges < 2) return TARE_OK;
    TARE_TRY(tare_wcodec_share(&shared, &d->headers, g->file, f->ranges[0].length, bytes_layer,
                               &d->arena, err));
    return shared.n ? apply_shared(d, f, g, &shared, bytes_layer, err) : TARE_OK;
}

static tare_status add_file(tare_wcodec_draft *d, const tare_packed_origin *origin,
                            tare_packed_file *f, tare_error *err) {
    size_t first = find_spans(d, origin->reader), n = 0;
    while (first + n < d->n_spans && d->spans[first + n].reader == origin->reader) n++;
    const tare_wcodec_span *s = n ? d->spans + first : NULL, *end = n ? s + n : NULL;
    gaps *g = TARE_NEW(&d->arena, gaps);
    tare_reader *rest = TARE_NEW(&d->arena, tare_reader);
    TARE_TRY(hold_name(d, &f->name, origin->name, err));
    f->size = origin->reader->size;
    f->ranges = TARE_NEW_ARRAY(&d->arena, tare_packed_range, 2 * n + 1);
    if (!g || !rest || !f->ranges) return no_memory(err);
    g->file = origin->reader;
    g->offsets = TARE_NEW_ARRAY(&d->arena, uint64_t, n + 1);
    g->starts = TARE_NEW_ARRAY(&d->arena, uint64_t, n + 2);
    if (!g->offsets || !g->starts) return no_memory(err);
    cut_file(f, g, s, end, d->index.n_layers);
    TARE_TRY(share_header(d, f, g, d->index.n_layers, err));
    if (!g->n || !g->starts[g->n]) return TARE_OK;
    tare_reader_callback(rest, read_gaps, g, g->starts[g->n], origin->reader->name);
    return tare_wcodec_draft_bytes(d, TARE_WCODEC_BYTES, f->name, rest, 0, rest->size, err);
}

tare_status tare_wcodec_draft_files(tare_wcodec_draft *d, const tare_packed_origin *files, size_t n,
                                    bool is_directory, tare_error *err) {
    d->index.files = TARE_NEW_ARRAY(&d->arena, tare_packed_file, n);
    if (!d->index.files) return no_memory(err);
    if (d->n_spans) qsort(d->spans, d->n_spans, sizeof *d->spans, by_place);
    for (size_t i = 0; i < n; i++) {
        tare_packed_file *f = &d->index.files[i];
        f->entry = files[i].entry;
        if (files[i].reader)
            TARE_TRY(add_file(d, &files[i], f, err));
        else
            TARE_TRY(hold_name(d, &f->name, files[i].name, err));
    }
    for (size_t i = 0; i < n; i++) {
        if (files[i].reader || files[i].content == SIZE_MAX) continue;
        const tare_packed_file *content = &d->index.files[files[i].content];
        tare_packed_file *f = &d->index.files[i];
        f->size = content->size;
        f->ranges = content->ranges;
        f->n_ranges = content->n_ranges;
    }
    d->index.n_files = (uint32_t)n;
    d->index.files_form = is_directory ? 2 : n ? 1 : 0;
    return TARE_OK;
}

/* ---- what the header says -------------------------------------------------------------------- */

/* Bits of the integers that a quantized type consists of; 0: of parts, or codes of something else.
 */
static unsigned integer_bits(const tare_encoding *e) {
    unsigned bits = 0;
    for (uint32_t i = 0; i < e->n_fields; i++) {
        const tare_field *f = &e->fields[i];
        if (f->role == TARE_FIELD_HIGH || f->role == TARE_FIELD_SIGN) return 0;
        /* An unsigned byte holds several codes. */
        if (f->role == TARE_FIELD_CODE && (f->bits < 8 || f->type == TARE_FIELD_I8)) bits = f->bits;
    }
    return tare_encoding_has_codebook(e) ? 0 : bits;
}

uint8_t tare_wcodec_base_quant(const tare_tensor *tensors, size_t n) {
    unsigned all = 0;
    for (size_t i = 0; i < n; i++) {
        if (tensors[i].encoding->kind != TARE_KIND_BLOCK) continue;
        unsigned bits = integer_bits(tensors[i].encoding);
        if (!bits || (all && all != bits)) return 0;
        all = bits;
    }
    return all == 8 ? 1 : all == 4 ? 2 : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A job for each layer that is neither another's duplicate nor elsewhere, now that layers no longer move in memory.
 * Everything opening needs is stored together, before the large data: tensors come last. */
static tare_wc_layer_job *order_jobs(size_t *n_jobs, tare_wcodec_draft *d) {
    tare_wc_layer_job *ordered = TARE_NEW_ARRAY(&d->arena, tare_wc_layer_job, d->n_jobs);
    size_t n = 0;
    for (int of_tensors = 0; ordered && of_tensors < 2; of_tensors++) {
        const tare_wc_layer_job *job = d->jobs;
        for (uint32_t i = 0; i < d->index.n_layers; i++) {
            tare_wcodec_layer *l = &d->index.layers[i];
            if (d->duplicates[i] != i) continue;
            if ((l->kind == TARE_WCODEC_TENSOR) == of_tensors && !d->is_elsewhere[i]) {
                ordered[n] = *job;
                ordered[n].number = i;
                ordered[n++].layer = &l->coded;
            }
            job++;
        }
    }
    *n_jobs = n;
    return ordered;
}

/* Bases that some layer refers to get a record, in their order; layers none of whose segments do,
 * need none. */
static tare_status number_bases(tare_wcodec_draft *d, tare_error *err) {
    uint8_t numbers[UINT8_MAX + 1] = {0};
    tare_packed_base *used = TARE_NEW_ARRAY(&d->arena, tare_packed_base, d->n_bases);
    if (!used) return tare_fail(err, TARE_ERR_NOMEM, "base models");
    for (uint32_t i = 0; i < d->index.n_layers; i++) {
        tare_wcodec_layer *l = &d->index.layers[i];
        if (!l->coded.is_predicted) l->base = 0;
        if (!l->coded.is_predicted) l->derived.is_set = false;
        numbers[l->base] = l->base != 0;
    }
    d->index.bases = used;
    for (uint32_t i = 0; i < d->n_bases; i++) {
        if (!numbers[i + 1]) continue;
        used[d->index.n_bases++] = d->bases[i];
        numbers[i + 1] = (uint8_t)d->index.n_bases;
    }
    for (uint32_t i = 0; i < d->index.n_layers; i++)
        d->index.layers[i].base = numbers[d->index.layers[i].base];
    return TARE_OK;
}

/* Layers that share another's data get the same record values. */
static void finish_duplicates(tare_wcodec_draft *d) {
    for (uint32_t i = 0; i < d->index.n_layers; i++) {
        tare_wcodec_layer *l = &d->index.layers[i];
        const tare_wcodec_layer *duplicate = &d->index.layers[d->duplicates[i]];
        if (duplicate == l) continue;
        l->coded = duplicate->coded;
        l->derived = duplicate->derived;
    }
}

tare_status tare_wcodec_draft_write_layers(tare_wcodec_draft *d, const tare_wc_target *target,
                                           const tare_context *how, const tare_wc_visitor *visitor,
                                           uint64_t *end, tare_error *err) {
    size_t n_jobs;
    tare_wc_layer_job *jobs = order_jobs(&n_jobs, d);
    if (!jobs) return no_memory(err);
    tare_wc_run run = {.jobs = jobs,
                       .n_jobs = n_jobs,
                       .offset = TARE_WCODEC_HEADER,
                       .how = *how,
                       .visitor = *visitor,
                       .allocator = d->arena.allocator};
    TARE_TRY(tare_wc_run_jobs(&run, target, &d->arena, err));
    *end = run.offset;
    TARE_TRY(number_bases(d, err));
    finish_duplicates(d);
    return TARE_OK;
}

tare_status tare_wcodec_draft_write_index(tare_wcodec_draft *d, const tare_wc_target *target,
                                          uint64_t end, uint64_t *size, tare_error *err) {
    uint8_t header[TARE_WCODEC_HEADER];
    tare_buffer index;
    tare_buffer_init(&index, d->arena.allocator);
    tare_wcodec_index_write(&index, header, &d->index, end);
    tare_status status = tare_buffer_status(&index, err);
    *size = end + index.size;
    if (status == TARE_OK) status = target->write(target->ctx, end, index.data, index.size, err);
    tare_buffer_free(&index);
    if (status == TARE_OK) status = target->write(target->ctx, 0, header, sizeof header, err);
    return status;
}
