/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp calls the tensors of a Hugging Face directory, where it takes them as they lie in the
 * files: by these names GGUF files beside it find what they are made of. */
#include <tare/experimental/llama.h>

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ops/ladder/ladder.h"

/* One directory, and what of it is opened. */
typedef struct directory {
    tare_ladder *l;
    tare_str prefix; /* of the names of its files: empty or ending in a slash */
    tare_source *sources;
    tare_reader *readers;
    size_t n;
} directory;

/* A tensor by where it begins. */
typedef struct place {
    size_t model, tensor;
    uint64_t offset;
} place;

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "models of a folder");
}

/* ---- opening it ------------------------------------------------------------------------------ */

/* The name within the directory; empty: it is not of the directory itself. */
static tare_str inner_name(const directory *d, tare_str name) {
    if (!tare_str_starts(name, d->prefix)) return (tare_str){0};
    const tare_str inner = tare_str_cut(name, d->prefix.len);
    for (size_t i = 0; i < inner.len; i++)
        if (inner.ptr[i] == '/') return (tare_str){0};
    return inner;
}

static tare_status read_file(void *ctx, uint64_t offset, void *buf, size_t n) {
    return tare_reader_read(ctx, offset, buf, n, NULL);
}

static tare_status add_file(directory *d, tare_str name, const char *path, int64_t packed,
                            tare_error *err) {
    const tare_str inner = inner_name(d, name);
    tare_reader *r = &d->readers[d->n];
    if (!inner.len) return TARE_OK;
    TARE_TRY(tare_ladder_reader(r, d->l, path, packed, err));
    d->sources[d->n++] = (tare_source){.size = sizeof(tare_source),
                                       .kind = TARE_SOURCE_CALLBACK,
                                       .name = tare_arena_str(&d->l->arena, inner).ptr,
                                       .fd = -1,
                                       .read = read_file,
                                       .read_ctx = r,
                                       .n_bytes = r->size};
    return d->sources[d->n - 1].name ? TARE_OK : no_memory(err);
}

static bool is_safetensors(const tare_ladder_model *m) {
    return tare_str_ends(m->name, TARE_STR(".safetensors"));
}

static tare_status gather(directory *d, tare_error *err) {
    const tare_ladder *l = d->l;
    const size_t most = l->n_notes + l->n_models;
    d->sources = TARE_NEW_ARRAY(&d->l->arena, tare_source, most);
    d->readers = TARE_NEW_ARRAY(&d->l->arena, tare_reader, most);
    if (!d->sources || !d->readers) return no_memory(err);
    for (size_t i = 0; i < l->n_notes; i++)
        TARE_TRY(add_file(d, l->notes[i].name, l->notes[i].path, l->notes[i].packed, err));
    const size_t before = d->n;
    for (size_t i = 0; i < l->n_models; i++)
        if (is_safetensors(&l->models[i]))
            TARE_TRY(add_file(d, l->models[i].name, l->models[i].path, l->models[i].packed, err));
    if (d->n == before) d->n = 0; /* no weights */
    return TARE_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->model != y->model) return x->model < y->model ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static place *list_places(size_t *n, const directory *d) {
    const tare_ladder *l = d->l;
    place *places = TARE_NEW_ARRAY(&d->l->arena, place, l->all->catalog.n_tensors);
    *n = 0;
    for (size_t i = 0; places && i < l->n_models; i++) {
        const tare_ladder_model *m = &l->models[i];
        if (!is_safetensors(m) || !inner_name(d, m->name).len) continue;
        for (size_t k = 0; k < m->n; k++)
            places[(*n)++] =
                (place){i, m->first + k, l->all->catalog.tensors[m->first + k].planes[0].offset};
    }
    if (*n) qsort(places, *n, sizeof *places, by_place);
    return places;
}

/* The model of the ladder that a file of the opened directory is; n_models: none. */
static size_t model_at(const directory *d, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t i = 0;
    while (i < d->l->n_models && !tare_str_is(inner_name(d, d->l->models[i].name), name)) i++;
    return i;
}

/* Where all bytes of a tensor lie as they are; NULL: nowhere. */
static const tare_reader *locate(uint64_t *at, const tare_model *m, const tare_tensor *t) {
    const tare_plane *p = &t->planes[0];
    const tare_reader *r = &m->files[p->file].reader, *file = r;
    uint64_t n = t->size_bytes;
    *at = p->offset;
    if (t->encoding->n_planes != 1) return NULL;
    if (r->locate && !r->locate(r->read_ctx, p->offset, &n, &file, at)) return NULL;
    return n >= t->size_bytes ? file : NULL;
}

