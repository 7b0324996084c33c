/* SPDX-License-Identifier: MIT
 *
 * model.safetensors.index.json, reading: which shard each tensor lies in. The form is that of
 * huggingface transformers: {"metadata":{"total_size":N},"weight_map":{"tensor":"file",...}}. It is
 * checked against the shards, which are authoritative: the index names them, and decides where a
 * tensor of two shards is taken from. What else the two disagree about is told. */
#include <stdlib.h>

#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"
#include "model/foreign.h"
#include "model/names.h"

/* One member of the weight map. */
typedef struct mapping {
    tare_str tensor;
    uint64_t offset; /* of the key */
    uint32_t shard;
    bool is_found, is_there; /* in some shard; in the one that the map names */
} mapping;

/* A file the map names; `name` first: an index over names reads it. */
typedef struct member_file {
    tare_str name;
    uint64_t offset; /* where it is named first */
    uint32_t number; /* in order of appearance */
} member_file;

typedef struct index_walk {
    tare_model *m;
    tare_safetensors_layout *layout;
    const tare_open_options *options;
    tare_arena scratch;
    tare_json j;
    tare_str text; /* of the weight map */
    uint64_t text_offset;
    mapping *map;
    size_t n_map;
    member_file *files;
    uint32_t n_files;
    tare_name_index file_index;
    tare_json_value total_size; /* END: not given */
} index_walk;

/* ---- parsing --------------------------------------------------------------------------------- */

static bool fail_value(index_walk *w, const tare_json_value *v, const char *what) {
    return tare_json_fail(&w->j, TARE_ERR_CORRUPT, v->offset, what);
}

static bool no_memory(index_walk *w) {
    return tare_json_fail(&w->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "index");
}

/* ---- first pass: outline --------------------------------------------------------------------- */

static bool count_map(index_walk *w, const tare_json_value *key, const tare_json_value *map) {
    tare_json_value name, value;
    if (w->text.ptr) return fail_value(w, key, "index: weight_map is given twice");
    if (map->type != TARE_JSON_OBJECT) return fail_value(w, map, "weight_map: object expected");
    while (tare_json_key(&w->j, &name) != TARE_JSON_END) {
        if (w->n_map++ == w->m->limits.tensors) {
            return tare_json_fail(&w->j, TARE_ERR_LIMIT, name.offset, "number of tensors");
        }
        tare_json_type type = tare_json_next(&w->j, &value);
        if (type != TARE_JSON_STRING && type != TARE_JSON_END) {
            return fail_value(w, &value, "weight_map: file names must be strings");
        }
    }
    w->text = (tare_str){map->raw.ptr, (size_t)(w->j.pos - map->raw.ptr)};
    w->text_offset = map->offset;
    return w->j.err.status == TARE_OK;
}

/* What the index says about itself. Only total_size is used; the rest says no more than the shards
 * do. */
static bool scan_metadata(index_walk *w, const tare_json_value *object) {
    tare_json_value key, value;
    if (object->type != TARE_JSON_OBJECT) return tare_json_skip(&w->j, object, NULL);
    while (tare_json_key(&w->j, &key) != TARE_JSON_END) {
        tare_json_next(&w->j, &value);
        if (tare_json_is(&key, "total_size")) w->total_size = value;
        tare_json_skip(&w->j, &value, NULL);
    }
    return w->j.err.status == TARE_OK;
}

static bool scan(index_walk *w) {
    tare_json_value value, key;
    tare_json_init_python(&w->j, w->layout->index_text, 0, w->m->limits.nesting);
    if (tare_json_begin(&w->j, &value) != TARE_JSON_OBJECT) {
        return fail_value(w, &value, "index: object expected");
    }
    while (tare_json_key(&w->j, &key) != TARE_JSON_END) {
        tare_json_next(&w->j, &value);
        if (tare_json_is(&key, "weight_map")) {
            count_map(w, &key, &value);
        } else if (tare_json_is(&key, "metadata")) {
            scan_metadata(w, &value);
        } else {
            tare_json_skip(&w->j, &value, NULL);
        }
    }
    if (!tare_json_finish(&w->j)) return false;
    return w->n_map > 0 ||
           tare_json_fail(&w->j, TARE_ERR_CORRUPT, w->text_offset,
                          w->text.ptr ? "weight_map: empty" : "index: weight_map is missing");
}

/* ---- second pass: the map -------------------------------------------------------------------- */

/* "./x" and "w//x" are "x" and "w/x". */
static tare_str plain_path(tare_str path, tare_arena *arena) {
    size_t n = 0;
    if (path.len && path.ptr[0] == '/') return path;
    char *plain = tare_arena_take(arena, path.len);
    if (!plain) return (tare_str){NULL, 0};
    while (path.len) {
        const char *slash = memchr(path.ptr, '/', path.len);
        const size_t part = slash ? (size_t)(slash - path.ptr) : path.len;
        if (part > 0 && !(part == 1 && path.ptr[0] == '.')) {
            if (n) plain[n++] = '/';
            memcpy(plain + n, path.ptr, part);
            n += part;
        }
        path = tare_str_cut(path, slash ? part + 1 : part);
    }
    return (tare_str){plain, n};
}

