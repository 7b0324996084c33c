/* SPDX-License-Identifier: MIT
 *
 * Conversions: a plan that can be looked at, checked, and run to its path or into memory. The object
 * holds all that the library's plan refers to. */
#include <stdlib.h>
#include <string.h>

#include "py_core.h"

/* The error of encoding of one tensor, if it was measured. */
typedef struct measured {
    bool is_there;
    tare_tensor_error error;
} measured;

typedef struct py_plan {
    PyObject_HEAD py_state *state;
    py_handle *handle;
    tare_model *renamed;                /* as is asked for; NULL: it is not */
    tare_model *merged;                 /* with adapters, before names change; NULL: without */
    tare_llama_translate_options names; /* of the plan: kept */
    tare_model *translated;             /* with other names; NULL: the model has them already */
    bool packs;                         /* weights, as `schemes` says */
    tare_scheme_options schemes;
    const char *const *candidates; /* schemes to choose from; NULL: the usual ones */
    size_t n_candidates;
    tare_model *packed; /* NULL: none are */
    tare_plan *plan;
    tare_options *options;
    py_scratch scratch;
    tare_report *report;
    py_run run;          /* of the call in progress */
    tare_cancel *cancel; /* raised to pass on that of the call's token */
    tare_importance *importance;
    tare_fit *fit;        /* NULL: no types are chosen */
    tare_mix_options mix; /* of the choice */
    tare_adapter_set **sets;
    size_t n_sets;
    measured *measured;
    size_t n_measured;
    bool is_busy;
} py_plan;

/* ---- options that are not text --------------------------------------------------------------- */

/* overrides: [(key, value type, value)] */
static bool set_overrides(py_plan *p, tare_convert_options *o, PyObject *given) {
    PyObject *overrides = py_options_get(given, "overrides");
    Py_ssize_t n = overrides ? PyList_Size(overrides) : 0;
    tare_metadata *out = n < 0 ? NULL : py_scratch_array(&p->scratch, (size_t)n, sizeof *out);
    if (!out) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *key, *value;
        int type;
        if (!PyArg_ParseTuple(PyList_GetItem(overrides, i), "OiO", &key, &type, &value) ||
            !py_scratch_text(&p->scratch, key, &out[i].key) ||
            !py_scalar_parse(&p->scratch, type, value, &out[i].value))
            return false;
        out[i].offset = TARE_NO_OFFSET;
    }
    o->overrides = out, o->n_overrides = (size_t)n;
    return true;
}

static bool open_set(py_plan *p, PyObject *path, const tare_adapter_set **out) {
    tare_error err;
    tare_str text;
    tare_adapter_set **sets = realloc(p->sets, (p->n_sets + 1) * sizeof *sets);
    if (!sets) {
        PyErr_NoMemory();
        return false;
    }
    p->sets = sets;
    if (!py_scratch_text(&p->scratch, path, &text)) return false;
    if (tare_adapters_open_path(&sets[p->n_sets], text.ptr, NULL, &err) != TARE_OK) {
        py_fail(p->state, &err, path);
        return false;
    }
    *out = sets[p->n_sets++];
    return true;
}

/* [(path, or None for the model's own, name, target, scale)] */
static bool set_adapters(py_plan *p, PyObject *uses, const tare_adapter_use **out, size_t *n_out) {
    Py_ssize_t n = uses ? PyList_Size(uses) : 0;
    tare_adapter_use *array =
        n < 0 ? NULL : py_scratch_array(&p->scratch, (size_t)n, sizeof *array);
    if (!array) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *path, *name, *target;
        if (!PyArg_ParseTuple(PyList_GetItem(uses, i), "OOOd", &path, &name, &target,
                              &array[i].scale) ||
            !py_scratch_text(&p->scratch, name, &array[i].name) ||
            !py_scratch_text(&p->scratch, target, &array[i].target))
            return false;
        array[i].set = tare_model_adapters(p->handle->model);
        if (path != Py_None && !open_set(p, path, &array[i].set)) return false;
        if (array[i].set) continue;
        PyErr_SetString(PyExc_ValueError, "the model has no adapters of its own");
        return false;
    }
    *out = array, *n_out = (size_t)n;
    return true;
}

