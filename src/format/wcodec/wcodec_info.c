/* SPDX-License-Identifier: MIT
 *
 * What a .wcodec says about itself, from its directory alone (include/tare/experimental/unpack.h). */
#include <tare/experimental/packing.h>
#include <tare/experimental/unpack.h>

#include <string.h>

#include "format/wcodec/wcodec_read.h"
#include "model/lossy_record.h"
#include "wcodec/layer/wc_cut.h"

_Static_assert((int)TARE_LAYER_TENSOR == (int)TARE_WCODEC_TENSOR &&
                   (int)TARE_LAYER_BYTES == (int)TARE_WCODEC_BYTES &&
                   (int)TARE_LAYER_METADATA == (int)TARE_WCODEC_METADATA &&
                   (int)TARE_LAYER_RESOURCE == (int)TARE_WCODEC_RESOURCE,
               "kinds of layers");

/* Whether some streams of tensors have several segments, and all of these short ones. */
static bool is_for_gpu(const tare_wcodec_index *x) {
    bool has_short = false;
    for (uint32_t i = 0; i < x->n_layers; i++) {
        const tare_wc_layer *l = &x->layers[i].coded;
        for (unsigned s = 0; x->layers[i].kind == TARE_WCODEC_TENSOR && s < l->n_streams; s++) {
            const tare_coded_field *f = &l->streams[s].field;
            if (l->streams[s].n_segments < 2) continue;
            if (f->log2_segment > tare_wc_most_for_gpu(f->value_bits)) return false;
            has_short = true;
        }
    }
    return has_short;
}

bool tare_model_container(tare_container_info *out, const tare_model *m) {
    const tare_packed *store = m ? tare_packed_of(m) : NULL;
    tare_container_info info = tare_container_info_default();
    tare_result_write(out, &info, sizeof info);
    if (!store || tare_result_check(out, NULL) != TARE_OK) return false;
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    info.major_version = m->container_version;
    info.minor_version = x->minor;
    info.format = m->held_format;
    info.packed_bytes = tare_packed_source(store)->size;
    info.is_directory = x->files_form == 2;
    info.n_files = x->n_files;
    info.n_bases = x->n_bases;
    info.n_layers = x->n_layers;
    info.is_for_gpu = is_for_gpu(x);
    if (m->held_format && m->catalog.layout) info.format_version = m->catalog.layout->version;
    for (uint32_t i = 0; i < x->n_files; i++)
        if (x->files[i].entry.kind == TARE_PACKED_FILE) info.unpacked_bytes += x->files[i].size;
    if (m->lossy) info.unpacked_bytes = tare_catalog_bytes(&m->catalog);
    for (uint32_t i = 0; !m->lossy && !x->n_files && i < x->n_layers; i++)
        for (unsigned r = 0; r < x->layers[i].coded.n_regions; r++)
            info.unpacked_bytes += x->layers[i].coded.region_bytes[r];
    tare_result_write(out, &info, sizeof info);
    return true;
}

bool tare_model_container_base(tare_container_base *out, const tare_model *m, size_t i) {
    const tare_packed *store = m ? tare_packed_of(m) : NULL;
    tare_container_base base = tare_container_base_default();
    tare_result_write(out, &base, sizeof base);
    if (!store || i >= tare_wcodec_store_index(store)->n_bases ||
        tare_result_check(out, NULL) != TARE_OK)
        return false;
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    base.name = x->bases[i].hint;
    memcpy(base.digest, x->bases[i].digest, sizeof base.digest);
    for (uint32_t l = 0; l < x->n_layers; l++)
        base.n_tensors += x->layers[l].kind == TARE_WCODEC_TENSOR && x->layers[l].base == i + 1;
    tare_result_write(out, &base, sizeof base);
    return true;
}

bool tare_model_container_layer(tare_container_layer *out, const tare_model *m, size_t i) {
    const tare_packed *store = m ? tare_packed_of(m) : NULL;
    tare_container_layer layer = tare_container_layer_default();
    tare_result_write(out, &layer, sizeof layer);
    if (!store || i >= tare_wcodec_store_index(store)->n_layers ||
        tare_result_check(out, NULL) != TARE_OK)
        return false;
    const tare_wcodec_layer *l = &tare_wcodec_store_index(store)->layers[i];
    layer.kind = (tare_layer_kind)l->kind;
    layer.name = l->name;
    if (l->kind == TARE_WCODEC_TENSOR) layer.encoding = tare_encoding_find(l->encoding);
    layer.n_dims = l->n_dims;
    layer.dims = l->dims;
    layer.is_big_endian = l->is_big_endian;
    for (unsigned r = 0; r < l->coded.n_regions; r++) layer.from_bytes += l->coded.region_bytes[r];
    layer.to_bytes = l->coded.size;
    layer.base = l->base;
    tare_result_write(out, &layer, sizeof layer);
    return true;
}

