/* SPDX-License-Identifier: MIT
 *
 * A session of URLs: what it is made of, and what it has done so far. */
#include "remote/session.h"

#include "base/arith.h"
#include "base/str.h"
#include "remote/hub.h"
#include "remote/upload.h"

#define CONNECTIONS_MOST 64
#define TOKEN_MOST       2048

/* Characters that a header cannot contain would let a token start another header. */
static bool is_token(const char *token) {
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)token[i] <= ' ' || (unsigned char)token[i] >= 0x7f) return false;
    return n > 0 && n <= TOKEN_MOST;
}

static tare_status check_options(tare_remote *r, tare_error *err) {
    tare_remote_options *o = &r->options;
    if (!o->hub_endpoint) o->hub_endpoint = TARE_HUB_ENDPOINT;
    if (tare_url_split(&r->hub, o->hub_endpoint, NULL) != TARE_OK || r->hub.userinfo.len ||
        r->hub.query.len)
        return tare_fail(err, TARE_ERR_ARG, "hub endpoint: https://HOST or http://HOST expected");
    if (o->hub_token && !is_token(o->hub_token))
        return tare_fail(err, TARE_ERR_ARG,
                         "hub token: printable characters without spaces expected");
    if (o->connections < 1 || o->connections > CONNECTIONS_MOST)
        return tare_fail(err, TARE_ERR_ARG, "connections: 1 to 64 expected");
    return TARE_OK;
}

/* Copies the texts that the options point at. */
static tare_status keep_texts(tare_remote *r, tare_error *err) {
    tare_remote_options *o = &r->options;
    const char **texts[] = {&o->hub_endpoint,  &o->hub_token,       &o->ca_file,
                            &o->ca_folder,     &o->proxy,           &o->hub_cache,
                            &o->s3_endpoint,   &o->s3_region,       &o->s3_access_key,
                            &o->s3_secret_key, &o->s3_session_token};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!*texts[i]) continue;
        *texts[i] = tare_arena_str(&r->arena, tare_str_of(*texts[i])).ptr;
        if (!*texts[i]) return tare_fail(err, TARE_ERR_NOMEM, "a session");
    }
    return TARE_OK;
}

static tare_status set_up(tare_remote *r, tare_error *err) {
    TARE_TRY(keep_texts(r, err));
    TARE_TRY(check_options(r, err));
    size_t budget;
    if (!tare_size_of_u64(r->options.cache_bytes, &budget)) budget = SIZE_MAX;
    r->blocks = tare_blocks_new(budget, r->options.context->allocator);
    return r->blocks ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "a session");
}

TARE_DEFINE_INIT_WITH(tare_remote_options, .whole_bytes = UINT64_C(1) << 26,
                      .cache_bytes = UINT64_C(1) << 26, .connections = 8, .retries = 5,
                      .backoff_ms = 250, .connect_seconds = 30, .stall_seconds = 30)
TARE_DEFINE_INIT(tare_remote_counts)

tare_status tare_remote_new(tare_remote **out, const tare_remote_options *options,
                            tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    tare_remote_options o = tare_remote_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    tare_remote *r = tare_alloc(o.context->allocator, sizeof *r);
    if (!r) return tare_fail(err, TARE_ERR_NOMEM, "a session");
    *r = (tare_remote){.options = o, .context = context};
    r->options.context = &r->context;
    tare_arena_init(&r->arena, o.context->allocator);
    tare_upload_store(&r->store, r);
    tare_status status = set_up(r, err);
    if (status == TARE_OK)
        *out = r;
    else
        tare_remote_free(r);
    return status;
}

void tare_remote_free(tare_remote *r) {
    if (!r) return;
    tare_fetcher_stop(r);
    tare_blocks_release(r->blocks);
    tare_arena_free(&r->arena);
    tare_free(r->options.context->allocator, r, sizeof *r);
}

tare_status tare_remote_count(tare_remote_counts *out, const tare_remote *remote, tare_error *err) {
    TARE_REQUIRE(remote && out && out->size >= sizeof out->size, err);
    tare_remote *r = (tare_remote *)(uintptr_t)remote; /* for its lock */
    pthread_mutex_lock(&r->blocks->mutex);
    tare_remote_counts counts = r->counts;
    pthread_mutex_unlock(&r->blocks->mutex);
    counts.size = out->size;
    memcpy(out, &counts, (size_t)tare_min_u64(out->size, sizeof counts));
    return TARE_OK;
}
