/* SPDX-License-Identifier: MIT
 *
 * Tensors: borrowed descriptions, and the ways to one tensor's stored bytes. Many tensors, boxes and
 * decoded numbers are read by py_read.c. */
#include "py_core.h"

PyObject *py_tensor_new(py_handle *handle, size_t index) {
    py_tensor *self = (py_tensor *)PyType_GenericAlloc(handle->state->tensor_class, 0);
    if (!self) return NULL;
    self->handle = py_handle_ref(handle);
    self->tensor = tare_model_tensor(handle->model, index);
    self->index = index;
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_handle_unref(((py_tensor *)self)->handle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static const py_tensor *tensor_of(PyObject *self) {
    return (const py_tensor *)self;
}

/* ---- what it is ------------------------------------------------------------------------------ */

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return py_text(tensor_of(self)->tensor->name);
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return py_dims(tensor_of(self)->tensor->dims, tensor_of(self)->tensor->n_dims);
}

static PyObject *get_encoding_id(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong((long)tensor_of(self)->tensor->encoding->id);
}

static PyObject *get_native_type(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(tensor_of(self)->tensor->native_type);
}

static PyObject *get_n_elements(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(tensor_of(self)->tensor->n_elements);
}

static PyObject *get_nbytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(tensor_of(self)->tensor->size_bytes);
}

static PyObject *get_packed_nbytes(PyObject *self, void *unused) {
    uint64_t n;
    (void)unused;
    if (!tare_tensor_packed_bytes(&n, tensor_of(self)->handle->model, tensor_of(self)->index))
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(n);
}

static PyObject *get_index(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSize_t(tensor_of(self)->index);
}

static PyObject *get_place(PyObject *self, void *unused) {
    tare_plane place;
    (void)unused;
    if (!tare_tensor_place(&place, tensor_of(self)->handle->model, tensor_of(self)->index, 0))
        Py_RETURN_NONE;
    return Py_BuildValue("IK", (unsigned)place.file, (unsigned long long)place.offset);
}

static PyObject *get_record(PyObject *self, void *unused) {
    (void)unused;
    uint64_t offset = tensor_of(self)->tensor->offset;
    if (offset == TARE_NO_OFFSET) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(offset);
}

static PyObject *get_scheme(PyObject *self, void *unused) {
    (void)unused;
    const char *scheme = tare_tensor_scheme(tensor_of(self)->handle->model, tensor_of(self)->index);
    if (!scheme) Py_RETURN_NONE;
    return PyUnicode_FromString(scheme);
}

static PyObject *get_can_decode(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(
        tare_tensor_can_decode(tensor_of(self)->handle->model, tensor_of(self)->index));
}

static PyObject *get_is_borrowable(PyObject *self, void *unused) {
    (void)unused;
    const py_tensor *t = tensor_of(self);
    const uint8_t *at;
    for (uint32_t p = 0; p < t->tensor->encoding->n_planes; p++)
        if (tare_tensor_borrow(&at, t->handle->model, t->index, p, 1, NULL) != TARE_OK)
            Py_RETURN_FALSE;
    Py_RETURN_TRUE;
}

/* Bytes of each plane, as the file says: those of lists are the tensor's own. */
static PyObject *get_plane_sizes(PyObject *self, void *unused) {
    (void)unused;
    const tare_tensor *t = tensor_of(self)->tensor;
    uint32_t n = t->encoding->n_planes ? t->encoding->n_planes : 1;
    uint64_t sizes[TARE_MAX_PLANES];
    for (uint32_t p = 0; p < n; p++) sizes[p] = t->planes[p].size;
    return py_dims(sizes, n);
}

static PyObject *get_model_key(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(tensor_of(self)->handle);
}

/* ---- stored bytes ---------------------------------------------------------------------------- */

static bool plane_of(PyObject *self, long number, uint32_t *plane) {
    const tare_encoding *e = tensor_of(self)->tensor->encoding;
    uint32_t n = e->n_planes ? e->n_planes : 1;
    if (number == -1 && PyErr_Occurred()) return false;
    if (number < 0 || number >= (long)n) {
        PyErr_SetString(PyExc_IndexError, "there is no such plane");
        return false;
    }
    *plane = (uint32_t)number;
    return py_handle_check_open(tensor_of(self)->handle);
}

/* The address of a plane in memory that the model maps or was opened from; NULL: it has to be read.
 */
static uint8_t *borrow(const py_tensor *t, uint32_t plane, size_t alignment, bool is_writable) {
    const tare_model *model = t->handle->model;
    const uint8_t *at = NULL;
    uint8_t *mutable_at = NULL;
    if (is_writable &&
        tare_tensor_borrow_mut(&mutable_at, model, t->index, plane, alignment, NULL) == TARE_OK)
        return mutable_at;
    if (is_writable || tare_tensor_borrow(&at, model, t->index, plane, alignment, NULL) != TARE_OK)
        return NULL;
    return (uint8_t *)(uintptr_t)at; /* exported as read only */
}

static bool read_plane(py_tensor *t, uint32_t plane, uint64_t offset, void *out, size_t n) {
    tare_error err;
    tare_status status;
    if (n <= 4096 && t->handle->source.source.kind != TARE_SOURCE_CALLBACK &&
        !t->handle->source.parts) { /* as long as giving the GIL away takes */
        status = tare_tensor_read(out, t->handle->model, t->index, plane, offset, n, &err);
    } else {
        Py_BEGIN_ALLOW_THREADS status =
            tare_tensor_read(out, t->handle->model, t->index, plane, offset, n, &err);
        Py_END_ALLOW_THREADS
    }
    if (status == TARE_OK) return true;
    if (py_source_raise(&py_handle_root(t->handle)->source))
        py_fail(t->handle->state, &err, t->handle->name);
    return false;
}

