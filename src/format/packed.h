/* SPDX-License-Identifier: MIT
 *
 * The verbs' view of a packed container (.wcodec), which holds layers, that is compressed tensors
 * and other bytes, and the ranges of them that make up files. Making one is a hook of its driver
 * (tare_format.pack); an open one is read here, at any position in any layer. */
#ifndef TARE_FORMAT_PACKED_H
#define TARE_FORMAT_PACKED_H

#include <limits.h>
#include <tare/experimental/device.h>
#include <tare/experimental/packing.h>
#include <tare/inspect.h>

#include "base/pool.h"
#include "base/reader.h"
#include "base/share.h"
#include "model/catalog.h"
#include "wcodec/layer/wc_watch.h"

/* ---- what it consists of --------------------------------------------------------------------- */

typedef enum tare_packed_entry_kind {
    TARE_PACKED_FILE = 0,
    TARE_PACKED_LINK = 1,
    TARE_PACKED_FOLDER = 2,
    TARE_PACKED_ENTRY_KIND_COUNT
} tare_packed_entry_kind;

/* What is known about a file in addition to its name and contents. */
typedef struct tare_packed_entry {
    bool is_stated; /* else all else is 0: a file of which no more is known */
    uint8_t kind;   /* tare_packed_entry_kind */
    uint16_t mode;  /* permissions, 0..0777 */
    int64_t seconds;
    uint32_t nanoseconds;
    tare_str target; /* of a link; NUL-terminated */
} tare_packed_entry;

/* Whether a link of this name stays in the directory: "../" as often as it lies in folders at most,
 * then plain names. */
bool tare_packed_link_stays(tare_str name, tare_str target);

/* Bytes of a region of a layer. */
typedef struct tare_packed_range {
    uint32_t layer;
    uint8_t region;
    uint64_t offset, length;
} tare_packed_range;

typedef struct tare_packed_file {
    tare_str name; /* first, for the index of names */
    tare_packed_entry entry;
    uint64_t size;
    uint32_t n_ranges;
    tare_packed_range *ranges; /* one after the other they are the file */
} tare_packed_file;

/* A model that layers were packed against. */
typedef struct tare_packed_base {
    uint8_t digest[32];
    tare_str hint; /* what its file was called */
} tare_packed_base;

/* ---- making one ------------------------------------------------------------------------------ */

/* A file to be restored, or a link or an empty folder. Everything pointed to must outlive the job.
 */
typedef struct tare_packed_origin {
    const tare_reader *reader; /* NULL: of what is no file */
    tare_str name;
    tare_packed_entry entry;
    size_t content; /* of a link: the file it leads to, which readers that know no links get;
                       SIZE_MAX: none of these */
} tare_packed_origin;

/* What a tensor may be predicted from: one of a base model. */
typedef struct tare_pack_reference {
    const tare_tensor *tensor; /* NULL: nothing */
    const tare_model *model;
    uint8_t base; /* the model's number among the bases of the job */
} tare_pack_reference;

/* A tensor that an encoder makes of another one of the model. */
typedef struct tare_pack_derivation {
    bool is_set;
    size_t source;                  /* before it among the tensors */
    const tare_composition *pieces; /* of tensors before it, instead of `source`; NULL: none */
    const float *importance;        /* a row for each slice; NULL: none */
    uint64_t n_importance;          /* floats of it */
    uint64_t slice_rows;            /* with importance */
    tare_str importance_file;       /* one of those that are packed: it has them, as F32, */
    uint64_t importance_at;         /* from this byte on, */
    const float *divisors;          /* and each row is divided by one of these; 0: all are 1 */
    uint8_t quality, compat;        /* tare_quality, tare_compat */
} tare_pack_derivation;

/* Whether tensors of one type can be made of another's, in rows of so many columns. */
bool tare_packed_can_derive(const tare_encoding *from, const tare_encoding *to, uint64_t cols);
/* Whether a tensor of so many numbers can be made of these pieces of a model's tensors. */
bool tare_packed_can_compose(const tare_composition *of, uint64_t n_elements,
                             const tare_model *sources);

/* How the codes of a tensor that has lost something are stored. */
typedef struct tare_pack_codes {
    uint8_t trellis; /* states: they are steps of a trellis; 0: not */
    bool is_wide;    /* the tensor is I16: numbers of 16 bits, not of two bytes */
} tare_pack_codes;

