/* SPDX-License-Identifier: MIT
 *
 * The driver of .wcodec, reading. A container packed from files is opened as these files; otherwise
 * its layers are tensors, metadata and resources (docs/wcodec.md, 4.1). */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/outliers.h"
#include "format/wcodec/wcodec_read.h"
#include "model/lossy_record.h"

/* ---- layers as a catalog --------------------------------------------------------------------- */

typedef struct reader {
    tare_model *m;
    tare_packed *store;
    const tare_wcodec_index *index;
    tare_packed_range *ranges; /* all regions of all layers, one after the other */
    uint32_t file;             /* that they are read through */
    tare_error *err;
} reader;

static tare_status blame(const reader *r, tare_status status, size_t tensor) {
    if (status != TARE_OK)
        tare_error_item(r->err, TARE_ITEM_TENSOR, (int64_t)tensor,
                        r->m->catalog.tensors[tensor].name);
    return status;
}

/* The regions of a tensor are the planes of its encoding, or one for all of them. A list has the
 * size that its region has; an empty one at the end has none. */
static tare_status set_tensor(const reader *r, tare_tensor *t, const tare_wcodec_layer *l,
                              uint64_t offset) {
    const tare_encoding *encoding = tare_encoding_find(l->encoding);
    if (!encoding)
        return tare_fail(r->err, TARE_ERR_UNSUPPORTED, "encoding: no number format of this name");
    TARE_TRY(tare_tensor_set(r->m, t, encoding, l->dims, l->n_dims, r->file, offset, r->err));
    uint32_t list = tare_encoding_list_plane(encoding);
    if (list < l->coded.n_regions &&
        l->coded.region_bytes[list] % encoding->planes[list].unit_bytes == 0)
        TARE_TRY(tare_tensor_set_list(t, l->coded.region_bytes[list], &r->m->arena, r->err));
    uint64_t size = 0;
    for (unsigned i = 0; i < l->coded.n_regions; i++) size += l->coded.region_bytes[i];
    bool is_right = l->coded.n_regions == 1
                        ? size == t->size_bytes
                        : l->coded.n_regions == encoding->n_planes ||
                              (l->coded.n_regions == list && list + 1 == encoding->n_planes);
    for (unsigned i = 0; l->coded.n_regions > 1 && is_right && i < l->coded.n_regions; i++)
        is_right = l->coded.region_bytes[i] == t->planes[i].size;
    return is_right ? TARE_OK
                    : tare_fail(r->err, TARE_ERR_CORRUPT,
                                "regions: their size does not match shape and encoding");
}

static tare_status read_tensors(reader *r) {
    tare_catalog *c = &r->m->catalog;
    uint64_t offset = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < r->index->n_layers; i++) {
        const tare_wcodec_layer *l = &r->index->layers[i];
        if (l->kind == TARE_WCODEC_TENSOR) {
            tare_tensor *t = &c->tensors[n];
            t->name = tare_arena_str(&r->m->arena, l->name);
            t->offset = TARE_NO_OFFSET;
            if (!t->name.ptr) return tare_fail(r->err, TARE_ERR_NOMEM, "tensor");
            TARE_TRY(blame(r, set_tensor(r, t, l, offset), n));
            c->n_tensors = ++n;
        }
        for (unsigned k = 0; k < l->coded.n_regions; k++) offset += l->coded.region_bytes[k];
    }
    return TARE_OK;
}

/* A tensor's bytes are swapped according to the byte order of the model: it must be the same for
 * all. */
static tare_status find_order(const reader *r, bool *is_big_endian) {
    bool has[2] = {false, false};
    for (uint32_t i = 0; i < r->index->n_layers; i++) {
        const tare_wcodec_layer *l = &r->index->layers[i];
        if (l->kind == TARE_WCODEC_TENSOR) has[l->is_big_endian] = true;
    }
    *is_big_endian = has[1];
    return has[0] && has[1] ? tare_fail(r->err, TARE_ERR_UNSUPPORTED,
                                        "layers: tensors of both byte orders and no files")
                            : TARE_OK;
}

/* A layer's only region. */
static tare_status read_metadata(reader *r, uint32_t layer) {
    const tare_wcodec_layer *l = &r->index->layers[layer];
    tare_catalog *c = &r->m->catalog;
    size_t n;
    if (l->coded.region_bytes[0] > r->m->limits.metadata_bytes ||
        !tare_size_of_u64(l->coded.region_bytes[0], &n))
        return tare_fail(r->err, TARE_ERR_LIMIT, "size of the metadata");
    char *text = tare_arena_take(&r->m->arena, n);
    if (!text) return tare_fail(r->err, TARE_ERR_NOMEM, "metadata");
    TARE_TRY(tare_packed_read(r->store, layer, 0, 0, text, n, r->err));
    r->m->directory_bytes += n;
    return tare_metadata_from_json(&c->metadata, &c->n_metadata, (tare_str){text, n}, &r->m->arena,
                                   &r->m->limits, r->err);
}

static tare_status add_resource(reader *r, const tare_wcodec_layer *l, uint64_t offset) {
    tare_catalog *c = &r->m->catalog;
    tare_resource_entry *e = &c->resources[c->n_resources];
    *e = (tare_resource_entry){
        .info = {tare_arena_str(&r->m->arena, l->name), l->coded.region_bytes[0]},
        .file = r->file,
        .offset = offset};
    if (!e->info.name.ptr) return tare_fail(r->err, TARE_ERR_NOMEM, "resource");
    if (e->info.size > r->m->limits.resource_bytes) {
        tare_fail(r->err, TARE_ERR_LIMIT, "size of a resource");
        tare_error_item(r->err, TARE_ITEM_RESOURCE, (int64_t)c->n_resources, e->info.name);
        return TARE_ERR_LIMIT;
    }
    c->n_resources++;
    return TARE_OK;
}

