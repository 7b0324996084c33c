/* SPDX-License-Identifier: MIT
 *
 * The store behind virtual files: layers are opened when they are first read, and with their
 * segments kept within bounds, however large the container. */
#include "format/wcodec/wcodec_virtual.h"

#include <pthread.h>
#include <string.h>

#include "base/arith.h"
#include "base/fork.h"
#include "base/str.h"
#include "encoding/kernels.h"
#include "format/wcodec/wcodec_derived.h"
#include "format/wcodec/wcodec_device.h"
#include "model/catalog.h"
#include "wcodec/wc_bypass.h"

enum {
    SEGMENTS_BUDGET = 24 << 20, /* within the 64 MiB that docs/behaviour.md grants a command */
    LAYERS_BUDGET = 8 << 20,
};

/* What one thread decodes with. */
typedef struct worker {
    struct worker *next;
    tare_wc_scratch scratch;
} worker;

/* A layer with its heads. */
typedef struct opened_layer {
    tare_arena arena;
    tare_wc_opened opened;
    tare_wc_source base;
} opened_layer;

struct tare_packed {
    const tare_allocator *allocator;
    tare_arena arena; /* of the index */
    tare_reader file;
    tare_wcodec_index index;
    uint64_t directory_bytes;
    const tare_wc_watch *watch; /* NULL: not reported */
    unsigned groups;            /* of bypass bits, of tensors that may be coarse */
    const tare_model *bases[UINT8_MAX];
    bool is_opening; /* bases are not known yet */
    bool is_part;
    tare_cache *segments, *layers;
    tare_wc_whole **wholes;         /* of layers that were opened; kept when these are closed */
    struct derived_layer **derived; /* of each layer; NULL: it is stored */
    tare_wcodec_device *device;     /* NULL: the CPU decodes */
    tare_process process;
    pthread_mutex_t mutex; /* guards the workers */
    worker *idle;
    bool has_mutex;
};

/* What a derived layer is made of: the layer that its numbers come from, and their weights. */
typedef struct derived_layer {
    tare_wcodec_derived made;
    tare_wcodec_composed pieces; /* where it is made of these */
    tare_packed_range ranges[2];
    tare_reader readers[2];
} derived_layer;

/* ---- opening --------------------------------------------------------------------------------- */

static void free_segment(void *ctx, void *value, size_t cost) {
    tare_packed *store = ctx;
    tare_free(store->allocator, value, cost);
}

static void free_layer(void *ctx, void *value, size_t cost) {
    tare_packed *store = ctx;
    opened_layer *l = value;
    (void)cost;
    tare_arena_free(&l->arena);
    tare_free(store->allocator, l, sizeof *l);
}

static tare_status read_index(tare_packed *s, const tare_limits *limits, tare_error *err) {
    uint8_t header[TARE_WCODEC_HEADER];
    uint64_t offset, size;
    size_t n;
    size_t there = (size_t)tare_min_u64(s->file.size, sizeof header);
    TARE_TRY(tare_reader_read(&s->file, 0, header, there, err));
    if (memcmp(header, "WCODEC\0", there < 8 ? there : 8) != 0)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 0, "magic: not a .wcodec");
    if (there < sizeof header)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, there,
                            "header: the file ends inside its 128 bytes");
    TARE_TRY(tare_wcodec_find_index(&offset, &size, header, s->file.size, limits, err));
    if (!tare_size_of_u64(size + TARE_WCODEC_FOOTER, &n))
        return tare_fail_at(err, TARE_ERR_LIMIT, 72,
                            "size of the index: larger than memory can be");
    uint8_t *bytes = tare_alloc(s->allocator, n);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "index");
    tare_status status = tare_reader_read(&s->file, offset, bytes, n, err);
    if (status == TARE_OK)
        status =
            tare_wcodec_index_read(&s->index, header, bytes, offset, size, limits, &s->arena, err);
    tare_free(s->allocator, bytes, n);
    s->directory_bytes = sizeof header + n;
    return status;
}

static bool is_damage(tare_status status) {
    return status != TARE_ERR_IO && tare_status_is_loss(status);
}

