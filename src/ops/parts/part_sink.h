/* SPDX-License-Identifier: MIT
 *
 * Where the bytes of a part go: a file of their own, or their place in a file that all parts share. */
#ifndef TARE_OPS_PARTS_PART_SINK_H
#define TARE_OPS_PARTS_PART_SINK_H

#include "ops/output/sinks.h"
#include "ops/parts/part_record.h"

/* All but the last group is set before it begins; at its end the pieces of
 * `record` have their sums: of what was to be written, which a join compares with what is there. */
typedef struct tare_part_sink {
    tare_part_record *record;
    const tare_part_layout *layout;
    const char *path; /* the part's file, or what all share */
    const tare_output_options *output;
    const tare_context *context;

    tare_arena arena;
    _Atomic uint32_t *sums; /* for each piece: CRC-32, with zeros for what was not put */
    tare_outset *set;       /* NULL: shared */
    tare_file_sink files;
    tare_sink to_files;
    _Atomic uint64_t hinted;
} tare_part_sink;

/* Zeroed, it may be freed. `out` has `put` and `copy`, and points to `s`. */
tare_status tare_part_sink_begin(tare_part_sink *s, tare_sink *out, tare_error *err);
/* All bytes are on the disk then. */
tare_status tare_part_sink_end(tare_part_sink *s, tare_error *err);
void tare_part_sink_free(tare_part_sink *s);

#endif