static bool set_importance(py_plan *p, tare_convert_options *o, PyObject *path) {
    tare_error err;
    tare_str text;
    if (!path) return true;
    if (!py_scratch_text(&p->scratch, path, &text)) return false;
    if (tare_importance_open_path(&p->importance, text.ptr, NULL, &err) != TARE_OK) {
        py_fail(p->state, &err, path);
        return false;
    }
    o->importance = p->importance;
    return true;
}

/* rules: [(expression, scheme)] */
static bool set_scheme_rules(py_plan *p, PyObject *rules) {
    Py_ssize_t n = rules ? PyList_Size(rules) : 0;
    tare_scheme_rule *out = n < 0 ? NULL : py_scratch_array(&p->scratch, (size_t)n, sizeof *out);
    if (!out) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pattern, *scheme;
        tare_str a, b;
        if (!PyArg_ParseTuple(PyList_GetItem(rules, i), "OO", &pattern, &scheme) ||
            !py_scratch_text(&p->scratch, pattern, &a) || !py_scratch_text(&p->scratch, scheme, &b))
            return false;
        out[i] = (tare_scheme_rule){a.ptr, b.ptr};
    }
    p->schemes.rules = out, p->schemes.n_rules = (size_t)n;
    return true;
}

/* packed: (scheme or None, rules, schemes to choose from) */
static bool set_schemes(py_plan *p, PyObject *given) {
    PyObject *packed = py_options_get(given, "packed"), *scheme, *rules, *candidates;
    tare_str text = {NULL, 0};
    p->schemes = tare_scheme_options_default();
    if (!packed) return true;
    if (!PyArg_ParseTuple(packed, "OO!O!", &scheme, &PyList_Type, &rules, &PyList_Type,
                          &candidates) ||
        (scheme != Py_None && !py_scratch_text(&p->scratch, scheme, &text)) ||
        !set_scheme_rules(p, rules))
        return false;
    const size_t n = (size_t)PyList_Size(candidates);
    const char **names = py_scratch_array(&p->scratch, n, sizeof *names);
    for (size_t i = 0; names && i < n; i++) {
        tare_str name;
        if (!py_scratch_text(&p->scratch, PyList_GetItem(candidates, (Py_ssize_t)i), &name))
            return false;
        names[i] = name.ptr;
    }
    p->packs = true, p->schemes.scheme = text.ptr;
    p->candidates = names, p->n_candidates = n;
    return names != NULL;
}

/* By the thread that runs the plan. */
static void on_measured(void *ctx, size_t i, const tare_tensor_error *error) {
    py_plan *p = ctx;
    if (i < p->n_measured) p->measured[i] = (measured){true, *error};
}

static bool on_progress(void *ctx, uint64_t done, uint64_t total) {
    py_plan *p = ctx;
    if (p->run.cancel && tare_cancel_is_requested(p->run.cancel)) tare_cancel_request(p->cancel);
    return py_run_progress(&p->run, done, total);
}

/* The structs of single containers are the options' own, and so are not constant. */
static bool set_options(py_plan *p, PyObject *given) {
    tare_convert_options *o = tare_options_convert(p->options);
    tare_convert_infq_options *infq = (tare_convert_infq_options *)(uintptr_t)o->infq;
    tare_convert_wcodec_options *wcodec = (tare_convert_wcodec_options *)(uintptr_t)o->wcodec;
    PyObject *bases = py_options_get(given, "bases");
    tare_context *context = tare_options_context(p->options);
    context->progress = on_progress, context->progress_ctx = p;
    context->cancel = p->cancel;
    context->report = p->report;
    if (py_options_get(given, "report") == Py_True) o->measured = on_measured, o->measured_ctx = p;
    return set_overrides(p, o, given) &&
           set_adapters(p, py_options_get(given, "merges"), &o->merges, &o->n_merges) &&
           set_adapters(p, py_options_get(given, "adapter"), &infq->adapters, &infq->n_adapters) &&
           set_importance(p, o, py_options_get(given, "importance")) && set_schemes(p, given) &&
           (!bases || py_scratch_bases(&p->scratch, p->state, bases, &wcodec->bases,
                                       &wcodec->base_hints, &wcodec->n_bases));
}