/* What is left of the directory if it is damaged. */
static tare_status read_or_salvage(tare_packed *s, tare_packed_damage *damage,
                                   const tare_limits *limits, tare_error *err) {
    *damage = (tare_packed_damage){.has_header = true, .has_footer = true};
    tare_status status = read_index(s, limits, err);
    if (!is_damage(status)) return status;
    return tare_wcodec_salvage(&s->index, damage, &s->directory_bytes, &s->file, limits, &s->arena,
                               err);
}

/* The directory, whole; the error of one that is damaged tells whether enough of it is left. */
static tare_status read_whole(tare_packed *s, const tare_limits *limits, tare_error *err) {
    tare_packed_damage damage;
    tare_status status = read_index(s, limits, err);
    if (is_damage(status) && tare_wcodec_salvage(&s->index, &damage, &s->directory_bytes, &s->file,
                                                 limits, &s->arena, NULL) == TARE_OK)
        tare_error_code(err, TARE_CODE_PACKED_DAMAGED);
    return status;
}

static tare_status make_wholes(tare_packed *s, tare_error *err) {
    s->wholes = TARE_NEW_ARRAY(&s->arena, tare_wc_whole *, s->index.n_layers);
    if (!s->wholes) return tare_fail(err, TARE_ERR_NOMEM, "container");
    for (uint32_t i = 0; i < s->index.n_layers; i++) s->wholes[i] = NULL;
    return TARE_OK;
}

static tare_status open_region(tare_reader *out, tare_packed_range *range, tare_packed *s,
                               uint32_t layer, tare_error *err) {
    *range = (tare_packed_range){layer, 0, 0, s->index.layers[layer].coded.region_bytes[0]};
    return tare_wcodec_store_reader(out, s, range, 1, s->file.name, err);
}

static uint64_t rows_of_slice(const tare_wcodec_layer *l) {
    return l->n_dims > 1 ? l->dims[l->n_dims - 2] : 1;
}

/* ---- what is made of layers ------------------------------------------------------------------- */

static const tare_encoding *type_of_layer(const void *ctx, uint32_t layer) {
    return tare_encoding_find(((const tare_packed *)ctx)->index.layers[layer].encoding);
}

static tare_status read_layer(uint8_t *out, const void *ctx, const tare_composition *of,
                              uint32_t layer, uint64_t first, uint64_t n, tare_error *err) {
    const uint32_t width = type_of_layer(ctx, layer)->planes[0].unit_bytes;
    (void)of;
    return tare_packed_read((tare_packed *)(uintptr_t)ctx, layer, 0, first * width, out,
                            (size_t)(n * width), err);
}

static tare_status open_sources(derived_layer *d, tare_packed *s, const tare_wcodec_derivation *how,
                                tare_error *err) {
    if (how->pieces) {
        d->pieces = (tare_wcodec_composed){.of = how->pieces,
                                           .from = {s->allocator, s, type_of_layer, read_layer}};
        tare_wcodec_composed_open(&d->pieces, d->made.n_elements, s->file.name);
        d->made.source = &d->pieces.reader;
    } else {
        TARE_TRY(open_region(&d->readers[0], &d->ranges[0], s, how->source, err));
        d->made.source = &d->readers[0];
    }
    if (!how->importance) return TARE_OK;
    TARE_TRY(open_region(&d->readers[1], &d->ranges[1], s, how->importance - 1, err));
    d->made.importance = &d->readers[1];
    return TARE_OK;
}

/* Whether a layer's bytes are those of so many elements. */
static bool has_elements(const tare_wcodec_layer *l, const tare_encoding *e, uint64_t n) {
    return n / e->planes[0].unit * e->planes[0].unit_bytes == l->coded.region_bytes[0];
}

