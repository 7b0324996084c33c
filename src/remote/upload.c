/* SPDX-License-Identifier: MIT
 *
 * Outputs as objects of a store. Bytes arrive from many threads, nearly in order, each once: they are
 * gathered in parts, and a part is sent when it is full. Nobody sees the object before its last part is
 * there and the upload is completed.
 *
 * Parts of an output of known size are equal, as some stores want it; of one whose size is known at the
 * end they grow, so that as many parts as a store takes suffice: part k has 16 MiB * (1 + k / 500), the
 * 10,000 of them 1.64 TiB. Its first part is sent last, as what it begins with is known last. */
#include "remote/upload.h"

#include "base/arith.h"
#include "base/hash.h"
#include "base/report.h"
#include "base/str.h"
#include "remote/multipart.h"

#define PART       ((uint64_t)16 << 20)
#define PART_MOST  ((uint64_t)5 << 30) /* that a store takes */
#define GROWTH     500                 /* parts of one size */
#define EVEN_PARTS 9000 /* of an output of known size: fewer than a store takes, for round sizes */
#define KEPT_MOST  ((uint64_t)128 << 20) /* bytes of parts in memory, beyond the first ones */

typedef struct part {
    uint64_t begin, missing;
    uint8_t *bytes; /* NULL: nothing of it was written yet, or it was sent */
    bool is_sent;   /* or being sent */
} part;

struct tare_store_object {
    tare_remote *remote;
    tare_arena arena; /* of its texts, under the session's lock */
    tare_multipart upload;
    tare_object_facts before;
    tare_out_options options;
    uint64_t size; /* that is known, or how far it has grown */
    bool is_growing;
    bool is_member; /* of a folder */
    bool is_beginning, is_stopped, is_committed;
    part *parts; /* one more than there may be: where the last one ends */
    size_t n_parts;
    size_t n_sending;
    tare_status status; /* of the first part that failed */
    tare_error err;
};

/* A part on its way. */
typedef struct sending {
    tare_call call; /* first */
    tare_store_object *object;
    size_t index;
    uint8_t *bytes;
    uint64_t size; /* of the memory */
    tare_buffer url;
    char digest[65];
} sending;

static pthread_mutex_t *lock_of(const tare_store_object *o) {
    return &o->remote->blocks->mutex;
}

