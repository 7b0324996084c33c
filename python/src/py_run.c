/* SPDX-License-Identifier: MIT
 *
 * Calls that read files: without the GIL, with progress, and stopped by Ctrl-C, by the callback or
 * by a CancelToken. The library calls back in the thread that called it; that thread takes the GIL
 * then, but not more often than is useful. */
#include <time.h>

#include "py_core.h"

enum {
    SIGNALS_EVERY = 20 * 1000 * 1000, /* ns: Ctrl-C is noticed within this and the library's own */
    CALLBACK_EVERY = 100 * 1000 * 1000, /* ns: ten times a second */
};

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct py_cancel {
    PyObject_HEAD tare_cancel *cancel;
    uint64_t done, total;
} py_cancel;

bool py_run_init(py_run *run, py_state *state, PyObject *progress) {
    *run = (py_run){.state = state};
    if (!progress || progress == Py_None) return true;
    if (PyObject_TypeCheck(progress, state->cancel_type)) {
        run->cancel = ((py_cancel *)progress)->cancel;
        run->keep = Py_NewRef(progress);
        return true;
    }
    run->callback = progress;
    if (PyCallable_Check(progress)) return true;
    PyErr_SetString(PyExc_TypeError, "progress: a callable or a CancelToken expected");
    return false;
}

void py_run_join(tare_context *context, py_run *run) {
    context->progress = py_run_progress, context->progress_ctx = run;
    context->cancel = run->cancel;
}

void py_run_begin(py_run *run) {
    run->signals_at = now();
    run->callback_at = run->signals_at - CALLBACK_EVERY;
    run->thread = PyEval_SaveThread();
}

/* With the GIL: true if the call shall stop. */
static bool ask(py_run *run, uint64_t done, uint64_t total, bool is_callback_due) {
    bool stop = PyErr_CheckSignals() != 0;
    if (!stop && is_callback_due) {
        PyObject *answer = PyObject_CallFunction(run->callback, "KK", (unsigned long long)done,
                                                 (unsigned long long)total);
        int truth = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        stop = truth != 0;
    }
    if (PyErr_Occurred()) PyErr_Fetch(&run->exc_type, &run->exc_value, &run->exc_trace);
    return stop;
}

bool py_run_progress(void *ctx, uint64_t done, uint64_t total) {
    py_run *run = ctx;
    if (run->exc_type) return true;
    if (run->keep) {
        py_cancel *token = (py_cancel *)run->keep;
        __atomic_store_n(&token->done, done, __ATOMIC_RELAXED);
        __atomic_store_n(&token->total, total, __ATOMIC_RELAXED);
    }
    int64_t t = now();
    bool is_callback_due =
        run->callback && (t - run->callback_at >= CALLBACK_EVERY || done == total);
    if (!is_callback_due && t - run->signals_at < SIGNALS_EVERY) return false;
    PyEval_RestoreThread(run->thread);
    bool stop = ask(run, done, total, is_callback_due);
    run->thread = PyEval_SaveThread();
    run->signals_at = t;
    if (is_callback_due) run->callback_at = t;
    return stop;
}

bool py_run_end_source(py_run *run, tare_status status, const tare_error *err, py_source *source,
                       PyObject *name) {
    PyEval_RestoreThread(run->thread);
    Py_CLEAR(run->keep);
    if (run->exc_type) {
        PyErr_Restore(run->exc_type, run->exc_value, run->exc_trace);
        run->exc_type = run->exc_value = run->exc_trace = NULL;
        return false;
    }
    if (status == TARE_OK) return true;
    if (py_source_raise(source)) py_fail(run->state, err, name);
    return false;
}

bool py_run_end(py_run *run, tare_status status, const tare_error *err, py_handle *handle) {
    return py_run_end_source(run, status, err, &py_handle_root(handle)->source, handle->name);
}

/* ---- CancelToken ----------------------------------------------------------------------------- */

static PyObject *cancel_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    if (!PyArg_ParseTuple(args, ":CancelToken")) return NULL;
    if (named && PyDict_Size(named) != 0) {
        PyErr_SetString(PyExc_TypeError, "CancelToken takes no arguments");
        return NULL;
    }
    py_cancel *self = (py_cancel *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->cancel = tare_cancel_new();
    if (!self->cancel) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void cancel_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tare_cancel_free(((py_cancel *)self)->cancel);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *cancel_cancel(PyObject *self, PyObject *unused) {
    (void)unused;
    tare_cancel_request(((py_cancel *)self)->cancel);
    Py_RETURN_NONE;
}

static PyObject *cancel_reset(PyObject *self, PyObject *unused) {
    (void)unused;
    tare_cancel_reset(((py_cancel *)self)->cancel);
    Py_RETURN_NONE;
}

static PyObject *cancel_get_cancelled(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(tare_cancel_is_requested(((py_cancel *)self)->cancel));
}

static PyObject *cancel_get_done(PyObject *self, void *unused) {
    (void)unused;
    py_cancel *token = (py_cancel *)self;
    return PyLong_FromUnsignedLongLong(__atomic_load_n(&token->done, __ATOMIC_RELAXED));
}

static PyObject *cancel_get_total(PyObject *self, void *unused) {
    (void)unused;
    py_cancel *token = (py_cancel *)self;
    return PyLong_FromUnsignedLongLong(__atomic_load_n(&token->total, __ATOMIC_RELAXED));
}

static PyMethodDef cancel_methods[] = {
    {"cancel", cancel_cancel, METH_NOARGS, "Stops the calls that have this token as progress."},
    {"reset", cancel_reset, METH_NOARGS, "Makes the token usable again."},
    {0},
};

static PyGetSetDef cancel_getters[] = {
    {"cancelled", cancel_get_cancelled, NULL, "Whether cancel() was called.", NULL},
    {"done", cancel_get_done, NULL, "Bytes of work done by the call so far.", NULL},
    {"total", cancel_get_total, NULL, "Bytes of work in all; 0: not known.", NULL},
    {0},
};

static PyType_Slot cancel_slots[] = {
    {Py_tp_doc, (void *)"CancelToken()\n--\n\nGiven as `progress`, it lets another thread stop a "
                        "call, which then raises CancelledError."},
    {Py_tp_new, (void *)cancel_new},
    {Py_tp_dealloc, (void *)cancel_dealloc},
    {Py_tp_methods, cancel_methods},
    {Py_tp_getset, cancel_getters},
    {0, NULL},
};

PyType_Spec py_cancel_spec = {
    .name = "tare._core.CancelToken",
    .basicsize = sizeof(py_cancel),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = cancel_slots,
};
