/* SPDX-License-Identifier: MIT
 *
 * What a .wcodec says of itself, from its directory alone (include/tare/unpack.h). */
#include <tare/unpack.h>

#include <string.h>

#include "format/wcodec/wcodec_read.h"

bool tare_model_container(const tare_model *m, tare_container_info *out) {
    const tare_wcodec_store *store = m ? tare_wcodec_model_store(m) : NULL;
    *out = (tare_container_info){.format = NULL};
    if (!store) return false;
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    *out = (tare_container_info){.major_version = m->container_version,
                                 .minor_version = x->minor,
                                 .format = m->held_format,
                                 .packed_bytes = tare_wcodec_store_file(store)->size,
                                 .is_directory = x->files_form == 2,
                                 .n_files = x->n_files,
                                 .n_bases = x->n_bases};
    if (m->held_format && m->catalog.layout) out->format_version = m->catalog.layout->version;
    for (uint32_t i = 0; i < x->n_files; i++)
        if (x->files[i].entry.kind == TARE_WCODEC_FILE) out->unpacked_bytes += x->files[i].size;
    for (uint32_t i = 0; !x->n_files && i < x->n_layers; i++)
        for (unsigned r = 0; r < x->layers[i].coded.n_regions; r++)
            out->unpacked_bytes += x->layers[i].coded.region_bytes[r];
    return true;
}

bool tare_model_container_base(const tare_model *m, size_t i, tare_container_base *out) {
    const tare_wcodec_store *store = m ? tare_wcodec_model_store(m) : NULL;
    *out = (tare_container_base){.n_tensors = 0};
    if (!store || i >= tare_wcodec_store_index(store)->n_bases) return false;
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    out->name = x->bases[i].hint;
    memcpy(out->digest, x->bases[i].digest, sizeof out->digest);
    for (uint32_t l = 0; l < x->n_layers; l++)
        out->n_tensors += x->layers[l].kind == TARE_WCODEC_TENSOR && x->layers[l].base == i + 1;
    return true;
}

/* The planes of a tensor are regions of one layer, or parts of its only one. */
bool tare_tensor_packed_bytes(const tare_model *m, size_t tensor, uint64_t *out) {
    const tare_wcodec_store *store = m ? tare_wcodec_model_store(m) : NULL;
    tare_wcodec_range range = {.layer = UINT32_MAX}, other;
    *out = 0;
    if (!store || tensor >= m->catalog.n_tensors) return false;
    const tare_tensor *t = tare_model_stored(m, tensor);
    const uint32_t n_planes = t->encoding->n_planes ? t->encoding->n_planes : 1; /* not known */
    for (uint32_t p = 0; p < n_planes; p++) {
        const tare_plane *plane = &t->planes[p];
        if (!plane->size) continue;
        if (!tare_wcodec_reader_range(&other, &m->files[plane->file].reader, plane->offset,
                                      plane->size))
            return false;
        if (range.layer != UINT32_MAX && range.layer != other.layer) return false;
        range = other;
    }
    if (range.layer == UINT32_MAX) return true; /* a tensor of no bytes */
    const tare_wcodec_layer *l = &tare_wcodec_store_index(store)->layers[range.layer];
    *out = l->coded.size;
    return l->kind == TARE_WCODEC_TENSOR;
}
