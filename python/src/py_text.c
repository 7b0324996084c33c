/* SPDX-License-Identifier: MIT
 *
 * Texts and shapes between the library and Python. Bytes of a file that are not UTF-8 become
 * surrogates and are turned back when a name is looked up. */
#include "py_core.h"

PyObject *py_text(tare_str text) {
    return PyUnicode_DecodeUTF8(text.ptr ? text.ptr : "", (Py_ssize_t)text.len, "surrogateescape");
}

bool py_parse_text(PyObject *object, tare_str *out, PyObject **keep) {
    Py_ssize_t n = 0;
    *keep = NULL;
    if (PyUnicode_Check(object)) {
        const char *utf8 = PyUnicode_AsUTF8AndSize(object, &n);
        if (utf8) {
            *out = (tare_str){utf8, (size_t)n};
            return true;
        }
        PyErr_Clear();
        *keep = PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape");
        if (!*keep) return false;
        object = *keep;
    }
    char *bytes = NULL;
    if (PyBytes_AsStringAndSize(object, &bytes, &n) != 0) {
        Py_CLEAR(*keep);
        return false;
    }
    *out = (tare_str){bytes, (size_t)n};
    return true;
}

PyObject *py_dims(const uint64_t *dims, uint32_t n) {
    PyObject *out = PyTuple_New((Py_ssize_t)n);
    for (uint32_t d = 0; out && d < n; d++) {
        PyObject *number = PyLong_FromUnsignedLongLong(dims[d]);
        if (!number)
            Py_CLEAR(out);
        else
            PyTuple_SetItem(out, (Py_ssize_t)d, number);
    }
    return out;
}
