/* SPDX-License-Identifier: MIT
 *
 * Each file is opened alone, so that its tensors are known by the file that they lie in; sets of shards
 * are as many models, whose tensors find each other by their names all the same. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/ladder/ladder.h"

typedef struct walk {
    tare_ladder *l;
    const char *path; /* ends in a slash */
    tare_str name;    /* of the folder, within the whole; empty or ending in a slash */
} walk;

static tare_str join(tare_arena *arena, tare_str a, tare_str b, tare_str c) {
    char *text = tare_arena_take(arena, a.len + b.len + c.len + 1);
    if (!text) return (tare_str){0};
    memcpy(text, a.ptr, a.len);
    memcpy(text + a.len, b.ptr, b.len);
    memcpy(text + a.len + b.len, c.ptr, c.len);
    return (tare_str){text, a.len + b.len + c.len};
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool has_part(tare_str name, tare_str part) {
    for (size_t i = 0; i + part.len <= name.len; i++)
        if (memcmp(name.ptr + i, part.ptr, part.len) == 0) return true;
    return false;
}

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
}

/* A file that is no matrix, whatever it is called, is a file like any. */
static tare_status add_matrix(tare_ladder *l, const char *path, tare_str name, tare_error *err) {
    tare_open_options o = tare_open_options_default();
    tare_context quiet = l->context;
    quiet.report = NULL;
    o.context = &quiet;
    const tare_allocator *a = l->context.allocator;
    if (!tare_grow(a, (void **)&l->matrices, &l->matrices_capacity, l->n_matrices + 1,
                   sizeof(tare_importance *)) ||
        !tare_grow(a, (void **)&l->matrix_names, &l->names_capacity, l->n_matrices + 1,
                   sizeof *l->matrix_names))
        return no_memory(err);
    tare_error fault;
    const tare_status status =
        tare_importance_open_path(&l->matrices[l->n_matrices], path, &o, &fault);
    if (status == TARE_ERR_NOMEM) return no_memory(err);
    if (status == TARE_OK) l->matrix_names[l->n_matrices++] = name;
    return TARE_OK;
}

static bool is_model_name(tare_str name) {
    return tare_str_ends(name, TARE_STR(".gguf")) || tare_str_ends(name, TARE_STR(".safetensors"));
}

/* What cannot be opened is packed as the bytes that it is, which is said. */
static tare_status add_model(tare_ladder *l, const char *path, tare_str name, tare_error *err) {
    tare_open_options o = tare_open_options_default();
    tare_context quiet = l->context;
    tare_error fault;
    quiet.report = NULL;
    o.context = &quiet;
    o.one_shard = true;
    o.stored = true;
    if (!tare_grow(l->context.allocator, (void **)&l->models, &l->models_capacity, l->n_models + 1,
                   sizeof *l->models))
        return no_memory(err);
    tare_ladder_model *m = &l->models[l->n_models];
    *m = (tare_ladder_model){.name = name, .path = path};
    const tare_status status = tare_open_path(&m->model, path, &o, &fault);
    if (status == TARE_ERR_NOMEM) return no_memory(err);
    if (status == TARE_OK && !tare_model_is_big_endian(m->model) && m->model->n_files == 1) {
        const tare_model_summary *sum = tare_model_summarize(m->model);
        m->bits =
            sum->n_parameters ? 8.0 * (double)sum->tensor_bytes / (double)sum->n_parameters : 0;
        l->n_models++;
        return TARE_OK;
    }
    tare_model_free(status == TARE_OK ? m->model : NULL);
    tare_finding f = TARE_FINDING(WARNING, status, "pack.not-a-model");
    f.file = name;
    tare_report_addf(l->context.report, &f, "packed as mere bytes: not a model that can be opened");
    return TARE_OK;
}

static tare_status walk_folder(const walk *w, tare_error *err);