/* NULL as *out with status OK: made by what is not known here, which is an error only for who reads. */
static tare_status make_one_derived(derived_layer **out, tare_packed *s, uint32_t i,
                                    tare_error *err) {
    const tare_wcodec_layer *l = &s->index.layers[i], *from = &s->index.layers[l->derived.source];
    const tare_wcodec_derivation *how = &l->derived;
    const tare_encoding *e = tare_encoding_find(l->encoding);
    tare_wcodec_derived made = {.allocator = s->allocator,
                                .from = how->pieces ? how->pieces->encoding
                                                    : tare_encoding_find(from->encoding),
                                .to = e,
                                .n_elements = 1,
                                .cols = l->n_dims ? l->dims[l->n_dims - 1] : 1,
                                .slice_rows = rows_of_slice(l),
                                .quality = (tare_quality)how->quality,
                                .importance_start = how->importance_offset,
                                .divisors = how->divisors};
    const bool is_older = how->version == TARE_WCODEC_OLDER_ENCODERS;
    if (is_older) made.compat = TARE_COMPAT_GGML_0_21;
    bool fits = made.from && e &&
                (is_older ? tare_kernels_get()->encode_older[e->id] && !how->quality
                          : how->version == TARE_WCODEC_ENCODERS);
    for (unsigned d = 0; fits && d < l->n_dims; d++)
        fits = tare_mul_u64(made.n_elements, l->dims[d], &made.n_elements);
    if (!fits || !tare_packed_can_derive(made.from, e, made.cols)) return TARE_OK;
    if (!has_elements(l, e, made.n_elements) ||
        (!how->pieces && !has_elements(from, made.from, made.n_elements)))
        return TARE_OK;
    derived_layer *d = TARE_NEW(&s->arena, derived_layer);
    if (!d) return tare_fail(err, TARE_ERR_NOMEM, "derived tensor");
    d->made = made;
    *out = d;
    TARE_TRY(open_sources(d, s, how, err));
    tare_wcodec_derived_open(&d->made, s->file.name);
    return TARE_OK;
}

static tare_status make_derived(tare_packed *s, tare_error *err) {
    s->derived = TARE_NEW_ARRAY(&s->arena, derived_layer *, s->index.n_layers);
    if (!s->derived) return tare_fail(err, TARE_ERR_NOMEM, "container");
    for (uint32_t i = 0; i < s->index.n_layers; i++)
        if (s->index.layers[i].derived.is_set)
            TARE_TRY(make_one_derived(&s->derived[i], s, i, err));
    return TARE_OK;
}

static void close_derived(tare_packed *s) {
    for (uint32_t i = 0; s->derived && i < s->index.n_layers; i++)
        for (unsigned k = 0; s->derived[i] && k < 2; k++)
            if (s->derived[i]->readers[k].close) tare_reader_close(&s->derived[i]->readers[k]);
}

/* `damage` NULL: there may be none. */
static tare_status open_store(tare_packed **out, tare_packed_damage *damage, tare_reader *file,
                              const tare_limits *limits, const tare_allocator *allocator,
                              tare_error *err) {
    tare_packed *s = tare_alloc(allocator, sizeof *s);
    *out = NULL;
    if (!s) {
        tare_reader_close(file);
        return tare_fail(err, TARE_ERR_NOMEM, "container");
    }
    *s = (tare_packed){.allocator = allocator, .file = *file, .groups = TARE_WC_ALL_GROUPS};
    *file = (tare_reader){.fd = -1};
    tare_arena_init(&s->arena, allocator);
    s->segments = tare_cache_new(SEGMENTS_BUDGET, free_segment, s, allocator);
    s->layers = tare_cache_new(LAYERS_BUDGET, free_layer, s, allocator);
    s->has_mutex = pthread_mutex_init(&s->mutex, NULL) == 0;
    s->process = tare_process_own();
    tare_status status = TARE_OK;
    if (!s->segments || !s->layers || !s->has_mutex)
        status = tare_fail(err, TARE_ERR_NOMEM, "container");
    else if (damage)
        status = read_or_salvage(s, damage, limits, err);
    else
        status = read_whole(s, limits, err);
    if (status == TARE_OK) status = make_wholes(s, err);
    if (status == TARE_OK) status = make_derived(s, err);
    if (status == TARE_OK)
        *out = s;
    else
        tare_packed_free(s);
    return status;
}

tare_status tare_packed_open(tare_packed **out, tare_reader *file, const tare_limits *limits,
                             const tare_allocator *allocator, tare_error *err) {
    return open_store(out, NULL, file, limits, allocator, err);
}

