/* SPDX-License-Identifier: MIT
 *
 * What lies beside the bytes of a part: which it is, of which plan, and which bytes of which files it
 * has. The records of all parts together are the list of the output's files. */
#ifndef TARE_OPS_PARTS_PART_RECORD_H
#define TARE_OPS_PARTS_PART_RECORD_H

#include "ops/parts/part_layout.h"

/* A file that a part has bytes of, or an entry that has none. */
typedef struct tare_part_piece {
    tare_view_file file;
    uint64_t offset, n_bytes; /* of it */
    uint32_t crc;             /* of these bytes, of a file */
    uint32_t row;             /* its number in the layout; 0 in a record that was read */
} tare_part_piece;

typedef struct tare_part_record {
    tare_str output; /* last part of its path */
    uint8_t plan[32];
    uint32_t index, count;
    uint64_t begin, end, total;
    bool is_directory, is_shared;
    bool is_packed; /* its bytes are those of a part of a .wcodec: begin and end count the input's,
                          and its only piece is the file that it is */
    uint16_t withheld; /* permissions that the input does not give */
    tare_part_piece *pieces;
    size_t n_pieces;
} tare_part_record;

/* The bytes that the file of a part has. */
uint64_t tare_part_bytes(const tare_part_record *r);

/* "OUT.part-00002-of-00007", without a slash at OUT's end; NULL: memory is out. */
const char *tare_part_path(tare_arena *arena, const char *out_path, uint32_t index, uint32_t count);
/* The same with ".json"; "OUT.parts". */
const char *tare_part_record_path(tare_arena *arena, const char *part_path);
const char *tare_part_shared_path(tare_arena *arena, const char *out_path);
/* The last part of a path, without slashes at its end. */
tare_str tare_part_output_name(const char *out_path);

/* Which bytes of which files lie between two places of the row; entries without bytes belong to the
 * part that begins there or before, the last ones to the last part. */
tare_status tare_part_pieces(tare_part_record *r, const tare_part_layout *layout, tare_arena *arena,
                             tare_error *err);
tare_status tare_part_record_write(const char *path, const tare_part_record *r,
                                   const tare_output_options *output, const tare_context *context,
                                   tare_error *err);
/* The CRC-32 of a piece's bytes as they lie in a file, from `from` on. */
tare_status tare_part_piece_crc(uint32_t *out, const tare_part_piece *piece, const char *path,
                                uint64_t from, const tare_context *context, tare_error *err);
/* The same compared with what the record says. CORRUPT: other bytes. */
tare_status tare_part_piece_check(const tare_part_piece *piece, const char *path, uint64_t from,
                                  const tare_context *context, tare_error *err);
/* CORRUPT: it is none, or of another version. */
tare_status tare_part_record_read(tare_part_record *out, const char *path, tare_arena *arena,
                                  tare_error *err);

#endif
