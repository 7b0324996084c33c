/* SPDX-License-Identifier: MIT
 *
 * Outputs that are made in parts: which there are, and putting them together. Writing one is a method of
 * a plan (py_convert.c), or packing (py_packing.c). */
#include "py_core.h"

#include <string.h>

static const char *const states[] = {"missing", "done",    "unfinished", "stale",
                                     "foreign", "doubled", "damaged"};

static PyObject *states_of(const tare_parts *parts) {
    tare_part_info info = tare_part_info_default();
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && tare_parts_at(&info, parts, i); i++) {
        PyObject *row = Py_BuildValue("IIsN", info.index, info.count, states[info.state],
                                      py_text(info.name.ptr ? info.name : (tare_str){"", 0}));
        if (!py_append(list, row)) Py_CLEAR(list);
    }
    return list;
}

bool py_part_check(uint32_t index, uint32_t count) {
    if (count >= 1 && count <= TARE_PARTS_MOST && index >= 1 && index <= count) return true;
    PyErr_Format(PyExc_ValueError, "part: (I, N) with I from 1 to N, and N at most %u",
                 TARE_PARTS_MOST);
    return false;
}

bool py_part_options(tare_part_options *o, py_scratch *scratch, PyObject *paths) {
    const Py_ssize_t n = PyList_Size(paths);
    const char **inputs = py_scratch_array(scratch, (size_t)n, sizeof *inputs);
    if (!inputs || !py_part_check(o->index, o->count)) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        tare_str path;
        if (!py_scratch_text(scratch, PyList_GetItem(paths, i), &path)) return false;
        inputs[i] = path.ptr;
    }
    o->inputs = inputs;
    o->n_inputs = (size_t)n;
    return true;
}

/* parts(path): (how many, how many are done, [(index, count, state, name of its file), ...]) */
static PyObject *parts_of(PyObject *module, PyObject *name) {
    py_scratch scratch = {0};
    py_source none = {0};
    py_run run;
    tare_str path;
    tare_error err;
    tare_parts *parts = NULL;
    PyObject *out = NULL;
    if (py_scratch_text(&scratch, name, &path) && py_run_init(&run, py_state_of(module), Py_None)) {
        tare_context context = tare_context_default();
        py_run_join(&context, &run);
        py_run_begin(&run);
        const tare_status status = tare_parts_open(&parts, path.ptr, &context, &err);
        if (py_run_end_source(&run, status, &err, &none, name))
            out = Py_BuildValue("IIN", tare_parts_count(parts), tare_parts_done(parts),
                                states_of(parts));
    }
    tare_parts_free(parts);
    py_scratch_clear(&scratch);
    return out;
}

/* join(path, another path or None, keep, overwrite, sync, progress): (bytes, files, whether it is a
 * directory, how many parts, findings) */
static PyObject *join(PyObject *module, PyObject *args) {
    PyObject *name, *other, *progress, *out = NULL;
    int keep, overwrite, sync;
    py_scratch scratch = {0};
    py_source none = {0};
    py_run run;
    tare_str path, to = {NULL, 0};
    tare_error err;
    tare_parts *parts = NULL;
    if (!PyArg_ParseTuple(args, "UOpppO", &name, &other, &keep, &overwrite, &sync, &progress))
        return NULL;
    tare_report *report = tare_report_new();
    if (!report) return PyErr_NoMemory();
    if (py_scratch_text(&scratch, name, &path) &&
        (other == Py_None || py_scratch_text(&scratch, other, &to)) &&
        py_run_init(&run, py_state_of(module), progress)) {
        tare_context context = tare_context_default();
        tare_output_options output = tare_output_options_default();
        tare_join_result result = tare_join_result_default();
        context.report = report;
        output.force = overwrite != 0;
        output.no_sync = !sync;
        py_run_join(&context, &run);
        py_run_begin(&run);
        tare_status status = tare_parts_open(&parts, path.ptr, &context, &err);
        if (status == TARE_OK)
            status = tare_parts_join(&result, parts, to.ptr, keep != 0, &output, &err);
        if (py_run_end_source(&run, status, &err, &none, name))
            out = Py_BuildValue("KnNIN", (unsigned long long)result.total_bytes,
                                (Py_ssize_t)result.n_files, PyBool_FromLong(result.is_directory),
                                tare_parts_count(parts), py_findings(report));
    }
    tare_parts_free(parts);
    tare_report_free(report);
    py_scratch_clear(&scratch);
    return out;
}

PyMethodDef py_parts_methods[] = {
    {"parts", parts_of, METH_O, NULL},
    {"join", join, METH_VARARGS, NULL},
    {0},
};