/* ---- names ----------------------------------------------------------------------------------- */

static const py_option llama_option_table[] = {
    {"name", PY_OPTION_TEXT, offsetof(tare_llama_options, name), NULL},
    {"pre", PY_OPTION_TEXT, offsetof(tare_llama_options, pre), NULL},
    {"vocab_only", PY_OPTION_BOOL, offsetof(tare_llama_options, vocab_only), NULL},
    {"no_tokenizer", PY_OPTION_BOOL, offsetof(tare_llama_options, no_tokenizer), NULL},
    {"like_reference", PY_OPTION_BOOL, offsetof(tare_llama_options, like_reference), NULL},
    {"mmproj", PY_OPTION_BOOL, offsetof(tare_llama_options, tower), NULL},
    {0},
};

/* A model that stands beside the one that is converted; given: (model,), or NULL. */
static bool set_beside(py_plan *p, const tare_model **out, PyObject *given) {
    const tare_model *const *models;
    size_t n;
    if (!given) return true;
    if (!py_scratch_models(&p->scratch, p->state, given, &models, &n)) return false;
    *out = models[0];
    return true;
}

/* As for tare_llama_translate, which the caller then calls without the interpreter. `llama` is what
 * *out points to. */
static bool set_translation(py_plan *p, tare_llama_translate_options *out,
                            tare_llama_options *llama, tare_context *context, PyObject *given) {
    const tare_convert_options *o = tare_options_convert(p->options);
    PyObject *metadata = py_options_get(given, "metadata");
    tare_llama_translate_options_init(out, sizeof *out);
    tare_llama_options_init(llama, sizeof *llama);
    tare_context_init(context, sizeof *context);
    context->report = p->report;
    out->context = context;
    out->keep_names = py_options_get(given, "keep_names") == Py_True;
    out->opaque = o->opaque;
    out->type = o->type;
    out->llama = llama;
    llama->nextn = py_options_get(given, "mtp") == Py_True      ? TARE_LLAMA_NEXTN_ALONE
                   : py_options_get(given, "no_mtp") == Py_True ? TARE_LLAMA_NEXTN_LEFT_OUT
                                                                : TARE_LLAMA_NEXTN_TOO;
    return py_options_set(llama, llama_option_table, given) &&
           set_beside(p, &llama->target, py_options_get(given, "target_model")) &&
           set_beside(p, &out->tower, py_options_get(given, "with_mmproj")) &&
           py_scratch_directory(&p->scratch, p->handle, &llama->directory) &&
           (!metadata || py_scratch_text(&p->scratch, metadata, &llama->metadata));
}

/* ---- Plan ------------------------------------------------------------------------------------ */

/* A call on the plan, one at a time. */
static bool begin(py_plan *p, PyObject *progress) {
    if (__atomic_exchange_n(&p->is_busy, true, __ATOMIC_ACQUIRE)) {
        PyErr_SetString(PyExc_RuntimeError, "the plan is in use by another call");
        return false;
    }
    if (!py_run_init(&p->run, p->state, progress)) {
        __atomic_store_n(&p->is_busy, false, __ATOMIC_RELEASE);
        return false;
    }
    tare_cancel_reset(p->cancel);
    if (p->run.cancel && tare_cancel_is_requested(p->run.cancel)) tare_cancel_request(p->cancel);
    py_run_begin(&p->run);
    return true;
}

static bool end(py_plan *p, tare_status status, const tare_error *err) {
    bool ok = py_run_end(&p->run, status, err, p->handle);
    __atomic_store_n(&p->is_busy, false, __ATOMIC_RELEASE);
    return ok;
}

