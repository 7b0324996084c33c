/* SPDX-License-Identifier: MIT
 *
 * GPUs (tare/experimental/device.h): their memory, and models loaded into it. */
#include "py_core.h"

typedef struct py_device {
    PyObject_HEAD py_state *state;
    tare_device *device;
} py_device;

/* Memory of a device, which it keeps alive. */
typedef struct py_device_memory {
    PyObject_HEAD py_device *device;
    void *ptr;
    size_t size;
} py_device_memory;

/* Runs `statement` without the GIL. */
#define WITHOUT_GIL(statement)                                                                     \
    do {                                                                                           \
        PyThreadState *thread = PyEval_SaveThread();                                               \
        statement;                                                                                 \
        PyEval_RestoreThread(thread);                                                              \
    } while (0)

/* ---- memory ---------------------------------------------------------------------------------- */

static void memory_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_device_memory *memory = (py_device_memory *)self;
    if (memory->ptr) tare_device_release(memory->device->device, memory->ptr);
    Py_XDECREF((PyObject *)memory->device);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static Py_ssize_t memory_length(PyObject *self) {
    return (Py_ssize_t)((py_device_memory *)self)->size;
}

static PyObject *memory_get_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(((py_device_memory *)self)->ptr);
}

static PyObject *memory_get_device(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)((py_device_memory *)self)->device);
}

/* A buffer of the caller's with as many bytes. */
static bool take_buffer(Py_buffer *view, PyObject *from, int flags, const py_device_memory *self) {
    if (PyObject_GetBuffer(from, view, flags) != 0) return false;
    if ((size_t)view->len == self->size) return true;
    PyErr_Format(PyExc_ValueError, "a buffer of %zu bytes expected, not of %zd", self->size,
                 view->len);
    PyBuffer_Release(view);
    return false;
}

static PyObject *done(const py_device_memory *self, Py_buffer *view, tare_status status,
                      const tare_error *err) {
    PyBuffer_Release(view);
    if (status != TARE_OK) return py_fail(self->device->state, err, NULL);
    Py_RETURN_NONE;
}

/* upload(buffer) and download(buffer). */
static PyObject *memory_upload(PyObject *object, PyObject *from) {
    py_device_memory *self = (py_device_memory *)object;
    Py_buffer view;
    tare_error err;
    tare_status status;
    if (!take_buffer(&view, from, PyBUF_SIMPLE, self)) return NULL;
    WITHOUT_GIL(
        status = tare_device_upload(self->ptr, self->device->device, view.buf, self->size, &err));
    return done(self, &view, status, &err);
}

static PyObject *memory_download(PyObject *object, PyObject *to) {
    py_device_memory *self = (py_device_memory *)object;
    Py_buffer view;
    tare_error err;
    tare_status status;
    if (!take_buffer(&view, to, PyBUF_WRITABLE, self)) return NULL;
    WITHOUT_GIL(
        status = tare_device_download(view.buf, self->device->device, self->ptr, self->size, &err));
    return done(self, &view, status, &err);
}

/* dlpack(shape, code, bits, is_versioned): a capsule. */
static PyObject *memory_dlpack(PyObject *object, PyObject *args) {
    py_device_memory *self = (py_device_memory *)object;
    py_dlpack_tensor t = {.owner = object, .data = self->ptr, .device_type = PY_DLPACK_CUDA};
    if (!PyArg_ParseTuple(args, "O!iip:dlpack", &PyTuple_Type, &t.shape, &t.code, &t.bits,
                          &t.is_versioned))
        return NULL;
    t.device_id = (int)tare_device_number(self->device->device);
    return py_dlpack_capsule(&t);
}

