/* SPDX-License-Identifier: MIT
 *
 * Options structs of the library filled from keyword arguments, by tables; and what a call needs in
 * memory until it returns. */
#include <string.h>

#include "py_core.h"

PyObject *py_options_get(PyObject *given, const char *name) {
    PyObject *value = PyDict_GetItemString(given, name);
    return value == Py_None ? NULL : value;
}

static bool set_choice(void *at, const py_option *option, PyObject *value) {
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
    int i = 0;
    while (text && option->choices[i] && strcmp(option->choices[i], text) != 0) i++;
    if (!text || !option->choices[i]) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: %R is not one of its values", option->name, value);
        return false;
    }
    memcpy(at, &i, sizeof i); /* an enum of the library */
    return true;
}

static bool set_encoding(void *at, const py_option *option, PyObject *value) {
    tare_str name;
    PyObject *keep;
    if (!py_parse_text(value, &name, &keep)) return false;
    const tare_encoding *encoding = tare_encoding_find(name);
    Py_XDECREF(keep);
    if (!encoding) {
        PyErr_Format(PyExc_ValueError, "%s: there is no type %R", option->name, value);
        return false;
    }
    memcpy(at, &encoding, sizeof encoding);
    return true;
}

/* The most that an integer option holds. */
static unsigned long long largest(py_option_kind kind) {
    if (kind == PY_OPTION_U64) return UINT64_MAX;
    if (kind == PY_OPTION_U8) return UINT8_MAX;
    return kind == PY_OPTION_U32 ? UINT32_MAX : UINT_MAX;
}

static bool set_integer(void *at, const py_option *option, PyObject *value) {
    PyObject *number = PyNumber_Index(value);
    unsigned long long n = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    if (!PyErr_Occurred() && n > largest(option->kind))
        PyErr_Format(PyExc_OverflowError, "%s: the number is too large", option->name);
    if (PyErr_Occurred()) return false;
    uint64_t wide = n;
    uint32_t narrow = (uint32_t)n;
    uint8_t byte = (uint8_t)n;
    if (option->kind == PY_OPTION_U64)
        memcpy(at, &wide, sizeof wide);
    else if (option->kind == PY_OPTION_U8)
        memcpy(at, &byte, sizeof byte);
    else
        memcpy(at, &narrow, sizeof narrow);
    return true;
}

static bool set_real(void *at, const py_option *option, PyObject *value) {
    double number = PyFloat_AsDouble(value);
    float narrow = (float)number;
    if (number == -1 && PyErr_Occurred()) return false;
    if (option->kind == PY_OPTION_DOUBLE)
        memcpy(at, &number, sizeof number);
    else
        memcpy(at, &narrow, sizeof narrow);
    return true;
}

static bool set_text(void *at, PyObject *value) {
    const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
    if (!text) return false;
    memcpy(at, &text, sizeof text);
    return true;
}

static bool set_bool(void *at, PyObject *value) {
    int truth = PyObject_IsTrue(value);
    bool is_true = truth > 0;
    memcpy(at, &is_true, sizeof is_true);
    return truth >= 0;
}

static bool set_one(void *at, const py_option *option, PyObject *value) {
    switch (option->kind) {
    case PY_OPTION_STRUCT:
        return true;
    case PY_OPTION_BOOL:
        return set_bool(at, value);
    case PY_OPTION_TEXT:
        return set_text(at, value);
    case PY_OPTION_CHOICE:
        return set_choice(at, option, value);
    case PY_OPTION_ENCODING:
        return set_encoding(at, option, value);
    case PY_OPTION_DOUBLE:
    case PY_OPTION_FLOAT:
        return set_real(at, option, value);
    default:
        return set_integer(at, option, value);
    }
}

bool py_options_set(void *out, const py_option *options, PyObject *given) {
    for (const py_option *o = options; o->name; o++) {
        PyObject *value = py_options_get(given, o->name);
        if (value && !set_one((char *)out + o->offset, o, value)) return false;
    }
    return true;
}

static bool is_option(const py_option *options, const char *name) {
    while (options->name && strcmp(options->name, name) != 0) options++;
    return options->name != NULL;
}

bool py_options_only(const py_option *options, const char *what, PyObject *given) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!PyDict_Check(given)) {
        PyErr_Format(PyExc_TypeError, "%s: a dict expected, not %R", what, Py_TYPE(given));
        return false;
    }
    while (PyDict_Next(given, &at, &key, &value)) {
        const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : NULL;
        if (name && is_option(options, name)) continue;
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s: there is no %R", what, key);
        return false;
    }
    return true;
}

tare_options *py_texts_options(py_state *state, tare_verb verb, PyObject *texts) {
    tare_options *options = NULL;
    tare_error err;
    bool ok = tare_options_new(&options, verb, NULL, &err) == TARE_OK;
    if (!ok) py_fail(state, &err, NULL);
    for (Py_ssize_t i = 0; ok && i < PyList_Size(texts); i++) {
        const char *name, *value;
        PyObject *row = PyList_GetItem(texts, i);
        ok = PyArg_ParseTuple(row, "ss", &name, &value);
        if (ok && tare_option_set(options, name, value, &err) != TARE_OK)
            ok = py_fail_value(state, &err, PyTuple_GetItem(row, 1)) != NULL;
    }
    if (ok) return options;
    tare_options_free(options);
    return NULL;
}

/* ---- scratch --------------------------------------------------------------------------------- */

void *py_scratch_array(py_scratch *scratch, size_t n, size_t item) {
    if (scratch->n == sizeof scratch->blocks / sizeof *scratch->blocks) {
        PyErr_SetString(PyExc_SystemError, "too many arrays for one call");
        return NULL;
    }
    void *block = PyMem_Calloc(n ? n : 1, item);
    if (!block) return PyErr_NoMemory();
    return scratch->blocks[scratch->n++] = block;
}

bool py_scratch_keep(py_scratch *scratch, PyObject *object) {
    if (object && !scratch->objects) scratch->objects = PyList_New(0);
    if (scratch->objects) return py_append(scratch->objects, object);
    Py_XDECREF(object);
    return false;
}

bool py_scratch_text(py_scratch *scratch, PyObject *object, tare_str *out) {
    PyObject *keep;
    return py_parse_text(object, out, &keep) &&
           py_scratch_keep(scratch, keep ? keep : Py_NewRef(object));
}

void py_scratch_clear(py_scratch *scratch) {
    while (scratch->n) PyMem_Free(scratch->blocks[--scratch->n]);
    Py_CLEAR(scratch->objects);
}