tare_status tare_packed_salvage(tare_packed **out, tare_packed_damage *damage, tare_reader *file,
                                const tare_limits *limits, const tare_allocator *allocator,
                                tare_error *err) {
    return open_store(out, damage, file, limits, allocator, err);
}

void tare_packed_free(tare_packed *s) {
    if (!s) return;
    tare_wcodec_device_free(s->device);
    for (worker *w = s->idle, *next; w; w = next) {
        next = w->next;
        tare_wc_scratch_free(&w->scratch);
        tare_free(s->allocator, w, sizeof *w);
    }
    tare_cache_free(s->segments);
    tare_cache_free(s->layers);
    for (uint32_t i = 0; s->wholes && i < s->index.n_layers; i++) tare_wc_whole_free(s->wholes[i]);
    close_derived(s);
    if (s->has_mutex) pthread_mutex_destroy(&s->mutex);
    tare_reader_close(&s->file);
    tare_arena_free(&s->arena);
    tare_free(s->allocator, s, sizeof *s);
}

const tare_wcodec_index *tare_wcodec_store_index(const tare_packed *s) {
    return &s->index;
}

const tare_reader *tare_packed_source(const tare_packed *s) {
    return &s->file;
}

void tare_packed_watch(tare_packed *s, const tare_wc_watch *watch, unsigned groups) {
    s->watch = watch;
    s->groups = groups < TARE_WC_ALL_GROUPS ? groups : TARE_WC_ALL_GROUPS;
}

void tare_packed_limit(tare_packed *s, size_t bytes) {
    tare_cache_set_budget(s->segments, bytes / 4 * 3);
    tare_cache_set_budget(s->layers, bytes / 4);
}

static tare_status open_coded(void *ctx, tare_coded **out, uint32_t layer, tare_error *err) {
    const tare_packed *s = ctx;
    return tare_wcodec_store_coded(out, s, layer, s->allocator, err);
}

tare_status tare_packed_use_device(tare_packed *s, tare_device *device, tare_error *err) {
    if (!device) return TARE_OK;
    s->device = tare_wcodec_device_new(s->index.n_layers, open_coded, s, device, s->allocator);
    return s->device ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "device");
}

void tare_packed_set_base(tare_packed *s, uint32_t base, const tare_model *model) {
    s->bases[base] = model;
}

bool tare_wcodec_store_lacks_base(const tare_packed *s, uint32_t layer) {
    uint8_t base = s->index.layers[layer].base;
    return base && !s->bases[base - 1];
}

void tare_wcodec_store_opening(tare_packed *s, bool is_opening) {
    s->is_opening = is_opening;
}

void tare_wcodec_store_note_part(tare_packed *s) {
    s->is_part = true;
}

bool tare_wcodec_store_is_part(const tare_packed *s) {
    return s->is_part;
}

uint64_t tare_wcodec_store_directory_bytes(const tare_packed *s) {
    return s->directory_bytes;
}

/* ---- reading regions ------------------------------------------------------------------------- */

static void lock_workers(tare_packed *s) {
    if (tare_process_is_new(&s->process)) {
        pthread_mutex_init(&s->mutex, NULL);
        s->idle = NULL;
        tare_process_renewed(&s->process);
    }
    pthread_mutex_lock(&s->mutex);
}

static worker *take_worker(tare_packed *s) {
    lock_workers(s);
    worker *w = s->idle;
    if (w) s->idle = w->next;
    pthread_mutex_unlock(&s->mutex);
    if (w) return w;
    w = tare_alloc(s->allocator, sizeof *w);
    if (w) tare_wc_scratch_init(&w->scratch, s->allocator);
    return w;
}

static void give_worker(tare_packed *s, worker *w) {
    lock_workers(s);
    w->next = s->idle;
    s->idle = w;
    pthread_mutex_unlock(&s->mutex);
}

/* The approximate memory of an opened layer: a table is eight times as large in memory as in the
 * file. */
