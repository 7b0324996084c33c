/* SPDX-License-Identifier: MIT
 *
 * The catalog and the model behind the public handle. A format driver fills a catalog while
 * opening; an operation derives a new one for its output. */
#ifndef TARE_MODEL_CATALOG_H
#define TARE_MODEL_CATALOG_H

#include <tare/model.h>

#include "base/alloc.h"
#include "base/file_cache.h"
#include "base/reader.h"
#include "base/str.h"
#include "base/zip.h"
#include "model/pieces.h"

struct tare_format;

/* ---- catalog --------------------------------------------------------------------------------- */

/* Where a resource's bytes are: in memory (bytes != NULL) or in a file of the model. */
typedef struct tare_resource_entry {
    tare_resource info;
    const uint8_t *bytes;
    uint32_t file;
    uint64_t offset;
} tare_resource_entry;

/* Bytes of a file that belong to neither a tensor nor a header: gaps, padding, trailing bytes. */
typedef struct tare_filler {
    uint32_t file;
    uint64_t offset; /* absolute */
    uint64_t size;
} tare_filler;

/* The source's layout on disk, so that an unchanged model is written back byte for byte. NULL for
 * models that were computed. `detail` is the driver's own (JSON text and spans, ...). */
typedef struct tare_layout {
    const struct tare_format
        *format; /* set when the driver is done; of a container that has a layout
                                         of something else, that one's */
    uint32_t version;
    bool is_big_endian;
    uint32_t alignment;
    uint64_t data_offset;       /* of the first file's data section */
    const tare_filler *fillers; /* sorted by file and offset */
    size_t n_fillers;
    bool is_kept; /* the driver's writer makes the same file of it again */
    const void *detail;
} tare_layout;

/* Bounds that the values of a tensor were clamped to when it was quantized. */
typedef struct tare_value_bounds {
    float min, max;
    bool is_known;
} tare_value_bounds;

/* What a container states of a tensor: SHA-256 of all planes, one after the other. */
typedef struct tare_stated_digest {
    uint8_t bytes[32];
    uint64_t place; /* of its 64 hexadecimal digits in a file of the model; TARE_NO_OFFSET: it
                       stands there in some other form */
    uint32_t file;
} tare_stated_digest;

/* What an archive states of the bytes of a member, which lie in a file of the model as they are. */
typedef struct tare_stated_crc {
    tare_str name; /* of the member */
    uint64_t offset, size;
    uint32_t file, crc; /* CRC-32 */
} tare_stated_crc;

typedef struct tare_catalog {
    tare_metadata *metadata;
    size_t n_metadata;
    bool has_pairs; /* a safetensors __metadata__ that is empty */
    tare_tensor *tensors;
    size_t n_tensors;
    const tare_value_bounds *bounds;          /* n_tensors; NULL: of none */
    const tare_stated_digest *const *digests; /* n_tensors, or NULL; NULL: of none */
    tare_resource_entry *resources;
    size_t n_resources;
    const tare_layout *layout;
} tare_catalog;

/* A tensor that is stored in the file under another type, shape or name than its own, because its
 * container does not support them; restored from the tare.carried record while opening. `stored` is
 * the tensor as the file describes it. */
typedef struct tare_stand_in {
    size_t tensor; /* first, for looking it up */
    tare_tensor stored;
} tare_stand_in;

/* Open-addressing index from names to positions; built once, read by all. */
typedef struct tare_name_index {
    uint32_t *slots; /* position + 1; 0: empty */
    uint64_t mask;
    tare_hash_key key;
} tare_name_index;

typedef struct tare_open_file {
    const char *name;
    tare_reader reader;
    tare_file_info info;
    bool is_truncated; /* some tensor's data lies beyond the end */
    bool is_decoded;   /* from other files of the model, when it is read: no file to others */
    bool is_merged;    /* of tensors into which adapters are merged */
} tare_open_file;

/* What is known of a packed weight, or of a tensor that is a part of one (src/quantized). */
typedef struct tare_tensor_note {
    const char *scheme;    /* NULL: none */
    bool has_packed_codes; /* codes that must not be decoded as numbers */
    const char *refusal;   /* why the weight cannot be read; NULL: it can, or there is none */
    tare_status refused_as;
    int64_t refused_about; /* the stored tensor that this is about; -1: its codes */
    const char *unused;    /* that it looks like a part of a packed weight and is none; NULL */
    const tare_encoding *numbers; /* that its bytes are, where its type does not say; NULL */
} tare_tensor_note;