static const tare_allocator *allocator_of(const tare_store_object *o) {
    return o->remote->options.context->allocator;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static uint64_t part_room(const tare_store_object *o, size_t i) {
    return o->parts[i + 1].begin - o->parts[i].begin;
}

static tare_status cut(tare_store_object *o, tare_error *err) {
    const uint64_t even = (o->size / EVEN_PARTS + PART) / PART * PART;
    const uint64_t size = tare_max_u64(even, PART);
    if (size > PART_MOST)
        return tare_fail(err, TARE_ERR_LIMIT, "size of an object: more than a store takes");
    o->n_parts = o->is_growing ? TARE_PARTS_OF_UPLOAD : (size_t)((o->size + size - 1) / size);
    o->parts = tare_arena_array(&o->arena, o->n_parts + 1, sizeof *o->parts);
    o->upload.tags = tare_arena_array(&o->arena, o->n_parts, sizeof *o->upload.tags);
    if (!o->parts || !o->upload.tags) return tare_fail(err, TARE_ERR_NOMEM, "parts of an upload");
    for (size_t i = 0; i < o->n_parts; i++) {
        const uint64_t room = o->is_growing ? PART * (1 + i / GROWTH) : size;
        o->parts[i + 1].begin = o->parts[i].begin + room;
        if (!o->is_growing && o->parts[i + 1].begin > o->size) o->parts[i + 1].begin = o->size;
        o->parts[i].missing = part_room(o, i);
    }
    return TARE_OK;
}

static size_t part_at(const tare_store_object *o, uint64_t offset) {
    size_t low = 0, high = o->n_parts;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (o->parts[middle].begin <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A part that is sent when all is there: it may be written again, or be all of the object. */
static bool is_held(const tare_store_object *o, size_t i) {
    return i == 0 && (o->is_growing || (o->n_parts == 1 && !o->is_member));
}

/* Memory of a part, zeros. While parts are on their way, it is waited for. The lock is held. */
static tare_status make_room(tare_store_object *o, size_t i, tare_error *err) {
    tare_remote *r = o->remote;
    size_t room;
    while (r->n_sending && r->part_bytes + part_room(o, i) > KEPT_MOST && !o->parts[i].bytes)
        pthread_cond_wait(&r->blocks->changed, lock_of(o));
    if (o->parts[i].bytes) return TARE_OK;
    if (!tare_size_of_u64(part_room(o, i), &room)) room = SIZE_MAX;
    o->parts[i].bytes = tare_alloc(allocator_of(o), room);
    if (!o->parts[i].bytes) return tare_fail(err, TARE_ERR_NOMEM, "a part of an upload");
    memset(o->parts[i].bytes, 0, room);
    r->part_bytes += room;
    return TARE_OK;
}

static void drop_room(tare_store_object *o, uint8_t *bytes, uint64_t room) {
    if (bytes) o->remote->part_bytes -= room;
    tare_free(allocator_of(o), bytes, (size_t)room);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void fail_object(tare_store_object *o, const tare_error *err) {
    if (o->status != TARE_OK) return;
    o->status = err->status;
    o->err = *err;
}

static void free_sending(sending *s) {
    tare_store_object *o = s->object;
    drop_room(o, s->bytes, s->size);
    tare_buffer_free(&s->url);
    tare_free(allocator_of(o), s, sizeof *s);
}

/* On the session's thread, with its lock. */
static void is_sent(tare_call *c) {
    sending *s = (sending *)c;
    tare_store_object *o = s->object;
    if (c->status == TARE_OK && !c->t.response.etag[0])
        tare_call_fault(c, TARE_ERR_CORRUPT, "ETag: missing in the answer to a part");
    if (c->status == TARE_OK) {
        const char *tag = tare_arena_str(&o->arena, tare_str_of(c->t.response.etag)).ptr;
        if (!tag) tare_call_fault(c, TARE_ERR_NOMEM, "parts of an upload");
        o->upload.tags[s->index] = tag;
    }
    if (c->status != TARE_OK) fail_object(o, &c->err);
    tare_call_end(c);
    o->n_sending--;
    o->remote->n_sending--;
    pthread_cond_broadcast(&o->remote->blocks->changed);
    free_sending(s);
}

/* Begins the upload, once; others wait. The lock is held, and given up meanwhile. */
static tare_status begin_upload(tare_store_object *o, tare_error *err) {
    tare_multipart upload = o->upload;
    tare_arena arena;
    while (o->is_beginning) pthread_cond_wait(&o->remote->blocks->changed, lock_of(o));
    if (o->upload.id || o->status != TARE_OK) return TARE_OK;
    o->is_beginning = true;
    pthread_mutex_unlock(lock_of(o));
    tare_arena_init(&arena, allocator_of(o));
    upload.arena = &arena;
    tare_error fault = TARE_ERROR_NONE;
    const tare_status status = tare_multipart_begin(&upload, &fault);
    pthread_mutex_lock(lock_of(o));
    o->is_beginning = false;
    if (status == TARE_OK) o->upload.id = tare_arena_str(&o->arena, tare_str_of(upload.id)).ptr;
    if (status != TARE_OK) fail_object(o, &fault);
    pthread_cond_broadcast(&o->remote->blocks->changed);
    tare_arena_free(&arena);
    if (status == TARE_OK && !o->upload.id) return tare_fail(err, TARE_ERR_NOMEM, "an upload");
    return TARE_OK;
}

/* Takes over the bytes of a part. The lock is held, and given up meanwhile. */
static tare_status send_part(tare_store_object *o, size_t i, uint64_t size, tare_error *err) {
    sending *s = tare_alloc(allocator_of(o), sizeof *s);
    if (!s) return tare_fail(err, TARE_ERR_NOMEM, "a part of an upload");
    *s = (sending){.object = o, .index = i, .bytes = o->parts[i].bytes, .size = part_room(o, i)};
    tare_buffer_init(&s->url, NULL);
    o->parts[i].bytes = NULL;
    tare_status status = begin_upload(o, err);
    if (status == TARE_OK && o->status == TARE_OK) {
        pthread_mutex_unlock(lock_of(o));
        tare_sha256_hex(s->digest, s->bytes, (size_t)size);
        tare_multipart_put_part(&s->url, &o->upload, i + 1);
        tare_buffer_put_u8(&s->url, 0);
        status = tare_buffer_status(&s->url, err);
        pthread_mutex_lock(lock_of(o));
    }
    if (status != TARE_OK || o->status != TARE_OK) {
        free_sending(s);
        return status;
    }
    s->call = (tare_call){.name = o->upload.name,
                          .method = "PUT",
                          .url = (const char *)s->url.data,
                          .body = s->bytes,
                          .n_body = (size_t)size,
                          .digest = s->digest,
                          .is_stopped = &o->is_stopped,
                          .over = is_sent};
    o->n_sending++;
    o->remote->n_sending++;
    tare_call_begin(&s->call, o->remote);
    return TARE_OK;
}

/* So many bytes of a part more are there. The lock is held. */
static tare_status count(tare_store_object *o, size_t i, uint64_t n, tare_error *err) {
    part *p = &o->parts[i];
    if (is_held(o, i)) return TARE_OK;
    p->missing -= tare_min_u64(n, p->missing);
    if (p->missing || !p->bytes) return TARE_OK;
    p->is_sent = true;
    return send_part(o, i, part_room(o, i), err);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static tare_status say_failed(const tare_store_object *o, tare_error *err) {
    if (err) *err = o->err;
    return o->status;
}

/* A range within one part; *n: of it. The lock is held, but not while bytes are copied: the part is not
 * sent before they have been counted. */
static tare_status write_some(tare_store_object *o, uint64_t offset, const uint8_t *bytes, size_t n,
                              tare_error *err) {
    const size_t i = part_at(o, offset);
    part *p = &o->parts[i];
    if (o->status != TARE_OK) return say_failed(o, err);
    if (p->is_sent) return tare_store_fail_rewritten(o->upload.name, err);
    TARE_TRY(make_room(o, i, err));
    if (o->status != TARE_OK) return say_failed(o, err);
    pthread_mutex_unlock(lock_of(o));
    memcpy(p->bytes + (offset - p->begin), bytes, n);
    pthread_mutex_lock(lock_of(o));
    if (o->is_growing && offset + n > o->size) o->size = offset + n;
    return count(o, i, n, err);
}

static tare_status write_object(tare_store_object *o, uint64_t offset, const void *bytes, size_t n,
                                tare_error *err) {
    const uint8_t *from = bytes;
    tare_status status = TARE_OK;
    if (offset > o->parts[o->n_parts].begin || n > o->parts[o->n_parts].begin - offset)
        return tare_fail(err, TARE_ERR_LIMIT, "size of an object: more than a store takes");
    pthread_mutex_lock(lock_of(o));
    while (n > 0 && status == TARE_OK) {
        const uint64_t left = o->parts[part_at(o, offset) + 1].begin - offset;
        const size_t some = (size_t)tare_min_u64(n, left);
        status = write_some(o, offset, from, some, err);
        from += some;
        offset += some;
        n -= some;
    }
    pthread_mutex_unlock(lock_of(o));
    return status;
}

static tare_status skip(tare_store_object *o, uint64_t offset, uint64_t n, tare_error *err) {
    tare_status status = TARE_OK;
    pthread_mutex_lock(lock_of(o));
    while (n > 0 && status == TARE_OK) {
        const size_t i = part_at(o, offset);
        const uint64_t some = tare_min_u64(n, o->parts[i + 1].begin - offset);
        status = count(o, i, some, err);
        offset += some;
        n -= some;
    }
    pthread_mutex_unlock(lock_of(o));
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What is left: the part that was held back, the last one, and those of zeros. */
static tare_status send_rest(tare_store_object *o, tare_error *err) {
    for (size_t i = 0; i < o->n_parts; i++) {
        part *p = &o->parts[i];
        if (p->is_sent) continue;
        if (o->status != TARE_OK) return say_failed(o, err);
        TARE_TRY(make_room(o, i, err));
        p->is_sent = true;
        TARE_TRY(send_part(o, i, tare_min_u64(part_room(o, i), o->size - p->begin), err));
    }
    return TARE_OK;
}

static tare_status settle(tare_store_object *o, tare_error *err) {
    tare_status status = TARE_OK;
    pthread_mutex_lock(lock_of(o));
    o->n_parts = part_at(o, o->size ? o->size - 1 : 0) + 1;
    o->upload.n_parts = o->n_parts;
    if (o->n_parts == 1 && !o->parts[0].is_sent && !o->is_member && !o->upload.id)
        status = make_room(o, 0, err); /* is sent as a whole */
    else
        status = send_rest(o, err);
    while (o->n_sending && status == TARE_OK)
        pthread_cond_wait(&o->remote->blocks->changed, lock_of(o));
    if (status == TARE_OK && o->status != TARE_OK) status = say_failed(o, err);
    pthread_mutex_unlock(lock_of(o));
    return status;
}

static tare_str without_quotes(const char *tag) {
    tare_str text = tare_str_of(tag);
    if (text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"')
        text = (tare_str){text.ptr + 1, text.len - 2};
    return text;
}

/* Whether the object that is there now is the one that was made. */
static tare_status check_made(const tare_store_object *o, const tare_object_facts *made,
                              tare_error *err) {
    tare_object_facts now;
    TARE_TRY(tare_object_look(&now, &o->upload, err));
    const bool is_same = !made->etag[0] || !now.etag[0] ||
                         tare_str_equal(without_quotes(made->etag), without_quotes(now.etag));
    if (now.is_hidden) {
        tare_finding f = TARE_FINDING(WARNING, TARE_OK, "upload.unseen");
        f.file = tare_str_of(o->upload.name);
        f.text = TARE_STR("the store took the object, and does not let it be looked at");
        tare_report_add(o->options.report, &f);
        return TARE_OK;
    }
    if (now.exists && now.size == o->size && is_same) return TARE_OK;
    tare_fail(err, TARE_ERR_IO,
              now.exists ? "the store shows another object than the one that was sent"
                         : "the store does not show the object that was sent");
    tare_error_file(err, o->upload.name);
    return TARE_ERR_IO;
}

static tare_status commit(tare_store_object *o, tare_error *err) {
    const bool is_new = !o->options.force;
    tare_object_facts made;
    if (o->upload.id)
        TARE_TRY(tare_multipart_complete(&made, &o->upload, &o->before, o->size, is_new, err));
    else
        TARE_TRY(tare_object_put(&made, &o->upload, &o->before, o->parts[0].bytes, (size_t)o->size,
                                 is_new, err));
    o->is_committed = true;
    return check_made(o, &made, err);
}

/* An upload that could not be removed costs money until it is. */
static void report_left(const tare_store_object *o, const tare_error *err) {
    tare_finding f = TARE_FINDING(ERROR, err->status, "upload.left");
    f.file = tare_str_of(o->upload.name);
    tare_report_addf(o->options.report, &f,
                     "an upload that is not complete stays in the store, as removing it failed "
                     "(%s%s%s): tare status names it, and removes it with `abort`",
                     err->field, err->field[0] ? ", " : "", err->what);
}

static void abort_upload(tare_store_object *o) {
    tare_error err = TARE_ERROR_NONE;
    if (o->upload.id && !o->is_committed &&
        tare_multipart_abort(&o->upload, o->upload.id, &err) != TARE_OK)
        report_left(o, &err);
}

static void free_object(tare_store_object *o) {
    if (!o) return;
    pthread_mutex_lock(lock_of(o));
    o->is_stopped = true;
    if (o->n_sending) tare_fetcher_wake(o->remote);
    while (o->n_sending || o->is_beginning)
        pthread_cond_wait(&o->remote->blocks->changed, lock_of(o));
    for (size_t i = 0; o->parts && i < o->n_parts; i++)
        drop_room(o, o->parts[i].bytes, part_room(o, i));
    pthread_mutex_unlock(lock_of(o));
    abort_upload(o);
    tare_arena_free(&o->arena);
    tare_free(allocator_of(o), o, sizeof *o);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static bool has(const char *path) {
    return tare_same_letters(path, "s3://", 5);
}

/* "KEY/" of a folder. */
static tare_status check_folder(const tare_multipart *m, const char *path, tare_error *err) {
    size_t n;
    char *prefix = tare_arena_take(m->arena, m->key.len + 2);
    if (!prefix) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    memcpy(prefix, m->key.ptr, m->key.len);
    if (m->key.len) prefix[m->key.len] = '/';
    TARE_TRY(tare_objects_count(&n, m, tare_str_of(prefix), err));
    if (n == 0) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG,
              "the folder has objects in it, and a store cannot replace them together: choose "
              "another one, or remove them first");
    tare_error_file(err, path);
    return TARE_ERR_ARG;
}

static tare_status check_object(const tare_multipart *m, const tare_out_options *options,
                                tare_error *err) {
    tare_object_facts now;
    if (m->key.len == 0 || m->name[strlen(m->name) - 1] == '/')
        return tare_fail(err, TARE_ERR_ARG, "s3://BUCKET/KEY expected: this names a folder");
    TARE_TRY(tare_object_look(&now, m, err));
    if (now.is_hidden && !options->force)
        return tare_fail(err, TARE_ERR_IO,
                         "the store does not say whether the output exists, as the keys may not "
                         "read it: `force` writes it all the same");
    return now.exists && !options->force ? tare_object_fail_exists(m, err) : TARE_OK;
}

static tare_status check(void *ctx, const char *path, const tare_out_options *options,
                         tare_error *err) {
    tare_arena arena;
    tare_multipart m;
    tare_arena_init(&arena, ((tare_remote *)ctx)->options.context->allocator);
    tare_status status = tare_multipart_init(&m, ctx, &arena, path, err);
    if (status == TARE_OK)
        status =
            options->is_directory ? check_folder(&m, path, err) : check_object(&m, options, err);
    if (status != TARE_OK) tare_error_file(err, path);
    tare_arena_free(&arena);
    return status;
}

/* The name of a member: of what lies in a folder, below it. */
static const char *name_of(tare_store_object *o, const char *path, const char *name) {
    tare_str folder = tare_str_of(path);
    if (!name) return path;
    while (folder.len && folder.ptr[folder.len - 1] == '/') folder.len--;
    char *whole = tare_arena_take(&o->arena, folder.len + strlen(name) + 2);
    if (!whole) return NULL;
    memcpy(whole, folder.ptr, folder.len);
    whole[folder.len] = '/';
    memcpy(whole + folder.len + 1, name, strlen(name));
    return whole;
}

static tare_status set_up(tare_store_object *o, const char *path, const char *name,
                          tare_error *err) {
    tare_error fault = TARE_ERROR_NONE;
    const char *whole = name_of(o, path, name);
    if (!whole) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    TARE_TRY(tare_multipart_init(&o->upload, o->remote, &o->arena, whole, err));
    TARE_TRY(cut(o, err));
    if (!name) TARE_TRY(tare_object_look(&o->before, &o->upload, err));
    if (o->is_growing || o->n_parts == 1) return TARE_OK;
    pthread_mutex_lock(lock_of(o));
    tare_status status = begin_upload(o, &fault);
    if (status == TARE_OK) status = o->status;
    if (o->status != TARE_OK) fault = o->err;
    pthread_mutex_unlock(lock_of(o));
    if (status != TARE_OK && err) *err = fault;
    return status;
}

static tare_status begin(void *ctx, tare_store_object **out, const char *path, const char *name,
                         uint64_t size, const tare_out_options *options, tare_error *err) {
    tare_remote *r = ctx;
    *out = NULL;
    tare_store_object *o = tare_alloc(r->options.context->allocator, sizeof *o);
    if (!o) return tare_fail(err, TARE_ERR_NOMEM, "an upload");
    *o = (tare_store_object){.remote = r,
                             .options = *options,
                             .size = size,
                             .is_growing = size == 0,
                             .is_member = name != NULL,
                             .err = TARE_ERROR_NONE};
    tare_arena_init(&o->arena, allocator_of(o));
    const tare_status status = set_up(o, path, name, err);
    if (status == TARE_OK)
        *out = o;
    else
        free_object(o);
    return status;
}

void tare_upload_store(tare_store *out, tare_remote *remote) {
    *out = (tare_store){.ctx = remote,
                        .has = has,
                        .check = check,
                        .begin = begin,
                        .write = write_object,
                        .skip = skip,
                        .settle = settle,
                        .commit = commit,
                        .free = free_object};
}

const tare_store *tare_remote_store(tare_remote *remote) {
    return remote ? &remote->store : NULL;
}
