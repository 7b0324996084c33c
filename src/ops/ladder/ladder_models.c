/* SPDX-License-Identifier: MIT
 *
 * Each file is opened alone, so that its tensors are known by the file that they lie in; sets of shards
 * are as many models, whose tensors find each other by their names all the same. */
#include <math.h>
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

static tare_str last_part(tare_str name) {
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '/') return tare_str_cut(name, i);
    return name;
}

static bool has_part(tare_str name, tare_str part) {
    for (size_t i = 0; i + part.len <= name.len; i++)
        if (memcmp(name.ptr + i, part.ptr, part.len) == 0) return true;
    return false;
}

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
}

/* A file that is there and cannot be read now: no word about what it is. */
static bool is_of_system(tare_status status) {
    return status == TARE_ERR_IO || status == TARE_ERR_NOMEM || status == TARE_ERR_CANCELLED;
}

static tare_status pass_on(tare_error *err, const tare_error *fault) {
    if (err) *err = *fault;
    return fault->status;
}

/* A file that is no matrix, whatever it is called, is a file like any. */
static tare_status add_matrix(tare_ladder *l, const tare_source *source, tare_str name,
                              tare_error *err) {
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
        tare_importance_open(&l->matrices[l->n_matrices], source, &o, &fault);
    if (is_of_system(status)) return pass_on(err, &fault);
    if (status == TARE_OK) l->matrix_names[l->n_matrices++] = name;
    return TARE_OK;
}

static bool is_matrix_name(tare_str name) {
    return has_part(last_part(name), TARE_STR("imatrix"));
}

static bool is_model_name(tare_str name) {
    return tare_str_ends(name, TARE_STR(".gguf")) || tare_str_ends(name, TARE_STR(".safetensors"));
}

/* What PyTorch may have written; other things have these names, too. */
static bool is_torch_name(tare_str name) {
    static const char *const suffixes[] = {".pt", ".pth", ".bin", ".ckpt"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (tare_str_ends(name, tare_str_of(suffixes[i]))) return true;
    return false;
}

/* Its tensors lie in it: what is made when it is read, of a transposed tensor, is packed as bytes. */
static bool is_of_one_file(const tare_model *m) {
    for (size_t i = 1; i < m->n_files; i++)
        if (!m->files[i].is_decoded) return false;
    return m->n_files > 0 && !m->files[0].is_decoded;
}

/* What cannot be opened is packed as the bytes that it is, which is said. */
static tare_status add_model(tare_ladder *l, const char *path, tare_str name, int64_t packed,
                             tare_error *err) {
    tare_open_options o = tare_open_options_default();
    tare_context quiet = l->context;
    tare_error fault;
    for (size_t i = 0; i < l->n_models; i++) {
        if (!tare_str_equal(l->models[i].name, name)) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED, "there is a file of this name already");
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, name);
        return TARE_ERR_UNSUPPORTED;
    }
    quiet.report = NULL;
    o.context = &quiet;
    o.one_shard = true;
    o.stored = true;
    if (!tare_grow(l->context.allocator, (void **)&l->models, &l->models_capacity, l->n_models + 1,
                   sizeof *l->models))
        return no_memory(err);
    tare_ladder_model *m = &l->models[l->n_models];
    *m = (tare_ladder_model){.name = name, .path = path, .packed = packed};
    const tare_status status = tare_open_path(&m->model, path, &o, &fault);
    if (is_of_system(status)) return pass_on(err, &fault);
    if (status == TARE_OK && !tare_model_is_big_endian(m->model) && is_of_one_file(m->model)) {
        const tare_model_summary *sum = tare_model_summarize(m->model);
        m->bits =
            sum->n_parameters ? 8.0 * (double)sum->tensor_bytes / (double)sum->n_parameters : 0;
        l->n_models++;
        return TARE_OK;
    }
    tare_model_free(status == TARE_OK ? m->model : NULL);
    if (is_torch_name(name)) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, status, "pack.not-a-model");
    f.file = name;
    tare_report_addf(l->context.report, &f, "packed as mere bytes: not a model that can be opened");
    return TARE_OK;
}