static tare_status visit(void *ctx, const tare_files_entry *entry, tare_error *err) {
    const walk *w = ctx;
    tare_arena *arena = &w->l->arena;
    const bool is_folder = entry->kind == TARE_PATH_FOLDER;
    const tare_str own = tare_str_of(entry->name), slash = TARE_STR("/"), none = TARE_STR("");
    const tare_str path = join(arena, tare_str_of(w->path), own, is_folder ? slash : none);
    const tare_str name = join(arena, w->name, own, is_folder ? slash : none);
    if (!path.ptr || !name.ptr) return no_memory(err);
    if (tare_files_is_bookkeeping(name) || entry->is_link) return TARE_OK;
    if (is_folder) return walk_folder(&(walk){w->l, path.ptr, name}, err);
    if (entry->kind != TARE_PATH_FILE) return TARE_OK;
    if (has_part(own, TARE_STR("imatrix"))) return add_matrix(w->l, path.ptr, name, err);
    return is_model_name(own) ? add_model(w->l, path.ptr, name, err) : TARE_OK;
}

static tare_status walk_folder(const walk *w, tare_error *err) {
    return tare_files_list(NULL, w->path, visit, (void *)(uintptr_t)w, err);
}

/* Sources before what is made of them, whatever order the system lists files in. */
static int by_bits(const void *a, const void *b) {
    const tare_ladder_model *x = a, *y = b;
    if (x->bits != y->bits) return x->bits > y->bits ? -1 : 1;
    return tare_str_compare(x->name, y->name);
}

/* ---- as one ---------------------------------------------------------------------------------- */

static tare_status add_tensor(tare_ladder *l, const tare_ladder_model *m, const tare_tensor *t,
                              uint32_t file, tare_error *err) {
    tare_catalog *c = &l->all->catalog;
    tare_tensor *out = &c->tensors[c->n_tensors];
    tare_plane *planes = TARE_NEW_ARRAY(&l->all->arena, tare_plane, t->encoding->n_planes);
    *out = *t;
    out->name = join(&l->all->arena, m->name, TARE_STR("::"), t->name);
    if (!planes || !out->name.ptr) return no_memory(err);
    for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
        planes[p] = t->planes[p];
        planes[p].file = file;
    }
    out->planes = planes;
    c->n_tensors++;
    return TARE_OK;
}

static tare_status add_tensors(tare_ladder *l, tare_ladder_model *m, tare_error *err) {
    const tare_catalog *c = &m->model->catalog;
    tare_reader reader;
    uint32_t file;
    TARE_TRY(tare_reader_open(&reader, m->path, TARE_MAP_NONE, err));
    const tare_status status = tare_model_add_file(l->all, &reader, m->path, &file, err);
    if (status != TARE_OK) {
        tare_reader_close(&reader);
        return status;
    }
    m->first = l->all->catalog.n_tensors;
    m->n = c->n_tensors;
    for (size_t i = 0; i < c->n_tensors; i++) TARE_TRY(add_tensor(l, m, &c->tensors[i], file, err));
    return TARE_OK;
}

static tare_status join_models(tare_ladder *l, tare_error *err) {
    size_t n = 0;
    tare_layout *layout = TARE_NEW(&l->arena, tare_layout);
    for (size_t i = 0; i < l->n_models; i++) n += l->models[i].model->catalog.n_tensors;
    TARE_TRY(tare_model_new(&l->all, &l->context, err));
    l->all->catalog.tensors = TARE_NEW_ARRAY(&l->all->arena, tare_tensor, n);
    if (!l->all->catalog.tensors || !layout) return no_memory(err);
    *layout = (tare_layout){.alignment = 1};
    l->all->catalog.layout = layout;
    for (size_t i = 0; i < l->n_models; i++) TARE_TRY(add_tensors(l, &l->models[i], err));
    return tare_model_finish(l->all, NULL, err);
}

