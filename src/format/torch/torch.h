/* SPDX-License-Identifier: MIT
 *
 * What the files of the PyTorch driver share, and what the Hugging Face driver needs of it. The form
 * of the files is that of torch/serialization.py, of the values that of torch/_utils.py. */
#ifndef TARE_FORMAT_TORCH_TORCH_H
#define TARE_FORMAT_TORCH_TORCH_H

#include "base/buffer.h"
#include "base/pickle.h"
#include "base/zip.h"
#include "format/format.h"
#include "format/gathered.h"

/* ---- number formats -------------------------------------------------------------------------- */

typedef struct tare_torch_dtype {
    const char *name;    /* "float32" */
    const char *storage; /* the class of its typed storages, "FloatStorage"; NULL: it has none */
    tare_encoding_id encoding; /* UNKNOWN: one that tare lacks */
    uint32_t bytes;            /* of an element */
} tare_torch_dtype;

/* By a global: torch.float32, torch.FloatStorage, torch.storage.UntypedStorage. NULL: it is none. */
const tare_torch_dtype *tare_torch_dtype_of(const tare_pickle_value *global);

/* ---- a file that is being read --------------------------------------------------------------- */

/* Bytes of the file that tensors are views of. */
typedef struct tare_torch_storage {
    tare_str key;        /* first, for the index of names */
    uint64_t offset;     /* in the file */
    uint64_t size;       /* bytes */
    const uint8_t *made; /* they, which live as long as the model; NULL: they are in the file */
} tare_torch_storage;

/* A storage whose bytes, with a pickle that says what they are, are a value of the pickle. */
typedef struct tare_torch_embedded {
    tare_torch_storage storage;
    const tare_torch_dtype *type;
} tare_torch_embedded;

/* The files of one model. */
typedef struct tare_torch_set {
    tare_model *m;
    tare_report *report;
    tare_strided_set strided;
    size_t n_files;
    bool is_big_endian; /* all of them */
} tare_torch_set;

typedef struct tare_torch_file {
    tare_torch_set *set;
    tare_model *m;
    tare_report *report;
    const tare_reader *reader; /* of the model, or to become one of its files; of a part of it */
    uint64_t base;             /* where that part begins in the file */
    const char *within;        /* what all names in it begin with; NULL: nothing */
    tare_arena scratch;        /* until the file is read */
    tare_pickle pickle;        /* of the object */
    tare_torch_storage *storages;
    size_t n_storages;
    tare_name_index storage_index;
    tare_torch_embedded
        *embedded; /* calls that load them have their numbers, from 1 on, as labels */
    size_t n_embedded;
    bool has_other_loads; /* by such calls, of what is no storage */
    bool is_big_endian;
    bool lacks_memory; /* to make the bytes or the text of an array */
    unsigned depth;    /* of calls around the tensor that is being looked at */
    tare_gathered lists;
    size_t
        first_stated; /* checksums of the model from here on are of the file that is being read */
} tare_torch_file;

/* torch_tensor.c: whether a value is a tensor, or what stands for one. */
typedef enum tare_torch_kind {
    TARE_TORCH_OTHER = 0,
    TARE_TORCH_TENSOR = 1,       /* *out has all but its name */
    TARE_TORCH_UNREAD = 2,       /* a tensor in a form that is not read: *why says which */
    TARE_TORCH_BROKEN = 3,       /* *err has why */
    TARE_TORCH_UNREAD_ARRAY = 4, /* the same as UNREAD, but no part of it is a tensor */
} tare_torch_kind;

tare_torch_kind tare_torch_classify(tare_strided_tensor *out, const char **why, tare_torch_file *f,
                                    const tare_pickle_value *v, tare_error *err);

/* torch_numpy.c: the same of arrays of NumPy. */
tare_torch_kind tare_torch_classify_numpy(tare_strided_tensor *out, const char **why,
                                          tare_torch_file *f, const tare_pickle_value *v,
                                          const tare_pickle_object *callee, tare_error *err);
/* The list of values that an array of objects holds; NULL: v is none. */
const tare_pickle_value *tare_torch_numpy_items(const tare_pickle_value *v);
/* A scalar of NumPy, or one of its types; texts are the file's scratch. False: v is neither, or of
 * a type that values do not have. */
