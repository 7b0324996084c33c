/* SPDX-License-Identifier: MIT
 *
 * Numbers between memory and memory: rows to floats and from floats, without a model. */
#include "py_core.h"

enum {
    NUMBERS_AT_ONCE = 1 << 17, /* that are worked on between two looks for a signal */
    ROWS_TOGETHER = 8,         /* whose elements fill whole bytes, whatever bits they have */
};

typedef struct row_call {
    const tare_encoding *encoding;
    Py_buffer numbers, planes[TARE_MAX_PLANES], importance;
    uint64_t n_rows, cols;
    size_t number_bytes;
    uint64_t bytes[TARE_MAX_PLANES]; /* of each plane for ROWS_TOGETHER; not used in one piece */
    tare_encoding_id as;             /* of the decoded numbers */
    tare_encode_params params;
} row_call;

/* Works on rows first .. first + n - 1. */
typedef tare_status (*row_fn)(const row_call *call, uint64_t first, uint64_t n, tare_error *err);

static void clear(row_call *call) {
    if (call->numbers.obj) PyBuffer_Release(&call->numbers);
    if (call->importance.obj) PyBuffer_Release(&call->importance);
    for (int p = 0; p < TARE_MAX_PLANES; p++)
        if (call->planes[p].obj) PyBuffer_Release(&call->planes[p]);
}

/* Takes the buffers and checks that each is as long as the rows ask for. */
static bool fill(row_call *call, py_state *state, int id, PyObject *planes, PyObject *numbers,
                 bool is_encoding) {
    uint64_t sizes[TARE_MAX_PLANES], dims[2] = {call->n_rows, call->cols};
    tare_error err;
    call->encoding = tare_encoding_get((tare_encoding_id)id);
    if (!call->encoding) {
        PyErr_SetString(PyExc_ValueError, "there is no such encoding");
        return false;
    }
    if (tare_encoding_sizes(sizes, call->encoding, dims, 2, &err) != TARE_OK) {
        py_fail(state, &err, NULL);
        return false;
    }
    if (PySequence_Size(planes) != call->encoding->n_planes) {
        PyErr_SetString(PyExc_ValueError, "another number of planes is needed");
        return false;
    }
    for (uint32_t p = 0; p < call->encoding->n_planes; p++) {
        PyObject *plane = PySequence_GetItem(planes, (Py_ssize_t)p);
        int got = plane ? PyObject_GetBuffer(plane, &call->planes[p],
                                             is_encoding ? PyBUF_WRITABLE : PyBUF_SIMPLE)
                        : -1;
        Py_XDECREF(plane);
        if (got != 0) return false;
        bool is_list = call->encoding->planes[p].scope == TARE_PLANE_LIST;
        if (!is_list && (uint64_t)call->planes[p].len != sizes[p]) {
            PyErr_Format(PyExc_ValueError, "plane %u has %zd bytes, not %llu", (unsigned)p,
                         call->planes[p].len, (unsigned long long)sizes[p]);
            return false;
        }
    }
    if (PyObject_GetBuffer(numbers, &call->numbers, is_encoding ? PyBUF_SIMPLE : PyBUF_WRITABLE))
        return false;
    if ((uint64_t)call->numbers.len == call->n_rows * call->cols * call->number_bytes) return true;
    PyErr_SetString(PyExc_ValueError, "the numbers do not fill the rows");
    return false;
}

/* How many rows make a piece. Planes that belong to the tensor forbid more than one. */
static uint64_t cut(row_call *call) {
    uint64_t dims[2] = {ROWS_TOGETHER, call->cols};
    for (uint32_t p = 0; p < call->encoding->n_planes; p++)
        if (call->encoding->planes[p].scope > TARE_PLANE_ROW) return call->n_rows;
    if (call->n_rows <= ROWS_TOGETHER ||
        tare_encoding_sizes(call->bytes, call->encoding, dims, 2, NULL) != TARE_OK)
        return call->n_rows;
    return (NUMBERS_AT_ONCE / ROWS_TOGETHER / (call->cols + 1) + 1) * ROWS_TOGETHER;
}

/* The place of a row at which a piece begins. */
static uint64_t place(const row_call *call, int plane, uint64_t row) {
    return row / ROWS_TOGETHER * call->bytes[plane];
}

/* Piece by piece without the GIL, so that a signal ends it. */
static bool run(row_call *call, py_state *state, row_fn work) {
    const uint64_t piece = cut(call);
    for (uint64_t at = 0; at < call->n_rows; at += piece) {
        const uint64_t left = call->n_rows - at;
        tare_error err;
        tare_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = work(call, at, left < piece ? left : piece, &err);
        Py_END_ALLOW_THREADS;
        if (status != TARE_OK) return py_fail(state, &err, NULL) != NULL;
        if (PyErr_CheckSignals() != 0) return false;
    }
    return true;
}

