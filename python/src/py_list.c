/* SPDX-License-Identifier: MIT
 *
 * Lists: rows for the package, and what a call or an object needs until it ends. */
#include "py_core.h"

bool py_append(PyObject *list, PyObject *item) {
    bool ok = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return ok;
}

const void *py_hold(PyObject *list, PyObject *object, size_t *size) {
    static const char nothing;
    Py_buffer view;
    PyObject *memory = PyMemoryView_FromObject(object);
    if (!memory || PyObject_GetBuffer(memory, &view, PyBUF_SIMPLE) != 0) {
        Py_XDECREF(memory);
        return NULL;
    }
    const void *at = view.buf ? view.buf : &nothing;
    *size = (size_t)view.len;
    PyBuffer_Release(&view); /* `memory` still has it */
    return py_append(list, memory) ? at : NULL;
}
