/* SPDX-License-Identifier: MIT
 *
 * A part of a .wcodec, written. It begins as a container of its own layers; then come, little-endian:
 *
 *     of each layer   u32 its number in the whole, 32 bytes of its tensor's SHA-256 (else 0)
 *     u32, u32        layers and files of the whole
 *     u8, u8, u16     form of the files, kind of the integers, 0
 *     bytes           of the first part: the records of the files, as the index will have them
 *     u64, u64        size of the container, of the records
 *     8 bytes         "WCPART" 0 1 */
#include "format/wcodec/wcodec_part.h"

#include <string.h>

/* The container's index: of the layers that are here. */
static tare_status put_container(tare_buffer *out, uint8_t header[TARE_WCODEC_HEADER],
                                 const tare_wcodec_draft *d, uint64_t end, tare_error *err) {
    tare_wcodec_index own = d->index;
    const size_t n = d->index.n_layers;
    tare_wcodec_layer *layers = tare_alloc(d->arena.allocator, n * sizeof *layers);
    if (n && !layers) return tare_fail(err, TARE_ERR_NOMEM, "layers");
    own.layers = layers;
    own.n_layers = own.n_files = own.files_form = 0;
    for (size_t i = 0; i < n; i++)
        if (!d->is_elsewhere[i]) layers[own.n_layers++] = d->index.layers[i];
    tare_wcodec_index_write(out, header, &own, end);
    tare_free(d->arena.allocator, layers, n * sizeof *layers);
    return tare_buffer_status(out, err);
}

static void put_numbers(tare_buffer *out, const tare_wcodec_draft *d,
                        const tare_pack_digest *digests) {
    for (uint32_t i = 0; i < d->index.n_layers; i++) {
        uint8_t digest[32] = {0};
        if (d->is_elsewhere[i]) continue;
        if (d->index.layers[i].kind == TARE_WCODEC_TENSOR) digests->tell(digests->ctx, i, digest);
        tare_buffer_put_u32(out, i, false);
        tare_buffer_put(out, digest, sizeof digest);
    }
}

tare_status tare_wcodec_part_write(const tare_wcodec_draft *d, const tare_wc_target *target,
                                   uint64_t end, const tare_pack_digest *digests, uint64_t *size,
                                   tare_error *err) {
    uint8_t header[TARE_WCODEC_HEADER];
    tare_buffer rest;
    tare_buffer_init(&rest, d->arena.allocator);
    tare_status status = put_container(&rest, header, d, end, err);
    const uint64_t n_container = end + rest.size;
    put_numbers(&rest, d, digests);
    tare_buffer_put_u32(&rest, d->index.n_layers, false);
    tare_buffer_put_u32(&rest, d->index.n_files, false);
    tare_buffer_put_u8(&rest, d->index.files_form);
    tare_buffer_put_u8(&rest, d->index.base_quant);
    tare_buffer_put_zeros(&rest, 2);
    const size_t files_at = rest.size;
    if (d->share.of.index == 1) tare_wcodec_files_write(&rest, &d->index);
    const uint64_t n_files = rest.size - files_at;
    tare_buffer_put_u64(&rest, n_container, false);
    tare_buffer_put_u64(&rest, n_files, false);
    tare_buffer_put(&rest, "WCPART\0\1", 8);
    if (status == TARE_OK) status = tare_buffer_status(&rest, err);
    *size = end + rest.size;
    if (status == TARE_OK) status = target->write(target->ctx, end, rest.data, rest.size, err);
    tare_buffer_free(&rest);
    if (status == TARE_OK) status = target->write(target->ctx, 0, header, sizeof header, err);
    return status;
}
