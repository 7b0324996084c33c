/* SPDX-License-Identifier: MIT
 *
 * Errors and findings of the library, handed to the package as plain values. tare._errors chooses
 * the class of the exception. */
#include <string.h>

#include "py_core.h"

#define MODELS_NAMED 12

/* Texts of the library are UTF-8 but for bytes that came from a file. */
static PyObject *text_or_none(const char *text) {
    if (!text || !*text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static PyObject *number_or_none(bool is_known, uint64_t number) {
    if (!is_known) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(number);
}

/* The line that is the exception's text; a value that was refused is repeated. */
static PyObject *line_of(const tare_error *err, const char *path, PyObject *refused) {
    char line[1024];
    tare_error_format(line, sizeof line, err, path);
    PyObject *text = text_or_none(line);
    PyObject *whole = text && refused ? PyUnicode_FromFormat("%U, not %R", text, refused) : NULL;
    if (!refused) return text;
    Py_XDECREF(text);
    return whole;
}

/* The same, and which models a folder has that is none itself. `line` is taken over. */
static PyObject *add_models(PyObject *line, const tare_error *err, const char *path) {
    const tare_source source = {
        .size = sizeof source, .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    tare_folder_models *list = NULL;
    if (!line || !path || err->status != TARE_ERR_UNSUPPORTED || err->item_kind != TARE_ITEM_NONE)
        return line;
    if (tare_folder_models_list(&list, &source, NULL) != TARE_OK) return line;
    const size_t n = tare_folder_models_count(list);
    for (size_t i = 0; line && i < n && i <= MODELS_NAMED; i++) {
        PyObject *shorter = line;
        PyObject *name = text_or_none(tare_folder_models_name(list, i));
        if (i == MODELS_NAMED)
            line = PyUnicode_FromFormat("%U and %zu more", shorter, n - i);
        else
            line = name ? PyUnicode_FromFormat(i ? "%U, %S" : "%U; the models there: %S", shorter,
                                               name)
                        : NULL;
        Py_XDECREF(name);
        Py_DECREF(shorter);
    }
    tare_folder_models_free(list);
    return line;
}

static PyObject *fail(py_state *state, const tare_error *err, PyObject *name, PyObject *refused) {
    PyObject *path = NULL, *exception = NULL;
    if (PyErr_Occurred()) return NULL;
    if (err->status == TARE_ERR_NOMEM) return PyErr_NoMemory();
    if (name && PyUnicode_Check(name)) {
        path = PyUnicode_EncodeFSDefault(name);
        if (!path) PyErr_Clear();
    }
    const char *path_text = path ? PyBytes_AsString(path) : NULL;
    PyObject *line = add_models(line_of(err, path_text, refused), err, path_text);
    Py_XDECREF(path);
    PyObject *file = err->file[0] || !name ? text_or_none(err->file) : Py_NewRef(name);
    exception = PyObject_CallFunction(
        state->make_error, "iNNNNiNNiNN", (int)err->status, text_or_none(err->code), file,
        number_or_none(err->offset != TARE_NO_OFFSET, err->offset),
        number_or_none(err->item >= 0, err->item >= 0 ? (uint64_t)err->item : 0),
        (int)err->item_kind, text_or_none(err->item_name), text_or_none(err->field), err->os_error,
        text_or_none(err->what), line);
    if (exception) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

PyObject *py_fail(py_state *state, const tare_error *err, PyObject *name) {
    return fail(state, err, name, NULL);
}

PyObject *py_fail_value(py_state *state, const tare_error *err, PyObject *value) {
    return fail(state, err, NULL, value);
}

PyObject *py_findings(const tare_report *report) {
    size_t n = report ? tare_report_count(report) : 0;
    PyObject *out = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++) {
        const tare_finding *f = tare_report_at(report, i);
        PyObject *row =
            Py_BuildValue("iiNNNNNN", (int)f->level, (int)f->status, text_or_none(f->code),
                          py_text(f->file), number_or_none(f->offset != TARE_NO_OFFSET, f->offset),
                          number_or_none(f->item >= 0, f->item >= 0 ? (uint64_t)f->item : 0),
                          py_text(f->item_name), py_text(f->text));
        if (!row)
            Py_CLEAR(out);
        else
            PyTuple_SetItem(out, (Py_ssize_t)i, row);
    }
    return out;
}