static size_t cost_of(const tare_wcodec_layer *l) {
    size_t cost = sizeof(opened_layer);
    for (unsigned i = 0; i < l->coded.n_streams; i++)
        cost += 13 * (size_t)l->coded.streams[i].head_bytes +
                (size_t)(l->coded.streams[i].n_segments / TARE_WC_PLACES + 1) * sizeof(uint64_t);
    return cost;
}

/* Whether its values represent real numbers, so that reading fewer of their bits makes sense. */
static bool may_be_coarse(const tare_wcodec_layer *l) {
    const tare_encoding *e = tare_encoding_find(l->encoding);
    return l->kind == TARE_WCODEC_TENSOR && e &&
           (e->kind == TARE_KIND_FLOAT || e->kind == TARE_KIND_BLOCK);
}

/* The tensor of the same name in a base model, if it is one that segments can refer to. */
static tare_status find_base(tare_wc_source *out, const tare_wcodec_layer *l,
                             const tare_model *base, tare_error *err) {
    int64_t at = tare_model_find_tensor(base, l->name);
    if (at < 0) return tare_fail(err, TARE_ERR_ARG, "the base model has no tensor of this name");
    const tare_tensor *t = &base->catalog.tensors[at];
    bool is_same = tare_str_is(l->encoding, t->encoding->name) && l->n_dims == t->n_dims &&
                   l->coded.n_regions <= t->encoding->n_planes;
    for (unsigned d = 0; is_same && d < l->n_dims; d++) is_same = l->dims[d] == t->dims[d];
    for (unsigned r = 0; is_same && r < l->coded.n_regions; r++)
        is_same = l->coded.region_bytes[r] == t->planes[r].size;
    if (!is_same || tare_model_is_big_endian(base) != l->is_big_endian)
        return tare_fail(err, TARE_ERR_ARG,
                         "the base model has it in another encoding, shape or byte order");
    for (unsigned r = 0; r < l->coded.n_regions; r++) {
        out->readers[r] = &base->files[t->planes[r].file].reader;
        out->starts[r] = t->planes[r].offset;
    }
    return TARE_OK;
}

/* What segments of a layer refer to; *has_any false: nothing, or the base is not there. */
static tare_status find_reference(tare_wc_source *out, bool *has_any, const tare_packed *s,
                                  uint32_t number, tare_error *err) {
    const tare_wcodec_layer *l = &s->index.layers[number];
    const tare_model *base = l->base ? s->bases[l->base - 1] : NULL;
    *has_any = base || l->derived.is_set;
    if (base) return find_base(out, l, base, err);
    if (!l->derived.is_set) return TARE_OK;
    if (!s->derived[number])
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "derived by an encoder that this version does not have");
    out->readers[0] = &s->derived[number]->made.reader;
    out->starts[0] = 0;
    return TARE_OK;
}

static tare_status open_layer(opened_layer *l, tare_packed *s, uint32_t number,
                              const tare_wc_watch *watch, tare_error *err) {
    const tare_wcodec_layer *layer = &s->index.layers[number];
    bool has_any;
    TARE_TRY(
        tare_wc_open_watched(&l->opened, &s->file, &layer->coded, number, watch, &l->arena, err));
    TARE_TRY(find_reference(&l->base, &has_any, s, number, err));
    if (has_any) l->opened.base = &l->base;
    return TARE_OK;
}

static tare_status make_layer(opened_layer **out, tare_packed *s, uint32_t number,
                              const tare_wc_watch *watch, tare_error *err) {
    opened_layer *l = tare_alloc(s->allocator, sizeof *l);
    *out = l;
    if (!l) return tare_fail(err, TARE_ERR_NOMEM, "layer");
    memset(&l->base, 0, sizeof l->base);
    tare_arena_init(&l->arena, s->allocator);
    tare_status status = open_layer(l, s, number, watch, err);
    if (status != TARE_OK) free_layer(s, l, 0);
    return status;
}

/* Where the index does not say which segments belong to the layer, it is checked when all of it was
 * decoded. Only one thread at a time makes a layer. */
