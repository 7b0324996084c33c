/* SPDX-License-Identifier: MIT
 *
 * What a format writer hands to the code that moves the bytes: files with sizes, and extents that
 * say where each byte comes from. Bytes no extent covers are zero. */
#ifndef TARE_MODEL_WRITE_PLAN_H
#define TARE_MODEL_WRITE_PLAN_H

#include "model/catalog.h"

/* Zero bytes under this key are spare room in a GGUF header, not part of the model. */
#define TARE_SPARE_KEY "tare.pad"

typedef enum tare_extent_kind {
    TARE_EXTENT_BYTES = 0,    /* `bytes`, in the plan's arena or the model's */
    TARE_EXTENT_TENSOR = 1,   /* plane `plane` of target tensor `item` */
    TARE_EXTENT_RESOURCE = 2, /* resource `item` of the source catalog, verbatim */
    TARE_EXTENT_COPY = 3,     /* a range of the source model's file `item` (fillers) */
    TARE_EXTENT_DIGEST = 4,   /* 64 hexadecimal digits: SHA-256 of all planes of target tensor
                                 `item`, one after the other, as they were written */
} tare_extent_kind;

typedef struct tare_extent {
    tare_extent_kind kind;
    uint32_t file;   /* of the plan */
    uint64_t offset; /* in it */
    uint64_t size;
    const uint8_t *bytes;
    size_t item;
    uint32_t plane;
    uint64_t source_offset; /* COPY */
} tare_extent;

typedef struct tare_write_file {
    const char *name; /* within the output directory; NULL: the output is this one file */
    uint64_t size;
} tare_write_file;

typedef struct tare_write_plan {
    tare_arena *arena; /* of whoever asked for the plan */
    tare_write_file *files;
    size_t n_files, files_capacity;
    tare_extent *extents;
    size_t n_extents, extents_capacity;
    bool is_directory;
    bool is_big_endian;     /* byte order tensors are to be written in */
    uint64_t content_bytes; /* of the one file, where its size is not known before it is packed: of
                               what goes into it */
} tare_write_plan;

/* A pair of factors that is stored in addition to the tensors; `name` first: an index reads it. */
typedef struct tare_stored_adapter {
    tare_str name;
    double scale;
    size_t origin; /* among the adapters of the source; SIZE_MAX: of another source */
} tare_stored_adapter;

/* What a writer is told of the tensors of its catalog in addition to it. */
typedef struct tare_write_extras {
    const size_t *origins; /* index of each in the source; NULL: by its name */
    const size_t *same_as; /* the first tensor of the same bytes, itself where there is none before;
                              NULL: not looked for */
    const tare_stored_adapter
        *adapters; /* the factors of adapter i are the tensors n_tensors + 2 * i
                                            of the catalog and the one after it */
    size_t n_adapters;
} tare_write_extras;

/* The options a caller gives to a writer. */
typedef struct tare_write_options {
    bool is_identity; /* catalog->layout is of this format and the tensors are the source's, in its
                         order, none changed in size or place (names and metadata may be): keep
                         offsets, gaps, fillers, texts */
    const tare_model *source; /* whose layout and resources the catalog names; a writer that puts
                                 resources into its header reads them from here. NULL: computed,
                                 resources have bytes */
    tare_write_extras extras;
    tare_byte_order order;
    uint32_t alignment;      /* 0: the layout's, else the format's */
    bool keeps_place;        /* where the header fits, it is filled up so that data stays where
                                it lies in the source; formats that cannot do so lay out as usual */
    bool is_edited;          /* the catalog's metadata are not the source's */
    uint64_t spare;          /* bytes that a new header leaves free, for later changes */
    uint64_t shard_size;     /* 0: one file */
    const uint32_t *part_of; /* the shard of each tensor, ascending, below n_parts; NULL: by size */
    uint32_t n_parts;
    /* Whether a packed format finds a tensor's bytes in the source as they are to be packed: it
     * then has no room among what is laid out. NULL: none. */
    bool (*stays)(const void *ctx, size_t tensor);
    const void *stays_ctx;
    const char *stem; /* base name of the output without suffix, for shard names */
    tare_report *report;
    const tare_limits *limits;
} tare_write_options;

/* Whether an entry is the room reserved by TARE_SPARE_KEY. */
bool tare_metadata_is_spare(const tare_metadata *m);
/* Whether it is one of the keys that say how a set of GGUF files is split. */
bool tare_metadata_is_split(const tare_metadata *m);

tare_status tare_write_plan_add_file(tare_write_plan *p, const char *name, uint32_t *index,
                                     tare_error *err);
tare_status tare_write_plan_add(tare_write_plan *p, const tare_extent *extent, tare_error *err);

#endif
