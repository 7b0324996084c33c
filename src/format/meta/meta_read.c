/* SPDX-License-Identifier: MIT
 *
 * The driver of Meta's form: the files of the ranks, params.json, and side files. */
#include "base/arith.h"
#include "base/glob.h"
#include "base/json_node.h"
#include "base/str.h"
#include "format/hf/hf_folder.h"
#include "format/meta/meta.h"
#include "format/torch/torch.h"

#define PARAMS "params.json"

static bool is_rank(const tare_hf_entry *e) {
    return e->kind == TARE_PATH_FILE &&
           tare_glob_matches(TARE_STR("consolidated.*.pth"), e->name, false);
}

/* ---- params.json ----------------------------------------------------------------------------- */

/* A whole number that is at least 1; what a later version leaves open is -1, which is 0 here. */
static uint64_t number(const tare_json_node *params, const char *name) {
    uint64_t n;
    return tare_json_node_u64(tare_json_member(params, tare_str_of(name)), &n) ? n : 0;
}

static tare_status take_params(tare_meta *r, const tare_json_node *params, tare_error *err) {
    tare_meta_params *p = &r->params;
    const uint64_t heads = number(params, "n_heads"), keys = number(params, "n_kv_heads");
    uint64_t size = number(params, "head_dim");
    p->width = number(params, "dim");
    p->vocabulary = number(params, "vocab_size");
    if (!p->width || !heads)
        return tare_fail_at(err, TARE_ERR_CORRUPT, 0,
                            "dim and n_heads: whole numbers of 1 and more expected");
    if (!size) size = p->width / heads;
    if (!tare_mul_u64(size, heads, &p->query_rows) ||
        !tare_mul_u64(size, keys ? keys : heads, &p->key_rows))
        return tare_fail_at(err, TARE_ERR_CORRUPT, 0, "heads that overflow 64 bits");
    return TARE_OK;
}

static tare_status read_params(tare_meta *r, const tare_hf_folder *folder, tare_error *err) {
    tare_reader reader;
    const tare_json_node *params;
    const char *path = tare_join_path(&r->scratch, folder->path, TARE_STR(PARAMS));
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path");
    if (!tare_hf_find(folder, TARE_STR(PARAMS)))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "files in Meta's form without params.json, which says how large the model "
                         "is: get it, or name one of the files");
    tare_status status = tare_files_open(folder->files, &reader, path, TARE_MAP_NONE, err);
    if (status == TARE_OK) {
        const bool fits = reader.size <= r->m->limits.metadata_bytes;
        uint8_t *bytes = fits ? tare_arena_take(&r->scratch, (size_t)reader.size) : NULL;
        const tare_str text = {(const char *)bytes, (size_t)reader.size};
        if (!fits)
            status = tare_fail_at(err, TARE_ERR_LIMIT, 0, "bytes of the metadata");
        else if (!bytes)
            status = tare_fail(err, TARE_ERR_NOMEM, "metadata");
        else
            status = tare_reader_read(&reader, 0, bytes, text.len, err);
        if (status == TARE_OK) status = tare_json_tree(&params, text, &r->scratch, err);
        if (status == TARE_OK) status = take_params(r, params, err);
        tare_reader_close(&reader);
    }
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static tare_status add_rank(tare_meta *r, tare_torch_set *set, const tare_hf_folder *folder,
                            tare_hf_entry *e, tare_map_mode map, tare_error *err) {
    char expected[] = "consolidated.00.pth";
    tare_reader reader;
    const size_t rank = r->n_ranks++;
    const char *path = tare_join_path(&r->m->arena, folder->path, e->name);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path of a file");
    expected[strlen("consolidated.")] = (char)('0' + rank / 10 % 10);
    expected[strlen("consolidated.0")] = (char)('0' + rank % 10);
    tare_status status = TARE_OK;
    if (!tare_str_is(e->name, expected) || rank > 99)
        status = tare_fail(err, TARE_ERR_CORRUPT,
                           "a file of a rank before this one is missing: their numbers are 00, 01 "
                           "and so on");
    e->is_weights = true;
    r->paths[rank] = path;
    r->first[rank] = r->m->catalog.n_tensors;
    if (status == TARE_OK) status = tare_files_open(folder->files, &reader, path, map, err);
    if (status == TARE_OK) {
        status = tare_torch_add_file(set, &reader, path, err);
        tare_reader_close(&reader);
    }
    if (status != TARE_OK) tare_error_file(err, path);
    return status;
}

