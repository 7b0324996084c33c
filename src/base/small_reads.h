/* SPDX-License-Identifier: MIT
 *
 * A few bytes here and there of a file of any size, through blocks of it that are kept. */
#ifndef TARE_BASE_SMALL_READS_H
#define TARE_BASE_SMALL_READS_H

#include "base/reader.h"

enum { TARE_SMALL_BLOCK = 2048, TARE_SMALL_BLOCKS = 8 };

typedef struct tare_small_reads {
    const tare_reader *reader;
    uint64_t n_read; /* bytes of the file, in all */
    uint64_t first[TARE_SMALL_BLOCKS];
    size_t n[TARE_SMALL_BLOCKS]; /* 0: nothing is there yet */
    uint8_t blocks[TARE_SMALL_BLOCKS][TARE_SMALL_BLOCK];
} tare_small_reads;

void tare_small_reads_init(tare_small_reads *s, const tare_reader *reader);
/* As tare_reader_read. */
tare_status tare_small_read(tare_small_reads *s, uint64_t offset, void *buf, size_t n,
                            tare_error *err);

#endif