/* Chooses types, if there is a target, and enters them into the options. */
static tare_status choose_types(py_plan *p, const char *path, const tare_model *in,
                                tare_error *err) {
    tare_convert_options *o = tare_options_convert(p->options);
    const tare_fit_target *target = tare_options_target(p->options);
    if (!target) return TARE_OK;
    tare_status status = tare_fit_new(&p->fit, path, in, o, tare_options_fit(p->options), err);
    if (status == TARE_OK) status = tare_fit_choose(p->fit, target, err);
    return status == TARE_OK ? tare_fit_apply(o, &p->mix, p->fit, err) : status;
}

/* rename_tensor: [(old, new)] */
static bool rename_tensors(py_plan *p, PyObject *given) {
    PyObject *pairs = py_options_get(given, "rename_tensor");
    Py_ssize_t n = pairs ? PyList_Size(pairs) : 0;
    tare_edit_step *steps = n < 0 ? NULL : py_scratch_array(&p->scratch, (size_t)n, sizeof *steps);
    tare_open_options open = tare_open_options_default();
    tare_context context = tare_context_default();
    tare_error err;
    if (!steps) return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *from, *to;
        steps[i].kind = TARE_EDIT_RENAME_TENSORS;
        if (!PyArg_ParseTuple(PyList_GetItem(pairs, i), "OO", &from, &to) ||
            !py_scratch_text(&p->scratch, from, &steps[i].name) ||
            !py_scratch_text(&p->scratch, to, &steps[i].text))
            return false;
    }
    context.report = p->report;
    open.context = &context;
    if (n == 0 || tare_tensors_rename(&p->renamed, p->handle->model, steps, (size_t)n, &open,
                                      &err) == TARE_OK)
        return true;
    py_fail(p->state, &err, p->handle->name);
    return false;
}

/* The same of schemes. */
static tare_status choose_schemes(py_plan *p, const char *path, const tare_model *in,
                                  tare_error *err) {
    const tare_fit_target *target = tare_options_target(p->options);
    tare_fit_options fit = *tare_options_fit(p->options);
    if (!target) return TARE_OK;
    fit.schemes = p->candidates, fit.n_schemes = p->n_candidates;
    tare_status status = tare_fit_new_schemes(&p->fit, path, in, &p->schemes,
                                              tare_options_convert(p->options), &fit, err);
    if (status == TARE_OK) status = tare_fit_choose(p->fit, target, err);
    const tare_context *context = p->schemes.context;
    if (status == TARE_OK) status = tare_fit_apply_schemes(&p->schemes, p->fit, err);
    p->schemes.context = context;
    return status;
}

static tare_status check_format(const py_plan *p, const char *to, tare_error *err) {
    if (!p->packs || (to && strcmp(to, "hf") == 0)) return TARE_OK;
    *err = (tare_error){.status = TARE_ERR_ARG,
                        .item = -1,
                        .offset = TARE_NO_OFFSET,
                        .what = "schemes of packed weights are for Hugging Face directories: "
                                "to='hf'"};
    return TARE_ERR_ARG;
}

/* Weights are packed before they are written. */
static tare_status pack_weights(py_plan *p, const char *path, const tare_model **in,
                                tare_error *err) {
    tare_convert_options *o = tare_options_convert(p->options);
    o->to = "hf";
    p->schemes.context = tare_options_context(p->options);
    p->schemes.importance = o->importance;
    p->schemes.strict = o->output && o->output->strict;
    o->importance = NULL;
    tare_status status = choose_schemes(p, path, *in, err);
    if (status == TARE_OK && p->schemes.scheme)
        status = tare_scheme_apply(&p->packed, *in, &p->schemes, err);
    if (p->packed) *in = p->packed;
    return status;
}

/* Adapters are merged under the names that they know, and before types are chosen. */
static tare_status merge(py_plan *p, const tare_model **in, const char *to,
                         const tare_llama_translate_options *names, tare_error *err) {
    tare_convert_options *o = tare_options_convert(p->options);
    tare_open_options open = tare_open_options_default();
    tare_context context = tare_context_default();
    context.report = p->report;
    open.context = &context;
    if (o->n_merges == 0 || (tare_llama_naming_of(*in, to, names) != TARE_LLAMA_NAMES_LLAMA_CPP &&
                             !tare_options_target(p->options)))
        return TARE_OK;
    tare_status status = tare_adapters_merge(&p->merged, *in, o->merges, o->n_merges, &open, err);
    if (status == TARE_OK) *in = p->merged, o->n_merges = 0;
    return status;
}

