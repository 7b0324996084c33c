/* SPDX-License-Identifier: MIT
 *
 * The form in which HuggingFaceStorageWriter saves chunks: safetensors files, a set of each rank, whose
 * __metadata__ has under DCP_SHARDING_INFO where the file's part of each tensor begins. How large a
 * tensor is, its chunks alone tell. */
#include "base/glob.h"
#include "base/json_node.h"
#include "base/report.h"
#include "base/str.h"
#include "format/dcp/dcp.h"
#include "format/safetensors/safetensors.h"
#include "model/names.h"

#define INFO    "DCP_SHARDING_INFO"
#define OFFSETS "saved_offsets"

bool tare_dcp_is_safetensors(const tare_hf_entry *e) {
    return e->kind == TARE_PATH_FILE &&
           tare_glob_matches(TARE_STR("shard-*-model-*-of-*.safetensors"), e->name, false);
}

static tare_status fail_in(const tare_dcp *d, const tare_safetensors_shard *shard, tare_str tensor,
                           const char *what, tare_error *err) {
    tare_fail_at(err, TARE_ERR_CORRUPT, TARE_SAFETENSORS_SIZE_BYTES, what);
    tare_error_item(err, TARE_ITEM_TENSOR, -1, tensor);
    tare_error_file(err, d->m->files[shard->file].name);
    return TARE_ERR_CORRUPT;
}

/* The places of a file's tensors; NULL: it has none, and all begin at 0, as torch has it. */
static tare_status read_info(const tare_json_node **out, tare_dcp *d,
                             const tare_safetensors_shard *shard, tare_error *err) {
    const tare_json_node *header;
    TARE_TRY(tare_json_tree(&header, shard->header, &d->scratch, err));
    const tare_json_node *text =
        tare_json_member(tare_json_member(header, TARE_STR("__metadata__")), TARE_STR(INFO));
    *out = NULL;
    if (!text) return TARE_OK;
    return tare_json_tree(out, tare_json_node_text(text), &d->scratch, err);
}

static bool read_at(uint64_t *at, const tare_json_node *info, const tare_tensor *t) {
    const tare_json_node *list =
        tare_json_member(tare_json_member(info, t->name), TARE_STR(OFFSETS));
    uint32_t n = 0;
    if (!list || list->type != TARE_JSON_ARRAY || list->n != t->n_dims) return false;
    for (const tare_json_node *v = list->child; v; v = v->next)
        if (!tare_json_node_u64(v, &at[n++])) return false;
    return true;
}

/* Enters tensor i of the catalog as a chunk, of a new tensor or of one that is known. */
static tare_status take_tensor(tare_dcp *d, tare_name_index *names, size_t i,
                               const tare_safetensors_shard *shard, const tare_json_node *info,
                               tare_error *err) {
    tare_tensor *t = &d->m->catalog.tensors[i];
    tare_joined_chunk c = {.at = {0}};
    if (info && !read_at(c.at, info, t))
        return fail_in(d, shard, t->name,
                       INFO ": saved_offsets: not as many whole numbers as the "
                            "tensor has dimensions",
                       err);
    tare_joined_tensor *of = &d->tensors[d->n_tensors];
    *of = (tare_joined_tensor){t->name, t->encoding, t->n_dims, {0}, t->offset};
    const int64_t known = tare_name_index_add(names, d->tensors, sizeof *of, d->n_tensors, NULL);
    c.of = known < 0 ? d->n_tensors++ : (size_t)known;
    of = &d->tensors[c.of];
    if (of->n_dims != t->n_dims)
        return fail_in(d, shard, t->name,
                       "a chunk with another number of dimensions than another "
                       "of its tensor",
                       err);
    d->listed[c.of].n++;
    for (uint32_t k = 0; k < t->n_dims; k++) {
        if (c.at[k] > UINT64_MAX - t->dims[k])
            return fail_in(d, shard, t->name, INFO ": saved_offsets overflow", err);
        if (c.at[k] + t->dims[k] > of->dims[k]) of->dims[k] = c.at[k] + t->dims[k];
    }
    return tare_dcp_note_chunk(d, i, &c) ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "chunks");
}

static tare_status take_tensors(tare_dcp *d, const tare_safetensors_layout *layout,
                                tare_error *err) {
    tare_catalog *c = &d->m->catalog;
    tare_name_index names;
    d->tensors = TARE_NEW_ARRAY(&d->m->arena, tare_joined_tensor, c->n_tensors + 1);
    d->listed = TARE_NEW_ARRAY(&d->scratch, tare_dcp_boxes, c->n_tensors + 1);
    d->n_tensors = 0; /* what .metadata has said of them does not count */
    if (!d->tensors || !d->listed) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_name_index_init(&names, &d->scratch, c->n_tensors, err));
    for (size_t s = 0; s < layout->n_shards; s++) {
        const tare_safetensors_shard *shard = &layout->shards[s];
        const tare_json_node *info;
        const tare_status status = read_info(&info, d, shard, err);
        if (status != TARE_OK) tare_error_file(err, d->m->files[shard->file].name);
        TARE_TRY(status);
        for (size_t i = 0; i < shard->n_tensors; i++)
            TARE_TRY(take_tensor(d, &names, shard->first_tensor + i, shard, info, err));
    }
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_joined_chunk *k = &d->chunks[i];
        c->tensors[i].name = tare_joined_name(&d->m->arena, d->tensors[k->of].name, k->at,
                                              d->tensors[k->of].n_dims, d->listed[k->of].n == 1);
        if (!c->tensors[i].name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    }
    return TARE_OK;
}

/* The files of the first form's names, or of this one's. */
static bool is_ours(const tare_hf_entry *e, bool by_suffix) {
    return by_suffix ? tare_hf_has_suffix(e, TARE_DCP_SUFFIX) : tare_dcp_is_safetensors(e);
}

tare_status tare_dcp_open_safetensors(tare_dcp *d, bool by_suffix, tare_error *err) {
    tare_safetensors_layout *layout = TARE_NEW(&d->m->arena, tare_safetensors_layout);
    size_t n = 0;
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    layout->files = d->folder->files;
    for (size_t i = 0; i < d->folder->n; i++) n += is_ours(&d->folder->entries[i], by_suffix);
    TARE_TRY(tare_safetensors_make_shards(d->m, layout, n, err));
    n = 0;
    for (size_t i = 0; i < d->folder->n; i++) {
        tare_hf_entry *e = &d->folder->entries[i];
        if (!is_ours(e, by_suffix)) continue;
        e->is_weights = true;
        TARE_TRY(
            tare_safetensors_open_shard(d->m, layout, n++, d->folder->path, e->name, d->map, err));
    }
    TARE_TRY(tare_safetensors_load_tensors(d->m, layout, d->report, err));
    return take_tensors(d, layout, err);
}