static PyMethodDef memory_methods[] = {
    {"upload", memory_upload, METH_O, NULL},
    {"download", memory_download, METH_O, NULL},
    {"dlpack", memory_dlpack, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef memory_getters[] = {
    {"address", memory_get_address, NULL, NULL, NULL},
    {"device", memory_get_device, NULL, NULL, NULL},
    {0},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, (void *)memory_dealloc},
    {Py_tp_methods, memory_methods},
    {Py_tp_getset, memory_getters},
    {Py_sq_length, (void *)memory_length},
    {0, NULL},
};

PyType_Spec py_device_memory_spec = {
    .name = "tare._core.DeviceMemory",
    .basicsize = sizeof(py_device_memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = memory_slots,
};

/* ---- loading --------------------------------------------------------------------------------- */

/* (tensor, (address of each plane, ...)). */
static bool parse_job(tare_device_job *job, PyObject *from) {
    Py_ssize_t tensor;
    PyObject *planes;
    if (!PyArg_ParseTuple(from, "nO!", &tensor, &PyTuple_Type, &planes)) return false;
    const Py_ssize_t n = PyTuple_Size(planes);
    tare_device_job_init(job, sizeof *job);
    job->tensor = (size_t)tensor;
    for (Py_ssize_t i = 0; i < n && i < TARE_MAX_PLANES; i++) {
        job->planes[i] = PyLong_AsVoidPtr(PyTuple_GetItem(planes, i));
        if (PyErr_Occurred()) return false;
    }
    return true;
}

static bool run_load(py_device *self, py_handle *handle, const tare_device_job *jobs, size_t n,
                     const tare_device_load_options *options, tare_context *context,
                     PyObject *progress) {
    tare_error err;
    py_run run;
    if (!py_run_init(&run, handle->state, progress)) return false;
    py_run_join(context, &run);
    py_run_begin(&run);
    tare_status status = tare_device_load(self->device, handle->model, jobs, n, options, &err);
    return py_run_end(&run, status, &err, handle);
}

/* load(model, jobs, window, stream, threads, progress). */
static PyObject *device_load(PyObject *object, PyObject *args) {
    py_device *self = (py_device *)object;
    PyObject *model, *list, *progress;
    unsigned long long window, stream;
    tare_device_load_options options;
    tare_context context = tare_context_default();
    tare_device_load_options_init(&options, sizeof options);
    options.context = &context;
    if (!PyArg_ParseTuple(args, "OO!KKIO:load", &model, &PyList_Type, &list, &window, &stream,
                          &context.threads, &progress))
        return NULL;
    options.window = window;
    options.stream = (void *)(uintptr_t)stream; /* a handle of CUDA */
    py_handle *handle = py_handle_of(self->state, model);
    if (!handle) return NULL;
    const Py_ssize_t n = PyList_Size(list);
    py_scratch scratch = {0};
    tare_device_job *jobs = py_scratch_array(&scratch, (size_t)n, sizeof *jobs);
    bool ok = jobs != NULL;
    py_handle_ref(handle); /* another thread may close the model meanwhile */
    for (Py_ssize_t i = 0; ok && i < n; i++) ok = parse_job(&jobs[i], PyList_GetItem(list, i));
    ok = ok && run_load(self, handle, jobs, (size_t)n, &options, &context, progress);
    py_scratch_clear(&scratch);
    py_handle_unref(handle);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

/* ---- devices --------------------------------------------------------------------------------- */

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"name", NULL};
    const char *name;
    tare_error err;
    tare_status status;
    if (!PyArg_ParseTupleAndKeywords(args, named, "s:Device", names, &name)) return NULL;
    py_device *self = (py_device *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->state = PyType_GetModuleState(type);
    WITHOUT_GIL(status = tare_device_open(&self->device, name, &err)); /* a driver takes its time */
    if (status == TARE_OK) return (PyObject *)self;
    py_fail(self->state, &err, NULL);
    Py_DECREF(self);
    return NULL;
}

static void device_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tare_device_free(((py_device *)self)->device);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* alloc(n): memory of the device. */
static PyObject *device_alloc(PyObject *object, PyObject *number) {
    py_device *self = (py_device *)object;
    size_t n = PyLong_AsSize_t(number);
    tare_error err;
    tare_status status;
    if (n == (size_t)-1 && PyErr_Occurred()) return NULL;
    py_device_memory *memory =
        (py_device_memory *)PyType_GenericAlloc(self->state->device_memory_type, 0);
    if (!memory) return NULL;
    memory->device = (py_device *)Py_NewRef(object);
    memory->size = n;
    WITHOUT_GIL(status = tare_device_alloc(&memory->ptr, self->device, n, &err));
    if (status == TARE_OK) return (PyObject *)memory;
    Py_DECREF(memory);
    return py_fail(self->state, &err, NULL);
}

/* (layers, bytes, left, reason, segments, host segments). */
static PyObject *device_counts(PyObject *object, PyObject *unused) {
    tare_device_counts c;
    (void)unused;
    tare_device_counts_init(&c, sizeof c);
    tare_device_count(&c, ((py_device *)object)->device);
    return Py_BuildValue("KKKzKK", (unsigned long long)c.n_layers, (unsigned long long)c.n_bytes,
                         (unsigned long long)c.n_left, c.reason, (unsigned long long)c.n_segments,
                         (unsigned long long)c.n_host_segments);
}

static PyObject *device_get_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(tare_device_name(((py_device *)self)->device));
}

static PyObject *device_get_number(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(tare_device_number(((py_device *)self)->device));
}

static PyMethodDef device_methods[] = {
    {"alloc", device_alloc, METH_O, NULL},
    {"load", device_load, METH_VARARGS, NULL},
    {"counts", device_counts, METH_NOARGS, NULL},
    {0},
};

static PyGetSetDef device_getters[] = {
    {"name", device_get_name, NULL, NULL, NULL},
    {"number", device_get_number, NULL, NULL, NULL},
    {0},
};

static PyType_Slot device_slots[] = {
    {Py_tp_new, (void *)device_new},
    {Py_tp_dealloc, (void *)device_dealloc},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getters},
    {0, NULL},
};

PyType_Spec py_device_spec = {
    .name = "tare._core.Device",
    .basicsize = sizeof(py_device),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = device_slots,
};