static tare_status watch_whole(opened_layer *l, tare_packed *s, uint32_t number, tare_error *err) {
    const tare_wc_layer *layer = &s->index.layers[number].coded;
    if (tare_wc_is_bound(layer) || (s->watch && s->watch->lost)) return TARE_OK;
    if (!s->wholes[number])
        s->wholes[number] = tare_wc_whole_new(layer, l->opened.head_crcs, s->allocator);
    l->opened.whole = s->wholes[number];
    return l->opened.whole ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "layer");
}

static tare_status take_layer(tare_cached **out, tare_packed *s, uint32_t number, tare_error *err) {
    opened_layer *l;
    tare_cache_state state = tare_cache_take(out, s->layers, (tare_cache_key){number, 0}, true);
    if (state == TARE_CACHE_NO_MEMORY) return tare_fail(err, TARE_ERR_NOMEM, "layer");
    if (state == TARE_CACHE_HELD) return TARE_OK;
    tare_status status = make_layer(&l, s, number, s->watch, err);
    if (status == TARE_OK) {
        status = watch_whole(l, s, number, err);
        if (status != TARE_OK) free_layer(s, l, 0);
    }
    if (status != TARE_OK) {
        tare_cache_fail(s->layers, *out);
        return status;
    }
    l->opened.cache = s->segments;
    if (may_be_coarse(&s->index.layers[number])) l->opened.groups = s->groups;
    tare_cache_fill(s->layers, *out, l, cost_of(&s->index.layers[number]));
    return TARE_OK;
}

/* Callers also name tensors, which they know by another number. */
static tare_status blame(tare_status status, const tare_packed *s, uint32_t layer,
                         tare_error *err) {
    const tare_wcodec_layer *l = &s->index.layers[layer];
    if (status == TARE_OK) return status;
    if (status == TARE_ERR_ARG && tare_wcodec_store_lacks_base(s, layer))
        tare_error_code(err, TARE_CODE_NEEDS_BASE);
    if (s->index.n_files && is_damage(status)) tare_error_code(err, TARE_CODE_PACKED_DAMAGED);
    tare_error_file(err, s->file.name);
    if (l->name.len)
        tare_error_item(err, l->kind == TARE_WCODEC_TENSOR ? TARE_ITEM_TENSOR : TARE_ITEM_RESOURCE,
                        -1, l->name);
    return status;
}

static tare_status read_region(tare_packed *s, uint32_t layer, unsigned region, uint64_t offset,
                               void *buf, size_t n, tare_error *err) {
    tare_cached *held;
    worker *w = take_worker(s);
    if (!w) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    tare_status status = take_layer(&held, s, layer, err);
    if (status == TARE_OK) {
        const opened_layer *l = held->value;
        status = tare_wc_read_region(buf, &l->opened, region, offset, n, &w->scratch, err);
        tare_cache_release(s->layers, held);
    }
    give_worker(s, w);
    return blame(status, s, layer, err);
}

tare_status tare_packed_read(tare_packed *s, uint32_t layer, unsigned region, uint64_t offset,
                             void *buf, size_t n, tare_error *err) {
    const tare_wcodec_layer *l = &s->index.layers[layer];
    tare_error fault = TARE_ERROR_NONE;
    tare_status status = TARE_OK;
    bool is_ahead = s->is_opening && l->kind == TARE_WCODEC_TENSOR;
    bool is_unknown = is_ahead && l->base, is_whole = s->groups == TARE_WC_ALL_GROUPS;
    if (s->device && is_whole && !s->is_opening &&
        tare_wcodec_device_read(s->device, layer, &l->coded, region, offset, buf, n))
        return TARE_OK;
    if (!is_unknown) status = read_region(s, layer, region, offset, buf, n, &fault);
    if (is_unknown || (is_ahead && tare_status_is_loss(status))) {
        memset(buf, 0, n);
        return TARE_OK;
    }
    if (status != TARE_OK && err) *err = fault;
    return status;
}

/* Form EDGE needs all of them, SIGN the first (docs/wcodec.md, 10). */
static unsigned groups_of(const tare_wc_rule *rule) {
    uint8_t widths[TARE_WC_BYPASS_GROUPS];
    unsigned n =
        rule->trellis || rule->form == TARE_CODED_EDGE ? 0 : tare_wc_group_widths(widths, rule->k);
    return rule->form == TARE_CODED_SIGN && n == 1 ? 0 : n;
}

