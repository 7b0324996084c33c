/* SPDX-License-Identifier: MIT
 *
 * Values of metadata: numbers, bools and texts become Python's own; arrays stay where they are and
 * are read element by element. */
#include <string.h>

#include "py_core.h"

typedef struct py_array {
    PyObject_HEAD py_handle *handle;
    tare_array array;
    tare_array_walk walk; /* where the last element was found: strings have no fixed size */
} py_array;

/* Bytes of a number; 0: strings and arrays. */
static size_t item_bytes(tare_value_type type) {
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return (size_t)type < sizeof sizes ? sizes[type] : 0;
}

/* Text that is not UTF-8 is bytes. */
static PyObject *string(tare_str text) {
    PyObject *out = PyUnicode_DecodeUTF8(text.ptr ? text.ptr : "", (Py_ssize_t)text.len, NULL);
    if (out || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return out;
    PyErr_Clear();
    return PyBytes_FromStringAndSize(text.ptr, (Py_ssize_t)text.len);
}

static PyObject *array_new(py_handle *handle, const tare_array *array) {
    py_array *self = (py_array *)PyType_GenericAlloc(handle->state->array_class, 0);
    if (!self) return NULL;
    self->handle = py_handle_ref(handle);
    self->array = *array;
    tare_array_begin(&self->walk, array);
    return (PyObject *)self;
}

PyObject *py_value(py_handle *handle, const tare_value *value) {
    switch (value->type) {
    case TARE_VALUE_U8:
    case TARE_VALUE_U16:
    case TARE_VALUE_U32:
    case TARE_VALUE_U64:
        return PyLong_FromUnsignedLongLong(value->as.u);
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        return PyLong_FromLongLong(value->as.i);
    case TARE_VALUE_F32:
    case TARE_VALUE_F64:
        return PyFloat_FromDouble(value->as.f);
    case TARE_VALUE_BOOL:
        return PyBool_FromLong(value->as.u != 0);
    case TARE_VALUE_STRING:
        return string(value->as.s);
    case TARE_VALUE_ARRAY:
        return array_new(handle, &value->as.a);
    }
    Py_RETURN_NONE;
}

/* Whole numbers of a width that `v` does not fit raise OverflowError. */
static bool parse_integer(int type, PyObject *object, tare_value *out) {
    bool is_signed = type == TARE_VALUE_I8 || type == TARE_VALUE_I16 || type == TARE_VALUE_I32 ||
                     type == TARE_VALUE_I64;
    unsigned bits = 8 * (unsigned)item_bytes((tare_value_type)type);
    if (is_signed) {
        int64_t n = PyLong_AsLongLong(object), most = (int64_t)(UINT64_MAX >> (65 - bits));
        out->as.i = n;
        if (!PyErr_Occurred() && (n > most || n < -most - 1))
            PyErr_SetString(PyExc_OverflowError, "the number does not fit the key's type");
    } else {
        uint64_t n = PyLong_AsUnsignedLongLong(object);
        out->as.u = n;
        if (!PyErr_Occurred() && n > UINT64_MAX >> (64 - bits))
            PyErr_SetString(PyExc_OverflowError, "the number does not fit the key's type");
    }
    return !PyErr_Occurred();
}

bool py_scalar_parse(py_scratch *scratch, int type, PyObject *object, tare_value *out) {
    *out = (tare_value){.type = (tare_value_type)type};
    switch (type) {
    case TARE_VALUE_STRING:
        return py_scratch_text(scratch, object, &out->as.s);
    case TARE_VALUE_F32:
    case TARE_VALUE_F64:
        out->as.f = PyFloat_AsDouble(object);
        return !PyErr_Occurred();
    case TARE_VALUE_BOOL:
        out->as.u = PyObject_IsTrue(object) > 0;
        return !PyErr_Occurred();
    case TARE_VALUE_ARRAY:
        PyErr_SetString(PyExc_TypeError, "a number, bool or text expected");
        return false;
    default:
        return parse_integer(type, object, out);
    }
}

static void array_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_handle_unref(((py_array *)self)->handle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static Py_ssize_t array_length(PyObject *self) {
    return (Py_ssize_t)((py_array *)self)->array.count;
}

/* Element i of strings or arrays, on from the last one that was asked for if it lies before. */
static bool walk_to(py_array *self, uint64_t i, tare_value *out) {
    if (i < self->walk.index) tare_array_begin(&self->walk, &self->array);
    while (tare_array_next(out, &self->walk))
        if (self->walk.index == i + 1) return true;
    return false;
}

static PyObject *array_item(PyObject *object, Py_ssize_t i) {
    py_array *self = (py_array *)object;
    tare_value value;
    size_t size = item_bytes(self->array.type);
    bool found = i >= 0 && (uint64_t)i < self->array.count;
    if (found && size) { /* numbers have a place of their own */
        tare_array one = self->array;
        tare_array_walk walk;
        one.bytes += (uint64_t)i * size, one.count = 1, one.size_bytes = size;
        tare_array_begin(&walk, &one);
        found = tare_array_next(&value, &walk);
    } else if (found) {
        PY_LOCKED(object, found = walk_to(self, (uint64_t)i, &value));
    }
    if (found) return py_value(self->handle, &value);
    PyErr_SetString(PyExc_IndexError, "array index out of range");
    return NULL;
}

static PyObject *array_tolist(PyObject *object, PyObject *unused) {
    (void)unused;
    py_array *self = (py_array *)object;
    tare_array_walk walk;
    tare_value value;
    PyObject *out = PyList_New((Py_ssize_t)self->array.count);
    tare_array_begin(&walk, &self->array);
    for (Py_ssize_t i = 0; out && i < (Py_ssize_t)self->array.count; i++) {
        PyObject *item = NULL;
        if (tare_array_next(&value, &walk))
            item = py_value(self->handle, &value);
        else
            PyErr_SetString(PyExc_SystemError, "an array ends early");
        if (!item)
            Py_CLEAR(out);
        else
            PyList_SetItem(out, i, item);
    }
    return out;
}

static PyObject *array_get_type(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong((long)((py_array *)self)->array.type);
}

static PyObject *array_get_big_endian(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((py_array *)self)->array.is_big_endian);
}

/* The numbers as they are stored; strings have no such form. */
static PyObject *array_get_memory(PyObject *object, void *unused) {
    (void)unused;
    py_array *self = (py_array *)object;
    if (!item_bytes(self->array.type)) Py_RETURN_NONE;
    return py_memory_borrowed(self->handle->state, (PyObject *)self->handle,
                              (uint8_t *)(uintptr_t)self->array.bytes,
                              (size_t)self->array.size_bytes, true);
}

static PyMethodDef array_methods[] = {
    {"tolist", array_tolist, METH_NOARGS, "All elements as a list."},
    {0},
};

static PyGetSetDef array_getters[] = {
    {"type_id", array_get_type, NULL, NULL, NULL},
    {"is_big_endian", array_get_big_endian, NULL, NULL, NULL},
    {"memory", array_get_memory, NULL, NULL, NULL},
    {0},
};

static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, (void *)array_dealloc}, {Py_tp_methods, array_methods},
    {Py_tp_getset, array_getters},          {Py_sq_length, (void *)array_length},
    {Py_sq_item, (void *)array_item},       {0, NULL},
};

PyType_Spec py_array_spec = {
    .name = "tare._core.Array",
    .basicsize = sizeof(py_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = array_slots,
};