static tare_status name_tensors(const directory *d, const tare_model *mapped, tare_error *err) {
    size_t n_places;
    tare_ladder *l = d->l;
    const place *places = list_places(&n_places, d);
    if (!places) return no_memory(err);
    for (size_t i = 0; n_places && i < mapped->catalog.n_tensors; i++) {
        const tare_tensor *t = &mapped->catalog.tensors[i];
        uint64_t at;
        const tare_reader *file = locate(&at, mapped, t);
        const place key = {.model = file ? model_at(d, file->name) : l->n_models, .offset = at};
        const place *found = bsearch(&key, places, n_places, sizeof key, by_place);
        if (!found || l->all->catalog.tensors[found->tensor].size_bytes != t->size_bytes) continue;
        if (!tare_grow(l->context.allocator, (void **)&l->aliases, &l->aliases_capacity,
                       l->n_aliases + 1, sizeof *l->aliases))
            return no_memory(err);
        const tare_str name = tare_arena_str(&l->arena, t->name);
        if (!name.ptr) return no_memory(err);
        l->aliases[l->n_aliases++] = (tare_ladder_alias){name, found->model, found->tensor};
    }
    return TARE_OK;
}

/* A directory that cannot be opened or that llama.cpp has no names for has none. */
static tare_status name_directory(directory *d, tare_error *err) {
    const tare_source whole = {.size = sizeof(tare_source),
                               .kind = TARE_SOURCE_FOLDER,
                               .fd = -1,
                               .shards = d->sources,
                               .n_shards = d->n};
    tare_context quiet = d->l->context;
    tare_open_options o = tare_open_options_default();
    tare_llama_options how = tare_llama_options_default();
    tare_model *hf = NULL, *mapped = NULL;
    tare_str hf_class;
    tare_error fault;
    quiet.report = NULL;
    quiet.progress = NULL;
    o.context = how.context = &quiet;
    o.stored = true;
    how.no_tokenizer = true;
    tare_status status = tare_model_open(&hf, &whole, &o, &fault);
    if (status == TARE_OK && tare_llama_can_map(&hf_class, hf))
        status = tare_llama_map(&mapped, hf, &how, &fault);
    if (mapped) status = name_tensors(d, mapped, err);
    tare_model_free(mapped);
    tare_model_free(hf);
    return status == TARE_ERR_NOMEM ? no_memory(err) : TARE_OK;
}

static int by_name(const void *a, const void *b) {
    const tare_ladder_alias *x = a, *y = b;
    const int order = tare_str_compare(x->name, y->name);
    return order ? order : (x->model > y->model) - (x->model < y->model);
}

tare_status tare_ladder_name(tare_ladder *l, tare_error *err) {
    for (size_t i = 0; i < l->n_notes; i++) {
        const tare_str name = l->notes[i].name, config = TARE_STR("config.json");
        directory d = {.l = l, .prefix = {name.ptr, name.len - config.len}};
        if (!tare_str_ends(name, config) || !inner_name(&d, name).len ||
            (d.prefix.len && d.prefix.ptr[d.prefix.len - 1] != '/'))
            continue;
        tare_status status = gather(&d, err);
        if (status == TARE_OK && d.n) status = name_directory(&d, err);
        for (size_t k = 0; k < d.n; k++) tare_reader_close(&d.readers[k]);
        TARE_TRY(status);
    }
    if (l->n_aliases) qsort(l->aliases, l->n_aliases, sizeof *l->aliases, by_name);
    return TARE_OK;
}

int64_t tare_ladder_find(const tare_ladder *l, size_t model, tare_str name) {
    const tare_ladder_model *m = &l->models[model];
    const int64_t own = tare_model_find_tensor(m->model, name);
    if (own >= 0) return (int64_t)m->first + own;
    const tare_ladder_alias key = {.name = name, .model = model};
    const tare_ladder_alias *found =
        l->n_aliases ? bsearch(&key, l->aliases, l->n_aliases, sizeof key, by_name) : NULL;
    return found ? (int64_t)found->tensor : -1;
}
