/* SPDX-License-Identifier: MIT
 *
 * The files of an output as one row of bytes, and the digest of all that they depend on. */
#ifndef TARE_OPS_PARTS_PART_LAYOUT_H
#define TARE_OPS_PARTS_PART_LAYOUT_H

#include <tare/experimental/parts.h>

#include "base/hash.h"
#include "ops/convert/plan.h"
#include "ops/packing/pack_list.h"

typedef struct tare_part_layout {
    tare_view_file *files; /* the name of a single file is empty */
    uint64_t *starts;      /* n_files + 1: where each begins, and the end */
    size_t n_files;
    bool is_directory;
    uint8_t digest[32];
} tare_part_layout;

/* Both in the arena; of the options the inputs and the key count. */
tare_status tare_part_layout_of_plan(tare_part_layout *out, const tare_plan *plan,
                                     const tare_part_options *options, tare_arena *arena,
                                     tare_error *err);
/* `base`: what the view's files are called, or the folder that they lie in. */
tare_status tare_part_layout_of_view(tare_part_layout *out, const tare_view *view, tare_str base,
                                     const tare_part_options *options, tare_arena *arena,
                                     tare_error *err);
/* Of what is packed only the digest: its sizes are known when it is made. */
tare_status tare_part_layout_of_pack(tare_part_layout *out, const tare_model *model,
                                     const tare_pack_files *files,
                                     const tare_pack_options *pack_options,
                                     const tare_part_options *options, tare_arena *arena,
                                     tare_error *err);
/* A manifest of so many bytes. */
tare_status tare_part_layout_of_manifest(tare_part_layout *out, const tare_model *model,
                                         uint64_t n_bytes, const tare_part_options *options,
                                         tare_arena *arena, tare_error *err);
/* The file that a byte of the row lies in: the last one that begins there or before. Files without a
 * byte are before it. */
size_t tare_part_layout_file(const tare_part_layout *layout, uint64_t at);

/* "FOLDER/NAME", without a second slash; NULL: memory is out. */
const char *tare_part_inner(tare_arena *arena, const char *folder, tare_str name);

#endif
