/* SPDX-License-Identifier: MIT
 *
 * The module tare._core: its state, its types, and the functions of the other files. */
#include "py_core.h"

static bool set_class(PyTypeObject **slot, PyTypeObject *base, PyObject *derived) {
    if (!PyType_Check(derived) || !PyType_IsSubtype((PyTypeObject *)derived, base)) {
        PyErr_SetString(PyExc_TypeError, "bind: a class derived from the extension's expected");
        return false;
    }
    PyObject *old = (PyObject *)*slot;
    *slot = (PyTypeObject *)Py_NewRef(derived);
    Py_XDECREF(old);
    return true;
}

/* bind(model class, tensor class, array class, make_error): what the package adds. */
static PyObject *bind(PyObject *module, PyObject *args) {
    PyObject *model, *tensor, *array, *make_error;
    py_state *s = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OOOO:bind", &model, &tensor, &array, &make_error)) return NULL;
    if (!set_class(&s->model_class, s->model_type, model) ||
        !set_class(&s->tensor_class, s->tensor_type, tensor) ||
        !set_class(&s->array_class, s->array_type, array))
        return NULL;
    PyObject *old = s->make_error;
    s->make_error = Py_NewRef(make_error);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"bind", bind, METH_VARARGS, NULL},
    {0},
};

static bool add_type(PyObject *module, PyTypeObject **out, PyType_Spec *spec) {
    *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out && PyModule_AddType(module, *out) == 0;
}

static int module_exec(PyObject *module) {
    static PyMethodDef *const methods[] = {
        py_open_methods,    py_read_methods,   py_verb_methods,  py_encoding_methods,
        py_table_methods,   py_memory_methods, py_build_methods, py_convert_methods,
        py_packing_methods, py_coded_methods,  py_names_methods, py_edit_methods,
        py_parts_methods};
    py_state *s = py_state_of(module);
    if (!add_type(module, &s->handle_type, &py_handle_spec) ||
        !add_type(module, &s->model_type, &py_model_spec) ||
        !add_type(module, &s->tensor_type, &py_tensor_spec) ||
        !add_type(module, &s->memory_type, &py_memory_spec) ||
        !add_type(module, &s->arena_type, &py_arena_spec) ||
        !add_type(module, &s->array_type, &py_array_spec) ||
        !add_type(module, &s->plan_type, &py_plan_spec) ||
        !add_type(module, &s->cancel_type, &py_cancel_spec) ||
        !add_type(module, &s->coded_type, &py_coded_spec) ||
        !add_type(module, &s->device_type, &py_device_spec) ||
        !add_type(module, &s->device_memory_type, &py_device_memory_spec))
        return -1;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (PyModule_AddFunctions(module, methods[i]) != 0) return -1;
    return PyModule_AddStringConstant(module, "version", tare_version());
}

/* The references of the state, for the garbage collector and for the end. */
#define FOR_EACH_REFERENCE(X)                                                                      \
    X(handle_type)                                                                                 \
    X(model_type)                                                                                  \
    X(tensor_type)                                                                                 \
    X(memory_type)                                                                                 \
    X(arena_type)                                                                                  \
    X(array_type)                                                                                  \
    X(plan_type)                                                                                   \
    X(cancel_type)                                                                                 \
    X(coded_type)                                                                                  \
    X(device_type)                                                                                 \
    X(device_memory_type)                                                                          \
    X(model_class)                                                                                 \
    X(tensor_class)                                                                                \
    X(array_class)                                                                                 \
    X(make_error)

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    py_state *s = py_state_of(module);
    if (!s) return 0;
#define VISIT(member) Py_VISIT(s->member);
    FOR_EACH_REFERENCE(VISIT)
#undef VISIT
    return 0;
}

static int module_clear(PyObject *module) {
    py_state *s = py_state_of(module);
    if (!s) return 0;
#define CLEAR(member) Py_CLEAR(s->member);
    FOR_EACH_REFERENCE(CLEAR)
#undef CLEAR
    return 0;
}

static void module_free(void *module) {
    module_clear((PyObject *)module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tare._core",
    .m_doc = "libtare's functions; the package tare is their interface.",
    .m_size = sizeof(py_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
