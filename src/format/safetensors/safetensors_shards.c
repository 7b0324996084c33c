/* SPDX-License-Identifier: MIT
 *
 * The shards of a model, however they were found: opened, and read into the catalog. */

#include "base/arith.h"
#include "base/bytes.h"
#include "format/safetensors/safetensors.h"

/* ---- files ----------------------------------------------------------------------------------- */

tare_status tare_safetensors_make_shards(tare_model *m, tare_safetensors_layout *layout, size_t n,
                                         tare_error *err) {
    if (n > m->limits.shards) return tare_fail(err, TARE_ERR_LIMIT, "number of shards");
    layout->shards = TARE_NEW_ARRAY(&m->arena, tare_safetensors_shard, n);
    layout->n_shards = n;
    return layout->shards ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "shards");
}

tare_status tare_safetensors_add_reader(tare_model *m, tare_safetensors_shard *shard,
                                        tare_reader *reader, tare_error *err) {
    tare_status status = tare_model_add_file(m, reader, reader->name, &shard->file, err);
    if (status != TARE_OK) tare_reader_close(reader);
    return status;
}

tare_status tare_safetensors_open_shard(tare_model *m, tare_safetensors_layout *layout, size_t i,
                                        const char *directory, tare_str name, tare_map_mode map,
                                        tare_error *err) {
    const char *path = tare_join_path(&m->arena, directory, name);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path of a shard");
    layout->shards[i].name = path + strlen(directory);
    tare_reader reader;
    tare_status status = tare_files_open(layout->files, &reader, path, map, err);
    if (status != TARE_OK) {
        if (err && tare_error_is_absent(err) && !tare_is_lost_link(path))
            err->what = "a shard of the set is missing";
        tare_error_file(err, path);
        return status;
    }
    return tare_safetensors_add_reader(m, &layout->shards[i], &reader, err);
}

tare_status tare_safetensors_read_index(tare_model *m, tare_safetensors_layout *layout,
                                        const tare_reader *reader, tare_error *err) {
    size_t size;
    if (reader->size > m->limits.safetensors_header || !tare_size_of_u64(reader->size, &size)) {
        return tare_fail_at(err, TARE_ERR_LIMIT, 0, "index: size");
    }
    m->directory_bytes += size;
    return tare_safetensors_read_text(m, reader, 0, size, &layout->index_text, err);
}

/* ---- loading --------------------------------------------------------------------------------- */

static tare_status read_headers(tare_model *m, tare_safetensors_layout *layout, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; layout->n_shards > 1 && i < layout->n_shards; i++)
        tare_reader_will_need(&m->files[layout->shards[i].file].reader, 0,
                              TARE_SAFETENSORS_SIZE_BYTES);
    for (size_t i = 0; i < layout->n_shards; i++) {
        tare_safetensors_shard *shard = &layout->shards[i];
        shard->first_tensor = n;
        tare_status status = tare_safetensors_read_header(m, shard, err);
        n += shard->n_tensors;
        if (status == TARE_OK && n > m->limits.tensors) {
            status = tare_fail(err, TARE_ERR_LIMIT, "number of tensors");
        }
        if (status != TARE_OK) {
            if (layout->n_shards > 1) tare_error_file(err, m->files[shard->file].name);
            return status;
        }
    }
    m->catalog.tensors = TARE_NEW_ARRAY(&m->arena, tare_tensor, n);
    return m->catalog.tensors ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
}

/* Whether another file of this kind begins at an offset: the size of a header, and its brace. */
static bool is_file_at(const tare_reader *r, uint64_t offset) {
    uint8_t head[TARE_SAFETENSORS_SIZE_BYTES + 2];
    if (offset >= r->size || r->size - offset < sizeof head) return false;
    if (tare_reader_read(r, offset, head, sizeof head, NULL) != TARE_OK) return false;
    return tare_load_le64(head) <= r->size - offset - TARE_SAFETENSORS_SIZE_BYTES &&
           head[TARE_SAFETENSORS_SIZE_BYTES] == '{' && head[TARE_SAFETENSORS_SIZE_BYTES + 1] == '"';
}

/* Tensors tile the data section exactly; missing bytes at its end mean an incomplete download. */
static tare_status check_layout(tare_model *m, const tare_safetensors_shard *shard,
                                tare_report *report, tare_error *err) {
    tare_layout_rules rules = {
        .file = shard->file,
        .first_tensor = shard->first_tensor,
        .base = shard->data_offset,
        .end = m->files[shard->file].reader.size,
        .alignment = 1,
        .may_be_truncated = true,
        .truncated_code = "safetensors.truncated-data",
    };
    tare_filler *fillers;
    size_t n_fillers;
    tare_error fault = TARE_ERROR_NONE;
    const tare_status s = tare_layout_check(m, &rules, &fillers, &n_fillers, report, &fault);
    if (s == TARE_ERR_CORRUPT && is_file_at(&m->files[shard->file].reader, fault.offset))
        fault.what = "another safetensors file follows: shards that were joined with cat are not "
                     "read as one, take the shards themselves";
    if (s != TARE_OK && err) *err = fault;
    return s;
}

tare_status tare_safetensors_load_tensors(tare_model *m, tare_safetensors_layout *layout,
                                          tare_report *report, tare_error *err) {
    TARE_TRY(read_headers(m, layout, err));
    for (size_t i = 0; i < layout->n_shards; i++) {
        const tare_safetensors_shard *shard = &layout->shards[i];
        tare_status status = tare_safetensors_read_tensors(m, shard, report, err);
        m->catalog.n_tensors = shard->first_tensor + shard->n_tensors; /* as far as they are read */
        if (status == TARE_OK) status = check_layout(m, shard, report, err);
        if (status != TARE_OK) {
            if (layout->n_shards > 1) tare_error_file(err, m->files[shard->file].name);
            return status;
        }
    }
    return TARE_OK;
}

tare_status tare_safetensors_load(tare_model *m, tare_safetensors_layout *layout,
                                  const tare_format *format, tare_report *report, tare_error *err) {
    TARE_TRY(tare_safetensors_load_tensors(m, layout, report, err));
    TARE_TRY(tare_safetensors_read_metadata(m, layout, report, err));
    tare_layout *kept = TARE_NEW(&m->arena, tare_layout);
    if (!kept) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    *kept = (tare_layout){.format = format, .alignment = 1, .is_kept = true, .detail = layout};
    kept->data_offset = layout->n_shards ? layout->shards[0].data_offset : 0;
    m->catalog.layout = kept;
    return TARE_OK;
}
