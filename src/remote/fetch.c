/* SPDX-License-Identifier: MIT
 *
 * Ranges of files, fetched into blocks on the session's thread, and the handling of each response. A
 * range that is cut off is resumed where it stopped; If-Range and the validators of every response
 * ensure that all parts belong to the same version of the file. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/arith.h"
#include "base/str.h"
#include "remote/s3.h"
#include "remote/s3_sign.h"
#include "remote/session.h"
#include "remote/transfer.h"

#define HOPS_MOST    10
#define IGNORED_MOST ((size_t)1 << 20) /* bytes of an error page */

typedef struct fetch {
    tare_transfer t; /* first */
    tare_remote_file *file;
    tare_cached *entries[TARE_RUN_MOST];
    size_t n_blocks;
    uint64_t begin, end;      /* bytes of the file */
    uint64_t got, got_before; /* from begin on: now, and when this try began */
    unsigned hops;
    bool is_at_location; /* it asks where redirections led to, */
    uint64_t location;   /* the one of this number, which another fetch may find expired first */
    size_t ignored;
    char page[TARE_S3_ERROR_MOST]; /* of a store, the beginning of what is ignored */
    bool is_accepted, is_whole;
    bool is_streamed; /* into the file's sink */
    uint64_t streamed;
    bool begins_anew;   /* the request has to be made in another way */
    tare_status status; /* what on_body found */
    tare_error err;
} fetch;

/* ---- the end of a fetch ---------------------------------------------------------------------- */

static bool brings_file(const fetch *f) {
    return f->t.response.status == 200 || f->t.response.status == 206;
}

/* What a store says of a request that brings no file. */
static tare_str page_of(const fetch *f) {
    const size_t n = f->ignored < sizeof f->page ? f->ignored : sizeof f->page;
    return (tare_str){f->page, f->file->is_s3 ? n : 0};
}

/* A fault of this fetch: the file, the status of the response, the range. */
static tare_status fault(fetch *f, tare_status status, const char *what) {
    tare_fail(&f->err, status, what);
    tare_error_file(&f->err, f->file->name);
    char *field = f->err.field;
    size_t n = 0;
    if (f->t.response.status)
        n = tare_s3_tell(field, sizeof f->err.field - 2, &f->t.response,
                         brings_file(f) ? TARE_STR("") : page_of(f));
    if (n) n += (size_t)snprintf(field + n, sizeof f->err.field - n, ", ");
    snprintf(field + n, sizeof f->err.field - n, "bytes %" PRIu64 "-%" PRIu64, f->begin + f->got,
             f->end - 1);
    f->status = status;
    return status;
}

/* Hands the blocks over, missing ones as failed, and frees the fetch. */
static void finish(fetch *f) {
    tare_remote *r = f->file->remote;
    for (size_t i = 0; i < f->n_blocks; i++) {
        tare_block *b = tare_block_of(f->entries[i]);
        if (b->state == TARE_BLOCK_COMING) {
            b->state = TARE_BLOCK_FAILED;
            b->err = f->err;
        }
        tare_cache_release(r->blocks->cache, f->entries[i]);
    }
    f->file->n_fetches--;
    pthread_cond_broadcast(&r->blocks->changed);
    tare_free(r->options.context->allocator, f, sizeof *f);
}

static void finish_with(fetch *f, tare_status status, const char *what) {
    fault(f, status, what);
    finish(f);
}

static void set_whole(tare_remote_file *file) {
    file->blocks.is_whole = true;
    file->blocks.whole = file->whole.data;
}

/* All of the file is in memory. */
static void finish_from_whole(fetch *f) {
    const tare_buffer *whole = &f->file->whole;
    for (size_t i = 0; i < f->n_blocks; i++) {
        tare_block *b = tare_block_of(f->entries[i]);
        uint64_t at = f->begin + i * TARE_BLOCK_BYTES;
        uint64_t left = at < whole->size ? whole->size - at : 0;
        b->size = (size_t)tare_min_u64(left, b->size);
        if (b->size) memcpy(b->bytes, whole->data + at, b->size);
        b->state = TARE_BLOCK_READY;
    }
    finish(f);
}

/* ---- responses that bring the file ----------------------------------------------------------- */

#define CHANGED "the file changed on the server while it was read"