/* Texts tell of a Hugging Face directory. */
static tare_status add_note(tare_ladder *l, const char *path, tare_str name, int64_t packed,
                            tare_error *err) {
    if (!tare_str_ends(name, TARE_STR(".json"))) return TARE_OK;
    if (!tare_grow(l->context.allocator, (void **)&l->notes, &l->notes_capacity, l->n_notes + 1,
                   sizeof *l->notes))
        return no_memory(err);
    l->notes[l->n_notes++] = (tare_ladder_note){name, path, packed};
    return TARE_OK;
}

static tare_status take_file(tare_ladder *l, const char *path, tare_str name, tare_error *err) {
    const tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    if (is_matrix_name(name)) return add_matrix(l, &source, name, err);
    return is_model_name(name) || is_torch_name(name) ? add_model(l, path, name, -1, err)
                                                      : add_note(l, path, name, -1, err);
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
    return entry->kind == TARE_PATH_FILE ? take_file(w->l, path.ptr, name, err) : TARE_OK;
}

static tare_status walk_folder(const walk *w, tare_error *err) {
    return tare_files_list(NULL, w->path, visit, (void *)(uintptr_t)w, err);
}

/* F32, F16 and BF16, whatever little of them is something else. */
static double level_of(const tare_ladder_model *m) {
    return m->bits >= 15 ? INFINITY : floor(m->bits);
}

/* Sources before what is made of them, whatever order the system lists files in: of models of floats
 * Hugging Face's, which GGUF files are made from, whatever floats those are of. */