struct tare_packed_weights;

/* A file next to a model that is not considered part of it, so that outputs made from the model
 * lack it. */
typedef struct tare_left_out {
    tare_str name;
    const char *code; /* of the finding that opening told it with; static */
    const char *why;  /* static */
} tare_left_out;

/* How a tensor is stored in its file, which is not what the catalog says of one that a mapping
 * decodes. */
typedef struct tare_origin {
    const tare_encoding *encoding;
    uint64_t size_bytes;
    uint32_t file; /* of the model; of packed weights, that of their codes */
    bool is_made;  /* a part of a packed weight that is made of other numbers, as scales are */
} tare_origin;

/* Rows of a computed tensor that are rows of another model's as they are. */
typedef struct tare_same_rows {
    const struct tare_model *model; /* which outlives this one; NULL: there are none */
    size_t tensor;
    tare_piece_view view; /* with rows as its elements */
} tare_same_rows;

/* The program that runs what is in files, or that a model was mapped for. */
typedef enum tare_format_program {
    TARE_PROGRAM_ANY = 0,
    TARE_PROGRAM_LLAMA_CPP = 1,
    TARE_PROGRAM_TRANSFORMERS = 2,
    TARE_PROGRAM_WHISPER_CPP = 3,
} tare_format_program;

/* A tensor's type where the program that a model was mapped for wants one, whatever is requested. */
typedef enum tare_fixed_type {
    TARE_FIXED_NONE = 0,
    TARE_FIXED_F32 = 1,
    /* these in mixes, too: the program cannot compute with another one */
    TARE_FIXED_F16 = 2,
    TARE_FIXED_F16_OR_F32 = 3, /* F16 if that is requested for all, else F32 */
    TARE_FIXED_F32_ALWAYS = 4,
    TARE_FIXED_F16_UNLESS_F32 = 5, /* F32 if that is requested for all, else F16 */
} tare_fixed_type;

/* The types wanted by the program that a model was mapped for, unless others are requested. */
typedef struct tare_model_types {
    const tare_encoding *usual;  /* of matrices */
    tare_fixed_type *fixed;      /* n_tensors; NULL: what the format's program wants */
    const tare_encoding *mostly; /* that weights came in and keep, whatever others get; or NULL */
    tare_format_program program; /* TRANSFORMERS: this is for formats of no program, too */
    tare_origin *origins; /* n_tensors, or NULL: none; encoding NULL: stored as the catalog says */
    tare_same_rows *same_rows; /* n_tensors, or NULL: no tensor has any */
} tare_model_types;

struct tare_model {
    const char *format;         /* name of the driver, or of what computed it; static */
    const char *held_format;    /* of the files that it was opened from, where they lie packed in
                                   one of `format`; NULL: none */
    uint32_t container_version; /* of `format`, where the layout is that of what it holds; 0: it is
                                   that of `format` */
    const tare_allocator *allocator;
    tare_limits limits;
    tare_arena arena;
    tare_catalog catalog;
    tare_open_file *files;
    size_t n_files;
    tare_stated_crc *stated_crcs;
    size_t n_stated;
    const char *directory_file; /* that records lie in; NULL: the file of a tensor's data */
    uint64_t directory_bytes;
    tare_model_summary summary; /* of all that is known once the model is finished */
    tare_name_index tensor_index, key_index, resource_index;
    tare_stand_in *stand_ins; /* sorted by tensor */
    size_t n_stand_ins;
    const tare_metadata *carried; /* the record they were restored from; NULL: none */
    size_t stand_ins_at;          /* where it stood among the metadata */
    tare_tensor_note *notes;      /* n_tensors, or NULL: no tensor has one */
    const char *refusal;          /* why no packed weight can be read; NULL: they can */
    const tare_model *stored;     /* the model as its files have it; NULL: this one is it */
    const tare_model **sources; /* models whose bytes it has in another form, or under other names:
                                     what they state of their bytes is true of it, too */
    size_t n_sources;
    const int64_t *stored_of;   /* with it, n_tensors: which of its tensors one is; -1: a weight */
    const tare_origin *origins; /* with it, n_tensors */
    const struct tare_packed_weights *packed; /* with it */
    tare_value config[TARE_PARAM_COUNT];      /* from config.json; type STRING: absent */
    tare_left_out *left_out;                  /* lost by whoever writes the model elsewhere */
    size_t n_left_out;
    tare_finding loss; /* the first thing that it lacks (tare_model_lacks), or that was lost when it
                          was made of another model, which was reported then; its text is static.
                          code NULL: nothing */
    double rope_freq_base; /* its rope_theta; 0: absent */
    tare_str architecture;
    const struct tare_lossy *lossy; /* what tells of its loss (model/lossy_record.h); NULL: none */
    const struct tare_adapter_set *adapters; /* NULL: none */
    _Atomic uint8_t *list_states; /* n_tensors: what is known of list planes (outliers_apply.c);
                                      NULL: no tensor has records */
    const tare_composition
        *made_of; /* n_tensors, of made_of_model's; n_pieces 0: of something else;
                                        NULL: nothing is known */
    const tare_model *made_of_model;
    const tare_model *named_as;    /* what it was before its tensors were renamed; NULL: this */
    const tare_model_types *types; /* NULL: each tensor keeps its own */
    bool has_own_form;      /* its names and shapes are those of the program that it was made for */
    tare_file_cache *idle;  /* descriptors of files beyond the first; NULL: none are */
    struct tare_kept *kept; /* allocations that are freed with the model */
    void (*free_private)(void *);
    void *private_data; /* of a computed model */
};