/* Whether a response belongs to the file that is being read; `size` is that of the whole file. */
static tare_status check_identity(fetch *f, bool has_total, uint64_t total) {
    const tare_remote_file *file = f->file;
    if (file->is_known && !tare_response_matches(&f->t.response, file->etag, file->modified))
        return fault(f, TARE_ERR_IO, CHANGED);
    if (!file->blocks.has_size || !has_total || file->blocks.size == total) return TARE_OK;
    return fault(f, TARE_ERR_IO,
                 file->is_known ? CHANGED : "its size differs from that in the hub's list");
}

static void note_size(fetch *f, uint64_t size) {
    tare_remote_file *file = f->file;
    file->blocks.size = size;
    file->blocks.has_size = true;
    file->is_known = true;
    if (f->t.response.etag[0]) memcpy(file->etag, f->t.response.etag, sizeof file->etag);
    if (f->t.response.modified[0])
        memcpy(file->modified, f->t.response.modified, sizeof file->modified);
}

static tare_status accept_range(fetch *f) {
    const tare_response *r = &f->t.response;
    uint64_t first = f->begin + f->got;
    if (!r->has_range) return fault(f, TARE_ERR_CORRUPT, "Content-Range: missing");
    if (!r->has_total)
        return fault(f, TARE_ERR_UNSUPPORTED, "Content-Range: the size of the file is not stated");
    if (r->first != first || r->last >= f->end)
        return fault(f, TARE_ERR_CORRUPT, "Content-Range: not the requested range");
    if (r->has_length && r->length != r->last - r->first + 1)
        return fault(f, TARE_ERR_CORRUPT, "Content-Length: not that of the range");
    TARE_TRY(check_identity(f, true, r->total));
    note_size(f, r->total);
    f->file->has_ranges = true;
    f->end = tare_min_u64(f->end, r->total);
    tare_block *last = tare_block_of(f->entries[f->n_blocks - 1]);
    last->size = (size_t)(f->end - f->begin - (f->n_blocks - 1) * TARE_BLOCK_BYTES);
    return TARE_OK;
}

#define TOO_LARGE                                                                                  \
    "the server sends no byte ranges, and the file is too large to be read whole: "                \
    "fetch it with a program that keeps it, such as tare get or curl"

/* What the sink finds wrong is no matter of the server. */
static tare_status sink_fault(fetch *f, tare_status status, const tare_error *err) {
    f->err = *err;
    f->status = status;
    return status;
}

/* Whether it is the size of the file alone that the sink asks for. */
static bool is_sized(const fetch *f) {
    return f->is_streamed && !f->file->sink->put;
}

static tare_status begin_stream(fetch *f) {
    const tare_remote_sink *sink = f->file->sink;
    tare_error err = TARE_ERROR_NONE;
    if (!sink) return fault(f, TARE_ERR_UNSUPPORTED, TOO_LARGE);
    f->is_streamed = true;
    if (is_sized(f)) return TARE_ERR_IO; /* ends the exchange */
    const tare_status status = sink->begin(sink->ctx, f->t.response.length, &err);
    return status == TARE_OK ? TARE_OK : sink_fault(f, status, &err);
}

/* A server that does not support ranges, one that does not accept our validator, or a different
 * file. */
static tare_status accept_whole(fetch *f) {
    tare_remote_file *file = f->file;
    const tare_response *r = &f->t.response;
    TARE_TRY(check_identity(f, r->has_length, r->length));
    if (file->has_ranges) {
        /* Another request may have found out first, while this one was under way. */
        if (!f->t.exchange.if_range)
            return fault(f, TARE_ERR_UNSUPPORTED, "the server no longer sends byte ranges");
        file->ignores_if_range = true;
        f->begins_anew = true;
        return TARE_ERR_IO; /* ends the exchange */
    }
    if (r->has_length && r->length > file->remote->options.whole_bytes) return begin_stream(f);
    file->whole.size = 0;
    f->is_whole = true;
    return TARE_OK;
}