/* The number of a file name in order of appearance. */
static bool number_of_file(index_walk *w, const tare_json_value *v, tare_str name,
                           uint32_t *number) {
    if (w->n_files && tare_str_equal(w->files[*number].name, name)) return true;
    w->files[w->n_files] = (member_file){name, v->offset, w->n_files};
    int64_t at = tare_name_index_add(&w->file_index, w->files, sizeof *w->files, w->n_files, NULL);
    *number = at < 0 ? w->n_files : (uint32_t)at;
    if (at >= 0) return true;
    if (!tare_is_inner_path(name)) {
        return fail_value(w, v, "weight_map: file name that leaves the directory");
    }
    if (w->n_files++ < w->m->limits.shards) return true;
    return tare_json_fail(&w->j, TARE_ERR_LIMIT, v->offset, "number of shards");
}

static bool read_map(index_walk *w) {
    size_t most = w->n_map < w->m->limits.shards ? w->n_map : w->m->limits.shards;
    w->map = TARE_NEW_ARRAY(&w->scratch, mapping, w->n_map);
    w->files = TARE_NEW_ARRAY(&w->scratch, member_file, most + 1);
    if (!w->map || !w->files ||
        tare_name_index_init(&w->file_index, &w->scratch, most + 1, NULL) != TARE_OK) {
        return no_memory(w);
    }
    tare_json_value v;
    uint32_t number = 0;
    tare_json_init_python(&w->j, w->text, w->text_offset, w->m->limits.nesting);
    tare_json_begin(&w->j, &v);
    for (size_t i = 0; i < w->n_map; i++) {
        tare_json_key(&w->j, &v);
        w->map[i].offset = v.offset;
        w->map[i].tensor = tare_json_text(&v, &w->scratch);
        tare_json_next(&w->j, &v);
        tare_str name = tare_json_text(&v, &w->scratch);
        if (name.ptr) name = plain_path(name, &w->scratch);
        if (!w->map[i].tensor.ptr || !name.ptr) return no_memory(w);
        if (!number_of_file(w, &v, name, &number)) return false;
        w->map[i].shard = number;
    }
    return true;
}

/* ---- shards ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const member_file *)a)->name, ((const member_file *)b)->name);
}

/* Opens the files in the order of their names and turns the map's numbers into theirs. */
static tare_status open_files(index_walk *w, const char *directory, tare_error *err) {
    uint32_t *shard_of = TARE_NEW_ARRAY(&w->scratch, uint32_t, w->n_files);
    if (!shard_of) return tare_fail(err, TARE_ERR_NOMEM, "index");
    qsort(w->files, w->n_files, sizeof *w->files, by_name);
    TARE_TRY(tare_safetensors_make_shards(w->m, w->layout, w->n_files, err));
    for (uint32_t i = 0; i < w->n_files; i++) {
        shard_of[w->files[i].number] = i;
        TARE_TRY(tare_safetensors_open_shard(w->m, w->layout, i, directory, w->files[i].name,
                                             w->options->map, err));
    }
    for (size_t i = 0; i < w->n_map; i++) w->map[i].shard = shard_of[w->map[i].shard];
    return TARE_OK;
}

/* ---- checking -------------------------------------------------------------------------------- */

static void note_mapping(const index_walk *w, const mapping *entry, int64_t tensor,
                         tare_level level, const char *code, const char *what) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, code);
    f.level = level;
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = tensor;
    f.item_name = entry->tensor;
    f.offset = entry->offset;
    f.file = tare_str_of(w->layout->index_path);
    f.text = tare_str_of(what);
    tare_report_add(w->options->context->report, &f);
}

/* Of entries with one name the last counts, as in Python. */
static tare_status index_map(index_walk *w, tare_name_index *entries, tare_error *err) {
    TARE_TRY(tare_name_index_init(entries, &w->scratch, w->n_map, err));
    for (size_t i = 0; i < w->n_map; i++) {
        const int64_t at = tare_name_index_add(entries, w->map, sizeof *w->map, i, NULL);
        if (at < 0) continue;
        w->map[at].shard = w->map[i].shard;
        w->map[i].is_found = true; /* there is nothing more to say about it */
        note_mapping(w, &w->map[i], -1, TARE_LEVEL_WARNING, "safetensors.twice-in-index",
                     "weight_map: given twice, the last entry counts");
    }
    return TARE_OK;
}

