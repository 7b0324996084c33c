/* SPDX-License-Identifier: MIT
 *
 * The model behind the handle: made and filled by format drivers, finished once, then only read. */
#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/outliers.h"
#include "model/model_internal.h"
#include "model/names.h"

struct tare_kept {
    struct tare_kept *next;
    void *ptr;
    size_t size;
};

/* Deeper nesting than this is refused whatever the limits say: reading nested arrays recurses, and
 * their JSON form, two containers a level, must stay within TARE_JSON_MAX_DEPTH. */
#define NESTING_MOST 30

TARE_DEFINE_INIT_WITH(tare_source, .fd = -1)
TARE_DEFINE_INIT(tare_open_options)

tare_status tare_model_new(tare_model **out, const tare_context *context, tare_error *err) {
    tare_context own;
    tare_limits limits = tare_limits_default();
    *out = NULL;
    TARE_TRY(tare_context_keep(&own, &context, err));
    TARE_TRY(tare_options_read(&limits, sizeof limits, context->limits, err));
    tare_model *m = tare_alloc(context->allocator, sizeof *m);
    if (!m) return tare_fail(err, TARE_ERR_NOMEM, "model");
    *m = (tare_model){.allocator = context->allocator, .limits = limits};
    m->limits.dims = (uint32_t)tare_min_u64(limits.dims, TARE_MAX_DIMS);
    m->limits.nesting = (uint32_t)tare_min_u64(limits.nesting, NESTING_MOST);
    for (size_t i = 0; i < TARE_PARAM_COUNT; i++) m->config[i].type = TARE_VALUE_STRING;
    tare_arena_init(&m->arena, m->allocator);
    *out = m;
    return TARE_OK;
}

void tare_model_free(tare_model *model) {
    if (!model) return;
    for (size_t i = 0; i < model->n_files; i++) tare_reader_close(&model->files[i].reader);
    tare_file_cache_free(model->idle);
    if (model->free_private) model->free_private(model->private_data);
    for (struct tare_kept *k = model->kept; k; k = k->next)
        tare_free(model->allocator, k->ptr, k->size);
    tare_arena_free(&model->arena);
    tare_free(model->allocator, model, sizeof *model);
}

/* The list doubles whenever its length is a power of two, so that length is its capacity too. */
static bool grow_files(tare_model *m) {
    size_t n = m->n_files;
    if (n & (n - 1)) return true;
    tare_open_file *files = TARE_NEW_ARRAY(&m->arena, tare_open_file, n ? n * 2 : 1);
    if (!files) return false;
    if (n) memcpy(files, m->files, n * sizeof *files);
    m->files = files;
    return true;
}

tare_status tare_model_add_file(tare_model *m, tare_reader *reader, const char *name,
                                uint32_t *index, tare_error *err) {
    tare_str copy = tare_arena_str(&m->arena, tare_str_of(name ? name : ""));
    if (!copy.ptr || !grow_files(m)) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    *index = (uint32_t)m->n_files;
    tare_open_file *file = &m->files[m->n_files++];
    *file = (tare_open_file){.name = copy.ptr, .reader = *reader, .info = {copy.ptr, reader->size}};
    file->reader.name = copy.ptr;
    *reader = (tare_reader){.fd = -1};
    const tare_stated_crc of = {copy, 0, file->reader.size, *index, file->reader.crc};
    if (file->reader.has_crc) TARE_TRY(tare_model_state_crc(m, &of, err));
    if (m->n_files <= tare_files_kept_open()) return TARE_OK;
    if (!m->idle) m->idle = tare_file_cache_new(m->allocator);
    if (!m->idle) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    return tare_file_cache_put(m->idle, &file->reader, err);
}

tare_status tare_model_lacks(tare_model *m, tare_str tensor, const char *code, const char *text,
                             tare_error *err) {
    if (m->loss.code) return TARE_OK;
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, code);
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = tare_arena_str(&m->arena, tensor);
    f.text = tare_str_of(text);
    if (tensor.len && !f.item_name.ptr) return tare_fail(err, TARE_ERR_NOMEM, text);
    m->loss = f;
    return TARE_OK;
}

static tare_status add_source(tare_model *out, const tare_model *in, tare_error *err) {
    const tare_model **list = tare_arena_array(&out->arena, out->n_sources + 1, sizeof *list);
    if (!list) return tare_fail(err, TARE_ERR_NOMEM, "list of models");
    if (out->n_sources) memcpy(list, out->sources, out->n_sources * sizeof *list);
    list[out->n_sources++] = in;
    out->sources = list;
    return TARE_OK;
}