/* Which layers of tensors have the bytes of one before: others are written in the order of the index. */
static bool *find_shared(const tare_wcodec_index *x, const tare_allocator *a) {
    bool *is_shared = tare_alloc(a, x->n_layers);
    uint64_t end = 0;
    for (uint32_t i = 0; is_shared && i < x->n_layers; i++) {
        const tare_wc_layer *l = &x->layers[i].coded;
        is_shared[i] = x->layers[i].kind == TARE_WCODEC_TENSOR && l->offset < end;
        if (x->layers[i].kind == TARE_WCODEC_TENSOR && !is_shared[i]) end = l->offset + l->size;
    }
    return is_shared;
}

static void add_tensor(tare_container_file *f, const tare_wcodec_layer *l, bool is_shared) {
    uint64_t n = 1;
    for (unsigned d = 0; d < l->n_dims; d++) n *= l->dims[d];
    for (unsigned r = 0; r < l->coded.n_regions; r++) f->tensor_bytes += l->coded.region_bytes[r];
    f->packed_bytes += is_shared ? 0 : l->coded.size;
    f->n_weights += n;
    f->n_derived += l->derived.is_set || is_shared;
    f->n_tensors++;
}

/* Ranges of a tensor stand one after the other; bytes that are no tensor's are the file's whose name
 * their layer has. */
static void add_layers(tare_container_file *f, const tare_wcodec_index *x,
                       const tare_packed_file *file, const bool *is_shared) {
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < file->n_ranges; i++) {
        const uint32_t at = file->ranges[i].layer;
        const tare_wcodec_layer *l = &x->layers[at];
        if (l->kind == TARE_WCODEC_TENSOR && at != last) add_tensor(f, l, is_shared[at]);
        if (l->kind == TARE_WCODEC_TENSOR) last = at;
    }
    for (uint32_t i = 0; i < x->n_layers; i++)
        if (x->layers[i].kind == TARE_WCODEC_BYTES && tare_str_equal(x->layers[i].name, file->name))
            f->packed_bytes += x->layers[i].coded.size;
}

bool tare_model_container_file(tare_container_file *out, const tare_model *m, size_t i) {
    const tare_packed *store = m ? tare_packed_of(m) : NULL;
    tare_container_file f = tare_container_file_default();
    tare_result_write(out, &f, sizeof f);
    if (!store || i >= tare_wcodec_store_index(store)->n_files ||
        tare_result_check(out, NULL) != TARE_OK)
        return false;
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    const tare_packed_file *file = &x->files[i];
    bool *is_shared = find_shared(x, m->allocator);
    if (!is_shared) return false;
    f.name = file->name;
    f.size_bytes = file->size;
    if (file->entry.kind == TARE_PACKED_FILE) add_layers(&f, x, file, is_shared);
    tare_free(m->allocator, is_shared, x->n_layers);
    tare_result_write(out, &f, sizeof f);
    return true;
}

/* The planes of a tensor are regions of one layer, or parts of its only one. *layer UINT32_MAX: the
 * tensor has no bytes. False: it has no layer of its own. `places` may be NULL. */
static bool find_layer(uint32_t *layer, tare_coded_place *places, const tare_wcodec_index *x,
                       const tare_model *m, size_t tensor) {
    const tare_tensor *t = tare_model_stored(m, tensor);
    const uint32_t n_planes = t->encoding->n_planes ? t->encoding->n_planes : 1; /* not known */
    *layer = UINT32_MAX;
    for (uint32_t p = 0; p < n_planes; p++) {
        const tare_plane *plane = &t->planes[p];
        tare_packed_range range = {.layer = *layer};
        if (plane->size && !tare_packed_reader_range(&range, &m->files[plane->file].reader,
                                                     plane->offset, plane->size))
            return false;
        if (*layer != UINT32_MAX && range.layer != *layer) return false;
        *layer = range.layer;
        if (places) places[p] = (tare_coded_place){range.region, range.offset};
    }
    if (*layer == UINT32_MAX) return true;
    return x->layers[*layer].kind == TARE_WCODEC_TENSOR;
}

bool tare_tensor_packed_bytes(uint64_t *out, const tare_model *m, size_t tensor) {
    const tare_packed *store = m ? tare_packed_of(m) : NULL;
    const tare_model *stored = m && m->lossy && m->lossy->stored ? m->lossy->stored : m;
    uint32_t layer;
    *out = 0;
    if (!store || tensor >= m->catalog.n_tensors ||
        !find_layer(&layer, NULL, tare_wcodec_store_index(store), stored, tensor))
        return false;
    if (layer != UINT32_MAX) *out = tare_wcodec_store_index(store)->layers[layer].coded.size;
    return true;
}

