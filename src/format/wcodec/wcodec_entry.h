/* SPDX-License-Identifier: MIT
 *
 * What a file record of a .wcodec holds in addition to name and contents (docs/wcodec.md, 4.4):
 * whether the entry is a file, a link or an empty folder, its permissions and when it was modified.
 */
#ifndef TARE_FORMAT_WCODEC_WCODEC_ENTRY_H
#define TARE_FORMAT_WCODEC_WCODEC_ENTRY_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "format/packed.h"

/* Appends the part of a record that says it. */
void tare_wcodec_entry_put(tare_buffer *out, const tare_packed_entry *entry);
/* Reads it where the rest of a record begins with it; otherwise *out states nothing and the cursor
 * stays. `name`: of the record. */
tare_status tare_wcodec_entry_read(tare_packed_entry *out, tare_cursor *c, tare_str name,
                                   tare_arena *arena, tare_error *err);

#endif
