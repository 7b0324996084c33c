/* SPDX-License-Identifier: MIT
 *
 * Digests and checks. */
#include "py_core.h"

/* The options that all of these share. */
static void fill_options(tare_run_options *options, py_run *run) {
    tare_run_options_init(options, sizeof *options);
    options->progress = py_run_progress, options->progress_ctx = run;
    options->cancel = run->cancel;
}

static PyObject *digest_bytes(const tare_digest *digest) {
    return PyBytes_FromStringAndSize((const char *)digest->bytes, (Py_ssize_t)sizeof digest->bytes);
}

/* tensor_digest(tensor, progress), tensor_check(tensor, progress) */
static bool run_tensor(PyObject *module, PyObject *args, tare_digest *digest) {
    PyObject *object, *progress;
    py_run run;
    tare_run_options options;
    tare_error err;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "O!O", state->tensor_type, &object, &progress)) return false;
    py_tensor *tensor = (py_tensor *)object;
    if (!py_handle_check_open(tensor->handle) || !py_run_init(&run, state, progress)) return false;
    fill_options(&options, &run);
    py_run_begin(&run);
    tare_status status =
        digest ? tare_tensor_digest(digest, tensor->handle->model, tensor->index, &options, &err)
               : tare_tensor_check(tensor->handle->model, tensor->index, &options, &err);
    return py_run_end(&run, status, &err, tensor->handle);
}

static PyObject *tensor_digest(PyObject *module, PyObject *args) {
    tare_digest digest;
    return run_tensor(module, args, &digest) ? digest_bytes(&digest) : NULL;
}

static PyObject *tensor_check(PyObject *module, PyObject *args) {
    if (!run_tensor(module, args, NULL)) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef py_verb_methods[] = {
    {"tensor_digest", tensor_digest, METH_VARARGS, NULL},
    {"tensor_check", tensor_check, METH_VARARGS, NULL},
    {0},
};
