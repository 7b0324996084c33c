/* SPDX-License-Identifier: MIT
 *
 * Blocks of a file, each in the place that its number gives it. */
#include "base/small_reads.h"

#include <string.h>

#include "base/arith.h"

void tare_small_reads_init(tare_small_reads *s, const tare_reader *reader) {
    s->reader = reader;
    s->n_read = 0;
    memset(s->n, 0, sizeof s->n);
}

static tare_status load(size_t *slot, tare_small_reads *s, uint64_t offset, tare_error *err) {
    const uint64_t first = offset - offset % TARE_SMALL_BLOCK;
    const size_t i = (size_t)(first / TARE_SMALL_BLOCK % TARE_SMALL_BLOCKS);
    *slot = i;
    if (s->n[i] && s->first[i] == first) return TARE_OK;
    const size_t n = (size_t)tare_min_u64(TARE_SMALL_BLOCK, s->reader->size - first);
    s->n[i] = 0;
    TARE_TRY(tare_reader_read(s->reader, first, s->blocks[i], n, err));
    s->first[i] = first;
    s->n[i] = n;
    s->n_read += n;
    return TARE_OK;
}

tare_status tare_small_read(tare_small_reads *s, uint64_t offset, void *buf, size_t n,
                            tare_error *err) {
    uint8_t *to = buf;
    if (offset > s->reader->size || n > s->reader->size - offset)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, s->reader->size,
                            "the file ends before what is to be read");
    while (n) {
        size_t i;
        TARE_TRY(load(&i, s, offset, err));
        const size_t skip = (size_t)(offset - s->first[i]);
        const size_t take = (size_t)tare_min_u64(n, s->n[i] - skip);
        memcpy(to, s->blocks[i] + skip, take);
        to += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}
