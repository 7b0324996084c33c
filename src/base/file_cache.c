/* SPDX-License-Identifier: MIT */
#include "base/file_cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/os_file.h"
#include "base/os_system.h"

#define KEPT_MOST 256 /* files of one model that are never closed */
#define KEPT      8   /* descriptors that are not being read from */

struct tare_file_cache {
    const tare_allocator *allocator;
    tare_cache *descriptors;
    _Atomic uint64_t n_idle;
};

typedef struct idle {
    tare_file_cache *cache;
    uint64_t number;
    uint64_t size, device, inode;
    size_t path_size;
    char path[]; /* absolute: the working directory may change */
} idle;

size_t tare_files_kept_open(void) {
    const size_t most = tare_descriptors_allowed() / 4;
    return most < KEPT_MOST ? most : KEPT_MOST;
}

/* A descriptor as the value of a cache, which may not be NULL. */
typedef struct descriptor {
    int fd;
} descriptor;

static void close_descriptor(void *ctx, void *value, size_t cost) {
    const tare_file_cache *c = ctx;
    descriptor *d = value;
    (void)cost;
    tare_fd_close(d->fd);
    tare_free(c->allocator, d, sizeof *d);
}

tare_file_cache *tare_file_cache_new(const tare_allocator *allocator) {
    tare_file_cache *c = tare_alloc(allocator, sizeof *c);
    if (!c) return NULL;
    *c = (tare_file_cache){.allocator = allocator};
    c->descriptors = tare_cache_new(KEPT, close_descriptor, c, allocator);
    if (c->descriptors) return c;
    tare_free(allocator, c, sizeof *c);
    return NULL;
}

void tare_file_cache_free(tare_file_cache *c) {
    if (!c) return;
    tare_cache_free(c->descriptors);
    tare_free(c->allocator, c, sizeof *c);
}

/* Opens the file again; it must still be the same file. */
static tare_status open_again(descriptor **out, const idle *p, tare_error *err) {
    tare_reader r;
    TARE_TRY(tare_reader_open(&r, p->path, false, err));
    const bool is_same = r.size == p->size && r.device == p->device && r.inode == p->inode;
    *out = is_same ? tare_alloc(p->cache->allocator, sizeof **out) : NULL;
    if (*out) {
        (*out)->fd = r.fd;
        return TARE_OK;
    }
    tare_reader_close(&r);
    return is_same ? tare_fail(err, TARE_ERR_NOMEM, "open file")
                   : tare_fail(err, TARE_ERR_IO, "the file was replaced or has changed its size");
}

static tare_status hold(tare_cached **out, const idle *p, tare_error *err) {
    tare_cache *cache = p->cache->descriptors;
    switch (tare_cache_take(out, cache, (tare_cache_key){p->number, 0}, true)) {
    case TARE_CACHE_HELD:
        return TARE_OK;
    case TARE_CACHE_TO_MAKE:
        break;
    default:
        return tare_fail(err, TARE_ERR_NOMEM, "open file");
    }
    descriptor *d;
    tare_status status = open_again(&d, p, err);
    if (status == TARE_OK)
        tare_cache_fill(cache, *out, d, 1);
    else
        tare_cache_fail(cache, *out);
    return status;
}

static tare_status fetch_idle(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const idle *p = ctx;
    tare_cached *entry;
    TARE_TRY(hold(&entry, p, err));
    const tare_reader r = {.size = p->size, .fd = ((const descriptor *)entry->value)->fd};
    tare_status status = tare_reader_read(&r, offset, buf, n, err);
    tare_cache_release(p->cache->descriptors, entry);
    return status;
}

static void close_idle(void *ctx) {
    idle *p = ctx;
    tare_free(p->cache->allocator, p, sizeof *p + p->path_size);
}

tare_status tare_file_cache_put(tare_file_cache *c, tare_reader *r, tare_error *err) {
    if (r->fd < 0 || !r->owns_fd || !r->has_identity || r->map || r->fetch || !r->name)
        return TARE_OK;
    char *path = tare_path_real(r->name);
    if (!path) return TARE_OK;
    const size_t n = strlen(path) + 1;
    idle *p = tare_alloc(c->allocator, sizeof *p + n);
    if (p) {
        *p = (idle){c, atomic_fetch_add(&c->n_idle, 1), r->size, r->device, r->inode, n};
        memcpy(p->path, path, n);
    }
    free(path);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    tare_fd_close(r->fd);
    r->fd = -1;
    r->owns_fd = false;
    r->fetch = fetch_idle;
    r->read_ctx = p;
    r->close = close_idle;
    return TARE_OK;
}
