/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp makes of the tensors of a Hugging Face directory: by its names GGUF files beside it find
 * what they are made of, be it one tensor or pieces of several. */
#include <tare/experimental/llama.h>

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ops/ladder/ladder.h"

/* One directory while it is opened. */
typedef struct directory {
    tare_ladder *l;
    tare_str prefix; /* of the names of its files: empty or ending in a slash */
    tare_source *sources;
    tare_ladder_directory *kept;
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
    tare_reader *r = &d->kept->readers[d->kept->n_readers];
    if (!inner.len) return TARE_OK;
    TARE_TRY(tare_ladder_reader(r, d->l, path, packed, err));
    tare_source *source = &d->sources[d->kept->n_readers++];
    *source = (tare_source){.size = sizeof(tare_source),
                            .kind = TARE_SOURCE_CALLBACK,
                            .name = tare_arena_str(&d->l->arena, inner).ptr,
                            .fd = -1,
                            .read = read_file,
                            .read_ctx = r,
                            .n_bytes = r->size};
    return source->name ? TARE_OK : no_memory(err);
}

static bool is_safetensors(const tare_ladder_model *m) {
    return tare_str_ends(m->name, TARE_STR(".safetensors"));
}

/* *has_weights: some file of them is there. */
static tare_status gather(bool *has_weights, directory *d, tare_error *err) {
    const tare_ladder *l = d->l;
    const size_t most = l->n_notes + l->n_models;
    d->sources = TARE_NEW_ARRAY(&d->l->arena, tare_source, most);
    d->kept->readers = TARE_NEW_ARRAY(&d->l->arena, tare_reader, most);
    if (!d->sources || !d->kept->readers) return no_memory(err);
    for (size_t i = 0; i < l->n_notes; i++)
        TARE_TRY(add_file(d, l->notes[i].name, l->notes[i].path, l->notes[i].packed, err));
    const size_t before = d->kept->n_readers;
    for (size_t i = 0; i < l->n_models; i++)
        if (is_safetensors(&l->models[i]))
            TARE_TRY(add_file(d, l->models[i].name, l->models[i].path, l->models[i].packed, err));
    *has_weights = d->kept->n_readers > before;
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

/* Which tensor among all one of the opened directory is, and the model that it is of; false: none. */
static bool identify(uint32_t *tensor, size_t *model, const directory *d, const tare_model *hf,
                     const place *places, size_t n_places, const tare_tensor *t) {
    const tare_open_file *file = &hf->files[t->planes[0].file];
    if (t->encoding->n_planes != 1 || file->is_decoded) return false;
    const place key = {.model = model_at(d, file->name), .offset = t->planes[0].offset};
    const place *found = bsearch(&key, places, n_places, sizeof key, by_place);
    if (!found || d->l->all->catalog.tensors[found->tensor].size_bytes != t->size_bytes)
        return false;
    *tensor = (uint32_t)found->tensor;
    *model = found->model;
    return true;
}

/* The same pieces of tensors among all; NULL with status OK: some are not there. */
static tare_status locate(tare_composition **out, size_t *model, const directory *d,
                          const tare_model *hf, const tare_composition *of, const place *places,
                          size_t n_places, tare_error *err) {
    tare_composition *own = TARE_NEW(&d->l->arena, tare_composition);
    tare_piece *pieces = TARE_NEW_ARRAY(&d->l->arena, tare_piece, of->n_pieces);
    *out = NULL;
    *model = 0;
    if (!own || !pieces) return no_memory(err);
    for (size_t i = 0; i < of->n_pieces; i++) {
        size_t one = 0;
        pieces[i] = of->pieces[i];
        if (pieces[i].source != TARE_PIECE_ZEROS &&
            !identify(&pieces[i].source, &one, d, hf, places, n_places,
                      &hf->catalog.tensors[pieces[i].source]))
            return TARE_OK;
        if (one > *model) *model = one;
    }
    *own = (tare_composition){pieces, of->n_pieces, of->encoding};
    *out = own;
    return TARE_OK;
}

static bool is_whole(const tare_composition *of, const tare_model *all) {
    const tare_piece *p = &of->pieces[0];
    return of->n_pieces == 1 && p->source != TARE_PIECE_ZEROS && !p->view &&
           p->arithmetic == TARE_PIECE_AS_IS &&
           of->encoding == all->catalog.tensors[p->source].encoding;
}

static tare_status name_tensor(const directory *d, const tare_model *mapped, size_t i,
                               const place *places, size_t n_places, tare_error *err) {
    tare_ladder *l = d->l;
    const tare_tensor *t = &mapped->catalog.tensors[i];
    tare_composition *of;
    size_t model;
    if (!mapped->made_of[i].n_pieces) return TARE_OK;
    TARE_TRY(
        locate(&of, &model, d, mapped->made_of_model, &mapped->made_of[i], places, n_places, err));
    if (!of) return TARE_OK;
    tare_ladder_source source = {l->all, of->pieces[0].source, NULL};
    if (!is_whole(of, l->all)) source = (tare_ladder_source){mapped, i, of};
    if (source.pieces && !tare_packed_can_compose(of, t->n_elements, l->all)) return TARE_OK;
    if (!tare_grow(l->context.allocator, (void **)&l->aliases, &l->aliases_capacity,
                   l->n_aliases + 1, sizeof *l->aliases))
        return no_memory(err);
    l->aliases[l->n_aliases++] = (tare_ladder_alias){t->name, model, source};
    return TARE_OK;
}

static tare_status name_tensors(const directory *d, const tare_model *mapped, tare_error *err) {
    size_t n_places;
    const place *places = list_places(&n_places, d);
    if (!places) return no_memory(err);
    for (size_t i = 0; n_places && mapped->made_of && i < mapped->catalog.n_tensors; i++)
        TARE_TRY(name_tensor(d, mapped, i, places, n_places, err));
    return TARE_OK;
}

/* A directory that cannot be opened or that llama.cpp has no names for has none. */
static tare_status name_directory(directory *d, tare_error *err) {
    const tare_source whole = {.size = sizeof(tare_source),
                               .kind = TARE_SOURCE_FOLDER,
                               .fd = -1,
                               .shards = d->sources,
                               .n_shards = d->kept->n_readers};
    tare_context quiet = d->l->context;
    tare_open_options o = tare_open_options_default();
    tare_llama_options how = tare_llama_options_default();
    tare_ladder_directory *k = d->kept;
    tare_error fault;
    quiet.report = NULL;
    quiet.progress = NULL;
    o.context = how.context = &quiet;
    o.stored = true;
    how.no_tokenizer = true;
    tare_status status = tare_model_open(&k->hf, &whole, &o, &fault);
    for (unsigned i = 0; i < 2 && status == TARE_OK; i++) {
        how.tower = i > 0;
        if (!how.tower && !tare_llama_can_map(NULL, k->hf)) continue;
        status = tare_llama_map(&k->mapped[i], k->hf, &how, &fault);
        if (status == TARE_OK) TARE_TRY(name_tensors(d, k->mapped[i], err));
        if (status != TARE_ERR_NOMEM) status = TARE_OK;
    }
    return status == TARE_ERR_NOMEM ? no_memory(err) : TARE_OK;
}

static int by_name(const void *a, const void *b) {
    const tare_ladder_alias *x = a, *y = b;
    const int order = tare_str_compare(x->name, y->name);
    return order ? order : (x->model > y->model) - (x->model < y->model);
}

static tare_status open_directory(tare_ladder *l, tare_str prefix, tare_error *err) {
    directory d = {.l = l, .prefix = prefix};
    bool has_weights = false;
    d.kept = TARE_NEW(&l->arena, tare_ladder_directory);
    if (!d.kept) return no_memory(err);
    d.kept->next = l->directories;
    l->directories = d.kept;
    TARE_TRY(gather(&has_weights, &d, err));
    return has_weights ? name_directory(&d, err) : TARE_OK;
}

tare_status tare_ladder_name(tare_ladder *l, tare_error *err) {
    for (size_t i = 0; i < l->n_notes; i++) {
        const tare_str name = l->notes[i].name, config = TARE_STR("config.json");
        const tare_str prefix = {name.ptr, name.len - config.len};
        if (!tare_str_ends(name, config) || (prefix.len && prefix.ptr[prefix.len - 1] != '/'))
            continue;
        TARE_TRY(open_directory(l, prefix, err));
    }
    if (l->n_aliases) qsort(l->aliases, l->n_aliases, sizeof *l->aliases, by_name);
    return TARE_OK;
}

bool tare_ladder_find(tare_ladder_source *out, const tare_ladder *l, size_t model, tare_str name) {
    const tare_ladder_model *m = &l->models[model];
    const int64_t own = tare_model_find_tensor(m->model, name);
    *out = (tare_ladder_source){l->all, m->first + (size_t)own, NULL};
    if (own >= 0) return true;
    const tare_ladder_alias key = {.name = name, .model = model};
    const tare_ladder_alias *found =
        l->n_aliases ? bsearch(&key, l->aliases, l->n_aliases, sizeof key, by_name) : NULL;
    if (found) *out = found->source;
    return found != NULL;
}