tare_str tare_ladder_tensor_name(const tare_ladder *l, size_t model, size_t tensor) {
    return tare_str_cut(l->all->catalog.tensors[tensor].name, l->models[model].name.len + 2);
}

/* ---- counting -------------------------------------------------------------------------------- */

typedef struct counting {
    size_t n_gguf;
    bool has_safetensors; /* a directory's, or those of the parts of a pipeline */
    tare_arena arena;
} counting;

typedef struct counted_folder {
    counting *all;
    const char *path;
} counted_folder;

static tare_status count_folder(counting *c, const char *path, tare_error *err);

/* "-00002-of-00003.gguf": a member that is not the first. */
static bool is_later_shard(tare_str name) {
    const size_t n = sizeof "-00002-of-00003.gguf" - 1;
    if (name.len < n) return false;
    const char *at = name.ptr + name.len - n;
    return at[0] == '-' && memcmp(at + 6, "-of-", 4) == 0 && memcmp(at + 1, "00001", 5) != 0;
}

static tare_status count_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    counted_folder *f = ctx;
    const tare_str name = tare_str_of(entry->name);
    if (tare_files_is_bookkeeping(name) || entry->is_link) return TARE_OK;
    if (entry->kind == TARE_PATH_FOLDER) {
        const tare_str path = join(&f->all->arena, tare_str_of(f->path), name, TARE_STR("/"));
        return path.ptr ? count_folder(f->all, path.ptr, err) : no_memory(err);
    }
    if (entry->kind != TARE_PATH_FILE || has_part(name, TARE_STR("imatrix"))) return TARE_OK;
    f->all->has_safetensors |= tare_str_ends(name, TARE_STR(".safetensors"));
    f->all->n_gguf += tare_str_ends(name, TARE_STR(".gguf")) && !is_later_shard(name);
    return TARE_OK;
}

static tare_status count_folder(counting *c, const char *path, tare_error *err) {
    counted_folder f = {.all = c, .path = path};
    return tare_files_list(NULL, path, count_entry, &f, err);
}

tare_status tare_count_models(size_t *out, const char *folder, tare_error *err) {
    counting c = {.n_gguf = 0};
    TARE_REQUIRE(out && folder, err);
    tare_arena_init(&c.arena, NULL);
    const tare_str path = join(&c.arena, tare_str_of(folder), TARE_STR("/"), TARE_STR(""));
    const tare_status status = path.ptr ? count_folder(&c, path.ptr, err) : no_memory(err);
    tare_arena_free(&c.arena);
    *out = c.n_gguf + c.has_safetensors;
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

tare_status tare_ladder_open(tare_ladder *l, const char *folder, const tare_context *context,
                             tare_error *err) {
    *l = (tare_ladder){.context = *context};
    tare_arena_init(&l->arena, context->allocator);
    const tare_str path = join(&l->arena, tare_str_of(folder), TARE_STR("/"), TARE_STR(""));
    if (!path.ptr) return no_memory(err);
    TARE_TRY(walk_folder(&(walk){l, path.ptr, TARE_STR("")}, err));
    if (l->n_models < 2) return tare_fail(err, TARE_ERR_ARG, "a folder with fewer than two models");
    qsort(l->models, l->n_models, sizeof *l->models, by_bits);
    return join_models(l, err);
}

void tare_ladder_free(tare_ladder *l) {
    const tare_allocator *a = l->context.allocator;
    tare_model_free(l->all);
    for (size_t i = 0; i < l->n_models; i++) tare_model_free(l->models[i].model);
    for (size_t i = 0; i < l->n_matrices; i++) tare_importance_free(l->matrices[i]);
    tare_free(a, l->models, l->models_capacity * sizeof *l->models);
    tare_free(a, l->matrices, l->matrices_capacity * sizeof(tare_importance *));
    tare_free(a, l->matrix_names, l->names_capacity * sizeof *l->matrix_names);
    tare_arena_free(&l->arena);
}
