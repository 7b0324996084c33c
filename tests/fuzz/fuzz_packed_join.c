/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: parts of a .wcodec, of which a join makes one. The input is u32 (little-endian) size of the first
 * part; the rest is the second, if there is any. They are refused with a text, or what is moved lies inside of
 * them and fills the output from its header to its index. The CRC of each part's index is made right first. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/wcodec/wcodec_index.h"
#include "fuzz_check.h"
#include "ops/digest.h"

enum { TAIL = 24 };

/* Else nothing would get past it. */
static void make_right(uint8_t *part, size_t size) {
    const tare_limits limits = tare_limits_default();
    uint64_t at, n;
    if (size < TARE_WCODEC_HEADER + TAIL) return;
    const uint64_t container = tare_load_le64(part + size - TAIL);
    if (container < TARE_WCODEC_HEADER || container > size - TAIL) return;
    if (tare_wcodec_find_index(&at, &n, part, container, &limits, NULL) != TARE_OK) return;
    const uint32_t crc = tare_crc32(tare_crc32(0, part, TARE_WCODEC_HEADER), part + at, (size_t)n);
    tare_store_le32(part + at + n + 16, crc);
}

static tare_status add(tare_packed_join *join, const uint8_t *part, size_t size, tare_error *err) {
    tare_reader reader;
    tare_reader_memory(&reader, part, size, "part");
    const tare_status status = tare_packed_join_add(join, &reader, err);
    tare_reader_close(&reader);
    return status;
}

static void check_whole(const tare_packed_join *join, const size_t sizes[2]) {
    const tare_packed_joined whole = tare_packed_join_result(join);
    uint64_t at = whole.n_header;
    for (size_t i = 0; i < whole.n_moves; i++) {
        const tare_packed_move *m = &whole.moves[i];
        FUZZ_CHECK(m->part < 2 && m->to == at && m->n > 0);
        FUZZ_CHECK(m->from <= sizes[m->part] && m->n <= sizes[m->part] - m->from);
        at += m->n;
    }
    FUZZ_CHECK(whole.index_at == at && whole.n_index > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = tare_limits_default();
    tare_packed_join *join;
    tare_error err = TARE_ERROR_NONE;
    if (size < 4) return 0;
    const uint32_t told = tare_load_le32(data);
    const size_t first = told < size - 4 ? told : size - 4, sizes[2] = {first, size - 4 - first};
    uint8_t *parts = malloc(size);
    FUZZ_CHECK(parts);
    memcpy(parts, data + 4, size - 4);
    make_right(parts, sizes[0]);
    make_right(parts + sizes[0], sizes[1]);
    FUZZ_CHECK(tare_packed_join_new(&join, &limits, NULL, &err) == TARE_OK);
    tare_status status = add(join, parts, sizes[0], &err);
    if (status == TARE_OK && sizes[1]) status = add(join, parts + sizes[0], sizes[1], &err);
    if (status == TARE_OK) status = tare_packed_join_plan(join, tare_digest_of_tensors, &err);
    if (status == TARE_OK)
        check_whole(join, sizes);
    else
        FUZZ_CHECK(err.what && err.what[0]);
    tare_packed_join_free(join);
    free(parts);
    return 0;
}