static void note_unmapped(const index_walk *w, const tare_tensor *t, size_t number) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "safetensors.not-in-index");
    finding.item_kind = TARE_ITEM_TENSOR;
    finding.item = (int64_t)number;
    finding.item_name = t->name;
    finding.offset = t->offset;
    finding.file = tare_str_of(w->m->files[t->planes[0].file].name);
    finding.text = TARE_STR("the index does not list the tensor");
    tare_report_add(w->options->context->report, &finding);
}

static void check_total(const index_walk *w) {
    uint64_t sum = 0;
    double total;
    if (!w->total_size.type) return;
    for (size_t i = 0; i < w->m->catalog.n_tensors; i++) {
        sum += w->m->catalog.tensors[i].size_bytes;
    }
    /* some writers print it as a floating-point number */
    if (tare_json_f64(&w->total_size, &total) && total == (double)sum) return;
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "safetensors.total-size");
    finding.offset = w->total_size.offset;
    finding.file = tare_str_of(w->layout->index_path);
    finding.text = TARE_STR("total_size is not the size of all tensors");
    tare_report_add(w->options->context->report, &finding);
}

/* The entry of a tensor; NULL: there is none. */
static mapping *entry_of(const index_walk *w, const tare_name_index *entries,
                         const tare_tensor *t) {
    const int64_t at = tare_name_index_find(entries, w->map, sizeof *w->map, t->name);
    return at < 0 ? NULL : &w->map[at];
}

static bool is_where_it_says(const index_walk *w, const mapping *entry, const tare_tensor *t) {
    return t->planes[0].file == w->layout->shards[entry->shard].file;
}

/* Whether a tensor, whose number would be n, is left out: it lies in the shard that the map names,
 * too. */
static bool is_copy(const index_walk *w, const tare_name_index *entries, const tare_tensor *t,
                    size_t n) {
    const mapping *entry = entry_of(w, entries, t);
    if (!entry) note_unmapped(w, t, n);
    if (!entry || is_where_it_says(w, entry, t)) return false;
    if (!entry->is_there)
        note_mapping(w, entry, (int64_t)n, TARE_LEVEL_WARNING, "safetensors.other-shard",
                     "weight_map: the tensor is in another shard");
    else
        note_mapping(
            w, entry, -1, TARE_LEVEL_WARNING, "safetensors.in-two-shards",
            "weight_map: the tensor is in another shard, too: the one that is named counts");
    return entry->is_there;
}

static void check_tensors(index_walk *w, const tare_name_index *entries) {
    tare_catalog *c = &w->m->catalog;
    size_t n = 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        mapping *entry = entry_of(w, entries, &c->tensors[i]);
        if (!entry) continue;
        entry->is_found = true;
        entry->is_there |= is_where_it_says(w, entry, &c->tensors[i]);
    }
    for (size_t k = 0; k < w->layout->n_shards; k++) {
        tare_safetensors_shard *shard = &w->layout->shards[k];
        const size_t from = shard->first_tensor, end = from + shard->n_tensors;
        shard->first_tensor = n;
        for (size_t i = from; i < end; i++)
            if (!is_copy(w, entries, &c->tensors[i], n)) c->tensors[n++] = c->tensors[i];
        shard->n_tensors = n - shard->first_tensor;
        w->layout->has_copies |= shard->n_tensors < end - from;
    }
    c->n_tensors = n;
}

static tare_status check(index_walk *w, tare_error *err) {
    tare_name_index entries;
    TARE_TRY(index_map(w, &entries, err));
    check_tensors(w, &entries);
    for (size_t i = 0; i < w->n_map; i++) {
        static const char what[] = "weight_map: no shard has the tensor";
        if (w->map[i].is_found) continue;
        note_mapping(w, &w->map[i], -1, TARE_LEVEL_ERROR, "safetensors.not-in-shards", what);
        TARE_TRY(tare_model_lacks(w->m, w->map[i].tensor, "safetensors.not-in-shards", what, err));
    }
    check_total(w);
    return TARE_OK;
}

static tare_status open_set(index_walk *w, const char *directory, const tare_format *format,
                            tare_error *err) {
    if (!scan(w) || !read_map(w)) {
        const tare_str text = w->layout->index_text;
        const tare_status status =
            tare_name_foreign(tare_json_status(&w->j, err), text, text.len, true, err);
        tare_error_file(err, w->layout->index_path);
        return status;
    }
    TARE_TRY(open_files(w, directory, err));
    TARE_TRY(tare_safetensors_load(w->m, w->layout, format, w->options->context->report, err));
    return check(w, err);
}

tare_status tare_safetensors_open_index(tare_model *m, tare_safetensors_layout *layout,
                                        const char *directory, const tare_format *format,
                                        const tare_open_options *options, tare_error *err) {
    index_walk w = {.m = m, .layout = layout, .options = options};
    tare_arena_init(&w.scratch, m->allocator);
    tare_status status = open_set(&w, directory, format, err);
    tare_arena_free(&w.scratch);
    return status;
}
