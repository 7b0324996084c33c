/* SPDX-License-Identifier: MIT
 *
 * A list of what is packed: files, links and empty folders, and the readers that were opened for
 * it. */
#ifndef TARE_OPS_PACKING_PACK_LIST_H
#define TARE_OPS_PACKING_PACK_LIST_H

#include <tare/experimental/packing.h>

#include "base/file_cache.h"
#include "format/packed.h"
#include "ops/strict.h"

typedef struct tare_pack_files {
    tare_arena arena;
    tare_packed_origin *files; /* sorted by name; links and empty folders among them */
    size_t n, capacity;
    tare_reader **opened; /* those that the model itself does not have open */
    size_t n_opened, opened_capacity;
    tare_file_cache *idle; /* the descriptors of most of them; NULL: none yet */
    bool is_directory;
    tare_strict strict; /* files that are left out */
} tare_pack_files;

/* Adds a file, link or folder; its name must live as long as the list. */
tare_status tare_pack_list_add(tare_pack_files *files, const tare_packed_origin *origin,
                               tare_error *err);
/* Takes over a reader, which is in the arena of the list. */
tare_status tare_pack_list_keep(tare_pack_files *files, tare_reader *reader, tare_error *err);
/* Opens a file for which the model has no reader. */
tare_status tare_pack_list_read(const tare_reader **out, tare_pack_files *files, const char *path,
                                tare_error *err);
void tare_pack_list_free(tare_pack_files *files);

#endif