static tare_status plan(py_plan *p, const char *path, const tare_llama_translate_options *names,
                        tare_error *err) {
    tare_convert_options *o = tare_options_convert(p->options);
    const tare_model *in = p->renamed ? p->renamed : p->handle->model;
    const char *to = o->to || !path ? o->to : tare_format_of_path(path);
    tare_status status = check_format(p, to, err);
    if (status == TARE_OK) status = merge(p, &in, to, names, err);
    if (status == TARE_OK) status = tare_llama_translate(&p->translated, in, to, names, err);
    if (p->translated) in = p->translated;
    p->names = tare_llama_translate_options_default();
    p->names.keep_names = true; /* they are as they are to be */
    o->names = &p->names;
    if (status == TARE_OK)
        status = p->packs ? pack_weights(p, path, &in, err) : choose_types(p, path, in, err);
    return status == TARE_OK ? tare_plan_new(&p->plan, path, in, o, err) : status;
}

static bool make_plan(py_plan *p, const char *path, PyObject *given, PyObject *progress) {
    tare_error err;
    tare_llama_options llama;
    tare_llama_translate_options names;
    tare_context context;
    if (!set_translation(p, &names, &llama, &context, given) || !begin(p, progress)) return false;
    if (!end(p, plan(p, path, &names, &err), &err)) return false;
    p->n_measured = tare_plan_summarize(p->plan)->n_tensors;
    p->measured = py_scratch_array(&p->scratch, p->n_measured, sizeof *p->measured);
    return p->measured != NULL;
}

/* A path as bytes; None: NULL. */
static int path_or_none(PyObject *given, void *path) {
    if (given && given != Py_None) return PyUnicode_FSConverter(given, path);
    Py_CLEAR(*(PyObject **)path);
    return 1;
}

/* plan(model, path, is_quantize, texts, options, progress): texts is a list of pairs for
 * tare_option_set. Instead of a path None: to run into memory. */
static PyObject *core_plan(PyObject *module, PyObject *args) {
    PyObject *model, *path = NULL, *texts, *given, *progress;
    int is_quantize;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OO&pO!O!O:plan", &model, path_or_none, &path, &is_quantize,
                          &PyList_Type, &texts, &PyDict_Type, &given, &progress))
        return NULL;
    py_handle *handle = py_handle_of(state, model);
    py_plan *p = handle ? (py_plan *)PyType_GenericAlloc(state->plan_type, 0) : NULL;
    bool ok = p != NULL;
    if (ok) {
        p->state = state;
        p->handle = py_handle_ref(handle);
        p->cancel = tare_cancel_new();
        p->report = tare_report_new();
        if (!p->cancel || !p->report) PyErr_NoMemory(), ok = false;
        p->options = ok ? py_texts_options(
                              state, is_quantize ? TARE_VERB_QUANTIZE : TARE_VERB_CONVERT, texts)
                        : NULL;
        ok = p->options && set_options(p, given) && rename_tensors(p, given) &&
             make_plan(p, path ? PyBytes_AsString(path) : NULL, given, progress);
    }
    Py_XDECREF(path);
    if (!ok) Py_CLEAR(p);
    return (PyObject *)p;
}

