/* SPDX-License-Identifier: MIT
 *
 * What a model is opened from: paths, descriptors, memory, readers (file objects behind
 * tare._source.FileReader), and sequences of these as the shards of one model. */
#include <errno.h>

#include "py_core.h"
#include "py_system.h"

/* [(offset, memoryview), ...], and the views alone in *views. */
static PyObject *range_list(const tare_read_range *ranges, size_t n, PyObject **views) {
    PyObject *list = PyList_New(0);
    *views = PyList_New(0);
    bool ok = list && *views;
    for (size_t i = 0; ok && i < n; i++) {
        PyObject *view =
            PyMemoryView_FromMemory(ranges[i].buf, (Py_ssize_t)ranges[i].n, PyBUF_WRITE);
        PyObject *pair =
            view ? Py_BuildValue("KO", (unsigned long long)ranges[i].offset, view) : NULL;
        ok = pair && PyList_Append(list, pair) == 0 && PyList_Append(*views, view) == 0;
        Py_XDECREF(pair);
        Py_XDECREF(view);
    }
    if (!ok) Py_CLEAR(list);
    return list;
}

/* The memory behind the views is gone after the call, so that they must not outlive it. */
static bool release_views(PyObject *views) {
    bool ok = true;
    for (Py_ssize_t i = 0; views && i < PyList_Size(views); i++) {
        PyObject *result = PyObject_CallMethod(PyList_GetItem(views, i), "release", NULL);
        if (!result) ok = false;
        Py_XDECREF(result);
    }
    Py_XDECREF(views);
    return ok;
}

/* Keeps the first exception: it says more than the status. */
static void keep_exception(py_source *source) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace && value) PyException_SetTraceback(value, trace);
    PyObject *none = NULL;
    if (__atomic_compare_exchange_n(&source->reader_exc, &none, value, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        value = NULL; /* it is the source's */
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
}

/* Called from the library's threads. */
static tare_status read_many(void *ctx, const tare_read_range *ranges, size_t n, tare_error *err) {
    py_source *source = ctx;
    PyObject *views = NULL;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *list = range_list(ranges, n, &views);
    PyObject *result = list ? PyObject_CallMethod(source->reader, "read_many", "O", list) : NULL;
    bool ok = result != NULL;
    if (!ok) keep_exception(source);
    Py_XDECREF(result);
    Py_XDECREF(list);
    if (!release_views(views)) {
        if (ok) keep_exception(source);
        PyErr_Clear();
        ok = false;
    }
    PyGILState_Release(gil);
    if (ok) return TARE_OK;
    err->what = "the file object failed";
    return TARE_ERR_IO;
}

static const py_option remote_options[] = {
    {"hub_endpoint", PY_OPTION_TEXT, offsetof(tare_remote_options, hub_endpoint), NULL},
    {"hub_token", PY_OPTION_TEXT, offsetof(tare_remote_options, hub_token), NULL},
    {"ca_file", PY_OPTION_TEXT, offsetof(tare_remote_options, ca_file), NULL},
    {"ca_folder", PY_OPTION_TEXT, offsetof(tare_remote_options, ca_folder), NULL},
    {"proxy", PY_OPTION_TEXT, offsetof(tare_remote_options, proxy), NULL},
    {"whole_bytes", PY_OPTION_U64, offsetof(tare_remote_options, whole_bytes), NULL},
    {"cache_bytes", PY_OPTION_U64, offsetof(tare_remote_options, cache_bytes), NULL},
    {"connections", PY_OPTION_U32, offsetof(tare_remote_options, connections), NULL},
    {"retries", PY_OPTION_U32, offsetof(tare_remote_options, retries), NULL},
    {"backoff_ms", PY_OPTION_U32, offsetof(tare_remote_options, backoff_ms), NULL},
    {"connect_seconds", PY_OPTION_U32, offsetof(tare_remote_options, connect_seconds), NULL},
    {"stall_seconds", PY_OPTION_U32, offsetof(tare_remote_options, stall_seconds), NULL},
    {"is_offline", PY_OPTION_BOOL, offsetof(tare_remote_options, is_offline), NULL},
    {"hub_cache", PY_OPTION_TEXT, offsetof(tare_remote_options, hub_cache), NULL},
    {"s3_endpoint", PY_OPTION_TEXT, offsetof(tare_remote_options, s3_endpoint), NULL},
    {"s3_region", PY_OPTION_TEXT, offsetof(tare_remote_options, s3_region), NULL},
    {"s3_access_key", PY_OPTION_TEXT, offsetof(tare_remote_options, s3_access_key), NULL},
    {"s3_secret_key", PY_OPTION_TEXT, offsetof(tare_remote_options, s3_secret_key), NULL},
    {"s3_session_token", PY_OPTION_TEXT, offsetof(tare_remote_options, s3_session_token), NULL},
    {0},
};

static bool from_url(py_source *out, py_state *state, PyObject *remote) {
    tare_error err;
    tare_remote_options options = tare_remote_options_default();
    if (remote && (!py_options_only(remote_options, "remote", remote) ||
                   !py_options_set(&options, remote_options, remote)))
        return false;
    if (tare_remote_new(&out->remote, &options, &err) != TARE_OK) {
        py_fail(state, &err, NULL);
        return false;
    }
    out->source.kind = TARE_SOURCE_URL;
    out->source.remote = out->remote;
    return true;
}

static bool from_path(py_source *out, py_state *state, PyObject *from, PyObject *remote) {
    if (!PyUnicode_FSConverter(from, &out->path)) return false;
    out->source.kind = TARE_SOURCE_PATH;
    out->source.name = PyBytes_AsString(out->path);
    return !tare_is_url(out->source.name) || from_url(out, state, remote);
}

static bool from_descriptor(py_source *out, py_state *state, PyObject *from) {
    long number = PyLong_AsLong(from);
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < 0 || number > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a descriptor must not be negative");
        return false;
    }
    int fd = py_descriptor_copy((int)number); /* the caller may close its own */
    if (fd < 0) {
        tare_error err = {.status = TARE_ERR_IO,
                          .item = -1,
                          .offset = TARE_NO_OFFSET,
                          .os_error = errno,
                          .what = "the descriptor cannot be used"};
        py_fail(state, &err, NULL);
        return false;
    }
    out->source.kind = TARE_SOURCE_FD;
    out->source.fd = fd;
    return true;
}