tare_status tare_tensor_coded(tare_coded **out, tare_coded_place *places, const tare_model *m,
                              size_t tensor, const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    uint32_t layer;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(m && tensor < m->catalog.n_tensors, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    const tare_packed *store = tare_packed_of(m);
    if (!store) return tare_fail(err, TARE_ERR_ARG, "model: it was not opened from a .wcodec");
    tare_status status = TARE_OK;
    if (!find_layer(&layer, places, tare_wcodec_store_index(store), m, tensor))
        status = tare_fail(err, TARE_ERR_UNSUPPORTED, "it has no layer of its own");
    else if (layer == UINT32_MAX)
        status = tare_fail(err, TARE_ERR_UNSUPPORTED, "it has no bytes");
    else
        status = tare_wcodec_store_coded(out, store, layer, o.context->allocator, err);
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor, m->catalog.tensors[tensor].name);
    return status;
}

/* Of the layers of tensors, shared ones once. */
static double bits_per_weight(const tare_model *m) {
    const tare_packed *store = tare_packed_of(m);
    const tare_wcodec_index *x = store ? tare_wcodec_store_index(store) : NULL;
    double bytes = 0, n = 0;
    for (uint32_t i = 0; x && i < x->n_layers; i++)
        if (x->layers[i].kind == TARE_WCODEC_TENSOR) bytes += (double)x->layers[i].coded.size;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) n += (double)m->catalog.tensors[i].n_elements;
    return n > 0 ? 8 * bytes / n : 0;
}

bool tare_model_lossy(tare_lossy_info *out, const tare_model *m) {
    const tare_lossy *l = m ? m->lossy : NULL;
    tare_lossy_info info = tare_lossy_info_default();
    tare_result_write(out, &info, sizeof info);
    if (!l || tare_result_check(out, NULL) != TARE_OK) return false;
    info.bits_per_weight = bits_per_weight(m);
    info.target_bpw = l->target_bpw;
    info.target_bytes = (uint64_t)l->target_bytes;
    info.target_damage = l->target_damage;
    info.lambda = l->lambda;
    info.damage = l->damage;
    info.n_tensors = l->n_tensors;
    info.is_weighted = l->is_weighted;
    info.method = l->method;
    info.container = l->container;
    memcpy(info.source, l->source, sizeof info.source);
    tare_result_write(out, &info, sizeof info);
    return true;
}

tare_status tare_model_layer_coded(tare_coded **out, const tare_model *m, size_t i,
                                   const tare_coded_options *options, tare_error *err) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(m, err);
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    const tare_packed *store = tare_packed_of(m);
    if (!store) return tare_fail(err, TARE_ERR_ARG, "model: it was not opened from a .wcodec");
    TARE_REQUIRE(i < tare_wcodec_store_index(store)->n_layers, err);
    return tare_wcodec_store_coded(out, store, (uint32_t)i, o.context->allocator, err);
}

/* ---- for verbs (format/packed.h) -------------------------------------------------------------- */

tare_packed_contents tare_packed_describe(const tare_packed *store) {
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    return (tare_packed_contents){.digest = tare_wcodec_store_is_part(store) ? NULL : x->digest,
                                  .n_layers = x->n_layers,
                                  .n_bases = x->n_bases,
                                  .n_files = x->n_files,
                                  .bases = x->bases,
                                  .files = x->files,
                                  .is_directory = x->files_form == 2};
}

tare_status tare_packed_file_reader(tare_reader *out, tare_packed *store, uint32_t file,
                                    const char *name, tare_error *err) {
    const tare_packed_file *f = &tare_wcodec_store_index(store)->files[file];
    return tare_wcodec_store_reader(out, store, f->ranges, f->n_ranges, name, err);
}

tare_packed_part tare_packed_describe_layer(const tare_packed *store, uint32_t layer) {
    const tare_wcodec_layer *l = &tare_wcodec_store_index(store)->layers[layer];
    return (tare_packed_part){.name = l->name,
                              .is_tensor = l->kind == TARE_WCODEC_TENSOR,
                              .has_data = l->coded.size != 0,
                              .lacks_base = tare_wcodec_store_lacks_base(store, layer),
                              .base = l->base};
}

tare_status tare_packed_check(const tare_packed *store, uint32_t layer, tare_error *err) {
    const tare_wc_opened o = {.file = tare_packed_source(store),
                              .layer = &tare_wcodec_store_index(store)->layers[layer].coded};
    return tare_wc_check_layer(&o, err);
}
