/* SPDX-License-Identifier: MIT
 *
 * A .wcodec as the target of a conversion. Its size is not known before it is packed; the plan lays
 * out what must be made first: the planes of tensors, one after the other. */
#include "base/arith.h"
#include "encoding/table.h"
#include "format/format.h"
#include "format/wcodec/wcodec_read.h"

enum { PLANE_ALIGN = 64 };

static bool has_encoding(const tare_encoding *e) {
    return e->kind != TARE_KIND_UNKNOWN;
}

const tare_format_caps tare_wcodec_caps = {
    .has_encoding = has_encoding,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .takes_empty_name = true,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};

/* Bytes of numbers are only swapped if a type is a single plane, as in the containers that have
 * such files. */
static tare_status choose_order(tare_write_plan *out, const tare_catalog *catalog,
                                const tare_write_options *options, tare_error *err) {
    const tare_layout *layout = options->source ? options->source->catalog.layout : NULL;
    bool was_big = layout && layout->is_big_endian, can_be_big = true;
    for (size_t i = 0; i < catalog->n_tensors; i++)
        can_be_big &= catalog->tensors[i].encoding->n_planes == 1;
    if (options->order == TARE_ORDER_BIG && !can_be_big)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a type of several planes is little-endian");
    out->is_big_endian = options->order == TARE_ORDER_KEEP ? was_big && can_be_big
                                                           : options->order == TARE_ORDER_BIG;
    return TARE_OK;
}

tare_status tare_wcodec_plan(tare_write_plan *out, const tare_catalog *catalog,
                             const tare_write_options *options, tare_error *err) {
    uint32_t file;
    uint64_t at = 0;
    if (options->shard_size || options->part_of)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "a .wcodec has no shards");
    if (options->alignment > 1)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "alignment: a .wcodec has no alignment to choose");
    TARE_TRY(choose_order(out, catalog, options, err));
    TARE_TRY(tare_write_plan_add_file(out, NULL, &file, err));
    for (size_t i = 0; i < catalog->n_tensors; i++) {
        const tare_tensor *t = &catalog->tensors[i];
        if (options->stays && options->stays(options->stays_ctx, i)) continue;
        for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
            tare_extent e = {.kind = TARE_EXTENT_TENSOR,
                             .file = file,
                             .size = t->planes[p].size,
                             .item = i,
                             .plane = p};
            if (!tare_align_u64(at, PLANE_ALIGN, &e.offset) || !tare_add_u64(e.offset, e.size, &at))
                return tare_fail(err, TARE_ERR_LIMIT, "tensors: bytes of all");
            TARE_TRY(tare_write_plan_add(out, &e, err));
        }
    }
    out->files[file].size = at;
    out->content_bytes = tare_catalog_bytes(catalog);
    return TARE_OK;
}