static int by_bits(const void *a, const void *b) {
    const tare_ladder_model *x = a, *y = b;
    const bool is_hf = tare_str_ends(x->name, TARE_STR(".safetensors"));
    const bool is_hf_too = tare_str_ends(y->name, TARE_STR(".safetensors"));
    if (level_of(x) != level_of(y)) return level_of(x) > level_of(y) ? -1 : 1;
    if (is_hf != is_hf_too) return is_hf ? -1 : 1;
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

tare_status tare_ladder_reader(tare_reader *out, const tare_ladder *l, const char *path,
                               int64_t packed, tare_error *err) {
    if (packed < 0) return tare_reader_open(out, path, TARE_MAP_NONE, err);
    return tare_packed_file_reader(out, tare_packed_of(l->container), (uint32_t)packed, path, err);
}

static tare_status add_tensors(tare_ladder *l, tare_ladder_model *m, tare_error *err) {
    const tare_catalog *c = &m->model->catalog;
    tare_reader reader;
    TARE_TRY(tare_ladder_reader(&reader, l, m->path, m->packed, err));
    const tare_status status = tare_model_add_file(l->all, &reader, m->path, &m->file, err);
    if (status != TARE_OK) {
        tare_reader_close(&reader);
        return status;
    }
    m->first = l->all->catalog.n_tensors;
    for (size_t i = 0; i < c->n_tensors; i++)
        if (c->tensors[i].planes[0].file == 0)
            TARE_TRY(add_tensor(l, m, &c->tensors[i], m->file, err));
    m->n = l->all->catalog.n_tensors - m->first;
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
    if (entry->kind != TARE_PATH_FILE || is_matrix_name(name)) return TARE_OK;
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

static tare_status take_folder(tare_ladder *l, const char *folder, tare_error *err) {
    const tare_str path = join(&l->arena, tare_str_of(folder), TARE_STR("/"), TARE_STR(""));
    if (!path.ptr) return no_memory(err);
    return walk_folder(&(walk){l, path.ptr, TARE_STR("")}, err);
}

tare_status tare_ladder_open(tare_ladder *l, const char *folder, const tare_context *context,
                             tare_error *err) {
    *l = (tare_ladder){.context = *context};
    tare_arena_init(&l->arena, context->allocator);
    TARE_TRY(take_folder(l, folder, err));
    if (l->n_models) qsort(l->models, l->n_models, sizeof *l->models, by_bits);
    return join_models(l, err);
}

static tare_status open_container(tare_ladder *l, const char *path, tare_error *err) {
    tare_open_options o = tare_open_options_default();
    o.context = &l->context;
    o.stored = true;
    TARE_TRY(tare_open_path(&l->container, path, &o, err));
    const tare_packed *store = tare_packed_of(l->container);
    if (!store) return tare_fail(err, TARE_ERR_ARG, "not a .wcodec, which files could be added to");
    const tare_packed_contents c = tare_packed_describe(store);
    if (!c.n_files || c.n_bases || l->container->lossy)
        return tare_fail(err, TARE_ERR_ARG,
                         "files are added to a .wcodec of files without loss and without bases");
    return TARE_OK;
}

static tare_status read_packed(void *ctx, uint64_t offset, void *buf, size_t n) {
    return tare_reader_read(ctx, offset, buf, n, NULL);
}

static tare_status take_packed(tare_ladder *l, uint32_t number, tare_error *err) {
    tare_packed *store = tare_packed_of(l->container);
    const tare_packed_file *f = &tare_packed_describe(store).files[number];
    const tare_str path =
        join(&l->arena, tare_str_of(tare_packed_source(store)->name), TARE_STR("::"), f->name);
    if (!path.ptr) return no_memory(err);
    if (f->entry.kind != TARE_PACKED_FILE) return TARE_OK;
    if (!is_matrix_name(f->name))
        return is_model_name(f->name) || is_torch_name(f->name)
                   ? add_model(l, path.ptr, f->name, number, err)
                   : add_note(l, path.ptr, f->name, number, err);
    tare_reader reader;
    TARE_TRY(tare_packed_file_reader(&reader, store, number, path.ptr, err));
    const tare_source source = {.size = sizeof(tare_source),
                                .kind = TARE_SOURCE_CALLBACK,
                                .name = path.ptr,
                                .fd = -1,
                                .read = read_packed,
                                .read_ctx = &reader,
                                .n_bytes = reader.size};
    const tare_status status = add_matrix(l, &source, f->name, err);
    tare_reader_close(&reader);
    return status;
}

static tare_status take_path(tare_ladder *l, const char *path, tare_error *err) {
    int failed = 0;
    const tare_path_kind kind = tare_path_stat(path, &failed);
    if (kind == TARE_PATH_FOLDER) return take_folder(l, path, err);
    if (kind != TARE_PATH_FILE) {
        tare_fail_errno(err, failed, "cannot be opened");
        tare_error_file(err, path);
        return err->status;
    }
    return take_file(l, path, last_part(tare_str_of(path)), err);
}

tare_status tare_ladder_open_more(tare_ladder *l, const char *container, const char *path,
                                  const tare_context *context, tare_error *err) {
    *l = (tare_ladder){.context = *context};
    tare_arena_init(&l->arena, context->allocator);
    tare_status status = open_container(l, container, err);
    if (status != TARE_OK) tare_error_file(err, container);
    TARE_TRY(status);
    const uint32_t n = tare_packed_describe(tare_packed_of(l->container)).n_files;
    for (uint32_t i = 0; i < n; i++) TARE_TRY(take_packed(l, i, err));
    TARE_TRY(take_path(l, path, err));
    if (l->n_models) qsort(l->models, l->n_models, sizeof *l->models, by_bits);
    return join_models(l, err);
}

static void close_directories(tare_ladder *l) {
    for (tare_ladder_directory *d = l->directories; d; d = d->next) {
        for (unsigned i = 0; i < 2; i++) tare_model_free(d->mapped[i]);
        tare_model_free(d->hf);
        for (size_t i = 0; i < d->n_readers; i++) tare_reader_close(&d->readers[i]);
    }
}

void tare_ladder_free(tare_ladder *l) {
    const tare_allocator *a = l->context.allocator;
    close_directories(l);
    tare_model_free(l->all);
    tare_model_free(l->container);
    for (size_t i = 0; i < l->n_models; i++) tare_model_free(l->models[i].model);
    for (size_t i = 0; i < l->n_matrices; i++) tare_importance_free(l->matrices[i]);
    tare_free(a, l->models, l->models_capacity * sizeof *l->models);
    tare_free(a, l->notes, l->notes_capacity * sizeof *l->notes);
    tare_free(a, l->aliases, l->aliases_capacity * sizeof *l->aliases);
    tare_free(a, l->matrices, l->matrices_capacity * sizeof(tare_importance *));
    tare_free(a, l->matrix_names, l->names_capacity * sizeof *l->matrix_names);
    tare_arena_free(&l->arena);
}
