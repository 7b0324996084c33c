/* SPDX-License-Identifier: MIT
 *
 * What a file record of a .wcodec says beside name and contents (docs/wcodec.md, 4.4): whether the
 * entry is a file, a link or an empty folder, its permissions and when it was modified. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_ENTRY_H
#define TARE_FORMAT_WCODEC_WCODEC_ENTRY_H

#include "base/buffer.h"
#include "base/cursor.h"

typedef enum tare_wcodec_entry_kind {
    TARE_WCODEC_FILE = 0,
    TARE_WCODEC_LINK = 1,
    TARE_WCODEC_FOLDER = 2,
    TARE_WCODEC_ENTRY_KIND_COUNT
} tare_wcodec_entry_kind;

typedef struct tare_wcodec_entry {
    bool is_stated; /* else all else is 0: a file of which no more is known */
    uint8_t kind;   /* tare_wcodec_entry_kind */
    uint16_t mode;  /* permissions, 0..0777 */
    int64_t seconds;
    uint32_t nanoseconds;
    tare_str target; /* of a link; NUL-terminated */
} tare_wcodec_entry;

/* Whether a link of this name stays in the directory: "../" as often as it lies in folders at most,
 * then plain names. */
bool tare_wcodec_link_stays(tare_str name, tare_str target);

/* Appends the part of a record that says it. */
void tare_wcodec_entry_put(tare_buffer *out, const tare_wcodec_entry *entry);
/* Reads it where the rest of a record begins with it; else *out is nothing stated and the cursor
 * stays. `name`: of the record. */
tare_status tare_wcodec_entry_read(tare_wcodec_entry *out, tare_cursor *c, tare_str name,
                                   tare_arena *arena, tare_error *err);

#endif
