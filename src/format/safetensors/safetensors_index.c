/* SPDX-License-Identifier: MIT
 *
 * model.safetensors.index.json, reading: which shard each tensor lies in. The form is that of
 * huggingface transformers: {"metadata":{"total_size":N},"weight_map":{"tensor":"file",...}}. It is
 * checked against the shards, which are authoritative: the index only names them. */
#include <stdlib.h>

#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"
#include "model/names.h"

/* One member of the weight map. */
typedef struct mapping {
    tare_str tensor;
    uint64_t offset; /* of the key */
    uint32_t shard;
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

/* The number of a file name in order of appearance. */
static bool number_of_file(index_walk *w, const tare_json_value *v, tare_str name,
                           uint32_t *number) {
    if (w->n_files && tare_str_equal(w->files[*number].name, name)) return true;
    w->files[w->n_files] = (member_file){name, v->offset, w->n_files};
    int64_t at = tare_name_index_add(&w->file_index, w->files, sizeof *w->files, w->n_files, NULL);
    *number = at < 0 ? w->n_files : (uint32_t)at;
    if (at >= 0) return true;
    if (!tare_is_plain_name(name)) {
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

static tare_status fail_mapping(const index_walk *w, const mapping *entry, int64_t tensor,
                                const char *what, tare_error *err) {
    tare_fail_at(err, TARE_ERR_CORRUPT, entry->offset, what);
    tare_error_item(err, TARE_ITEM_TENSOR, tensor, entry->tensor);
    tare_error_file(err, w->layout->index_path);
    return TARE_ERR_CORRUPT;
}

/* Each tensor of the map is where the map says, once. */
static tare_status check_map(const index_walk *w, const tare_name_index *names, bool *is_mapped,
                             tare_error *err) {
    const tare_catalog *c = &w->m->catalog;
    for (size_t i = 0; i < w->n_map; i++) {
        const mapping *entry = &w->map[i];
        int64_t at = tare_name_index_find(names, c->tensors, sizeof *c->tensors, entry->tensor);
        if (at < 0) return fail_mapping(w, entry, -1, "weight_map: no shard has the tensor", err);
        if (is_mapped[at]) {
            return fail_mapping(w, entry, at, "weight_map: tensor is given twice", err);
        }
        if (c->tensors[at].planes[0].file != w->layout->shards[entry->shard].file) {
            return fail_mapping(w, entry, at, "weight_map: the tensor is in another shard", err);
        }
        is_mapped[at] = true;
    }
    return TARE_OK;
}

static void note_unmapped(const index_walk *w, size_t tensor) {
    const tare_tensor *t = &w->m->catalog.tensors[tensor];
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "safetensors.not-in-index");
    finding.item_kind = TARE_ITEM_TENSOR;
    finding.item = (int64_t)tensor;
    finding.item_name = t->name;
    finding.offset = t->offset;
    finding.file = tare_str_of(w->m->files[t->planes[0].file].name);
    finding.text = TARE_STR("the index does not list the tensor");
    tare_report_add(w->options->report, &finding);
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
    tare_report_add(w->options->report, &finding);
}

static tare_status check(index_walk *w, tare_error *err) {
    const tare_catalog *c = &w->m->catalog;
    tare_name_index names;
    bool *is_mapped = TARE_NEW_ARRAY(&w->scratch, bool, c->n_tensors);
    if (!is_mapped) return tare_fail(err, TARE_ERR_NOMEM, "index");
    TARE_TRY(tare_name_index_init(&names, &w->scratch, c->n_tensors, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        /* a duplicate is reported by tare_model_finish */
        tare_name_index_add(&names, c->tensors, sizeof *c->tensors, i, NULL);
    }
    TARE_TRY(check_map(w, &names, is_mapped, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!is_mapped[i]) note_unmapped(w, i);
    }
    check_total(w);
    return TARE_OK;
}

static tare_status open_set(index_walk *w, const char *directory, const tare_format *format,
                            tare_error *err) {
    if (!scan(w) || !read_map(w)) {
        tare_json_status(&w->j, err);
        tare_error_file(err, w->layout->index_path);
        return w->j.err.status;
    }
    TARE_TRY(open_files(w, directory, err));
    TARE_TRY(tare_safetensors_load(w->m, w->layout, format, w->options->report, err));
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