/* The arguments (plane, alignment, is_writable); a borrowed memory, or None, or NULL. */
static PyObject *borrow_as_asked(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
                                 uint32_t *plane) {
    py_tensor *t = (py_tensor *)self;
    if (n_args != 3) {
        PyErr_SetString(PyExc_TypeError, "plane, alignment and is_writable expected");
        return NULL;
    }
    if (!plane_of(self, PyLong_AsLong(args[0]), plane)) return NULL;
    size_t alignment = PyLong_AsSize_t(args[1]);
    if (alignment == (size_t)-1 && PyErr_Occurred()) return NULL;
    bool is_writable = args[2] == Py_True;
    uint8_t *at = borrow(t, *plane, alignment, is_writable);
    if (!at) Py_RETURN_NONE;
    return py_memory_borrowed(t->handle->state, (PyObject *)t->handle, at,
                              (size_t)t->tensor->planes[*plane].size, !is_writable);
}

/* borrowed(plane, alignment, is_writable): the bytes of a plane where they are, or None. */
static PyObject *tensor_borrowed(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    uint32_t plane;
    return borrow_as_asked(self, args, n_args, &plane);
}

/* memory(plane, alignment, is_writable): the bytes of a plane, borrowed where they can be. */
static PyObject *tensor_memory(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    py_tensor *t = (py_tensor *)self;
    uint32_t plane;
    PyObject *found = borrow_as_asked(self, args, n_args, &plane);
    if (found != Py_None) return found;
    Py_DECREF(found);
    uint64_t size = t->tensor->planes[plane].size;
    if (size > (uint64_t)PY_SSIZE_T_MAX) return PyErr_NoMemory();
    PyObject *memory = py_memory_allocate(t->handle->state, (size_t)size);
    if (memory && !read_plane(t, plane, 0, ((py_memory *)memory)->ptr, (size_t)size))
        Py_CLEAR(memory);
    return memory;
}

static bool is_inside(PyObject *self, uint32_t plane, long long offset, Py_ssize_t n) {
    const py_tensor *t = tensor_of(self);
    uint64_t size = t->tensor->planes[plane].size;
    if (offset >= 0 && (uint64_t)offset <= size && (uint64_t)n <= size - (uint64_t)offset)
        return true;
    tare_error err = {.status = TARE_ERR_ARG,
                      .offset = TARE_NO_OFFSET,
                      .item = -1,
                      .field = "read_into",
                      .what = "the buffer reaches beyond the plane's bytes"};
    py_fail(t->handle->state, &err, t->handle->name);
    return false;
}

static PyObject *tensor_read_into(PyObject *self, PyObject *args, PyObject *named) {
    static char *names[] = {"buffer", "plane", "offset", NULL};
    Py_buffer view;
    long number = 0;
    long long offset = 0;
    uint32_t plane;
    if (!PyArg_ParseTupleAndKeywords(args, named, "w*|$lL:read_into", names, &view, &number,
                                     &offset))
        return NULL;
    bool ok = plane_of(self, number, &plane) && is_inside(self, plane, offset, view.len) &&
              read_plane((py_tensor *)self, plane, (uint64_t)offset, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef tensor_methods[] = {
    {"memory", PY_METHOD(tensor_memory), METH_FASTCALL, NULL},
    {"borrowed", PY_METHOD(tensor_borrowed), METH_FASTCALL, NULL},
    {"read_into", PY_METHOD(tensor_read_into), METH_VARARGS | METH_KEYWORDS,
     "read_into($self, buffer, *, plane=0, offset=0)\n--\n\n"
     "Reads stored bytes of a plane, from byte `offset` on, into a writable buffer, and fills it."},
    {0},
};

static PyGetSetDef tensor_getters[] = {
    {"name", get_name, NULL, "Its name; bytes that are not UTF-8 are surrogates.", NULL},
    {"shape", get_shape, NULL, "Dimensions, outermost first.", NULL},
    {"encoding_id", get_encoding_id, NULL, NULL, NULL},
    {"native_type", get_native_type, NULL, "The file's own number of the type.", NULL},
    {"n_elements", get_n_elements, NULL, "How many numbers it has.", NULL},
    {"nbytes", get_nbytes, NULL, "Stored bytes, all planes together, as if it was not packed.",
     NULL},
    {"packed_nbytes", get_packed_nbytes, NULL, "Bytes in a .wcodec; None elsewhere.", NULL},
    {"index", get_index, NULL, "Its place in the file's directory.", NULL},
    {"place", get_place, NULL,
     "(file, offset) of its first plane, the file a number in Model.info.files; None: no file has\n"
     "its bytes as they are.",
     NULL},
    {"record", get_record, NULL, NULL, NULL},
    {"scheme", get_scheme, NULL,
     "The packed scheme that it is a part of (\"gptq codes\"), or None.", NULL},
    {"can_decode", get_can_decode, NULL, "Whether its numbers can be read as floats.", NULL},
    {"is_borrowable", get_is_borrowable, NULL, NULL, NULL},
    {"plane_sizes", get_plane_sizes, NULL, NULL, NULL},
    {"model_key", get_model_key, NULL, NULL, NULL},
    {0},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, (void *)tensor_dealloc},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getters},
    {0, NULL},
};

PyType_Spec py_tensor_spec = {
    .name = "tare._core.Tensor",
    .basicsize = sizeof(py_tensor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = tensor_slots,
};