/* Makes the digest of the model as the container will be opened. */
typedef struct tare_pack_digest {
    /* Called with each tensor but duplicates of others, from any thread of the run, at about the time
     * when it is packed; NULL: need not be. */
    tare_status (*visit)(void *ctx, size_t tensor, tare_error *err);
    /* Called after all of these. */
    tare_status (*finish)(void *ctx, uint8_t digest[32], tare_error *err);
    /* That of a tensor that was visited. */
    void (*tell)(void *ctx, size_t tensor, uint8_t digest[32]);
    void *ctx;
} tare_pack_digest;

/* What one of several machines packs: a share of all that is packed, in a row of `total` bytes, first what is
 * no tensor (`others` of them), then the tensors. Layers are not cut. Which tensors are duplicates is seen
 * when the parts are joined. */
typedef struct tare_pack_share {
    tare_share of;
    uint64_t others, total;
} tare_pack_share;

/* What is packed, and how. Lists have an item for each tensor of the model. */
typedef struct tare_pack_job {
    const tare_model *model;
    tare_pack_digest digest;
    const size_t *duplicates; /* the first tensor of the same bytes, type and shape, or itself */
    const tare_pack_reference *references;
    const tare_pack_derivation *derivations; /* NULL: none; one that is set has no reference */
    const tare_pack_codes *codes;            /* NULL: nothing is lost */
    tare_packed_base *bases;
    uint32_t n_bases; /* at most 255 */
    bool has_files;   /* they are packed; else the metadata and resources of the model are */
    const tare_packed_origin *files; /* sorted by name */
    size_t n_files;
    bool is_directory; /* they are those of a directory */
    bool is_full;
    tare_coded_mode mode;  /* to be used wherever it can */
    unsigned log2_segment; /* 0: what suits */
    bool is_for_gpu;       /* as in tare_pack_options */
    tare_tile_limits tiles;
    tare_pack_share share; /* not the whole: a part for tare_packed_join_add, without bases */
    /* Receives the output: at any place, from any thread, no byte twice. */
    tare_status (*write)(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                         tare_error *err);
    void *write_ctx;
    tare_context how;
    tare_arena *arena; /* of what is told of it */
} tare_pack_job;

/* ERR_ARG: limits with bits that have no meaning. */
tare_status tare_packed_check_tiles(const tare_tile_limits *limits, tare_error *err);

/* The result. */
typedef struct tare_pack_outcome {
    uint64_t size;                   /* of the container */
    const tare_packed_layer *layers; /* in its order */
    size_t n_layers;
    size_t n_referring;         /* layers that need a base */
    bool needs_base[UINT8_MAX]; /* of the bases of the job */
} tare_pack_outcome;

/* ---- making one of parts --------------------------------------------------------------------- */

typedef struct tare_packed_join tare_packed_join;

/* Bytes of a part that are bytes of the container. */
typedef struct tare_packed_move {
    uint32_t part; /* in the order in which they were added */
    uint64_t from, to, n;
} tare_packed_move;

/* Makes the digest of a model whose tensors have these names and digests. */
typedef tare_status (*tare_packed_digest_fn)(uint8_t out[32], const tare_tensor *tensors,
                                             const tare_digest *digests, size_t n,
                                             const tare_allocator *allocator, tare_error *err);

tare_status tare_packed_join_new(tare_packed_join **out, const tare_limits *limits,
                                 const tare_allocator *allocator, tare_error *err);
void tare_packed_join_free(tare_packed_join *join);
/* Reads what a part has; its file need not stay open. Add them in the order of their shares. */
tare_status tare_packed_join_add(tare_packed_join *join, const tare_reader *part, tare_error *err);
/* CORRUPT: they are not the parts of one container, all of them and each once. */
tare_status tare_packed_join_plan(tare_packed_join *join, tare_packed_digest_fn digest,
                                  tare_error *err);

/* The whole, once it is planned: header, moves in the order of both, index. */
typedef struct tare_packed_joined {
    const uint8_t *header, *index;
    size_t n_header, n_index;
    uint64_t index_at; /* the file ends after it */
    const tare_packed_move *moves;
    size_t n_moves;
} tare_packed_joined;
tare_packed_joined tare_packed_join_result(const tare_packed_join *join);

/* ---- reading one ----------------------------------------------------------------------------- */

/* An open container. Immutable once its bases are set; any number of threads may read. */
typedef struct tare_packed tare_packed;

/* Reads the directory. Takes ownership of the reader, even on failure. */
tare_status tare_packed_open(tare_packed **out, tare_reader *file, const tare_limits *limits,
                             const tare_allocator *allocator, tare_error *err);
