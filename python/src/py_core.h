/* SPDX-License-Identifier: MIT
 *
 * What the files of the extension share: the module's state, the layouts of its objects, and the
 * functions that make, fail and run. The extension sees the public headers of the library only.
 *
 * Rules
 *   - All state is in the module. Objects reach it through the handle of their model, so that
 *     lookups need no search for it.
 *   - A call that may read a file runs without the GIL, between py_run_begin and py_run_end.
 *   - A function that returns NULL or false has set an exception.
 */
#ifndef PY_CORE_H
#define PY_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <tare/tare.h>

/* Functions with METH_FASTCALL and the like, as PyMethodDef wants them. */
#define PY_METHOD(function) ((PyCFunction)(void (*)(void))(function))

typedef struct py_state {
    PyTypeObject *handle_type, *model_type, *tensor_type, *memory_type, *arena_type, *array_type;
    PyTypeObject *plan_type, *cancel_type, *coded_type, *device_type, *device_memory_type;
    PyTypeObject *model_class, *tensor_class, *array_class; /* of the package: what is made */
    PyObject *make_error;                                   /* tare._errors.make_error */
} py_state;

/* Arrays and texts that a call needs until it returns. */
typedef struct py_scratch {
    void *blocks[8 + TARE_CODED_MAX_STREAMS];
    size_t n;
    PyObject *objects; /* a list, or NULL */
} py_scratch;

/* ---- sources --------------------------------------------------------------------------------- */

/* What a source of the library points at, as long as the model lives. */
typedef struct py_source py_source;
struct py_source {
    tare_source source;
    PyObject *path;       /* bytes: of PATH and URL */
    tare_remote *remote;  /* of URL: a session of its own */
    Py_buffer view;       /* of MEMORY; view.obj is NULL elsewhere */
    PyObject *reader;     /* of CALLBACK: has read_many([(offset, memoryview), ...]) */
    PyObject *reader_exc; /* the first exception of the reader, to be raised instead of an error */
    py_source *parts;     /* of SHARDS */
    size_t n_parts;
    tare_source *shards;
};

/* Fills *out from a path, a descriptor, a buffer, a reader, or a sequence of these. `remote`: the
 * settings of URLs, a dict or None. */
bool py_source_init(py_source *out, py_state *state, PyObject *from, PyObject *remote);
/* Raises what the reader raised, if it did. */
bool py_source_raise(py_source *source);
void py_source_clear(py_source *source);

/* ---- objects --------------------------------------------------------------------------------- */

/* An opened model and what has to live as long. Models, tensors and memory borrowed from it hold
 * references, so that arrays remain valid after Model.close(). */
typedef struct py_handle py_handle;
struct py_handle {
    PyObject_HEAD py_state *state;
    tare_model *model;
    py_source source;
    PyObject *keep;     /* whatever else must live as long: bases, buffers of built tensors */
    PyObject *findings; /* of opening: a tuple of tuples */
    PyObject *name;     /* for messages: a str, or NULL */
    PyObject *found;    /* names that were looked up: their indices */
    tare_map_mode map;
    py_handle *whole; /* whose model this one reads through; NULL: it reads `source` itself */
    bool is_closed;
    bool is_part; /* the model is the whole's, and freed with it */
};

typedef struct py_model {
    PyObject_HEAD py_handle *handle;
} py_model;

typedef struct py_tensor {
    PyObject_HEAD py_handle *handle;
    const tare_tensor *tensor;
    size_t index;
} py_tensor;

/* Bytes with the buffer protocol: borrowed from a model, a part of an arena, or its own. */
typedef struct py_memory {
    PyObject_HEAD uint8_t *ptr;
    size_t size;
    PyObject *owner; /* a handle or an arena; NULL: ptr was allocated for it */
    bool is_read_only;
    bool is_arena_part;
} py_memory;

/* An anonymous mapping that many tensors share. */
typedef struct py_arena {
    PyObject_HEAD py_state *state;
    uint8_t *ptr;
    size_t size;
} py_arena;

/* What no other thread may do to the object at the same time: the GIL's work, where there is none. */
#ifdef Py_GIL_DISABLED
#define PY_LOCKED(object, statement)                                                               \
    do {                                                                                           \
        Py_BEGIN_CRITICAL_SECTION(object);                                                         \
        statement;                                                                                 \
        Py_END_CRITICAL_SECTION();                                                                 \
    } while (0)
