/* SPDX-License-Identifier: MIT
 *
 * The driver of torch.distributed.checkpoint: the folder, in either form, with its side files. */
#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "encoding/table.h"
#include "format/dcp/dcp.h"

/* ---- .metadata ------------------------------------------------------------------------------- */

static tare_status read_text(tare_dcp *d, const tare_reader *r, tare_error *err) {
    if (r->size > d->m->limits.metadata_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, 0, "bytes of the metadata");
    uint8_t *bytes = tare_arena_take(&d->m->arena, (size_t)r->size);
    d->text = (tare_str){(const char *)bytes, (size_t)r->size};
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    d->m->directory_bytes += r->size;
    return tare_reader_read(r, 0, bytes, (size_t)r->size, err);
}

static tare_status read_metadata(tare_dcp *d, tare_torch_file *f, const char *path,
                                 tare_error *err) {
    tare_reader reader;
    TARE_TRY(tare_files_open(d->folder->files, &reader, path, TARE_MAP_NONE, err));
    f->reader = &reader;
    tare_status status = read_text(d, &reader, err);
    if (status == TARE_OK) status = tare_pickle_read(&f->pickle, d->text, 0, &d->scratch, err);
    if (status == TARE_OK) status = tare_dcp_read_metadata(d, f, err);
    f->reader = NULL;
    tare_reader_close(&reader);
    return status;
}

/* Whether the first file that is listed is of the other form, which torch can be told to write. */
static bool holds_safetensors(const tare_dcp *d) {
    tare_reader r;
    uint8_t head[10] = {0};
    if (!d->n_entries) return false;
    const char *path =
        tare_join_path(&d->folder->arena, d->folder->path, d->entries[d->n_entries - 1].file);
    if (!path || tare_files_open(d->folder->files, &r, path, TARE_MAP_NONE, NULL) != TARE_OK)
        return false;
    const bool is_read = tare_reader_read(&r, 0, head, sizeof head, NULL) == TARE_OK;
    tare_reader_close(&r);
    return is_read && !head[7] && head[8] == '{' && head[9] == '"';
}

static tare_status open_torch(tare_dcp *d, tare_torch_set *set, bool *is_other, tare_error *err) {
    tare_torch_file f;
    const char *path = tare_join_path(&d->m->arena, d->folder->path, TARE_STR(TARE_DCP_METADATA));
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path");
    d->m->directory_file = path;
    tare_torch_parts_begin(&f, set);
    tare_status status = read_metadata(d, &f, path, err);
    if (status != TARE_OK) tare_error_file(err, path);
    *is_other = status == TARE_OK && holds_safetensors(d);
    if (status == TARE_OK && !*is_other) status = tare_dcp_read_entries(d, &f, err);
    tare_torch_parts_free(&f);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status add_layout(const tare_dcp *d, const tare_torch_set *set, tare_error *err) {
    tare_layout *layout = TARE_NEW(&d->m->arena, tare_layout);
    tare_str *text = TARE_NEW(&d->m->arena, tare_str);
    if (!layout || !text) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *text = d->text;
    *layout = (tare_layout){.is_big_endian = set->is_big_endian, .detail = text};
    d->m->catalog.layout = layout;
    return TARE_OK;
}

/* .metadata is one of the files, which was read whole. */
static bool found_by(const char **path, tare_str *text, const tare_model *m) {
    *text = *(const tare_str *)m->catalog.layout->detail;
    *path = m->directory_file;
    return text->ptr != NULL;
}

static tare_status open_checkpoint(tare_dcp *d, bool stored, tare_error *err) {
    tare_torch_set set = {.m = d->m, .strided = {.m = d->m}, .report = d->report};
    tare_hf_entry *metadata = tare_hf_find(d->folder, TARE_STR(TARE_DCP_METADATA));
    bool is_other = !metadata;
    if (metadata) {
        metadata->is_weights = true;
        TARE_TRY(open_torch(d, &set, &is_other, err));
    }
    if (is_other) TARE_TRY(tare_dcp_open_safetensors(d, metadata, err));
    TARE_TRY(tare_hf_list_folders(d->folder, err));
    TARE_TRY(tare_hf_add_resources(d->m, d->folder, d->report, err));
    TARE_TRY(tare_strided_end(&set.strided, err));
    TARE_TRY(add_layout(d, &set, err));
    TARE_TRY(tare_model_finish(d->m, d->report, err));
    while (d->n_chunks_known < d->m->catalog.n_tensors) {
        const tare_joined_chunk none = {.of = TARE_NOT_A_CHUNK};
        if (!tare_dcp_note_chunk(d, d->n_chunks_known, &none))
            return tare_fail(err, TARE_ERR_NOMEM, "chunks");
    }
    const tare_joined_set joined = {d->tensors, d->n_tensors, d->chunks};
    return tare_join(d->m, &joined, stored, d->report, err);
}

static tare_status open_dcp(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_hf_folder folder;
    tare_dcp d = {.m = m,
                  .folder = &folder,
                  .report = ctx->options->context->report,
                  .map = ctx->options->map};
    if (ctx->source->kind != TARE_SOURCE_PATH || !ctx->probe->is_directory)
        return tare_fail(err, TARE_ERR_ARG, "a checkpoint of torch.distributed is a directory");
    tare_arena_init(&d.scratch, m->allocator);
    tare_status status =
        tare_hf_list(&folder, ctx->probe->files, ctx->source->name, m->allocator, err);
    if (status == TARE_OK) status = open_checkpoint(&d, ctx->options->stored, err);
    tare_hf_folder_free(&folder);
    tare_free(m->allocator, d.chunks, d.chunks_capacity * sizeof *d.chunks);
    tare_arena_free(&d.scratch);
    return status;
}

/* .metadata beside a .distcp file, or files of the other form that are no set of Hugging Face's. */
static bool probe(const tare_probe *p) {
    tare_hf_folder f;
    bool has_chunks = false, has_shards = false;
    bool is_ours = tare_hf_probe(&f, p);
    for (size_t i = 0; is_ours && i < f.n; i++) {
        has_chunks |= tare_hf_has_suffix(&f.entries[i], TARE_DCP_SUFFIX);
        has_shards |= tare_dcp_is_safetensors(&f.entries[i]);
    }
    is_ours =
        is_ours && (has_shards || (has_chunks && tare_hf_find(&f, TARE_STR(TARE_DCP_METADATA))));
    tare_hf_folder_free(&f);
    return is_ours;
}

const tare_format tare_format_dcp = {
    .name = "dcp",
    .description = "checkpoint of torch.distributed: tensors in chunks, and side files",
    .suffix = "",
    .is_directory = true,
    .caps = &tare_torch_caps,
    .read = {.probe = probe, .open = open_dcp, .found_by = found_by},
};