/* What was wrong with a directory. */
typedef struct tare_packed_damage {
    bool is_unchecked;     /* its CRC does not vouch for it: the rest says why */
    bool has_header;       /* the header could be used, and what only it says is known */
    bool has_footer;       /* it says the same */
    bool is_cut;           /* the file ends inside the index */
    uint64_t n_missing;    /* bytes that are gone from the beginning of the file */
    uint32_t n_files_lost; /* file records that cannot be read */
} tare_packed_damage;

/* The same for a container whose directory is damaged, as far as it exists. damage->is_unchecked
 * false: nothing is wrong with it. */
tare_status tare_packed_salvage(tare_packed **out, tare_packed_damage *damage, tare_reader *file,
                                const tare_limits *limits, const tare_allocator *allocator,
                                tare_error *err);
void tare_packed_free(tare_packed *packed);
/* The container behind an open model; NULL: it is of another format. */
tare_packed *tare_packed_of(const tare_model *m);
/* The file that it is. */
const tare_reader *tare_packed_source(const tare_packed *packed);

typedef struct tare_packed_contents {
    const uint8_t *digest; /* 32 bytes: what it says of its model; NULL: one of its files is open */
    uint32_t n_layers, n_bases, n_files;
    const tare_packed_base *bases;
    const tare_packed_file *files;
    bool is_directory; /* the files are those of a directory */
} tare_packed_contents;

tare_packed_contents tare_packed_describe(const tare_packed *packed);

typedef struct tare_packed_part {
    tare_str name;
    bool is_tensor;
    bool has_data; /* false: empty */
    bool lacks_base;
    uint32_t base; /* 0: none, else 1 + its number */
} tare_packed_part;

/* What layer number `layer` is. */
tare_packed_part tare_packed_describe_layer(const tare_packed *packed, uint32_t layer);
/* The number of groups of bypass bits from which on a layer is read in full, as far as the heads of
 * its planes tell; 0: it always is. */
tare_status tare_packed_groups(tare_packed *packed, uint32_t layer, unsigned *out, tare_error *err);
/* Bytes of a region that some whole segments reach over: what begins and ends at multiples of it is
 * decoded once, straight into place, and stays in a core's own cache meanwhile. */
uint64_t tare_packed_step(const tare_packed *packed, uint32_t layer, unsigned region);

#define TARE_PACKED_ALL_GROUPS UINT_MAX
/* To be called before anything is read: sets what is notified of events (it must live as long), and
 * how many groups of bypass bits are read for tensors whose numbers may be coarse. */
void tare_packed_watch(tare_packed *packed, const tare_wc_watch *watch, unsigned groups);
/* Bytes of decoded segments and opened layers that are kept between reads, about 32 MiB unless this
 * is called. */
void tare_packed_limit(tare_packed *packed, size_t bytes);
/* The model that base record `base` is of, which must outlive the container. */
void tare_packed_set_base(tare_packed *packed, uint32_t base, const tare_model *model);

/* To be called before anything is read: layers are decoded by a device; NULL: by the CPU. NOMEM. */
tare_status tare_packed_use_device(tare_packed *packed, tare_device *device, tare_error *err);

/* Of file number `file`, which is one; `name` is for messages, and must live as long as the reader, as must the
 * container. */
tare_status tare_packed_file_reader(tare_reader *out, tare_packed *packed, uint32_t file,
                                    const char *name, tare_error *err);
/* n bytes of a region from byte `offset` on, which are there. Errors name the container. */
tare_status tare_packed_read(tare_packed *packed, uint32_t layer, unsigned region, uint64_t offset,
                             void *buf, size_t n, tare_error *err);
/* Compares a layer's CRC with its heads and the CRCs in its segments; decodes nothing. */
tare_status tare_packed_check(const tare_packed *packed, uint32_t layer, tare_error *err);
/* Decodes all of a layer for the sake of its checks; reports to `watch`, which must have `lost`,
 * what cannot be decoded. Segments that refer to a base that is not set are skipped. May be called
 * from any thread, concurrently with other reads. */
tare_status tare_packed_survey(tare_packed *packed, uint32_t layer, const tare_wc_watch *watch,
                               tare_error *err);
/* The layer and region that bytes offset .. offset + n - 1 of a file of an open model are of;
 * false: they are in several, or it is not a file from a container. */
bool tare_packed_reader_range(tare_packed_range *out, const tare_reader *reader, uint64_t offset,
                              uint64_t n);

#endif