#else
#define PY_LOCKED(object, statement) (statement)
#endif

/* A model that reads through another is closed with it. */
static inline bool py_handle_is_closed(const py_handle *handle) {
    return __atomic_load_n(&handle->is_closed, __ATOMIC_RELAXED) ||
           (handle->whole && py_handle_is_closed(handle->whole));
}

/* A new reference to the value of a key; NULL, perhaps without an exception: there is none. Where
 * there is no GIL, another thread may replace the value meanwhile. */
static inline PyObject *py_dict_get(PyObject *dict, PyObject *key) {
#ifdef Py_GIL_DISABLED
    PyObject *value = NULL;
    return PyDict_GetItemRef(dict, key, &value) < 0 ? NULL : value;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

/* The handle that has the source: what a reader raised is there. */
static inline py_handle *py_handle_root(py_handle *handle) {
    while (handle->whole) handle = handle->whole;
    return handle;
}

static inline py_handle *py_handle_ref(py_handle *handle) {
    Py_INCREF((PyObject *)handle);
    return handle;
}
static inline void py_handle_unref(py_handle *handle) {
    Py_XDECREF((PyObject *)handle);
}

py_handle *py_handle_new(py_state *state);
/* A handle for a model that reads through another handle's. */
py_handle *py_handle_through(py_handle *whole, tare_model *model);
/* The handle of a Model or of a tensor's model, checked to be open; NULL with an exception. */
py_handle *py_handle_of(py_state *state, PyObject *model);
bool py_handle_check_open(const py_handle *handle);
PyObject *py_model_new(py_handle *handle); /* takes the reference */
PyObject *py_tensor_new(py_handle *handle, size_t index);
PyObject *py_memory_borrowed(py_state *state, PyObject *owner, uint8_t *ptr, size_t size,
                             bool is_read_only);
PyObject *py_memory_allocate(py_state *state, size_t size);
/* dlpack(shape, code, bits, offset, is_versioned): a capsule over the bytes from `offset` on. */
PyObject *py_memory_dlpack(PyObject *memory, PyObject *args);

enum { PY_DLPACK_CPU = 1, PY_DLPACK_CUDA = 2 };

/* Contiguous numbers at `data`, kept alive by `owner`; code and bits are DLPack's. */
typedef struct py_dlpack_tensor {
    PyObject *owner, *shape;
    void *data;
    int device_type, device_id, code, bits, is_versioned;
    bool is_read_only;
} py_dlpack_tensor;

PyObject *py_dlpack_capsule(const py_dlpack_tensor *tensor);

/* Appends what `item` holds, and gives that reference away; NULL: an exception is set already. */
bool py_append(PyObject *list, PyObject *item);
/* Adds a memoryview of an object's bytes to the list, which holds them for as long as it lives, and
 * returns their address. */
const void *py_hold(PyObject *list, PyObject *object, size_t *size);

PyObject *py_text(tare_str text);
bool py_parse_text(PyObject *object, tare_str *out, PyObject **keep);
PyObject *py_dims(const uint64_t *dims, uint32_t n);
PyObject *py_value(py_handle *handle, const tare_value *value);
/* A number, bool or text as a value of this type, if it fits. */
bool py_scalar_parse(py_scratch *scratch, int type, PyObject *object, tare_value *out);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Raises the exception for an error of the library; `name` says what was read, or NULL. NULL. */
PyObject *py_fail(py_state *state, const tare_error *err, PyObject *name);
/* The same for the value of an option, which the text says. */
PyObject *py_fail_value(py_state *state, const tare_error *err, PyObject *value);
/* The findings of a report as a tuple of (level, status, code, file, offset, item, item_name, text).
 */
PyObject *py_findings(const tare_report *report);

/* ---- running --------------------------------------------------------------------------------- */

/* A call without the GIL that can be watched and stopped. */
typedef struct py_run {
    py_state *state;
    PyThreadState *thread;
    PyObject *callback; /* (done, total) -> true to stop; or NULL. Borrowed */
    tare_cancel *cancel;
    PyObject *keep; /* of `cancel` */
    int64_t signals_at, callback_at;
    PyObject *exc_type, *exc_value, *exc_trace; /* that ended the call */
} py_run;

/* `progress` is None, a callable, or a CancelToken. */
bool py_run_init(py_run *run, py_state *state, PyObject *progress);
void py_run_begin(py_run *run);
/* Takes the GIL again. False, with an exception, if `status` says that the call failed. */
bool py_run_end(py_run *run, tare_status status, const tare_error *err, py_handle *handle);
/* The same where no model was opened. */
bool py_run_end_source(py_run *run, tare_status status, const tare_error *err, py_source *source,
                       PyObject *name);
/* ctx is the py_run. */
bool py_run_progress(void *ctx, uint64_t done, uint64_t total);
/* Progress and cancelling of a call of the library are those of the run. */
void py_run_join(tare_context *context, py_run *run);

/* ---- options --------------------------------------------------------------------------------- */

typedef enum py_option_kind {
    PY_OPTION_BOOL,
    PY_OPTION_U8,
    PY_OPTION_UNSIGNED,
    PY_OPTION_U32,
    PY_OPTION_U64,
    PY_OPTION_DOUBLE,
    PY_OPTION_FLOAT,
    PY_OPTION_CHOICE, /* a name of `choices`, stored as its index in an enum */
    PY_OPTION_TEXT,   /* must live in the dict */
    PY_OPTION_ENCODING,
    PY_OPTION_STRUCT, /* left to the caller */
} py_option_kind;

typedef struct py_option {
    const char *name;
    py_option_kind kind;
    size_t offset;
    const char *const *choices; /* ends with NULL */
} py_option;

/* Sets the members that `given` (a dict; None values are left out) has a value for. `options` ends
 * with a NULL name. Names that are not in the table are left to the caller. */
bool py_options_set(void *out, const py_option *options, PyObject *given);
/* ValueError for a name that is not in the table; `what` says of which argument. */
bool py_options_only(const py_option *options, const char *what, PyObject *given);
/* A member of the dict; NULL, without an exception: absent or None. Borrowed. */
PyObject *py_options_get(PyObject *given, const char *name);

/* The options of a verb of tare/experimental/options.h, set from a list of pairs of texts. */
tare_options *py_texts_options(py_state *state, tare_verb verb, PyObject *texts);

void *py_scratch_array(py_scratch *scratch, size_t n, size_t item);
/* Keeps an object alive; takes the reference. */
bool py_scratch_keep(py_scratch *scratch, PyObject *object);
/* A text (or bytes) with the object that owns it; it ends with a NUL. */
bool py_scratch_text(py_scratch *scratch, PyObject *object, tare_str *out);
void py_scratch_clear(py_scratch *scratch);
/* What a model is called if it does not say so itself: its path's last part, kept by the scratch. */
bool py_scratch_directory(py_scratch *scratch, const py_handle *handle, const char **out);
/* A sequence of models as an array of the library's; *n is their number. */
/* Of a part: whether it is one, else a ValueError; and the paths that it depends on. */
bool py_part_check(uint32_t index, uint32_t count);
bool py_part_options(tare_part_options *o, py_scratch *scratch, PyObject *paths);
bool py_scratch_models(py_scratch *scratch, py_state *state, PyObject *models,
                       const tare_model *const **out, size_t *n);
/* The same of models that an output is stored as differences from, with what messages call them. */
bool py_scratch_bases(py_scratch *scratch, py_state *state, PyObject *models,
                      const tare_model *const **out, const char *const **hints, size_t *n);

/* ---- tables of the module -------------------------------------------------------------------- */

extern PyType_Spec py_handle_spec, py_model_spec, py_tensor_spec, py_memory_spec, py_arena_spec;
extern PyType_Spec py_array_spec, py_plan_spec, py_cancel_spec, py_coded_spec;
extern PyType_Spec py_device_spec, py_device_memory_spec;
extern PyMethodDef py_open_methods[], py_read_methods[], py_verb_methods[];
extern PyMethodDef py_encoding_methods[], py_table_methods[], py_memory_methods[];
extern PyMethodDef py_build_methods[], py_convert_methods[], py_packing_methods[],
    py_coded_methods[], py_names_methods[], py_edit_methods[], py_parts_methods[];

static inline py_state *py_state_of(PyObject *module) {
    return (py_state *)PyModule_GetState(module);
}

#endif
