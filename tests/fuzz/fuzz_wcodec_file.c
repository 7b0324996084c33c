/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a .wcodec of any bytes is refused with a place, or its regions can be read. The CRC
 * of the index is made right first, else nothing would get past it. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_index.h"
#include "fuzz_check.h"
#include "wcodec/layer/wc_layer.h"

enum { MOST = 1 << 18 }; /* bytes of a region that are read: from its beginning and its end */

static void read_layer(const tare_reader *file, const tare_wcodec_layer *l, tare_arena *arena) {
    tare_wc_opened opened;
    tare_wc_scratch scratch;
    tare_error err = TARE_ERROR_NONE;
    uint8_t *bytes = malloc(MOST);
    FUZZ_CHECK(bytes);
    tare_wc_scratch_init(&scratch, NULL);
    tare_status status = tare_wc_open_layer(&opened, file, &l->coded, arena, &err);
    for (unsigned r = 0; r < l->coded.n_regions && status == TARE_OK; r++) {
        size_t n = l->coded.region_bytes[r] < MOST ? (size_t)l->coded.region_bytes[r] : MOST;
        status = tare_wc_read_region(bytes, &opened, r, 0, n, &scratch, &err);
        if (status == TARE_OK)
            status = tare_wc_read_region(bytes, &opened, r, l->coded.region_bytes[r] - n, n,
                                         &scratch, &err);
    }
    if (status == TARE_OK) status = tare_wc_check_layer(&opened, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    tare_wc_scratch_free(&scratch);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = TARE_LIMITS_INIT;
    uint64_t offset, n;
    tare_error err = TARE_ERROR_NONE;
    tare_wcodec_index index;
    tare_reader reader;
    tare_arena arena;
    if (size < TARE_WCODEC_HEADER) return 0;
    if (tare_wcodec_find_index(&offset, &n, data, size, &limits, &err) != TARE_OK) {
        FUZZ_CHECK(err.what && err.what[0] && err.offset != TARE_NO_OFFSET);
        return 0;
    }
    uint8_t *copy = malloc(size);
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    uint32_t crc = tare_crc32(tare_crc32(0, copy, TARE_WCODEC_HEADER), copy + offset, (size_t)n);
    tare_store_le32(copy + offset + n + 16, crc);
    tare_arena_init(&arena, NULL);
    tare_reader_memory(&reader, copy, size, "input");
    tare_status status =
        tare_wcodec_index_read(&index, copy, copy + offset, offset, n, &limits, &arena, &err);
    FUZZ_CHECK(status == TARE_OK || (err.what && err.what[0]));
    for (uint32_t i = 0; status == TARE_OK && i < index.n_layers; i++)
        read_layer(&reader, &index.layers[i], &arena);
    tare_arena_free(&arena);
    free(copy);
    return 0;
}