tare_status tare_model_share_files(tare_model *out, const tare_model *in, tare_error *err) {
    for (size_t i = 0; i < in->n_files; i++) {
        tare_reader reader = in->files[i].reader;
        uint32_t index = 0;
        reader.owns_fd = reader.owns_map = false;
        reader.close = NULL;
        TARE_TRY(tare_model_add_file(out, &reader, in->files[i].name, &index, err));
        out->files[index].is_truncated = in->files[i].is_truncated;
        out->files[index].is_decoded = in->files[i].is_decoded;
        out->files[index].is_merged = in->files[i].is_merged;
    }
    return add_source(out, in, err);
}

tare_status tare_model_keep(tare_model *m, void *ptr, size_t size, tare_error *err) {
    struct tare_kept *k = TARE_NEW(&m->arena, struct tare_kept);
    if (!k) return tare_fail(err, TARE_ERR_NOMEM, "list of buffers");
    *k = (struct tare_kept){m->kept, ptr, size};
    m->kept = k;
    return TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

tare_status tare_fail_tensor(tare_error *err, tare_status status, const tare_tensor *t, size_t i,
                             const char *what) {
    tare_fail(err, status, what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
    return status;
}

bool tare_model_is_big_endian(const tare_model *m) {
    return m->catalog.layout && m->catalog.layout->is_big_endian;
}

uint64_t tare_catalog_tensor_bytes(const tare_catalog *c) {
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_tensors; i++) n += c->tensors[i].size_bytes;
    return n;
}

uint64_t tare_catalog_bytes(const tare_catalog *c) {
    uint64_t n = tare_catalog_tensor_bytes(c);
    for (size_t i = 0; i < c->n_resources; i++) n += c->resources[i].info.size;
    return n;
}

/* Element counts. A dimension of 0 does not excuse the others: the product of the others must fit
 * 64 bits, so that every partial product does. */
static bool count_elements(tare_tensor *t, const uint64_t *dims, uint32_t n_dims) {
    uint64_t product = 1;
    t->n_elements = t->n_rows = t->cols = 1;
    for (uint32_t d = 0; d < n_dims; d++) {
        if (!tare_mul_u64(product, tare_max_u64(dims[d], 1), &product)) return false;
        t->n_elements *= dims[d];
        if (d + 1 < n_dims) t->n_rows *= dims[d];
    }
    if (n_dims) t->cols = dims[n_dims - 1];
    return true;
}

tare_status tare_tensor_set(tare_model *m, tare_tensor *t, const tare_encoding *encoding,
                            const uint64_t *dims, uint32_t n_dims, uint32_t file, uint64_t offset,
                            tare_error *err) {
    uint64_t sizes[TARE_MAX_PLANES] = {0};
    uint32_t n_planes = encoding->kind == TARE_KIND_UNKNOWN ? 1 : encoding->n_planes;
    if (n_dims > m->limits.dims) return tare_fail(err, TARE_ERR_LIMIT, "number of dimensions");
    if (!count_elements(t, dims, n_dims))
        return tare_fail(err, TARE_ERR_LIMIT, "dimensions overflow");
    if (encoding->kind != TARE_KIND_UNKNOWN)
        TARE_TRY(tare_encoding_sizes(sizes, encoding, dims, n_dims, err));

    /* One piece of memory for both lists; both hold 8-byte numbers. */
    tare_plane *planes =
        tare_arena_take(&m->arena, n_planes * sizeof *planes + n_dims * sizeof *dims);
    if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    uint64_t *own_dims = (uint64_t *)(void *)(planes + n_planes);
    if (n_dims) memcpy(own_dims, dims, n_dims * sizeof *dims);

    t->encoding = encoding;
    t->n_dims = n_dims;
    t->dims = own_dims;
    t->planes = planes;
    t->size_bytes = 0;
    for (uint32_t p = 0; p < n_planes; p++) {
        planes[p] = (tare_plane){file, offset, sizes[p]};
        if (!tare_add_u64(offset, sizes[p], &offset) ||
            !tare_add_u64(t->size_bytes, sizes[p], &t->size_bytes))
            return tare_fail(err, TARE_ERR_CORRUPT, "offset and size of the data overflow");
    }
    return TARE_OK;
}

tare_status tare_tensor_set_list(tare_tensor *t, uint64_t size, tare_arena *arena,
                                 tare_error *err) {
    const uint32_t n = t->encoding->n_planes, list = tare_encoding_list_plane(t->encoding);
    tare_plane *planes = TARE_NEW_ARRAY(arena, tare_plane, n);
    if (!planes) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    memcpy(planes, t->planes, n * sizeof *planes);
    t->planes = planes;
    if (list >= n) return TARE_OK;
    planes[list].size = size;
    if (!tare_add_u64(t->size_bytes, size, &t->size_bytes))
        return tare_fail(err, TARE_ERR_LIMIT, "size of the tensor");
    return TARE_OK;
}

const tare_tensor *tare_model_stored(const tare_model *m, size_t tensor) {
    const tare_stand_in *s = m->stand_ins;
    const size_t i = tare_count_below(s, m->n_stand_ins, sizeof *s, tensor);
    if (i < m->n_stand_ins && s[i].tensor == tensor) return &s[i].stored;
    return &m->catalog.tensors[tensor];
}

const char *tare_model_content_format(const tare_model *m) {
    return m->held_format ? m->held_format : m->format;
}

const tare_model *tare_model_as_stored(const tare_model *model) {
    while (model && model->stored) model = model->stored;
    return model;
}

tare_origin tare_tensor_origin(const tare_model *m, size_t tensor) {
    const tare_tensor *t = &m->catalog.tensors[tensor];
    if (m->origins) return m->origins[tensor];
    if (m->types && m->types->origins && m->types->origins[tensor].encoding)
        return m->types->origins[tensor];
    return (tare_origin){t->encoding, t->size_bytes, t->planes[0].file, false};
}

uint64_t tare_tensor_stored_bytes(const tare_model *model, size_t tensor) {
    if (tensor >= model->catalog.n_tensors) return 0;
    return model->origins ? model->origins[tensor].size_bytes
                          : model->catalog.tensors[tensor].size_bytes;
}

const char *tare_model_record_file(const tare_model *m, uint32_t data_file) {
    if (m->directory_file) return m->directory_file;
    return m->n_files > 1 ? m->files[data_file].name : NULL;
}

/* ---- the summary ----------------------------------------------------------------------------- */

void tare_model_note_summary(tare_model *m) {
    const tare_catalog *c = &m->catalog;
    tare_model_summary *out = &m->summary;
    const tare_layout *l = c->layout;
    *out = (tare_model_summary){
        .format = m->format ? m->format : "",
        .version = m->container_version ? m->container_version
                   : l                  ? l->version
                                        : 0,
        .is_big_endian = l && l->is_big_endian,
        .alignment = l && l->alignment ? l->alignment : 1,
        .n_tensors = c->n_tensors,
        .n_metadata = c->n_metadata,
        .n_resources = c->n_resources,
        .directory_bytes = m->directory_bytes,
        .has_pairs = c->has_pairs,
    };
    for (size_t i = 0; i < c->n_metadata; i++)
        if (c->metadata[i].space == TARE_KEYS_SAFETENSORS) out->has_pairs = true;
    for (size_t i = 0; i < m->n_files; i++) {
        m->files[i].info.size = m->files[i].reader.size;
        if (m->files[i].is_decoded) continue; /* they come last */
        out->n_files++;
        out->file_bytes += m->files[i].reader.size;
        out->is_truncated = out->is_truncated || m->files[i].is_truncated;
    }
    if (m->lossy)
        out->file_bytes =
            tare_catalog_bytes(&tare_model_as_stored(m)->catalog); /* not as it is stored */
    for (size_t i = 0; i < c->n_tensors; i++) {
        out->n_parameters += c->tensors[i].n_elements;
        out->tensor_bytes += c->tensors[i].size_bytes;
    }
    if (m->stored) out->tensor_bytes = tare_catalog_tensor_bytes(&m->stored->catalog);
}

/* ---- getters --------------------------------------------------------------------------------- */

const tare_model_summary *tare_model_summarize(const tare_model *model) {
    return &model->summary;
}

const tare_file_info *tare_model_file(const tare_model *model, size_t i) {
    return i < model->summary.n_files ? &model->files[i].info : NULL;
}

const tare_metadata *tare_model_metadata(const tare_model *model, size_t i) {
    return i < model->catalog.n_metadata ? &model->catalog.metadata[i] : NULL;
}

int64_t tare_model_find_key(const tare_model *model, tare_str key) {
    return tare_name_index_find(&model->key_index, model->catalog.metadata, sizeof(tare_metadata),
                                key);
}

const tare_tensor *tare_model_tensor(const tare_model *model, size_t i) {
    return i < model->catalog.n_tensors ? &model->catalog.tensors[i] : NULL;
}

int64_t tare_model_find_tensor(const tare_model *model, tare_str name) {
    return tare_name_index_find(&model->tensor_index, model->catalog.tensors, sizeof(tare_tensor),
                                name);
}

bool tare_model_shares_names(const tare_model *a, const tare_model *b) {
    for (size_t i = 0; i < a->catalog.n_tensors; i++)
        if (tare_model_find_tensor(b, a->catalog.tensors[i].name) >= 0) return true;
    return a->catalog.n_tensors == 0 || b->catalog.n_tensors == 0;
}

const tare_resource *tare_model_resource(const tare_model *model, size_t i) {
    return i < model->catalog.n_resources ? &model->catalog.resources[i].info : NULL;
}

int64_t tare_model_find_resource(const tare_model *model, tare_str name) {
    return tare_name_index_find(&model->resource_index, model->catalog.resources,
                                sizeof(tare_resource_entry), name);
}

const char *tare_tensor_scheme(const tare_model *model, size_t tensor) {
    return model->notes && tensor < model->catalog.n_tensors ? model->notes[tensor].scheme : NULL;
}
