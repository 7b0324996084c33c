/* SPDX-License-Identifier: MIT
 *
 * A file on a server as a reader. Data is read in blocks (base/file_blocks.h), which the fetching thread
 * brings. */
#include "base/str.h"
#include "remote/session.h"

/* ---- reading --------------------------------------------------------------------------------- */

static tare_status request(void *ctx, uint64_t first, tare_cached *const *entries, size_t n,
                           tare_error *err) {
    tare_remote_file *f = ctx;
    return tare_fetcher_add(f->remote, f, first, entries, n, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_file(void *ctx) {
    tare_remote_file *f = ctx;
    tare_remote *r = f->remote;
    tare_remote_file **at = f->opened;
    while (at && *at != f) at = &(*at)->next_opened;
    if (at) *at = f->next_opened;
    pthread_mutex_lock(&r->blocks->mutex);
    tare_fetcher_forget(r, f);
    pthread_mutex_unlock(&r->blocks->mutex);
    tare_remote_drop_text(r, f->name);
    tare_remote_drop_text(r, f->address);
    tare_remote_drop_text(r, f->location);
    tare_remote_drop_text(r, f->userinfo);
    tare_buffer_free(&f->whole);
    tare_free(r->options.context->allocator, f, sizeof *f);
}

static tare_status new_file(tare_remote_file **out, tare_remote *r, const tare_remote_place *place,
                            tare_error *err) {
    tare_remote_file *f = tare_alloc(r->options.context->allocator, sizeof *f);
    *out = NULL;
    if (!f) return tare_fail(err, TARE_ERR_NOMEM, "a file");
    *f = (tare_remote_file){.remote = r,
                            .is_hub = place->is_hub,
                            .is_s3 = place->is_s3,
                            .sink = place->sink,
                            .blocks = {.blocks = r->blocks,
                                       .has_size = place->has_size,
                                       .size = place->size,
                                       .from = place->from,
                                       .run_opened = TARE_RUN_STREAM,
                                       .request = request,
                                       .ctx = f}};
    tare_buffer_init(&f->whole, r->options.context->allocator);
    f->name = tare_remote_copy_text(r, place->name);
    f->address = tare_remote_copy_text(r, place->address);
    if (place->userinfo) f->userinfo = tare_remote_copy_text(r, place->userinfo);
    tare_block_file_number(&f->blocks);
    pthread_mutex_lock(&r->blocks->mutex);
    tare_status status = tare_fetcher_start(r, err);
    pthread_mutex_unlock(&r->blocks->mutex);
    if (status == TARE_OK && (!f->name || !f->address || (place->userinfo && !f->userinfo)))
        status = tare_fail(err, TARE_ERR_NOMEM, "a file");
    if (status == TARE_OK)
        *out = f;
    else
        close_file(f);
    return status;
}

tare_status tare_remote_file_open(tare_reader *out, tare_remote_file **file, tare_remote *r,
                                  const tare_remote_place *place, tare_error *err) {
    tare_remote_file *f;
    *out = (tare_reader){.fd = -1};
    *file = NULL;
    tare_status status = new_file(&f, r, place, err);
    if (status != TARE_OK) {
        tare_error_file(err, place->name);
        return status;
    }
    status = tare_block_file_read_size(&f->blocks, err); /* what is read first anyway */
    if (f->is_past_end) {
        tare_block_file_start_at(&f->blocks, 0);
        status = tare_block_file_read_size(&f->blocks, err);
    }
    if (status != TARE_OK) {
        close_file(f);
        return status;
    }
    tare_block_file_reader(out, &f->blocks, f->name, close_file);
    *file = f;
    return TARE_OK;
}
