/* SPDX-License-Identifier: MIT
 *
 * What must hold of the planes of a layer, whoever names them: a file, or a caller
 * (docs/wcodec.md, 4.2). */
#include "base/arith.h"
#include "format/wcodec_index.h"
#include "wcodec/wc_head.h"

/* 8 + 16 rules with maps (4 + 128) + 64 tables (128) + 64 tables (32) + 398 contexts: 12758. */
enum { MAX_HEAD = 12800 };

static tare_status refuse(tare_error *err, uint64_t at, const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, at, what);
}

tare_status tare_wcodec_check_plane(const tare_wcodec_layer *l, unsigned i, uint64_t at,
                                    tare_error *err) {
    const tare_wcodec_plane *p = &l->planes[i];
    uint8_t item = p->shape.item;
    tare_status status = tare_wc_shape_check(&p->shape, err);
    if (status != TARE_OK) {
        if (err && at != TARE_NO_OFFSET) err->offset = at + 1;
        return status;
    }
    if (p->region >= l->n_regions) return refuse(err, at, "plane: region");
    if (!p->stride || !p->width || p->width > p->stride || p->offset > p->stride - p->width)
        return refuse(err, at + 4, "plane: its bytes do not lie in a unit");
    if ((item == 16 && p->width % 2) || (item == 6 && p->width % 3))
        return refuse(err, at + 12, "plane: width is no whole number of values");
    if (p->head_bytes % TARE_WC_UNIT || p->head_bytes > MAX_HEAD)
        return refuse(err, at + 24, "plane: size of the head");
    if (p->scale_plane == TARE_WCODEC_NO_SCALES) {
        if (p->scale_form || p->values_per_scale) return refuse(err, at + 16, "plane: scales");
    } else if (p->scale_plane >= i || l->planes[p->scale_plane].shape.item != 16 ||
               p->scale_form < 1 || p->scale_form > 2 || !p->values_per_scale) {
        return refuse(err, at + 16, "plane: scales");
    }
    if (l->region_bytes[p->region] % p->stride)
        return refuse(err, at + 4, "plane: the region is no whole number of units");
    uint64_t n_bytes = l->region_bytes[p->region] / p->stride * p->width;
    if (tare_min_u64(tare_wc_whole_bytes(&p->shape), n_bytes) > TARE_WC_MAX_BYTES)
        return refuse(err, at + 2, "plane: its segments are too large");
    return TARE_OK;
}

tare_status tare_wcodec_check_cover(const tare_wcodec_layer *l, uint64_t at, tare_error *err) {
    for (unsigned region = 0; region < l->n_regions; region++) {
        uint64_t covered = 0, stride = 0;
        for (unsigned i = 0; i < l->n_planes; i++) {
            const tare_wcodec_plane *p = &l->planes[i];
            if (p->region != region) continue;
            if (stride && p->stride != stride)
                return refuse(err, at, "planes of a region: their strides differ");
            stride = p->stride;
            covered += p->width;
            for (unsigned j = 0; j < i; j++) {
                const tare_wcodec_plane *q = &l->planes[j];
                bool apart = q->region != region || q->offset >= (uint64_t)p->offset + p->width ||
                             p->offset >= (uint64_t)q->offset + q->width;
                if (!apart) return refuse(err, at, "planes of a region: they overlap");
            }
        }
        if (covered != stride || (!stride && l->region_bytes[region]))
            return refuse(err, at, "planes of a region: they do not cover it");
    }
    return TARE_OK;
}
