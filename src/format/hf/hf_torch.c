/* SPDX-License-Identifier: MIT
 *
 * Weights of a Hugging Face directory in the files of PyTorch or Flax. The names are those of huggingface
 * transformers (WEIGHTS_NAME, FLAX_WEIGHTS_NAME and their indexes) and of PEFT. */
#include "format/hf/hf_torch.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "format/flax/flax.h"
#include "format/safetensors/safetensors.h"
#include "model/names.h"

#define INDEX_SUFFIX ".index.json"

typedef struct weights_row {
    const char *name; /* of the file that leads to the weights, an index or all of them */
    bool is_flax;     /* else PyTorch's */
} weights_row;

static const weights_row rows[] = {
    {"pytorch_model.bin", false},
    {"pytorch_model.bin" INDEX_SUFFIX, false},
    {"adapter_model.bin", false},
    {"flax_model.msgpack", true},
    {"flax_model.msgpack" INDEX_SUFFIX, true},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static bool is_of_flax(const tare_hf_entry *entry) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (tare_str_is(entry->name, rows[i].name)) return rows[i].is_flax;
    return false;
}

tare_hf_entry *tare_hf_torch_choose(const tare_hf_folder *f) {
    for (size_t i = 0; i < N_ROWS; i++) {
        tare_hf_entry *e = tare_hf_find(f, tare_str_of(rows[i].name));
        if (e && e->kind == TARE_PATH_FILE) return e;
    }
    return NULL;
}

/* ---- one file -------------------------------------------------------------------------------- */

static tare_status add_file(tare_torch_set *set, tare_hf_folder *f, tare_str name, bool is_flax,
                            tare_map_mode map, tare_error *err) {
    tare_reader reader;
    tare_hf_entry *entry = tare_hf_find(f, name);
    const char *path = tare_join_path(&set->m->arena, f->path, name);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path of the weights");
    if (entry) entry->is_weights = true;
    tare_status status = tare_files_open(f->files, &reader, path, map, err);
    if (status == TARE_OK) {
        status = is_flax ? tare_flax_add_file(&set->strided, set->report, &reader, path, err)
                         : tare_torch_add_file(set, &reader, path, err);
        set->n_files += is_flax;
        tare_reader_close(&reader);
    }
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

/* ---- the index ------------------------------------------------------------------------------- */

typedef struct mapping {
    tare_str tensor, file;
    uint64_t offset;
} mapping;

typedef struct bin_index {
    tare_arena scratch;
    const char *path;
    tare_str text;
    bool is_flax;
    mapping *map;
    size_t n, capacity;
} bin_index;

/* Flax's index has keys one below the other with slashes between them. */
static tare_status put_dots(tare_str *name, tare_arena *arena, tare_error *err) {
    char *text = tare_arena_take(arena, name->len + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "index");
    for (size_t i = 0; i < name->len; i++) text[i] = name->ptr[i] == '/' ? '.' : name->ptr[i];
    name->ptr = text;
    return TARE_OK;
}

static tare_status read_map(bin_index *x, tare_json *j, tare_error *err) {
    tare_json_value key, value;
    while (tare_json_key(j, &key) != TARE_JSON_END) {
        void *map = x->map;
        tare_json_next(j, &value);
        if (value.type != TARE_JSON_STRING) {
            tare_json_fail(j, TARE_ERR_CORRUPT, value.offset, "weight_map: a file name expected");
            break;
        }
        if (!tare_grow(x->scratch.allocator, &map, &x->capacity, x->n + 1, sizeof *x->map))
            return tare_fail(err, TARE_ERR_NOMEM, "index");
        x->map = map;
        mapping *to = &x->map[x->n++];
        *to = (mapping){tare_json_text(&key, &x->scratch), tare_json_text(&value, &x->scratch),
                        key.offset};
        if (!to->tensor.ptr || !to->file.ptr) return tare_fail(err, TARE_ERR_NOMEM, "index");
        if (x->is_flax) TARE_TRY(put_dots(&to->tensor, &x->scratch, err));
        if (!tare_is_inner_path(to->file))
            tare_json_fail(j, TARE_ERR_CORRUPT, value.offset,
                           "weight_map: file name that leaves the directory");
    }
    return tare_json_status(j, err);
}

static tare_status read_index(bin_index *x, const tare_limits *limits, tare_error *err) {
    tare_json j;
    tare_json_value v, key;
    tare_json_init_python(&j, x->text, 0, limits->nesting);
    if (tare_json_begin(&j, &v) != TARE_JSON_OBJECT)
        tare_json_fail(&j, TARE_ERR_CORRUPT, 0, "index: an object expected");
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        const tare_json_type type = tare_json_next(&j, &v);
        if (tare_json_is(&key, "weight_map") && type == TARE_JSON_OBJECT)
            TARE_TRY(read_map(x, &j, err));
        else
            tare_json_skip(&j, &v, NULL);
    }
    tare_json_finish(&j);
    if (!x->n) tare_json_fail(&j, TARE_ERR_CORRUPT, 0, "index: weight_map is missing or empty");
    return tare_json_status(&j, err);
}

