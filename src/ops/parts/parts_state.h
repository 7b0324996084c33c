/* SPDX-License-Identifier: MIT
 *
 * What is there of the parts of an output, for those who look at it and who join it. */
#ifndef TARE_OPS_PARTS_PARTS_STATE_H
#define TARE_OPS_PARTS_PARTS_STATE_H

#include "ops/parts/part_record.h"

typedef struct tare_part_found {
    tare_part_info info;
    const char *path; /* of its bytes */
    bool has_bytes, has_record;
    uint64_t n_bytes;        /* that are there */
    tare_part_record record; /* count 0: none that can be read */
} tare_part_found;

struct tare_parts {
    tare_context context;
    tare_arena arena;
    const char *out_path, *shared_path;
    uint32_t count, n_done;
    tare_part_found *found; /* first part 1 to count, then what must not be */
    size_t n_found, capacity;
};

/* Makes a .wcodec of its parts, all of which are done. *size: of it. */
tare_status tare_parts_join_packed(uint64_t *size, const tare_parts *parts, const char *out_path,
                                   const tare_output_options *output, uint16_t withheld,
                                   tare_error *err);

#endif