static tare_status add_ranks(tare_meta *r, tare_torch_set *set, const tare_hf_folder *folder,
                             tare_map_mode map, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < folder->n; i++) n += is_rank(&folder->entries[i]);
    if (!n)
        return tare_fail(err, TARE_ERR_CORRUPT, "no file of a rank: consolidated.00.pth expected");
    if (n > r->m->limits.shards) return tare_fail(err, TARE_ERR_LIMIT, "number of files");
    r->first = TARE_NEW_ARRAY(&r->scratch, size_t, n + 1);
    r->paths = TARE_NEW_ARRAY(&r->scratch, const char *, n + 1);
    if (!r->first || !r->paths) return tare_fail(err, TARE_ERR_NOMEM, "files");
    for (size_t i = 0; i < folder->n; i++)
        if (is_rank(&folder->entries[i]))
            TARE_TRY(add_rank(r, set, folder, &folder->entries[i], map, err));
    r->first[r->n_ranks] = r->m->catalog.n_tensors;
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status open_folder(tare_meta *r, tare_hf_folder *folder,
                               const tare_open_options *options, tare_error *err) {
    tare_report *report = options->context->report;
    tare_torch_set set = {.m = r->m, .strided = {.m = r->m}, .report = report};
    TARE_TRY(read_params(r, folder, err));
    TARE_TRY(add_ranks(r, &set, folder, options->map, err));
    TARE_TRY(tare_hf_list_folders(folder, err));
    TARE_TRY(tare_hf_add_resources(r->m, folder, report, err));
    TARE_TRY(tare_strided_end(&set.strided, err));
    tare_layout *layout = TARE_NEW(&r->m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *layout = (tare_layout){.is_big_endian = set.is_big_endian};
    r->m->catalog.layout = layout;
    TARE_TRY(tare_meta_join(r, err));
    TARE_TRY(tare_model_finish(r->m, report, err));
    TARE_TRY(tare_meta_compare(r, err));
    const tare_joined_set joined = {r->tensors, r->n_tensors, r->chunks};
    return tare_join(r->m, &joined, options->stored, report, err);
}

static tare_status open_meta(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_hf_folder folder;
    tare_meta r = {.m = m};
    if (ctx->source->kind != TARE_SOURCE_PATH || !ctx->probe->is_directory)
        return tare_fail(err, TARE_ERR_ARG, "a model in Meta's form is a directory");
    tare_arena_init(&r.scratch, m->allocator);
    tare_status status =
        tare_hf_list(&folder, ctx->probe->files, ctx->source->name, m->allocator, err);
    if (status == TARE_OK) status = open_folder(&r, &folder, ctx->options, err);
    tare_hf_folder_free(&folder);
    tare_arena_free(&r.scratch);
    return status;
}

static bool probe(const tare_probe *p) {
    tare_hf_folder f;
    bool is_ours = false;
    const bool is_listed = tare_hf_probe(&f, p);
    for (size_t i = 0; is_listed && i < f.n; i++) is_ours |= is_rank(&f.entries[i]);
    tare_hf_folder_free(&f);
    return is_ours;
}

const tare_format tare_format_meta = {
    .name = "meta",
    .description = "Llama as Meta gives it out: a file of each rank, and side files",
    .suffix = "",
    .is_directory = true,
    .caps = &tare_torch_caps,
    .read = {.probe = probe, .open = open_meta},
};
