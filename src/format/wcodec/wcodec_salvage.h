/* SPDX-License-Identifier: MIT
 *
 * The directory of a .wcodec that lost its header, its footer or a part of its index. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_SALVAGE_H
#define TARE_FORMAT_WCODEC_WCODEC_SALVAGE_H

#include "base/reader.h"
#include "format/packed.h"
#include "format/wcodec/wcodec_index.h"

/* Reads the directory of `file` using whatever is left of header and footer. Where the file has
 * lost its beginning, *file becomes a reader whose offsets are those of the whole file; reading
 * what is missing is TRUNCATED. *directory_bytes: how many were read. */
tare_status tare_wcodec_salvage(tare_wcodec_index *out, tare_packed_damage *damage,
                                uint64_t *directory_bytes, tare_reader *file,
                                const tare_limits *limits, tare_arena *arena, tare_error *err);

#endif