static bool from_reader(py_source *out, PyObject *from) {
    PyObject *size = PyObject_GetAttrString(from, "size");
    if (!size) return false;
    unsigned long long n_bytes = PyLong_AsUnsignedLongLong(size);
    Py_DECREF(size);
    if (n_bytes == (unsigned long long)-1 && PyErr_Occurred()) return false;
    out->reader = Py_NewRef(from);
    out->source.kind = TARE_SOURCE_CALLBACK;
    out->source.n_bytes = n_bytes;
    out->source.read_many = read_many;
    out->source.read_ctx = out;
    return true;
}

static bool from_buffer(py_source *out, PyObject *from) {
    if (PyObject_GetBuffer(from, &out->view, PyBUF_SIMPLE) != 0) return false;
    out->source.kind = TARE_SOURCE_MEMORY;
    out->source.memory = out->view.buf;
    out->source.n_bytes = (uint64_t)out->view.len;
    return true;
}

static bool from_parts(py_source *out, py_state *state, PyObject *from, PyObject *remote) {
    Py_ssize_t n = PySequence_Size(from);
    if (n < 0) return false;
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError, "no shards are given");
        return false;
    }
    out->parts = PyMem_Calloc((size_t)n, sizeof *out->parts);
    out->shards = PyMem_Calloc((size_t)n, sizeof *out->shards);
    if (!out->parts || !out->shards) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = PySequence_GetItem(from, i);
        if (part && (PyList_Check(part) || PyTuple_Check(part))) {
            PyErr_SetString(PyExc_TypeError, "shards must not be lists themselves");
            Py_CLEAR(part);
        }
        bool ok = part && py_source_init(&out->parts[i], state, part, remote);
        Py_XDECREF(part);
        if (!ok) return false;
        out->n_parts++;
        out->shards[i] = out->parts[i].source;
    }
    out->source.kind = TARE_SOURCE_SHARDS;
    out->source.shards = out->shards;
    out->source.n_shards = out->n_parts;
    return true;
}

bool py_source_init(py_source *out, py_state *state, PyObject *from, PyObject *remote) {
    *out = (py_source){0};
    tare_source_init(&out->source, sizeof out->source);
    out->source.fd = -1;
    bool ok;
    if (PyUnicode_Check(from))
        ok = from_path(out, state, from, remote);
    else if (PyLong_Check(from))
        ok = from_descriptor(out, state, from);
    else if (PyList_Check(from) || PyTuple_Check(from))
        ok = from_parts(out, state, from, remote);
    else if (PyObject_CheckBuffer(from))
        ok = from_buffer(out, from);
    else
        ok = from_reader(out, from);
    if (!ok) py_source_clear(out);
    return ok;
}

bool py_source_raise(py_source *source) {
    for (size_t i = 0; i < source->n_parts; i++)
        if (!py_source_raise(&source->parts[i])) return false;
    PyObject *exception = __atomic_exchange_n(&source->reader_exc, NULL, __ATOMIC_ACQ_REL);
    if (!exception) return true;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return false;
}

void py_source_clear(py_source *source) {
    for (size_t i = 0; i < source->n_parts; i++) py_source_clear(&source->parts[i]);
    PyMem_Free(source->parts);
    PyMem_Free(source->shards);
    if (source->view.obj) PyBuffer_Release(&source->view);
    if (source->source.kind == TARE_SOURCE_FD && source->source.fd >= 0)
        py_descriptor_close(source->source.fd);
    tare_remote_free(source->remote);
    Py_CLEAR(source->path);
    Py_CLEAR(source->reader);
    Py_CLEAR(source->reader_exc);
    *source = (py_source){0};
}
