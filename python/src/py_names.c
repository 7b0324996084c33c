/* SPDX-License-Identifier: MIT
 *
 * Tensor names: Hugging Face's and llama.cpp's. */
#include "py_core.h"

static bool run_map(tare_model **out, py_handle *in, const py_handle *to,
                    const tare_llama_options *options) {
    tare_error err;
    py_run run;
    if (!py_run_init(&run, in->state, NULL)) return false;
    py_run_begin(&run);
    tare_status status = tare_llama_map_like(out, in->model, to->model, options, &err);
    return py_run_end(&run, status, &err, in);
}

/* map_like(model, other): the model under the names of the other; None: it has them, or others. */
static PyObject *map_like(PyObject *module, PyObject *args) {
    PyObject *first, *second;
    py_state *state = py_state_of(module);
    py_scratch scratch = {0};
    tare_model *mapped = NULL;
    tare_llama_options options;
    if (!PyArg_ParseTuple(args, "OO:map_like", &first, &second)) return NULL;
    py_handle *in = py_handle_of(state, first), *to = in ? py_handle_of(state, second) : NULL;
    if (!to) return NULL;
    py_handle_ref(in), py_handle_ref(to);
    tare_llama_options_init(&options, sizeof options);
    bool ok = py_scratch_directory(&scratch, in, &options.directory) &&
              run_map(&mapped, in, to, &options);
    py_handle *handle = ok && mapped ? py_handle_through(in, mapped) : NULL;
    if (mapped && !handle) tare_model_free(mapped);
    py_scratch_clear(&scratch);
    py_handle_unref(in), py_handle_unref(to);
    if (ok && !mapped) Py_RETURN_NONE;
    return handle ? py_model_new(handle) : NULL;
}

PyMethodDef py_names_methods[] = {
    {"map_like", map_like, METH_VARARGS, NULL},
    {0},
};