/* ---- building, for drivers ------------------------------------------------------------------- */

tare_status tare_model_new(tare_model **out, const tare_context *context, tare_error *err);
/* Takes over the reader; its name is copied. *index: the file's number. */
tare_status tare_model_add_file(tare_model *m, tare_reader *reader, const char *name,
                                uint32_t *index, tare_error *err);
/* What an archive states of a range of a file; the name is copied. */
tare_status tare_model_state_crc(tare_model *m, const tare_stated_crc *of, tare_error *err);
/* The same of all members of an archive that begins at a byte of a file. */
tare_status tare_model_state_members(tare_model *m, const tare_zip *zip, uint64_t base,
                                     uint32_t file, tare_error *err);
/* That a tensor is missing which the model says it has, a finding with this static text: those who
 * write it elsewhere refuse that under --strict. */
tare_status tare_model_lacks(tare_model *m, tare_str tensor, const char *code, const char *text,
                             tare_error *err);
/* The files of a model under the same numbers in another; their readers stay the first one's. */
tare_status tare_model_share_files(tare_model *out, const tare_model *in, tare_error *err);
/* Transfers an allocation made with m->allocator to the model, which frees it when it is closed.
 * After a failure it still belongs to the caller. */
tare_status tare_model_keep(tare_model *m, void *ptr, size_t size, tare_error *err);
/* Fills n_dims, dims (copied), n_elements, n_rows, cols, size_bytes and planes from an encoding and
 * a shape, planes back to back from `offset` of `file`. Errors carry no item: the caller adds it.
 */
tare_status tare_tensor_set(tare_model *m, tare_tensor *t, const tare_encoding *encoding,
                            const uint64_t *dims, uint32_t n_dims, uint32_t file, uint64_t offset,
                            tare_error *err);
/* The byte order of its tensors. */
bool tare_model_is_big_endian(const tare_model *m);
/* A fault in tensor i of a model, which is `t` there. */
tare_status tare_fail_tensor(tare_error *err, tare_status status, const tare_tensor *t, size_t i,
                             const char *what);
/* Bytes of all tensors; of all tensors and resources. */
uint64_t tare_catalog_tensor_bytes(const tare_catalog *catalog);
uint64_t tare_catalog_bytes(const tare_catalog *catalog);
/* Gives the list plane of a tensor, empty so far, its size; planes are the tensor's own then. */
tare_status tare_tensor_set_list(tare_tensor *t, uint64_t size, tare_arena *arena, tare_error *err);
/* The last step of every driver: builds the indexes (duplicate or empty names fail with the
 * record's offset), restores stand-ins, reads config.json. */
tare_status tare_model_finish(tare_model *m, tare_report *report, tare_error *err);

/* Builds m->key_index in an arena: a step of tare_model_finish, and of code that looks at the model
 * under other keys. */
tare_status tare_model_index_keys(tare_model *m, tare_arena *arena, tare_error *err);