tare_status tare_packed_groups(tare_packed *s, uint32_t layer, unsigned *out, tare_error *err) {
    const tare_wcodec_layer *l = &s->index.layers[layer];
    tare_cached *held;
    *out = 0;
    if (!may_be_coarse(l) || l->base) return TARE_OK; /* differences come back whole */
    TARE_TRY(take_layer(&held, s, layer, err));
    const opened_layer *opened = held->value;
    for (unsigned p = 0; p < l->coded.n_streams; p++) {
        const tare_wc_head *head = opened->opened.heads[p];
        for (unsigned r = 0; head && r < head->n_rules; r++) {
            unsigned n = groups_of(&head->rules[r]);
            if (n > *out) *out = n;
        }
    }
    tare_cache_release(s->layers, held);
    return TARE_OK;
}

/* ---- looking at all of a layer --------------------------------------------------------------- */

enum { SURVEYED_AT_ONCE = 1 << 20 /* bytes of a stream, or a segment if that is more */ };

static tare_status survey_stream(const opened_layer *l, unsigned stream, bool lacks_base,
                                 tare_wc_scratch *scratch, tare_error *err) {
    const tare_coded_stream *p = &l->opened.layer->streams[stream];
    uint64_t whole = p->segment_bytes;
    uint64_t step = tare_min_u64(whole, p->n_bytes); /* segments may be shorter than theirs */
    if (!p->n_bytes) return TARE_OK;
    if (step < SURVEYED_AT_ONCE && !lacks_base) step *= SURVEYED_AT_ONCE / step;
    uint8_t *room = tare_alloc(scratch->allocator, (size_t)step);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    tare_status status = TARE_OK;
    for (uint64_t at = 0; at < p->n_bytes && status == TARE_OK; at += step) {
        const tare_wc_window to = {.dst = room, .offset = at};
        uint64_t end = tare_min_u64(at + step, p->n_bytes);
        status = tare_wc_read_stream(&to, &l->opened, stream, at, end, scratch, err);
        if (status == TARE_ERR_ARG && lacks_base) status = TARE_OK;
    }
    tare_free(scratch->allocator, room, (size_t)step);
    return status;
}

tare_status tare_packed_survey(tare_packed *s, uint32_t layer, const tare_wc_watch *watch,
                               tare_error *err) {
    opened_layer *l;
    tare_status status = make_layer(&l, s, layer, watch, err);
    if (status != TARE_OK) return blame(status, s, layer, err);
    worker *w = take_worker(s);
    if (!w) status = tare_fail(err, TARE_ERR_NOMEM, "segment");
    for (unsigned i = 0; i < l->opened.layer->n_streams && status == TARE_OK; i++)
        status = survey_stream(l, i, tare_wcodec_store_lacks_base(s, layer), &w->scratch, err);
    if (w) give_worker(s, w);
    free_layer(s, l, 0);
    return blame(status, s, layer, err);
}

tare_status tare_wcodec_store_coded(tare_coded **out, const tare_packed *s, uint32_t layer,
                                    const tare_allocator *allocator, tare_error *err) {
    const tare_wcodec_layer *l = &s->index.layers[layer];
    tare_wc_source source = {0};
    bool has_any;
    tare_status status = find_reference(&source, &has_any, s, layer, err);
    if (status == TARE_OK)
        status =
            tare_coded_in_file(out, &l->coded, &s->file, has_any ? &source : NULL, allocator, err);
    if (status == TARE_OK) (*out)->described.base = l->base;
    return blame(status, s, layer, err);
}

enum {
    SEGMENTS = 4,         /* of a piece: so many are decoded side by side */
    PIECE_MOST = 8 << 20, /* in any case, unless one segment's units are more */
    WHOLE_MOST = 7 << 19, /* a region up to this is one piece: none of its segments is shared */
};

static uint64_t region_bytes(const tare_wc_layer *l, unsigned region) {
    return region < l->n_regions ? l->region_bytes[region] : 0;
}

