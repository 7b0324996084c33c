/* SPDX-License-Identifier: MIT
 *
 * Memory as DLPack capsules, contiguous, of the CPU or of a device. The structs are those of DLPack
 * 1.1, in the older form without versions, too. */
#include <stdlib.h>
#include <string.h>

#include "py_core.h"

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t n_dims;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } type;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *ctx;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *ctx;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

enum { DL_READ_ONLY = 1 };

/* Both forms in one block; `owner` is kept until the consumer is done. */
typedef struct capsule {
    union {
        dl_managed plain;
        dl_versioned versioned;
    } as;
    PyObject *owner;
    int64_t shape[TARE_MAX_DIMS], strides[TARE_MAX_DIMS];
} capsule;

/* Consumers delete from any thread, with or without the GIL, and even after Python has ended. */
static void release(capsule *c) {
    if (Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_CLEAR(c->owner);
        PyGILState_Release(gil);
    }
    free(c);
}

static void delete_plain(dl_managed *self) {
    release(self->ctx);
}
static void delete_versioned(dl_versioned *self) {
    release(self->ctx);
}

/* A capsule that was consumed has been renamed, and is the consumer's. */
static void destroy_plain(PyObject *object) {
    dl_managed *managed =
        PyCapsule_IsValid(object, "dltensor") ? PyCapsule_GetPointer(object, "dltensor") : NULL;
    if (managed) managed->deleter(managed);
}

static void destroy_versioned(PyObject *object) {
    dl_versioned *managed = PyCapsule_IsValid(object, "dltensor_versioned")
                                ? PyCapsule_GetPointer(object, "dltensor_versioned")
                                : NULL;
    if (managed) managed->deleter(managed);
}

/* Contiguous strides, in elements. False: too many dimensions, or a number that is none. */
static bool fill_shape(capsule *c, PyObject *shape, int32_t *n_dims) {
    Py_ssize_t n = PyTuple_Size(shape);
    if (n < 0) return false;
    if (n > TARE_MAX_DIMS) {
        PyErr_SetString(PyExc_ValueError, "too many dimensions");
        return false;
    }
    int64_t stride = 1;
    for (Py_ssize_t d = n - 1; d >= 0; d--) {
        c->shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
        if (c->shape[d] == -1 && PyErr_Occurred()) return false;
        c->strides[d] = stride;
        stride *= c->shape[d] > 0 ? c->shape[d] : 1;
    }
    *n_dims = (int32_t)n;
    return true;
}

static PyObject *wrap(capsule *c, const dl_tensor *tensor, const py_dlpack_tensor *from) {
    if (from->is_versioned) {
        dl_versioned *v = &c->as.versioned;
        v->version.major = 1, v->version.minor = 1;
        v->ctx = c, v->deleter = delete_versioned;
        v->flags = from->is_read_only ? DL_READ_ONLY : 0;
        v->tensor = *tensor;
        return PyCapsule_New(v, "dltensor_versioned", destroy_versioned);
    }
    dl_managed *m = &c->as.plain;
    m->ctx = c, m->deleter = delete_plain;
    m->tensor = *tensor;
    return PyCapsule_New(m, "dltensor", destroy_plain);
}

PyObject *py_dlpack_capsule(const py_dlpack_tensor *from) {
    capsule *c = calloc(1, sizeof *c);
    if (!c) return PyErr_NoMemory();
    dl_tensor tensor = {.data = from->data,
                        .device = {from->device_type, from->device_id},
                        .type = {(uint8_t)from->code, (uint8_t)from->bits, 1},
                        .shape = c->shape,
                        .strides = c->strides};
    c->owner = Py_NewRef(from->owner);
    PyObject *out = fill_shape(c, from->shape, &tensor.n_dims) ? wrap(c, &tensor, from) : NULL;
    if (!out) release(c);
    return out;
}

PyObject *py_memory_dlpack(PyObject *self, PyObject *args) {
    Py_ssize_t offset;
    py_memory *memory = (py_memory *)self;
    py_dlpack_tensor t = {
        .owner = self, .device_type = PY_DLPACK_CPU, .is_read_only = memory->is_read_only};
    if (!PyArg_ParseTuple(args, "O!iinp:dlpack", &PyTuple_Type, &t.shape, &t.code, &t.bits, &offset,
                          &t.is_versioned))
        return NULL;
    t.data = memory->ptr ? memory->ptr + offset : NULL;
    return py_dlpack_capsule(&t);
}