/* The files in the order of their names, each once. */
static int by_file(const void *a, const void *b) {
    return tare_str_compare(*(const tare_str *)a, *(const tare_str *)b);
}

static tare_status add_files(tare_torch_set *set, tare_hf_folder *f, bin_index *x,
                             tare_map_mode map, tare_error *err) {
    tare_str *files = TARE_NEW_ARRAY(&x->scratch, tare_str, x->n);
    if (!files) return tare_fail(err, TARE_ERR_NOMEM, "index");
    for (size_t i = 0; i < x->n; i++) files[i] = x->map[i].file;
    qsort(files, x->n, sizeof *files, by_file);
    for (size_t i = 0; i < x->n; i++) {
        if (i && tare_str_equal(files[i], files[i - 1])) continue;
        if (set->n_files == set->m->limits.shards)
            return tare_fail(err, TARE_ERR_LIMIT, "number of shards");
        TARE_TRY(add_file(set, f, files[i], x->is_flax, map, err));
    }
    return TARE_OK;
}

/* Tensors that the index has and no file. */
static tare_status check_map(const tare_torch_set *set, bin_index *x, tare_error *err) {
    const tare_catalog *c = &set->m->catalog;
    tare_name_index names;
    TARE_TRY(tare_name_index_init(&names, &x->scratch, c->n_tensors, err));
    for (size_t i = 0; i < c->n_tensors; i++)
        tare_name_index_add(&names, c->tensors, sizeof *c->tensors, i, NULL);
    for (size_t i = 0; i < x->n; i++) {
        const mapping *entry = &x->map[i];
        if (tare_name_index_find(&names, c->tensors, sizeof *c->tensors, entry->tensor) >= 0)
            continue;
        tare_finding finding = TARE_FINDING(
            ERROR, TARE_ERR_CORRUPT, x->is_flax ? "flax.not-in-files" : "torch.not-in-files");
        finding.item_kind = TARE_ITEM_TENSOR;
        finding.item_name = entry->tensor;
        finding.offset = entry->offset;
        finding.file = tare_str_of(x->path);
        finding.text = TARE_STR("weight_map: no file has the tensor");
        tare_report_add(set->report, &finding);
        TARE_TRY(tare_model_lacks(set->m, entry->tensor, finding.code, finding.text.ptr, err));
    }
    return TARE_OK;
}

static tare_status read_index_text(bin_index *x, tare_torch_set *set, const tare_hf_folder *f,
                                   tare_error *err) {
    tare_reader reader;
    TARE_TRY(tare_files_open(f->files, &reader, x->path, TARE_MAP_NONE, err));
    tare_status status =
        reader.size <= set->m->limits.resource_bytes
            ? tare_safetensors_read_text(set->m, &reader, 0, (size_t)reader.size, &x->text, err)
            : tare_fail(err, TARE_ERR_LIMIT, "bytes of the index");
    tare_reader_close(&reader);
    if (status == TARE_OK) status = read_index(x, &set->m->limits, err);
    if (status != TARE_OK) tare_error_file(err, x->path);
    return status;
}

static tare_status open_index(tare_torch_set *set, tare_hf_folder *f, bin_index *x,
                              tare_map_mode map, tare_error *err) {
    TARE_TRY(read_index_text(x, set, f, err));
    TARE_TRY(add_files(set, f, x, map, err));
    return check_map(set, x, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Only what leads to the set is known of the layout: its files are not written again. */
static tare_status add_layout(const tare_torch_set *set, const bin_index *x, tare_error *err) {
    tare_layout *layout = TARE_NEW(&set->m->arena, tare_layout);
    tare_safetensors_layout *detail = TARE_NEW(&set->m->arena, tare_safetensors_layout);
    if (!layout || !detail) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    detail->index_path = x->path;
    detail->index_text = x->text;
    *layout = (tare_layout){.is_big_endian = set->is_big_endian, .detail = detail};
    set->m->catalog.layout = layout;
    return TARE_OK;
}

tare_status tare_hf_torch_open(tare_torch_set *set, tare_hf_folder *f, tare_hf_entry *entry,
                               const tare_open_options *options, tare_error *err) {
    bin_index x = {.is_flax = is_of_flax(entry)};
    tare_status status;
    entry->is_weights = true;
    tare_arena_init(&x.scratch, set->m->allocator);
    if (tare_str_ends(entry->name, TARE_STR(INDEX_SUFFIX))) {
        x.path = tare_join_path(&set->m->arena, f->path, entry->name);
        status = x.path ? open_index(set, f, &x, options->map, err)
                        : tare_fail(err, TARE_ERR_NOMEM, "path of the index");
    } else {
        status = add_file(set, f, entry->name, x.is_flax, options->map, err);
    }
    if (status == TARE_OK) status = add_layout(set, &x, err);
    tare_free(x.scratch.allocator, x.map, x.capacity * sizeof *x.map);
    tare_arena_free(&x.scratch);
    return status;
}