/* Of the stream with the fewest units; units may be so large that they are cut themselves. */
uint64_t tare_packed_step(const tare_packed *store, uint32_t layer, unsigned region) {
    const tare_wcodec_layer *l = &store->index.layers[layer];
    uint64_t step = 0, least = 0, whole = region_bytes(&l->coded, region);
    for (unsigned i = 0; i < l->coded.n_streams; i++) {
        const tare_coded_stream *p = &l->coded.streams[i];
        if (p->field.region != region) continue;
        uint64_t bytes = p->segment_bytes;
        uint64_t units = tare_max_u64(bytes / tare_wc_unit_bytes(p), 1);
        if (!least || units < least) {
            least = units;
            step = units * p->field.stride;
        }
    }
    if (!step) return 1;
    step *= tare_max_u64(tare_min_u64(SEGMENTS, PIECE_MOST / step), 1);
    if (whole <= WHOLE_MOST) step = tare_ceil_div_u64(whole, step) * step;
    return tare_min_u64(step, TARE_WC_MAX_BYTES);
}

/* ---- virtual files --------------------------------------------------------------------------- */

typedef struct view {
    tare_packed *store;
    const tare_packed_range *ranges;
    size_t n;
    uint64_t starts[]; /* of each range in the file */
} view;

/* The range that a byte lies in. */
static size_t find_range(const view *v, uint64_t offset) {
    return tare_part_of(v->starts, v->n, sizeof *v->starts, offset);
}

static tare_status read_view(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const view *v = ctx;
    uint8_t *dst = buf;
    for (size_t i = find_range(v, offset); n > 0; i++) {
        const tare_packed_range *r = &v->ranges[i];
        uint64_t skip = offset - v->starts[i];
        size_t take = (size_t)tare_min_u64(n, r->length - skip);
        TARE_TRY(tare_packed_read(v->store, r->layer, r->region, r->offset + skip, dst, take, err));
        dst += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

static tare_grain grain_of_view(void *ctx, uint64_t offset) {
    const view *v = ctx;
    const size_t i = find_range(v, offset);
    const tare_packed_range *r = &v->ranges[i];
    return (tare_grain){v->starts[i] - r->offset, tare_packed_step(v->store, r->layer, r->region)};
}

static size_t view_size(size_t n) {
    return sizeof(view) + n * sizeof(uint64_t);
}

static void close_view(void *ctx) {
    view *v = ctx;
    tare_free(v->store->allocator, v, view_size(v->n));
}

tare_status tare_wcodec_store_reader(tare_reader *out, tare_packed *store,
                                     const tare_packed_range *ranges, size_t n, const char *name,
                                     tare_error *err) {
    uint64_t size = 0;
    *out = (tare_reader){.fd = -1};
    view *v = tare_alloc(store->allocator, view_size(n));
    if (!v) return tare_fail(err, TARE_ERR_NOMEM, "ranges of a file");
    v->store = store;
    v->ranges = ranges;
    v->n = n;
    for (size_t i = 0; i < n; i++) {
        v->starts[i] = size;
        if (!tare_add_u64(size, ranges[i].length, &size)) {
            close_view(v);
            return tare_fail(err, TARE_ERR_CORRUPT, "ranges of a file: their sum overflows");
        }
    }
    *out = (tare_reader){.name = name,
                         .size = size,
                         .fd = -1,
                         .fetch = read_view,
                         .grain = grain_of_view,
                         .read_ctx = v,
                         .close = close_view};
    return TARE_OK;
}

bool tare_packed_reader_range(tare_packed_range *out, const tare_reader *reader, uint64_t offset,
                              uint64_t n) {
    const view *v = reader->read_ctx;
    if (reader->fetch != read_view || offset > reader->size || n > reader->size - offset || !v->n)
        return false;
    size_t i = find_range(v, offset);
    const tare_packed_range *r = &v->ranges[i];
    uint64_t skip = offset - v->starts[i];
    *out = (tare_packed_range){r->layer, r->region, r->offset + skip, n};
    return skip <= r->length && n <= r->length - skip;
}
