/* SPDX-License-Identifier: MIT
 *
 * Opens a reader for a source of one file. */
#include "format/format.h"
#include "remote/remote_files.h"

static const char *display_name(const tare_source *s) {
    return s->name ? s->name : "";
}

/* A file behind a URL, alone. */
static tare_status open_url(tare_reader *out, const tare_source *source, tare_error *err) {
    const tare_limits limits = tare_limits_default();
    tare_remote_files files;
    TARE_REQUIRE(source->name && source->remote, err);
    tare_status status =
        tare_remote_files_begin(&files, source->remote, source->name, &limits, err);
    if (status == TARE_OK && files.is_directory)
        status = tare_fail(err, TARE_ERR_ARG, "is a directory");
    if (status == TARE_OK) status = tare_files_open(&files.files, out, files.root, false, err);
    tare_remote_files_end(&files, status == TARE_OK);
    return status;
}

tare_status tare_source_read(tare_source *out, const tare_source *theirs, tare_error *err) {
    *out = tare_source_default();
    return tare_options_read(out, sizeof *out, theirs, err);
}

const tare_source *tare_source_shard(const tare_source *set, size_t i) {
    const void *at = (const char *)set->shards + i * set->shards->size;
    return at;
}

static tare_status open_batched(tare_reader *out, const tare_source *s, tare_blocks **blocks,
                                tare_error *err) {
    const tare_batched_source source = {s->read_many, s->read_ctx, s->n_bytes, display_name(s)};
    return tare_batched_open(out, blocks, &source, NULL, err);
}

tare_status tare_source_open(tare_reader *out, const tare_source *theirs, tare_map_mode map,
                             tare_blocks **blocks, tare_error *err) {
    tare_source own;
    const tare_source *source = &own;
    *out = (tare_reader){.fd = -1};
    TARE_TRY(tare_source_read(&own, theirs, err));
    switch (source->kind) {
    case TARE_SOURCE_PATH:
        TARE_REQUIRE(source->name, err);
        return tare_reader_open(out, source->name, map, err);
    case TARE_SOURCE_MEMORY:
        TARE_REQUIRE(source->memory || source->n_bytes == 0, err);
        tare_reader_memory(out, source->memory, source->n_bytes, display_name(source));
        return TARE_OK;
    case TARE_SOURCE_FD:
        return tare_reader_fd(out, source->fd, display_name(source), map, err);
    case TARE_SOURCE_CALLBACK:
        if (source->read_many) return open_batched(out, source, blocks, err);
        TARE_REQUIRE(source->read, err);
        tare_reader_callback(out, source->read, source->read_ctx, source->n_bytes,
                             display_name(source));
        out->has_places = true;
        return TARE_OK;
    case TARE_SOURCE_URL:
        return open_url(out, source, err);
    case TARE_SOURCE_SHARDS:
    case TARE_SOURCE_FOLDER:
        break;
    }
    return tare_fail(err, TARE_ERR_ARG, "source: not a single file");
}
