/* SPDX-License-Identifier: MIT
 *
 * The directory of a .wcodec that lost its header, its footer or a part of its index. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_SALVAGE_H
#define TARE_FORMAT_WCODEC_WCODEC_SALVAGE_H

#include "base/reader.h"
#include "format/wcodec/wcodec_index.h"

/* What was wrong with it. */
typedef struct tare_wcodec_damage {
    bool is_unchecked;     /* its CRC does not vouch for it: the rest says why */
    bool has_header;       /* the header could be used, and what only it says is known */
    bool has_footer;       /* it says the same */
    bool is_cut;           /* the file ends inside the index */
    uint64_t n_missing;    /* bytes that are gone from the beginning of the file */
    uint32_t n_files_lost; /* file records that cannot be read */
} tare_wcodec_damage;

/* Reads the directory of `file` by whatever is left of header and footer. Where the file has lost
 * its beginning, *file becomes a reader whose offsets are those of the whole file; reading what is
 * missing is TRUNCATED. *directory_bytes: how many were read. */
tare_status tare_wcodec_salvage(tare_wcodec_index *out, tare_wcodec_damage *damage,
                                uint64_t *directory_bytes, tare_reader *file,
                                const tare_limits *limits, tare_arena *arena, tare_error *err);

#endif