/* The file that a tensor's record lies in; NULL: there is but one. */
const char *tare_model_record_file(const tare_model *m, uint32_t data_file);
/* The format of what its files hold: of what lies packed, where they are a .wcodec. */
const char *tare_model_content_format(const tare_model *m);
/* Computes m->summary. tare_model_finish does; call it again after later changes. */
void tare_model_note_summary(tare_model *m);
/* The tensor as the file itself describes it: the stand-in's record, or the tensor as it is. */
const tare_tensor *tare_model_stored(const tare_model *m, size_t tensor);
/* How the tensor is stored in the file that it comes from, also where a mapping decodes it. */
tare_origin tare_tensor_origin(const tare_model *m, size_t tensor);

/* Fails where a tensor is a packed weight, or codes of one, that cannot be read, and says why. */
tare_status tare_tensor_check_packed(const tare_model *m, size_t tensor, tare_error *err);
/* The same for all tensors that are codes. */
tare_status tare_model_check_packed(const tare_model *m, tare_error *err);
/* Whether a tensor is a part of a packed weight, and no numbers of its own. */
bool tare_tensor_is_part(const tare_model *m, size_t tensor);

/* ---- values, for operations ------------------------------------------------------------------ */

/* Elements [first, first + n) as floats, wherever rows begin, so that a row of any length is read
 * in bounded memory; errors as of tare_tensor_rows_f32. */
tare_status tare_tensor_values_f32(float *out, const tare_model *model, size_t tensor,
                                   uint64_t first, uint64_t n, tare_error *err);
/* The same as F32, F16 or BF16. */
tare_status tare_tensor_values_as(void *out, tare_encoding_id as, const tare_model *model,
                                  size_t tensor, uint64_t first, uint64_t n, tare_error *err);
/* Whether a list plane of the tensor has records. */
bool tare_tensor_has_records(const tare_model *model, size_t tensor);
/* Replaces elements [begin, end), in `values`, that records of the list plane are about. CORRUPT: a
 * record refers to an element outside the tensor. */
tare_status tare_tensor_apply_records(float *values, const tare_model *model, size_t tensor,
                                      uint64_t begin, uint64_t end, tare_error *err);
/* TRUNCATED where some of the tensor's stored bytes lie beyond the end of their file. */
tare_status tare_tensor_check_data(const tare_model *model, size_t tensor, tare_error *err);

/* ---- names ----------------------------------------------------------------------------------- */

/* Builds an index over n names, the i-th at (char *)names + i * stride as a tare_str. On a
 * duplicate: CORRUPT, err->item = the later one. */
tare_status tare_name_index_build(tare_name_index *index, tare_arena *arena, const void *names,
                                  size_t n, size_t stride, const char *duplicate, tare_error *err);
int64_t tare_name_index_find(const tare_name_index *index, const void *names, size_t stride,
                             tare_str name);

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes of a fixed-size value type, 0 for STRING and ARRAY and numbers beyond the list. */
size_t tare_value_type_size(uint32_t type);
const char *tare_value_type_name(tare_value_type type);
bool tare_value_equal(const tare_value *a, const tare_value *b); /* whatever the byte order */
/* A value in packed form (GGUF's: strings and arrays with u64 lengths). */
struct tare_buffer;
void tare_value_pack(struct tare_buffer *out, const tare_value *value, bool is_big_endian);
/* A string value, or an empty string. */
tare_str tare_catalog_get_str(const tare_catalog *c, const char *key);

/* ---- metadata and resources as text: for containers without typed keys ----------------------- */

/* All entries of one space as JSON with types: [{"key":...,"type":"u32","value":...}, ...]; 64-bit
 * integers and floats keep every bit, strings that are not UTF-8 go as {"hex":"..."}. */
void tare_metadata_to_json(struct tare_buffer *out, const tare_metadata *entries, size_t n,
                           tare_key_space space);
/* Those of all spaces in their order; an entry outside the model's space has one more member:
 * "space":"safetensors". */
void tare_metadata_all_to_json(struct tare_buffer *out, const tare_metadata *entries, size_t n);
/* The reverse of both: appends to *entries (arena memory). CORRUPT if the text does not have that
 * form. */
tare_status tare_metadata_from_json(tare_metadata **entries, size_t *n, tare_str text,
                                    tare_arena *arena, const tare_limits *limits, tare_error *err);

#endif