bool tare_torch_numpy_value(tare_value *out, tare_torch_file *f, const tare_pickle_value *v);

/* A text, or bytes as protocol 2 has them, which are made in the model's memory then. False: v stands
 * for no bytes, or memory is lacking (f->lacks_memory). */
bool tare_torch_bytes(tare_str *out, tare_torch_file *f, const tare_pickle_value *v);
/* Whether the bytes are the file's, from *offset on. */
bool tare_torch_is_in_file(uint64_t *offset, const tare_torch_file *f, tare_str bytes);

/* torch_embedded.c: reads the storages that the pickle has as values, where tensors were pickled by
 * Python itself. */
tare_status tare_torch_read_embedded(tare_torch_file *f, tare_error *err);
/* Whether a file's first pickle is that of the legacy form; the number that it is, as protocols 0 and 1
 * have it. */
bool tare_torch_is_legacy(const tare_pickle *first);
#define TARE_TORCH_LEGACY_TEXT "119547037146038801333356"
/* ("storage", class, key, where it was, number of elements, of a view of another: its key, offset,
 * and size). NULL: no storage. */
const tare_pickle_value *tare_torch_storage_id(const tare_pickle_value *v);

/* torch_names.c: whether nothing that a pickle would import is unfamiliar. */
bool tare_torch_is_harmless(const tare_pickle *p);
/* Whether what is called reads a storage from bytes. */
bool tare_torch_is_load(const tare_pickle_object *callee);
/* torch_names.c: what a name that a pickle would import may do. */
typedef enum tare_torch_risk {
    TARE_TORCH_HARMLESS = 0,
    TARE_TORCH_UNFAMILIAR = 1,
    TARE_TORCH_RUNS_CODE = 2, /* of the modules by which pickles attack */
} tare_torch_risk;

/* Reports what loading the pickle in Python would import and call. */
tare_status tare_torch_report_names(tare_torch_file *f, tare_error *err);

/* torch_walk.c: adds what is in the pickle to f->tensors and f->metadata, below a name (NULL: none). */
tare_status tare_torch_walk(tare_torch_file *f, const char *within, tare_error *err);
/* torch_rename.c: after all pickles of the file: cuts what wraps all names, and makes them differ. */
tare_status tare_torch_rename(tare_torch_file *f, tare_error *err);

/* torch_catalog.c: begins reading a file, or parts of several, of a set. To be freed. */
void tare_torch_parts_begin(tare_torch_file *f, tare_torch_set *set);
/* The byte order of what was read is that of all, or else UNSUPPORTED. */
tare_status tare_torch_note_order(const tare_torch_file *f, tare_error *err);
/* Adds f->tensors to the catalog, as those of that file, and begins a new list. */
tare_status tare_torch_parts_flush(tare_torch_file *f, uint32_t file, tare_error *err);
/* Adds f->metadata and f->left_out to the model. */
tare_status tare_torch_parts_end(tare_torch_file *f, tare_error *err);
void tare_torch_parts_free(tare_torch_file *f);

/* torch_part.c: adds what is in bytes from..from + n of a file, which are such a file, to f->tensors,
 * f->metadata and f->left_out; offsets are those of the file. */
tare_status tare_torch_add_part(tare_torch_file *f, const tare_reader *whole, uint64_t from,
                                uint64_t n, const char *within, tare_error *err);

/* torch_tensor.c: a size, as a tuple, a list, or torch.Size of one; *n may be more than
 * TARE_MAX_DIMS, the first of which are read. False: v, which may be NULL, is none. */
bool tare_torch_read_dims(uint64_t *dims, size_t *n, const tare_pickle_value *v);

/* torch_read.c: reads the file or part that f->reader has. */
tare_status tare_torch_read(tare_torch_file *f, tare_error *err);
/* Reads a file, whose reader becomes one of the model's, and adds what is in it to the
 * catalog. After the last of all files, tare_strided_end is the caller's. */
tare_status tare_torch_add_file(tare_torch_set *set, tare_reader *reader, const char *name,
                                tare_error *err);

extern const tare_format_caps tare_torch_caps;

#endif