static tare_status decode_rows(const row_call *call, uint64_t first, uint64_t n, tare_error *err) {
    tare_rows rows = {.n_rows = n, .cols = call->cols};
    for (int p = 0; p < TARE_MAX_PLANES; p++)
        if (call->planes[p].buf)
            rows.planes[p] = (const uint8_t *)call->planes[p].buf + place(call, p, first);
    uint8_t *out = (uint8_t *)call->numbers.buf + first * call->cols * call->number_bytes;
    return tare_decode_rows_as(out, call->as, call->encoding, &rows, err);
}

static tare_status encode_rows(const row_call *call, uint64_t first, uint64_t n, tare_error *err) {
    tare_rows_mut rows = {.n_rows = n, .cols = call->cols};
    for (int p = 0; p < TARE_MAX_PLANES; p++)
        if (call->planes[p].buf)
            rows.planes[p] = (uint8_t *)call->planes[p].buf + place(call, p, first);
    const float *from = (const float *)call->numbers.buf + first * call->cols;
    return tare_encode_rows(&rows, call->encoding, from, &call->params, err);
}

/* decode(encoding, planes, rows, columns, as, out) */
static PyObject *decode(PyObject *module, PyObject *args) {
    int id, as;
    PyObject *planes, *out;
    unsigned long long n_rows, cols;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "iOKKiO:decode", &id, &planes, &n_rows, &cols, &as, &out))
        return NULL;
    row_call call = {.n_rows = n_rows, .cols = cols, .as = (tare_encoding_id)as};
    call.number_bytes = as == TARE_ENCODING_F32 ? 4 : 2;
    bool ok = fill(&call, state, id, planes, out, false) && run(&call, state, decode_rows);
    clear(&call);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

static bool take_importance(row_call *call, PyObject *importance) {
    if (importance == Py_None) return true;
    if (PyObject_GetBuffer(importance, &call->importance, PyBUF_SIMPLE) != 0) return false;
    call->params.importance = call->importance.buf;
    if ((uint64_t)call->importance.len == call->cols * sizeof(float)) return true;
    PyErr_SetString(PyExc_ValueError, "importance: one float for each column is needed");
    return false;
}

/* encode(encoding, floats, rows, columns, planes, importance, is_best) */
static PyObject *encode(PyObject *module, PyObject *args) {
    int id, is_best;
    PyObject *numbers, *planes, *importance;
    unsigned long long n_rows, cols;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "iOKKOOp:encode", &id, &numbers, &n_rows, &cols, &planes,
                          &importance, &is_best))
        return NULL;
    row_call call = {.n_rows = n_rows, .cols = cols, .number_bytes = sizeof(float)};
    tare_encode_params_init(&call.params, sizeof call.params);
    call.params.quality = is_best ? TARE_QUALITY_BEST : TARE_QUALITY_DEFAULT;
    bool ok = fill(&call, state, id, planes, numbers, true) && take_importance(&call, importance) &&
              run(&call, state, encode_rows);
    clear(&call);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

/* encoding_sizes(encoding, shape): bytes of each plane. */
static PyObject *encoding_sizes(PyObject *module, PyObject *args) {
    int id;
    PyObject *shape;
    uint64_t dims[TARE_MAX_DIMS], sizes[TARE_MAX_PLANES];
    tare_error err;
    if (!PyArg_ParseTuple(args, "iO!:encoding_sizes", &id, &PyTuple_Type, &shape)) return NULL;
    Py_ssize_t n = PyTuple_Size(shape);
    const tare_encoding *encoding = tare_encoding_get((tare_encoding_id)id);
    if (!encoding || n > TARE_MAX_DIMS)
        return PyErr_Format(PyExc_ValueError, "no such encoding, or too many dimensions");
    for (Py_ssize_t d = 0; d < n; d++) {
        dims[d] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, d));
        if (dims[d] == UINT64_MAX && PyErr_Occurred()) return NULL;
    }
    if (tare_encoding_sizes(sizes, encoding, dims, (uint32_t)n, &err) != TARE_OK)
        return py_fail(py_state_of(module), &err, NULL);
    return py_dims(sizes, encoding->n_planes);
}

PyMethodDef py_encoding_methods[] = {
    {"decode", decode, METH_VARARGS, NULL},
    {"encode", encode, METH_VARARGS, NULL},
    {"encoding_sizes", encoding_sizes, METH_VARARGS, NULL},
    {0},
};
