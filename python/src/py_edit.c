/* SPDX-License-Identifier: MIT
 *
 * Edits of models: steps as rows of texts, and what came of them. */
#include <string.h>

#include "py_core.h"

static const py_option edit_option_table[] = {
    {"keep_time", PY_OPTION_BOOL, offsetof(tare_edit_options, keep_time), NULL},
    {0},
};

static const py_option run_option_table[] = {
    {"threads", PY_OPTION_UNSIGNED, offsetof(tare_context, threads), NULL},
    {0},
};

static const py_option output_option_table[] = {
    {"force", PY_OPTION_BOOL, offsetof(tare_output_options, force), NULL},
    {"no_sync", PY_OPTION_BOOL, offsetof(tare_output_options, no_sync), NULL},
    {"dry_run", PY_OPTION_BOOL, offsetof(tare_output_options, dry_run), NULL},
    {0},
};

/* What an edit needs until it returns. */
typedef struct editing {
    tare_edit_options options;
    tare_output_options output;
    tare_context context;
    tare_edit_step *steps;
    size_t n_steps;
    tare_edit *edit;
    py_scratch scratch;
    py_run run;
    tare_error err;
} editing;

/* (kind, name, text, type or None) */
static bool read_step(editing *e, tare_edit_step *step, PyObject *row) {
    PyObject *name, *text, *type;
    int kind;
    tare_str type_text;
    if (!PyArg_ParseTuple(row, "iOOO", &kind, &name, &text, &type)) return false;
    step->kind = (tare_edit_kind)kind;
    if (!py_scratch_text(&e->scratch, name, &step->name) ||
        !py_scratch_text(&e->scratch, text, &step->text))
        return false;
    if (type == Py_None) return true;
    if (!py_scratch_text(&e->scratch, type, &type_text)) return false;
    step->type = type_text.ptr;
    return true;
}

static bool read_steps(editing *e, PyObject *rows) {
    e->n_steps = (size_t)PyList_Size(rows);
    e->steps = py_scratch_array(&e->scratch, e->n_steps, sizeof *e->steps);
    for (size_t i = 0; e->steps && i < e->n_steps; i++)
        if (!read_step(e, &e->steps[i], PyList_GetItem(rows, (Py_ssize_t)i))) return false;
    return e->steps != NULL;
}

/* way: 0 as fits best, 1 in place, 2 anew. */
static bool read_options(editing *e, PyObject *given, PyObject *out, unsigned way,
                         unsigned long long spare) {
    tare_str path;
    tare_edit_options_init(&e->options, sizeof e->options);
    tare_output_options_init(&e->output, sizeof e->output);
    tare_context_init(&e->context, sizeof e->context);
    e->options.context = &e->context;
    e->options.output = &e->output;
    e->options.way = (tare_edit_way)way;
    e->options.spare = spare;
    if (out != Py_None) {
        if (!py_scratch_text(&e->scratch, out, &path)) return false;
        e->options.out_path = path.ptr;
    }
    return py_options_set(&e->options, edit_option_table, given) &&
           py_options_set(&e->context, run_option_table, given) &&
           py_options_set(&e->output, output_option_table, given);
}

static bool run(editing *e, const char *path, PyObject *name) {
    py_source none = {0};
    py_run_join(&e->context, &e->run);
    py_run_begin(&e->run);
    tare_status status = tare_edit_new(&e->edit, path, e->steps, e->n_steps, &e->options, &e->err);
    if (status == TARE_OK) status = tare_edit_run(e->edit, &e->err);
    return py_run_end_source(&e->run, status, &e->err, &none, name);
}

/* The name of one side of a change; None: it is new, or removed. */
static PyObject *side(const tare_metadata *key, const tare_tensor *tensor,
                      const tare_resource *resource) {
    return key        ? py_text(key->key)
           : tensor   ? py_text(tensor->name)
           : resource ? py_text(resource->name)
                      : Py_NewRef(Py_None);
}

static PyObject *changes_of(const tare_edit *edit) {
    PyObject *list = PyList_New(0);
    const tare_edit_change *c;
    for (size_t i = 0; list && (c = tare_edit_change_at(edit, i)) != NULL; i++) {
        const char *kind = c->kind == TARE_ITEM_KEY      ? "key"
                           : c->kind == TARE_ITEM_TENSOR ? "tensor"
                                                         : "resource";
        PyObject *row = Py_BuildValue("sNN", kind, side(c->old_key, c->old_tensor, c->old_resource),
                                      side(c->new_key, c->new_tensor, c->new_resource));
        if (!py_append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *files_of(const tare_edit *edit) {
    static const char *const actions[] = {"kept", "patched", "written"};
    PyObject *list = PyList_New(0);
    const tare_edit_file *f;
    for (size_t i = 0; list && (f = tare_edit_file_at(edit, i)) != NULL; i++) {
        const tare_str path = {f->path, strlen(f->path)};
        PyObject *row = Py_BuildValue(
            "NsKKK", py_text(path), actions[f->action], (unsigned long long)f->old_size,
            (unsigned long long)f->new_size, (unsigned long long)f->changed_bytes);
        if (!py_append(list, row)) Py_CLEAR(list);
    }
    return list;
}

static PyObject *result_of(const editing *e, const tare_report *report) {
    const tare_edit_summary *s = tare_edit_summarize(e->edit);
    return Py_BuildValue("sNKKNNN", s->format, PyBool_FromLong(s->is_in_place),
                         (unsigned long long)s->changed_bytes, (unsigned long long)s->written_bytes,
                         changes_of(e->edit), files_of(e->edit), py_findings(report));
}

/* edit(path, steps, path of the output or None, way, spare, options, progress): (format, is_in_place,
 * bytes changed, bytes written, changes, files, findings) */
static PyObject *edit(PyObject *module, PyObject *args) {
    PyObject *name, *steps, *to, *given, *progress, *out = NULL;
    unsigned way;
    unsigned long long spare;
    tare_str path;
    editing e = {0};
    if (!PyArg_ParseTuple(args, "UO!OIKO!O", &name, &PyList_Type, &steps, &to, &way, &spare,
                          &PyDict_Type, &given, &progress))
        return NULL;
    tare_report *report = tare_report_new();
    if (!report) return PyErr_NoMemory();
    if (py_scratch_text(&e.scratch, name, &path) && read_steps(&e, steps) &&
        read_options(&e, given, to, way, spare) &&
        py_run_init(&e.run, py_state_of(module), progress)) {
        e.context.report = report;
        if (run(&e, path.ptr, name)) out = result_of(&e, report);
    }
    tare_edit_free(e.edit);
    tare_report_free(report);
    py_scratch_clear(&e.scratch);
    return out;
}

PyMethodDef py_edit_methods[] = {
    {"edit", edit, METH_VARARGS, NULL},
    {0},
};
