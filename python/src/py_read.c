/* SPDX-License-Identifier: MIT
 *
 * Many tensors, parts of tensors and decoded numbers, read in one parallel call into memory of the
 * caller's. Jobs come as tuples; the package makes them. */
#include "py_core.h"

typedef struct job_list {
    tare_read_job *jobs;
    Py_buffer *views; /* of the destinations that are buffers */
    size_t n;
} job_list;

/* A tuple of integers as an array of 64 bits, or NULL where it is None. False: an exception. */
static bool numbers(py_scratch *scratch, PyObject *from, void *out) {
    int64_t *array = NULL;
    if (from != Py_None) {
        Py_ssize_t n = PyTuple_Size(from);
        if (n < 0 || n > TARE_MAX_DIMS) return false;
        PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizeof *array * (n ? n : 1));
        if (!py_scratch_keep(scratch, block)) return false;
        array = (void *)PyBytes_AsString(block);
        for (Py_ssize_t i = 0; i < n; i++) {
            array[i] = PyLong_AsLongLong(PyTuple_GetItem(from, i));
            if (array[i] == -1 && PyErr_Occurred()) return false;
        }
    }
    *(void **)out = array;
    return true;
}

/* (tensor, as, plane, offset, n_bytes, start, count, step, dst, strides): dst is a writable buffer,
 * or an address of memory that the caller keeps alive. */
static bool parse_job(job_list *list, py_scratch *scratch, PyObject *tuple) {
    tare_read_job *job = &list->jobs[list->n];
    Py_buffer *view = &list->views[list->n];
    PyObject *start, *count, *step, *dst, *strides;
    Py_ssize_t tensor;
    int as;
    unsigned plane;
    unsigned long long offset, n_bytes;
    if (!PyArg_ParseTuple(tuple, "niIKKOOOOO", &tensor, &as, &plane, &offset, &n_bytes, &start,
                          &count, &step, &dst, &strides))
        return false;
    tare_read_job_init(job, sizeof *job);
    job->tensor = (size_t)tensor, job->as = (tare_encoding_id)as, job->plane = plane;
    job->offset = offset, job->n_bytes = n_bytes;
    if (!numbers(scratch, start, &job->start) || !numbers(scratch, count, &job->count) ||
        !numbers(scratch, step, &job->step) || !numbers(scratch, strides, &job->strides))
        return false;
    list->n++;
    if (PyLong_Check(dst)) {
        job->dst = PyLong_AsVoidPtr(dst);
        return !PyErr_Occurred();
    }
    if (PyObject_GetBuffer(dst, view, PyBUF_WRITABLE) != 0) return false;
    job->dst = view->buf;
    return true;
}

/* A buffer takes exactly what its job writes. */
static bool check_sizes(const job_list *list, py_handle *handle) {
    tare_error err;
    uint64_t n;
    for (size_t i = 0; i < list->n; i++) {
        if (!list->views[i].obj) continue;
        if (tare_read_job_bytes(&n, handle->model, &list->jobs[i], &err) != TARE_OK) {
            py_fail(handle->state, &err, handle->name);
            return false;
        }
        if (list->jobs[i].strides || n != (uint64_t)list->views[i].len) {
            PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes for %llu", list->views[i].len,
                         (unsigned long long)n);
            return false;
        }
    }
    return true;
}

static bool parse_jobs(job_list *list, py_scratch *scratch, py_handle *handle, PyObject *jobs) {
    Py_ssize_t n = PyList_Size(jobs);
    if (n < 0) return false;
    list->jobs = py_scratch_array(scratch, (size_t)n, sizeof *list->jobs);
    list->views = py_scratch_array(scratch, (size_t)n, sizeof *list->views);
    if (!list->jobs || !list->views) return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!parse_job(list, scratch, PyList_GetItem(jobs, i))) return false;
    return check_sizes(list, handle);
}

static bool run_jobs(const job_list *list, py_handle *handle, unsigned threads,
                     PyObject *progress) {
    tare_read_options options;
    tare_error err;
    py_run run;
    if (!py_run_init(&run, handle->state, progress)) return false;
    tare_read_options_init(&options, sizeof options);
    tare_context context = tare_context_default();
    context.threads = threads;
    py_run_join(&context, &run);
    options.context = &context;
    py_run_begin(&run);
    tare_status status = tare_read_many(handle->model, list->jobs, list->n, &options, &err);
    return py_run_end(&run, status, &err, handle);
}

/* read_many(model, jobs, threads, progress). Instead of the model a tensor of it may stand. */
static PyObject *read_many(PyObject *module, PyObject *args) {
    PyObject *model, *jobs, *progress;
    unsigned threads;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OOIO:read_many", &model, &jobs, &threads, &progress)) return NULL;
    py_handle *handle = PyObject_TypeCheck(model, state->tensor_type) ? ((py_tensor *)model)->handle
                                                                      : py_handle_of(state, model);
    if (!handle || !py_handle_check_open(handle)) return NULL;
    py_handle_ref(handle); /* another thread may close the model meanwhile */
    py_scratch scratch = {0};
    job_list list = {0};
    bool ok =
        parse_jobs(&list, &scratch, handle, jobs) && run_jobs(&list, handle, threads, progress);
    for (size_t i = 0; i < list.n; i++)
        if (list.views[i].obj) PyBuffer_Release(&list.views[i]);
    py_scratch_clear(&scratch);
    py_handle_unref(handle);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

PyMethodDef py_read_methods[] = {
    {"read_many", read_many, METH_VARARGS, NULL},
    {0},
};