static tare_status accept_response(fetch *f) {
    const tare_response *r = &f->t.response;
    f->is_accepted = true;
    if (r->fault) return fault(f, TARE_ERR_CORRUPT, r->fault);
    if (r->is_encoded)
        return fault(f, TARE_ERR_UNSUPPORTED, "Content-Encoding: the server compresses the file");
    if (r->status == 206 || tare_response_is_range(r, f->begin + f->got, f->end))
        return accept_range(f);
    if (r->has_range && r->has_length && r->has_total && r->length != r->total)
        return fault(f, TARE_ERR_CORRUPT,
                     "Content-Range: neither the requested range nor the file");
    return accept_whole(f);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool put_whole(fetch *f, const uint8_t *bytes, size_t n) {
    tare_buffer *whole = &f->file->whole;
    if (n > f->file->remote->options.whole_bytes - whole->size) {
        fault(f, TARE_ERR_UNSUPPORTED, TOO_LARGE);
        return false;
    }
    tare_buffer_put(whole, bytes, n);
    if (whole->failed) fault(f, TARE_ERR_NOMEM, "a file that is read whole");
    return !whole->failed;
}

static bool put_streamed(fetch *f, const uint8_t *bytes, size_t n) {
    const tare_remote_sink *sink = f->file->sink;
    tare_error err = TARE_ERROR_NONE;
    if (n > f->t.response.length - f->streamed) {
        fault(f, TARE_ERR_CORRUPT, "more bytes than Content-Length says");
        return false;
    }
    const tare_status status = sink->put(sink->ctx, bytes, n, &err);
    if (status != TARE_OK) sink_fault(f, status, &err);
    f->streamed += n;
    return status == TARE_OK;
}

static bool put_blocks(fetch *f, const uint8_t *bytes, size_t n) {
    tare_remote *r = f->file->remote;
    while (n > 0) {
        if (f->got == f->end - f->begin) {
            fault(f, TARE_ERR_CORRUPT, "more bytes than requested");
            return false;
        }
        tare_block *b = tare_block_of(f->entries[f->got / TARE_BLOCK_BYTES]);
        size_t at = (size_t)(f->got % TARE_BLOCK_BYTES);
        size_t take = n < b->size - at ? n : b->size - at;
        memcpy(b->bytes + at, bytes, take);
        bytes += take;
        n -= take;
        f->got += take;
        const bool is_whole = at + take == b->size;
        if (!is_whole && (at + take) / TARE_BLOCK_STEP == at / TARE_BLOCK_STEP) continue;
        pthread_mutex_lock(&r->blocks->mutex);
        b->got = at + take;
        if (is_whole) b->state = TARE_BLOCK_READY;
        pthread_cond_broadcast(&r->blocks->changed);
        pthread_mutex_unlock(&r->blocks->mutex);
    }
    return true;
}

static void on_header(void *owner, const char *line, size_t n) {
    tare_response_line(&((fetch *)owner)->t.response, line, n);
}

static bool on_body(void *owner, const uint8_t *bytes, size_t n) {
    fetch *f = owner;
    tare_remote *r = f->file->remote;
    tare_status status = TARE_OK;
    pthread_mutex_lock(&r->blocks->mutex);
    r->counts.bytes += n;
    if (brings_file(f) && !f->is_accepted) status = accept_response(f);
    pthread_mutex_unlock(&r->blocks->mutex);
    if (status != TARE_OK) return false;
    if (!brings_file(f)) {
        for (size_t i = 0; i < n && f->ignored + i < sizeof f->page; i++)
            f->page[f->ignored + i] = (char)bytes[i];
        f->ignored += n;
        return f->ignored <= IGNORED_MOST;
    }
    if (f->is_streamed) return put_streamed(f, bytes, n);
    return f->is_whole ? put_whole(f, bytes, n) : put_blocks(f, bytes, n);
}

/* ---- what becomes of a fetch ----------------------------------------------------------------- */

/* Schedules another try, if one is left. What was received is kept. */
static void try_again(fetch *f, tare_status status, const char *what) {
    if (!f->is_whole && f->got - f->got_before >= TARE_BLOCK_BYTES) f->t.tries = 0;
    what = tare_transfer_retry(&f->t, what);
    if (what) finish_with(f, status, what);
}

static const char *address_of(const tare_remote_file *file) {
    return file->location ? file->location : file->address;
}

static void set_location(tare_remote_file *file, char *location) {
    tare_remote_drop_text(file->remote, file->location);
    file->location = location;
    file->n_locations++;
}

/* Follows a redirection. A user, a password or a token is never sent along to another server. */
static void redirect(fetch *f) {
    tare_remote_file *file = f->file;
    tare_url from, to;
    tare_buffer text;
    if (f->t.response.commit[0]) memcpy(file->commit, f->t.response.commit, sizeof file->commit);
    if (++f->hops > HOPS_MOST) {
        finish_with(f, TARE_ERR_IO, "too many redirections");
        return;
    }
    if (tare_url_split(&to, f->t.exchange.redirect, NULL) != TARE_OK) {
        finish_with(f, TARE_ERR_UNSUPPORTED,
                    "redirected to something that is not an http or https URL");
        return;
    }
    if (tare_url_split(&from, address_of(file), NULL) == TARE_OK && from.is_secure &&
        !to.is_secure) {
        finish_with(f, TARE_ERR_UNSUPPORTED, "redirected from https to http");
        return;
    }
    tare_buffer_init(&text, NULL);
    tare_url_put(&text, &to, true);
    tare_buffer_put_u8(&text, 0);
    char *location =
        text.failed ? NULL : tare_remote_copy_text(file->remote, (const char *)text.data);
    tare_buffer_free(&text);
    if (!location) {
        finish_with(f, TARE_ERR_NOMEM, "a redirection");
        return;
    }
    set_location(file, location);
    file->remote->counts.redirects++;
    tare_transfer_queue(&f->t, 0);
}

static const char *fault_of(const fetch *f) {
    const tare_remote_file *file = f->file;
    if (file->is_s3)
        return tare_s3_fault(&f->t.response, page_of(f),
                             file->remote->options.s3_access_key != NULL);
    return tare_response_fault(&f->t.response, file->is_hub && !file->location);
}

/* A whole response without the file. */
static void refuse(fetch *f) {
    tare_remote_file *file = f->file;
    const tare_response *r = &f->t.response;
    const bool is_busy =
        file->is_s3 ? tare_s3_is_busy(r, page_of(f)) : tare_response_is_busy(r->status);
    if (is_busy) {
        try_again(f, TARE_ERR_IO, fault_of(f));
    } else if (r->status == 416 && r->is_unsatisfied && r->total == 0 && f->begin == 0 &&
               !(file->blocks.has_size && file->blocks.size)) {
        note_size(f, 0);
        set_whole(file);
        finish_from_whole(f);
    } else if (r->status == 416 && file->is_known) {
        finish_with(f, TARE_ERR_IO, CHANGED);
    } else if (r->status == 416 && r->is_unsatisfied && file->blocks.from) {
        file->is_past_end = true;
        finish_with(f, TARE_ERR_IO, fault_of(f));
    } else if (f->is_at_location && f->hops == 0) {
        if (f->location == file->n_locations)
            set_location(file, NULL); /* it had expired: asks for a new one */
        try_again(f, TARE_ERR_IO, fault_of(f));
    } else {
        fault(f, TARE_ERR_IO, fault_of(f));
        if (r->status == 404 || r->status == 410) tare_error_code(&f->err, TARE_CODE_NOT_FOUND);
        finish(f);
    }
}

/* All of the file is in the sink, or its size is known and that is enough. */
static void finish_streamed(fetch *f) {
    note_size(f, f->t.response.length);
    f->file->is_in_sink = !is_sized(f);
    for (size_t i = 0; i < f->n_blocks; i++) tare_block_of(f->entries[i])->state = TARE_BLOCK_READY;
    finish(f);
}

/* A response that brings the file is over. */
static void resolve(fetch *f) {
    tare_remote_file *file = f->file;
    if (!f->is_accepted && accept_response(f) != TARE_OK && !f->begins_anew) {
        finish(f);
    } else if (f->begins_anew) {
        tare_transfer_queue(&f->t, 0);
    } else if (f->is_streamed) {
        finish_streamed(f);
    } else if (f->is_whole) {
        if (file->blocks.has_size && file->blocks.size != file->whole.size) {
            finish_with(f, TARE_ERR_IO, "its size differs from that in the hub's list");
            return;
        }
        note_size(f, file->whole.size);
        set_whole(file);
        finish_from_whole(f);
    } else if (f->got == f->end - f->begin) {
        finish(f);
    } else if (f->got > f->got_before) {
        tare_transfer_queue(&f->t, 0); /* a server may send less than it was asked for */
    } else {
        try_again(f, TARE_ERR_IO, "the server sends no bytes of the range");
    }
}

static void judge(tare_transfer *t) {
    fetch *f = (fetch *)t;
    const tare_exchange *x = &f->t.exchange;
    unsigned status = f->t.response.status;
    if (f->status != TARE_OK)
        finish(f);
    else if (x->end == TARE_EXCHANGE_BROKEN && !f->begins_anew && !is_sized(f))
        try_again(f, TARE_ERR_IO, x->what);
    else if (x->end == TARE_EXCHANGE_FAILED)
        finish_with(f, TARE_ERR_IO, x->what);
    else if (brings_file(f))
        resolve(f);
    else if (status >= 300 && status < 400 && x->redirect && !f->file->is_s3)
        redirect(f);
    else
        refuse(f);
}

/* ---- its requests ---------------------------------------------------------------------------- */

/* Until a response has shown how a file can be read, one request for it is enough. */
static bool may_start(const tare_transfer *t, const tare_transfer *running) {
    const fetch *f = (const fetch *)t;
    if (f->file->is_known) return true;
    for (const tare_transfer *other = running; other; other = other->next)
        if (other->kind == t->kind && ((const fetch *)other)->file == f->file) return false;
    return true;
}

static void fill_exchange(fetch *f) {
    const tare_remote_file *file = f->file;
    const tare_remote *r = file->remote;
    tare_url asked, first;
    f->t.exchange = (tare_exchange){.url = address_of(file),
                                    .first = f->begin + f->got,
                                    .last = f->end - 1,
                                    .owner = f,
                                    .on_header = on_header,
                                    .on_body = on_body};
    if (file->has_ranges && !file->ignores_if_range)
        f->t.exchange.if_range = tare_response_validator(file->etag, file->modified);
    if (tare_url_split(&asked, f->t.exchange.url, NULL) != TARE_OK ||
        tare_url_split(&first, file->address, NULL) != TARE_OK ||
        !tare_url_same_origin(&asked, &first))
        return;
    f->t.exchange.userinfo = file->userinfo;
    if (file->is_hub && tare_url_same_origin(&asked, &r->hub))
        f->t.exchange.bearer = r->options.hub_token;
}

/* Of a store's file the request is signed anew each time: a signature tells the time. */
static bool start_exchange(fetch *f) {
    tare_buffer lines;
    const tare_s3_request request = {
        .method = "GET", .url = f->t.exchange.url, .now = (int64_t)time(NULL)};
    tare_buffer_init(&lines, NULL);
    if (f->file->is_s3) tare_s3_sign(&lines, &f->file->remote->options, &request);
    f->t.exchange.headers = (tare_str){(const char *)lines.data, lines.size};
    const bool is_started = !lines.failed && tare_transfer_start(&f->t);
    f->t.exchange.headers = TARE_STR("");
    tare_buffer_free(&lines);
    return is_started;
}

static bool start(tare_transfer *t) {
    fetch *f = (fetch *)t;
    if (f->file->blocks.is_whole) {
        finish_from_whole(f);
        return false;
    }
    if (f->file->blocks.has_size) f->end = tare_min_u64(f->end, f->file->blocks.size);
    f->got_before = f->got;
    f->ignored = 0;
    f->is_accepted = f->is_whole = f->begins_anew = f->is_streamed = false;
    f->streamed = 0;
    f->is_at_location = f->file->location != NULL;
    f->location = f->file->n_locations;
    fill_exchange(f);
    if (start_exchange(f)) return true;
    finish_with(f, TARE_ERR_NOMEM, "a request");
    return false;
}

static bool is_unwanted(const tare_transfer *t, bool is_cancelled) {
    return is_cancelled || ((const fetch *)t)->file->is_closing;
}

static void cancel(tare_transfer *t) {
    finish_with((fetch *)t, TARE_ERR_CANCELLED, "cancelled");
}

static const tare_transfer_kind kind = {may_start, start, judge, is_unwanted, cancel};

/* ---- for the rest of the session ------------------------------------------------------------- */

tare_status tare_fetcher_add(tare_remote *r, tare_remote_file *file, uint64_t first_block,
                             tare_cached *const *entries, size_t n, tare_error *err) {
    fetch *f = tare_alloc(r->options.context->allocator, sizeof *f);
    if (!f) return tare_fail(err, TARE_ERR_NOMEM, "a request");
    *f = (fetch){
        .t = {.kind = &kind, .remote = r}, .file = file, .n_blocks = n, .err = TARE_ERROR_NONE};
    f->begin = first_block * TARE_BLOCK_BYTES;
    f->end = f->begin + n * TARE_BLOCK_BYTES;
    if (file->blocks.from > f->begin && file->blocks.from < f->end)
        f->got = file->blocks.from - f->begin;
    memcpy(f->entries, entries, n * sizeof *entries);
    file->n_fetches++;
    tare_transfer_queue(&f->t, 0);
    return TARE_OK;
}

void tare_fetcher_forget(tare_remote *r, tare_remote_file *file) {
    file->is_closing = true;
    if (file->n_fetches) tare_fetcher_wake(r);
    while (file->n_fetches) pthread_cond_wait(&r->blocks->changed, &r->blocks->mutex);
}