static void plan_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_plan *p = (py_plan *)self;
    tare_plan_free(p->plan);
    tare_model_free(p->packed);
    tare_fit_free(p->fit);
    tare_model_free(p->translated);
    tare_model_free(p->merged);
    tare_model_free(p->renamed);
    tare_options_free(p->options);
    tare_importance_free(p->importance);
    for (size_t i = 0; i < p->n_sets; i++) tare_adapters_free(p->sets[i]);
    free(p->sets);
    tare_cancel_free(p->cancel);
    tare_report_free(p->report);
    py_scratch_clear(&p->scratch);
    py_handle_unref(p->handle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *plan_check(PyObject *self, PyObject *unused) {
    tare_error err;
    py_plan *p = (py_plan *)self;
    (void)unused;
    if (tare_plan_check(p->plan, &err) != TARE_OK) return py_fail(p->state, &err, p->handle->name);
    Py_RETURN_NONE;
}

/* run(progress): the bytes written */
static PyObject *plan_run(PyObject *self, PyObject *progress) {
    tare_error err;
    tare_convert_result result = tare_convert_result_default();
    py_plan *p = (py_plan *)self;
    if (!py_handle_check_open(p->handle) || !begin(p, progress)) return NULL;
    if (!end(p, tare_plan_run(&result, p->plan, &err), &err)) return NULL;
    return PyLong_FromUnsignedLongLong(result.written_bytes);
}

/* run_part(index, count, is_shared, paths, key, overwrite, sync, progress): (begin, end, bytes of the
 * whole, whether it was there) */
static PyObject *plan_run_part(PyObject *self, PyObject *args) {
    py_plan *p = (py_plan *)self;
    PyObject *paths, *progress, *out = NULL;
    int is_shared, overwrite, sync;
    tare_error err;
    py_scratch scratch = {0};
    tare_part_result result = tare_part_result_default();
    tare_part_options o = tare_part_options_default();
    tare_output_options output = tare_output_options_default();
    Py_ssize_t n_key;
    if (!PyArg_ParseTuple(args, "IIpO!s#ppO", &o.index, &o.count, &is_shared, &PyList_Type, &paths,
                          &o.key.ptr, &n_key, &overwrite, &sync, &progress) ||
        !py_handle_check_open(p->handle))
        return NULL;
    o.key.len = (size_t)n_key;
    o.is_shared = is_shared != 0;
    output.force = overwrite != 0;
    output.no_sync = !sync;
    o.output = &output;
    if (py_part_options(&o, &scratch, paths) && begin(p, progress) &&
        end(p, tare_part_of_plan(&result, p->plan, &o, &err), &err))
        out =
            Py_BuildValue("KKKN", (unsigned long long)result.begin, (unsigned long long)result.end,
                          (unsigned long long)result.total_bytes, PyBool_FromLong(result.was_done));
    py_scratch_clear(&scratch);
    return out;
}

/* Several threads write, each its own bytes. */
static tare_status write_bytes(void *ctx, uint64_t offset, const void *bytes, size_t n) {
    const Py_buffer *out = ctx;
    if (offset > (uint64_t)out->len || n > (uint64_t)out->len - offset) return TARE_ERR_NOSPACE;
    memcpy((char *)out->buf + offset, bytes, n);
    return TARE_OK;
}

/* run_bytes(progress): the one file */
static PyObject *plan_run_bytes(PyObject *self, PyObject *progress) {
    tare_error err;
    tare_output output = tare_output_default();
    py_plan *p = (py_plan *)self;
    const tare_file_info *file = tare_plan_file_at(p->plan, 0);
    if (!py_handle_check_open(p->handle)) return NULL;
    PyObject *out = PyBytes_FromStringAndSize(NULL, file ? (Py_ssize_t)file->size : 0);
    if (!out) return NULL;
    Py_buffer target = {.buf = PyBytes_AsString(out), .len = PyBytes_Size(out)};
    memset(target.buf, 0, (size_t)target.len); /* what is never written is zero */
    output.write = write_bytes, output.ctx = &target;
    if (!begin(p, progress) || !end(p, tare_plan_run_to(NULL, p->plan, &output, &err), &err))
        Py_CLEAR(out);
    return out;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static PyObject *plan_get_summary(PyObject *self, void *unused) {
    (void)unused;
    const tare_plan_summary *s = tare_plan_summarize(((py_plan *)self)->plan);
    return Py_BuildValue("sKKNN", s->format, (unsigned long long)s->read_bytes,
                         (unsigned long long)s->write_bytes, PyBool_FromLong(s->is_identity),
                         PyBool_FromLong(s->is_directory));
}

static PyObject *plan_get_tensors(PyObject *self, void *unused) {
    const py_plan *p = (py_plan *)self;
    const tare_plan_tensor *t;
    PyObject *out = PyList_New(0);
    (void)unused;
    for (size_t i = 0; out && (t = tare_plan_tensor_at(p->plan, i)) != NULL; i++) {
        PyObject *error = p->measured[i].is_there
                              ? Py_BuildValue("dd", p->measured[i].error.relative_rmse,
                                              p->measured[i].error.max_abs)
                              : Py_NewRef(Py_None);
        PyObject *row =
            Py_BuildValue("NiiiiKKIN", py_text(t->name), (int)t->from->id, (int)t->becomes->id,
                          (int)t->to->id, (int)t->action, (unsigned long long)t->from_bytes,
                          (unsigned long long)t->to_bytes, (unsigned)t->file, error);
        if (!py_append(out, row)) Py_CLEAR(out);
    }
    return out;
}

static PyObject *plan_get_files(PyObject *self, void *unused) {
    const tare_file_info *f;
    PyObject *out = PyList_New(0);
    (void)unused;
    for (size_t i = 0; out && (f = tare_plan_file_at(((py_plan *)self)->plan, i)) != NULL; i++) {
        PyObject *row =
            Py_BuildValue("NK", PyUnicode_DecodeFSDefault(f->name), (unsigned long long)f->size);
        if (!py_append(out, row)) Py_CLEAR(out);
    }
    return out;
}

static PyObject *plan_get_findings(PyObject *self, void *unused) {
    (void)unused;
    return py_findings(((py_plan *)self)->report);
}

static bool add_line(PyObject **recipe, const char *pattern, const char *type) {
    PyObject *line = PyUnicode_FromFormat("%s=%s\n", pattern, type);
    PyObject *longer = line ? PyUnicode_Concat(*recipe, line) : NULL;
    Py_XDECREF(line);
    Py_DECREF(*recipe);
    *recipe = longer;
    return longer != NULL;
}

/* (predicted damage, recipe), or None. */
static PyObject *plan_get_fit(PyObject *self, void *unused) {
    const py_plan *p = (py_plan *)self;
    const tare_type_rule *rule;
    (void)unused;
    if (!p->fit) Py_RETURN_NONE;
    PyObject *recipe = PyUnicode_FromString("");
    for (size_t i = 0; recipe && p->packs && i < p->schemes.n_rules; i++)
        add_line(&recipe, p->schemes.rules[i].pattern, p->schemes.rules[i].scheme);
    for (size_t i = 0; recipe && (rule = tare_fit_rule(p->fit, i)) != NULL; i++)
        add_line(&recipe, rule->pattern, rule->encoding->name);
    return recipe ? Py_BuildValue("dN", tare_fit_summarize(p->fit)->damage, recipe) : NULL;
}

static PyMethodDef plan_methods[] = {
    {"check", plan_check, METH_NOARGS, NULL},
    {"run", plan_run, METH_O, NULL},
    {"run_part", plan_run_part, METH_VARARGS, NULL},
    {"run_bytes", plan_run_bytes, METH_O, NULL},
    {0},
};

static PyGetSetDef plan_getters[] = {
    {"summary", plan_get_summary, NULL, NULL, NULL},
    {"tensors", plan_get_tensors, NULL, NULL, NULL},
    {"files", plan_get_files, NULL, NULL, NULL},
    {"findings", plan_get_findings, NULL, NULL, NULL},
    {"fit", plan_get_fit, NULL, NULL, NULL},
    {0},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_dealloc, (void *)plan_dealloc},
    {Py_tp_methods, plan_methods},
    {Py_tp_getset, plan_getters},
    {0, NULL},
};

PyType_Spec py_plan_spec = {
    .name = "tare._core.Plan",
    .basicsize = sizeof(py_plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = plan_slots,
};

PyMethodDef py_convert_methods[] = {
    {"plan", core_plan, METH_VARARGS, NULL},
    {0},
};