static tare_status read_others(reader *r) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < r->index->n_layers; i++) {
        const tare_wcodec_layer *l = &r->index->layers[i];
        if (l->kind == TARE_WCODEC_METADATA) TARE_TRY(read_metadata(r, i));
        if (l->kind == TARE_WCODEC_RESOURCE) TARE_TRY(add_resource(r, l, offset));
        for (unsigned k = 0; k < l->coded.n_regions; k++) offset += l->coded.region_bytes[k];
    }
    return TARE_OK;
}

/* The regions of all layers as one file. */
static tare_status add_view(reader *r, size_t n_regions) {
    tare_reader view;
    const char *name = tare_packed_source(r->store)->name;
    size_t n = 0;
    r->ranges = TARE_NEW_ARRAY(&r->m->arena, tare_packed_range, n_regions);
    if (!r->ranges) return tare_fail(r->err, TARE_ERR_NOMEM, "list of layers");
    for (uint32_t i = 0; i < r->index->n_layers; i++) {
        const tare_wcodec_layer *l = &r->index->layers[i];
        for (unsigned k = 0; k < l->coded.n_regions; k++)
            if (l->coded.region_bytes[k])
                r->ranges[n++] = (tare_packed_range){i, (uint8_t)k, 0, l->coded.region_bytes[k]};
    }
    TARE_TRY(tare_wcodec_store_reader(&view, r->store, r->ranges, n, name, r->err));
    tare_status status = tare_model_add_file(r->m, &view, name, &r->file, r->err);
    if (status != TARE_OK) tare_reader_close(&view);
    return status;
}

static void report_loss(const tare_model *m, tare_report *report) {
    if (!m->lossy || m->lossy->n_tensors == 0) return;
    tare_report_addf(
        report, &TARE_FINDING(INFO, TARE_OK, "wcodec.lossy"),
        "packed with loss: the numbers of %zu of %zu tensors are not the original ones",
        m->lossy->n_tensors, m->catalog.n_tensors);
}

/* Fills the catalog from the layers. */
static tare_status open_layers(tare_model *m, tare_packed *store, const tare_open_options *options,
                               tare_error *err) {
    reader r = {.m = m, .store = store, .index = tare_wcodec_store_index(store), .err = err};
    size_t n_regions = 0, n_kinds[TARE_WCODEC_KIND_COUNT] = {0};
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    for (uint32_t i = 0; i < r.index->n_layers; i++) {
        n_regions += r.index->layers[i].coded.n_regions;
        n_kinds[r.index->layers[i].kind]++;
    }
    *layout = (tare_layout){.version = 1, .alignment = 1};
    TARE_TRY(find_order(&r, &layout->is_big_endian));
    m->catalog.layout = layout;
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n_kinds[TARE_WCODEC_TENSOR]);
    m->catalog.resources =
        TARE_NEW_ARRAY(&m->arena, tare_resource_entry, n_kinds[TARE_WCODEC_RESOURCE]);
    if (!m->catalog.tensors || !m->catalog.resources)
        return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    TARE_TRY(add_view(&r, n_regions));
    TARE_TRY(read_tensors(&r));
    TARE_TRY(read_others(&r));
    TARE_TRY(tare_lossy_restore(m, err));
    report_loss(m, options->context->report);
    return tare_model_finish(m, options->context->report, err);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static void free_store(void *store) {
    tare_packed_free(store);
}

tare_packed *tare_packed_of(const tare_model *m) {
    return m->free_private == free_store ? m->private_data : NULL;
}

static tare_status open_wcodec(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    if (ctx->source->kind == TARE_SOURCE_SHARDS || ctx->probe->is_directory)
        return tare_fail(err, TARE_ERR_ARG, "a .wcodec is one file");
    tare_packed *store;
    bool is_ours = false;
    tare_str name =
        tare_arena_str(&m->arena, tare_str_of(ctx->first->name ? ctx->first->name : ""));
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "name");
    ctx->first->name = name.ptr;
    TARE_TRY(tare_packed_open(&store, ctx->first, &m->limits, m->allocator, err));
    m->private_data = store;
    m->free_private = free_store;
    m->container_version = tare_format_wcodec.write.version;
    TARE_TRY(tare_packed_use_device(store, ctx->options->device, err));
    if (tare_wcodec_store_index(store)->n_files)
        TARE_TRY(tare_wcodec_open_files(m, store, ctx->options, ctx->inner, &is_ours, err));
    if (!is_ours && ctx->inner.len)
        return tare_fail(err, TARE_ERR_ARG, "the file in the container that is named is no model");
    if (!is_ours) TARE_TRY(open_layers(m, store, ctx->options, err));
    m->directory_bytes += tare_wcodec_store_directory_bytes(store);
    return TARE_OK;
}

static bool probe(const tare_probe *p) {
    static const uint8_t magic[8] = {'W', 'C', 'O', 'D', 'E', 'C', 0, 0};
    return !p->is_directory && p->head_size >= sizeof magic &&
           memcmp(p->head, magic, sizeof magic) == 0;
}

const tare_format tare_format_wcodec = {
    .name = "wcodec",
    .description = "WCodec: tensors packed without loss, and the files they came from",
    .suffix = ".wcodec",
    .caps = &tare_wcodec_caps,
    .read = {.probe = probe, .open = open_wcodec},
    .write = {.version = 1, .plan = tare_wcodec_plan, .pack = tare_wcodec_pack},
    .stored = {.keys = TARE_KEY_FORM_TYPED}, /* what it holds is often a GGUF file again */
};
