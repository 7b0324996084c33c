/* SPDX-License-Identifier: MIT
 *
 * What the parts of the INFQ reader share: fields of the manifest (infq_fields.c), entries that
 * describe a tensor (infq_entry.c), files that they name (infq_payload.c), and the model assembled
 * from them (infq_read.c). Faults are latched in the JSON reader or returned, each with the
 * position of the value concerned. */
#ifndef TARE_FORMAT_INFQ_INFQ_READ_H
#define TARE_FORMAT_INFQ_INFQ_READ_H

#include "format/infq/infq.h"

/* A value and all of its text; type END: absent. */
typedef struct tare_infq_value {
    tare_json_value v;
    tare_str text;
} tare_infq_value;

/* A file that entries name; `name` first: an index over names reads it. */
typedef struct tare_infq_payload {
    tare_str name;
    uint32_t file; /* of the model */
} tare_infq_payload;

/* Bytes of a file that an entry claims. */
typedef struct tare_infq_region tare_infq_region;

typedef struct tare_infq_reader {
    tare_model *m;
    const tare_open_options *options;
    const tare_files *files; /* what the directory is part of */
    const char *directory;
    tare_infq_layout *layout;
    uint32_t manifest_file; /* of the model's */
    tare_json j;
    const char *field; /* that the fault in an entry is about; NULL: the entry itself */
    tare_infq_payload *payloads;
    size_t n_payloads;
    tare_name_index payload_index;
    tare_infq_region *regions; /* a growing list of the model's allocator */
    size_t n_regions, regions_capacity;
} tare_infq_reader;

/* ---- fields ---------------------------------------------------------------------------------- */

/* Their names in errors: those of outliers begin with "outliers.". */
extern const char *const tare_infq_field_names[TARE_INFQ_FIELDS];
extern const char *const tare_infq_outlier_field_names[TARE_INFQ_OUTLIER_FIELDS];

#define TARE_INFQ_A_NUMBER "expected a whole number, at most 2^53"

/* A fault of the manifest at a value. Returns false. */
bool tare_infq_fail(tare_infq_reader *r, const tare_json_value *v, const char *what);
/* Reads the next value into an empty one; a second one for a key is a fault. */
bool tare_infq_take(tare_infq_reader *r, tare_infq_value *s, const tare_json_value *key);
/* Skips the next value. */
void tare_infq_pass(tare_infq_reader *r);
/* Goes to the text of a value that is an object or an array, and into it. */
void tare_infq_begin(tare_infq_reader *r, const tare_infq_value *s);

/* ---- entries --------------------------------------------------------------------------------- */

/* The position of an entry in the manifest: "list[index].part". */
typedef struct tare_infq_place {
    const char *list;
    size_t index;
    const char *part; /* NULL: the entry is the list's element itself */
} tare_infq_place;

/* An entry's description of a tensor. */
typedef struct tare_infq_entry {
    tare_infq_place place;
    tare_infq_value fields[TARE_INFQ_FIELDS];
    tare_str text; /* from brace to brace */
    uint64_t at;   /* of it in the manifest */
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t n_dims;
    const tare_encoding *encoding;
    uint64_t index; /* of a tensor that is not quantized: among all */
    tare_infq_value outliers[TARE_INFQ_OUTLIER_FIELDS];
    bool has_outliers;
    uint64_t n_outliers;              /* UINT64_MAX: up to the end of the file */
    const tare_stated_digest *sha256; /* NULL: it is not stated */
} tare_infq_entry;

/* The object that was just read describes a tensor: quantized, with or without a name (then it is
 * empty), or in a plain type of ours. Its planes are in files of the package. Errors name the
 * field, not the tensor. */
tare_status tare_infq_read_quantized(tare_infq_reader *r, const tare_json_value *object,
                                     const tare_infq_place *place, bool needs_name, tare_tensor *t,
                                     tare_infq_entry *entry, tare_error *err);
tare_status tare_infq_read_other(tare_infq_reader *r, const tare_json_value *object,
                                 const tare_infq_place *place, tare_tensor *t,
                                 tare_infq_entry *entry, tare_error *err);
/* Adds to an error which field of an entry is at fault. */
void tare_infq_error_field(tare_error *err, const tare_infq_place *place, const char *field);

/* ---- files ----------------------------------------------------------------------------------- */

/* Makes room for this many files; call it before the first is opened. */
tare_status tare_infq_expect_files(tare_infq_reader *r, uint64_t n, tare_error *err);
/* Opens a file in the directory, or in folders in it, unless it is already open. */
tare_status tare_infq_open_file(tare_infq_reader *r, const tare_json_value *name, uint32_t *file,
                                tare_error *err);
/* The fields that say where a plane lies. */
typedef struct tare_infq_where {
    const tare_json_value *file, *offset;
    const char *file_field, *offset_field;
    uint32_t alignment; /* that the offset must have */
    uint32_t record; /* 0: the plane's size is known; else it goes up to the end of the file and is
                        whole records of so many bytes */
} tare_infq_where;

/* Puts a plane where an entry says; it must be inside the file. */
tare_status tare_infq_place_plane(tare_infq_reader *r, const tare_infq_entry *e, tare_plane *plane,
                                  const tare_infq_where *where, tare_error *err);
/* No two regions overlap. */
tare_status tare_infq_check_regions(tare_infq_reader *r, tare_error *err);
void tare_infq_free_regions(tare_infq_reader *r);

#endif
