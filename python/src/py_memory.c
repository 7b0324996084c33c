/* SPDX-License-Identifier: MIT
 *
 * Memory that Python sees: bytes that a model maps, bytes that were read, and parts of an arena,
 * which is one anonymous mapping for all tensors of a call. The pages of a part go back to the
 * system as soon as nobody refers to it. */
#include <stdlib.h>

#include "py_core.h"
#include "py_system.h"

static PyObject *memory_new(py_state *state, PyObject *owner, uint8_t *ptr, size_t size,
                            bool is_read_only) {
    py_memory *self = (py_memory *)PyType_GenericAlloc(state->memory_type, 0);
    if (!self) return NULL;
    self->ptr = ptr;
    self->size = size;
    self->owner = Py_XNewRef(owner);
    self->is_read_only = is_read_only;
    return (PyObject *)self;
}

PyObject *py_memory_borrowed(py_state *state, PyObject *owner, uint8_t *ptr, size_t size,
                             bool is_read_only) {
    return memory_new(state, owner, ptr, size, is_read_only);
}

PyObject *py_memory_allocate(py_state *state, size_t size) {
    uint8_t *ptr = malloc(size ? size : 1);
    if (!ptr) return PyErr_NoMemory();
    PyObject *memory = memory_new(state, NULL, ptr, size, false);
    if (!memory) free(ptr);
    return memory;
}

static void memory_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_memory *memory = (py_memory *)self;
    if (!memory->owner) free(memory->ptr);
    if (memory->is_arena_part) py_pages_return(memory->ptr, memory->size);
    Py_XDECREF(memory->owner);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int memory_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    py_memory *memory = (py_memory *)self;
    static uint8_t nothing; /* an address for no bytes */
    return PyBuffer_FillInfo(view, self, memory->ptr ? memory->ptr : &nothing,
                             (Py_ssize_t)memory->size, memory->is_read_only, flags);
}

static Py_ssize_t memory_length(PyObject *self) {
    return (Py_ssize_t)((py_memory *)self)->size;
}

static PyObject *memory_get_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(((py_memory *)self)->ptr);
}

static PyObject *memory_get_readonly(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((py_memory *)self)->is_read_only);
}

static PyObject *memory_get_borrowed(PyObject *self, void *unused) {
    (void)unused;
    const py_memory *memory = (py_memory *)self;
    return PyBool_FromLong(memory->owner && !memory->is_arena_part);
}

static PyMethodDef memory_methods[] = {
    {"dlpack", py_memory_dlpack, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef memory_getters[] = {
    {"address", memory_get_address, NULL, NULL, NULL},
    {"readonly", memory_get_readonly, NULL, NULL, NULL},
    {"borrowed", memory_get_borrowed, NULL, "Whether others have the same bytes.", NULL},
    {0},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, (void *)memory_dealloc},
    {Py_tp_methods, memory_methods},
    {Py_tp_getset, memory_getters},
    {Py_sq_length, (void *)memory_length},
    {Py_bf_getbuffer, (void *)memory_getbuffer},
    {0, NULL},
};

PyType_Spec py_memory_spec = {
    .name = "tare._core.Memory",
    .basicsize = sizeof(py_memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = memory_slots,
};

/* ---- arenas ---------------------------------------------------------------------------------- */

static PyObject *arena_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"size", "huge_pages", NULL};
    Py_ssize_t size;
    int wants_huge_pages = 0;
    if (!PyArg_ParseTupleAndKeywords(args, named, "n|p:Arena", names, &size, &wants_huge_pages))
        return NULL;
    if (size < 0) {
        PyErr_SetString(PyExc_ValueError, "the size must not be negative");
        return NULL;
    }
    py_state *state = PyType_GetModuleState(type);
    py_arena *self = state ? (py_arena *)PyType_GenericAlloc(type, 0) : NULL;
    if (!self) return NULL;
    self->state = state;
    if (size == 0) return (PyObject *)self;
    void *ptr = py_pages_take((size_t)size, wants_huge_pages);
    if (!ptr) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->ptr = ptr, self->size = (size_t)size;
    return (PyObject *)self;
}

static void arena_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_arena *arena = (py_arena *)self;
    if (arena->ptr) py_pages_give(arena->ptr, arena->size);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *arena_part(PyObject *self, PyObject *args) {
    py_arena *arena = (py_arena *)self;
    Py_ssize_t offset, size;
    if (!PyArg_ParseTuple(args, "nn:part", &offset, &size)) return NULL;
    if (offset < 0 || size < 0 || (size_t)offset > arena->size ||
        (size_t)size > arena->size - (size_t)offset) {
        PyErr_SetString(PyExc_ValueError, "the part is not within the arena");
        return NULL;
    }
    PyObject *memory = memory_new(arena->state, self, arena->ptr ? arena->ptr + offset : NULL,
                                  (size_t)size, false);
    if (memory) ((py_memory *)memory)->is_arena_part = true;
    return memory;
}

/* allocate(size): memory of its own, not cleared. */
static PyObject *allocate(PyObject *module, PyObject *number) {
    size_t size = PyLong_AsSize_t(number);
    if (size == (size_t)-1 && PyErr_Occurred()) return NULL;
    return py_memory_allocate(py_state_of(module), size);
}

PyMethodDef py_memory_methods[] = {
    {"allocate", allocate, METH_O, NULL},
    {0},
};

static PyMethodDef arena_methods[] = {
    {"part", arena_part, METH_VARARGS, NULL},
    {0},
};

static PyType_Slot arena_slots[] = {
    {Py_tp_new, (void *)arena_new},
    {Py_tp_dealloc, (void *)arena_dealloc},
    {Py_tp_methods, arena_methods},
    {0, NULL},
};

PyType_Spec py_arena_spec = {
    .name = "tare._core.Arena",
    .basicsize = sizeof(py_arena),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = arena_slots,
};
