/* SPDX-License-Identifier: MIT
 *
 * A view: its files, the pieces of them that are kept, and what is made ahead. A reader copies from
 * pieces, each of which is made once while it is kept; one that goes through a file in order sets a few
 * threads to work on the pieces that follow. */
#include "ops/views/view_files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arith.h"
#include "base/cache.h"
#include "base/files.h"
#include "base/pool.h"
#include "base/str.h"

enum {
    CACHE_DEFAULT = 256 << 20,
    CACHE_LEAST = 16 << 20,
    WAITING = 256,    /* pieces to be made ahead */
    NEARBY = 4 << 20, /* reads of several threads come out of order by less than that */
    IN_ORDER = 2,     /* so many near each other: by chance they are not */
    AHEAD_MOST = 64 << 20,
    MOST_THREADS = 64,
};

typedef struct file {
    tare_view_file info;
    uint32_t source, number;
    _Atomic uint64_t next;   /* byte after what was read last */
    _Atomic uint32_t n_near; /* reads before that, each near the end of the one before */
    _Atomic uint64_t ahead;  /* up to where pieces were asked for */
} file;

typedef struct wanted {
    size_t file;
    uint64_t offset;
} wanted;

struct tare_view {
    tare_view_options options;
    tare_context context;
    tare_arena arena;
    tare_view_source *sources;
    size_t n_sources, sources_capacity;
    file **files;
    size_t n_files, files_capacity;
    tare_cache *pieces;
    uint64_t ahead_bytes;
    /* Threads, started by the first reader that needs them. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    wanted queue[WAITING];
    size_t first, n_waiting;
    pthread_t threads[MOST_THREADS];
    unsigned n_threads;
    bool has_threads, is_ending;
};

TARE_DEFINE_INIT(tare_view_options)
TARE_DEFINE_INIT(tare_view_file)

/* ---- making and freeing ---------------------------------------------------------------------- */

static void free_piece(void *ctx, void *value, size_t cost) {
    const tare_view *view = ctx;
    tare_free(view->context.allocator, value, cost);
}

static uint64_t cache_bytes(const tare_view *v) {
    const uint64_t n = v->options.cache_bytes ? v->options.cache_bytes : CACHE_DEFAULT;
    return tare_min_u64(tare_max_u64(n, CACHE_LEAST), SIZE_MAX / 2);
}

tare_status tare_view_new(tare_view **out, const tare_view_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    tare_view_options o = tare_view_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    tare_view *v = tare_alloc(context.allocator, sizeof *v);
    if (!v) return tare_fail(err, TARE_ERR_NOMEM, "view");
    *v = (tare_view){.options = o, .context = context};
    v->options.context = &v->context;
    tare_arena_init(&v->arena, context.allocator);
    /* What sources keep takes an eighth, pieces in the making another one. */
    v->pieces = tare_cache_new((size_t)(cache_bytes(v) / 4 * 3), free_piece, v, context.allocator);
    v->ahead_bytes = tare_min_u64(cache_bytes(v) / 4, AHEAD_MOST);
    const bool has_mutex = pthread_mutex_init(&v->mutex, NULL) == 0;
    if (v->pieces && has_mutex && pthread_cond_init(&v->changed, NULL) == 0) {
        *out = v;
        return TARE_OK;
    }
    if (has_mutex) pthread_mutex_destroy(&v->mutex);
    if (v->pieces) tare_cache_free(v->pieces);
    tare_arena_free(&v->arena);
    tare_free(context.allocator, v, sizeof *v);
    return tare_fail(err, TARE_ERR_NOMEM, "view");
}

static void end_threads(tare_view *v) {
    pthread_mutex_lock(&v->mutex);
    v->is_ending = true;
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->mutex);
    for (unsigned i = 0; i < v->n_threads; i++) pthread_join(v->threads[i], NULL);
}

void tare_view_free(tare_view *v) {
    if (!v) return;
    const tare_allocator *a = v->context.allocator;
    end_threads(v);
    tare_cache_free(v->pieces);
    for (size_t i = 0; i < v->n_sources; i++) v->sources[i].free(v->sources[i].ctx);
    tare_free(a, v->sources, v->sources_capacity * sizeof *v->sources);
    tare_free(a, v->files, v->files_capacity * sizeof *v->files);
    pthread_cond_destroy(&v->changed);
    pthread_mutex_destroy(&v->mutex);
    tare_arena_free(&v->arena);
    tare_free(a, v, sizeof *v);
}

size_t tare_view_n_sources(const tare_view *view) {
    return view->n_sources;
}

const tare_file_version *tare_view_version(const tare_view *view, size_t source) {
    return &view->sources[source].version;
}

const tare_context *tare_view_context(const tare_view *view) {
    return &view->context;
}

tare_arena *tare_view_arena(tare_view *view) {
    return &view->arena;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What sources keep is shared by all of them. */
static void share_memory(tare_view *v) {
    for (size_t i = 0; i < v->n_sources; i++)
        if (v->sources[i].limit)
            v->sources[i].limit(v->sources[i].ctx, (size_t)(cache_bytes(v) / 8 / v->n_sources));
}

tare_status tare_view_add_source(uint32_t *index, tare_view *v, const tare_view_source *source,
                                 tare_error *err) {
    if (v->n_sources == UINT32_MAX ||
        !tare_grow(v->context.allocator, (void **)&v->sources, &v->sources_capacity,
                   v->n_sources + 1, sizeof *v->sources)) {
        source->free(source->ctx);
        return tare_fail(err, TARE_ERR_NOMEM, "view");
    }
    *index = (uint32_t)v->n_sources;
    v->sources[v->n_sources++] = *source;
    share_memory(v);
    return TARE_OK;
}

/* Whether one name is the other, or a folder that it lies in. */
static bool is_within(tare_str name, tare_str folder) {
    return tare_str_starts(name, folder) && (name.len == folder.len || name.ptr[folder.len] == '/');
}

bool tare_view_has(const tare_view *v, tare_str name) {
    for (size_t i = 0; i < v->n_files; i++)
        if (is_within(v->files[i]->info.name, name) || is_within(name, v->files[i]->info.name))
            return true;
    return false;
}

tare_str tare_view_join(tare_arena *arena, tare_str folder, tare_str name) {
    const size_t gap = folder.len && name.len;
    char *text = tare_arena_take(arena, folder.len + gap + name.len + 1);
    if (!text) return (tare_str){0};
    if (folder.len) memcpy(text, folder.ptr, folder.len);
    if (gap) text[folder.len] = '/';
    if (name.len) memcpy(text + folder.len + gap, name.ptr, name.len);
    return (tare_str){text, folder.len + gap + name.len};
}

tare_status tare_view_add_file(tare_view *v, uint32_t source, uint32_t number, tare_str folder,
                               const tare_view_file *info, tare_error *err) {
    file *f = TARE_NEW(&v->arena, file);
    if (!f || !tare_grow(v->context.allocator, (void **)&v->files, &v->files_capacity,
                         v->n_files + 1, sizeof *v->files))
        return tare_fail(err, TARE_ERR_NOMEM, "view");
    f->info = *info;
    f->info.name = tare_view_join(&v->arena, folder, info->name);
    f->info.target = tare_arena_str(&v->arena, info->target);
    if (!f->info.name.ptr || !f->info.target.ptr) return tare_fail(err, TARE_ERR_NOMEM, "view");
    f->source = source;
    f->number = number;
    v->files[v->n_files] = f;
    tare_status status = TARE_OK;
    if (!tare_is_inner_path(f->info.name))
        status = tare_fail(err, TARE_ERR_ARG, "name of a file in a view");
    if (status == TARE_OK)
        v->n_files++;
    else
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, f->info.name);
    return status;
}

size_t tare_view_count(const tare_view *v) {
    return v->n_files;
}

bool tare_view_at(tare_view_file *out, const tare_view *v, size_t i) {
    if (i >= v->n_files || tare_result_check(out, NULL) != TARE_OK) return false;
    tare_result_write(out, &v->files[i]->info, sizeof v->files[i]->info);
    return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static const tare_view_source *source_of(const tare_view *v, const file *f) {
    return &v->sources[f->source];
}

/* The piece around a byte, within the file. */
static tare_status locate(tare_view_piece *out, const tare_view *v, const file *f, uint64_t offset,
                          tare_error *err) {
    const tare_view_source *s = source_of(v, f);
    TARE_TRY(s->locate(out, s->ctx, f->number, offset, err));
    if (offset < out->begin || offset >= out->end || out->end > f->info.n_bytes)
        return tare_fail(err, TARE_ERR_IO, "the input has changed");
    return TARE_OK;
}

/* *out NULL with status OK: another thread makes it, and the caller does not wait. */
static tare_status take_piece(tare_cached **out, tare_view *v, size_t i, const tare_view_piece *p,
                              bool may_wait, tare_error *err) {
    const tare_view_source *s = source_of(v, v->files[i]);
    const size_t n = (size_t)(p->end - p->begin);
    const tare_cache_state state =
        tare_cache_take(out, v->pieces, (tare_cache_key){i, p->begin}, may_wait);
    if (state == TARE_CACHE_NO_MEMORY) return tare_fail(err, TARE_ERR_NOMEM, "piece of a file");
    if (state == TARE_CACHE_BUSY) *out = NULL;
    if (state != TARE_CACHE_TO_MAKE) return TARE_OK;
    uint8_t *bytes = tare_alloc(v->context.allocator, n);
    tare_status status = bytes ? s->make(bytes, s->ctx, v->files[i]->number, p->begin, n, err)
                               : tare_fail(err, TARE_ERR_NOMEM, "piece of a file");
    if (status == TARE_OK) {
        tare_cache_fill(v->pieces, *out, bytes, n);
        return TARE_OK;
    }
    tare_free(v->context.allocator, bytes, n);
    tare_cache_fail(v->pieces, *out);
    *out = NULL;
    return status;
}

/* Of a piece that cannot be made, what is asked for may be whole. */
static tare_status read_of_piece(uint8_t *out, tare_view *v, size_t i, const tare_view_piece *p,
                                 uint64_t offset, size_t n, tare_error *err) {
    const tare_view_source *s = source_of(v, v->files[i]);
    tare_cached *held;
    const tare_status status = take_piece(&held, v, i, p, true, err);
    if (status != TARE_OK) {
        const bool is_part = n < p->end - p->begin && tare_status_is_loss(status);
        return is_part ? s->make(out, s->ctx, v->files[i]->number, offset, n, err) : status;
    }
    memcpy(out, (const uint8_t *)held->value + (offset - p->begin), n);
    tare_cache_release(v->pieces, held);
    return TARE_OK;
}

/* ---- ahead ----------------------------------------------------------------------------------- */

/* Makes a piece for those who will read it; their own attempt tells what is wrong with it. */
static void make_ahead(tare_view *v, const wanted *w) {
    tare_view_piece p;
    tare_cached *held = NULL;
    if (locate(&p, v, v->files[w->file], w->offset, NULL) != TARE_OK) return;
    if (take_piece(&held, v, w->file, &p, false, NULL) == TARE_OK && held)
        tare_cache_release(v->pieces, held);
}

static void *run_ahead(void *view) {
    tare_view *v = view;
    pthread_mutex_lock(&v->mutex);
    while (!v->is_ending) {
        if (v->n_waiting == 0) {
            pthread_cond_wait(&v->changed, &v->mutex);
            continue;
        }
        const wanted w = v->queue[v->first];
        v->first = (v->first + 1) % WAITING;
        v->n_waiting--;
        pthread_mutex_unlock(&v->mutex);
        make_ahead(v, &w);
        pthread_mutex_lock(&v->mutex);
    }
    pthread_mutex_unlock(&v->mutex);
    return NULL;
}

/* Fewer threads than wanted only make it slower. The lock is held. */
static void start_threads(tare_view *v) {
    unsigned n = v->context.threads ? v->context.threads : tare_default_threads();
    if (n > MOST_THREADS) n = MOST_THREADS;
    v->has_threads = true;
    while (v->n_threads < n && pthread_create(&v->threads[v->n_threads], NULL, run_ahead, v) == 0)
        v->n_threads++;
}

/* Up to `until`, piece by piece; what no longer fits is asked for by a later reader. */
static void ask_ahead(tare_view *v, size_t i, uint64_t until) {
    file *f = v->files[i];
    tare_view_piece p;
    uint64_t at = atomic_load(&f->ahead);
    pthread_mutex_lock(&v->mutex);
    if (!v->has_threads) start_threads(v);
    while (at < until && v->n_waiting < WAITING && locate(&p, v, f, at, NULL) == TARE_OK) {
        v->queue[(v->first + v->n_waiting++) % WAITING] = (wanted){i, at};
        at = p.end;
    }
    atomic_store(&f->ahead, at);
    pthread_cond_broadcast(&v->changed);
    pthread_mutex_unlock(&v->mutex);
}

/* A reader that goes on, more or less, where the last one stopped is in order. */
static void note_read(tare_view *v, size_t i, uint64_t offset, uint64_t end) {
    file *f = v->files[i];
    const uint64_t next = atomic_exchange(&f->next, end);
    const uint64_t away = offset > next ? offset - next : next - offset;
    if (v->options.no_ahead || source_of(v, f)->is_plain) return;
    if (away > NEARBY || (offset == 0 && next != 0)) {
        atomic_store(&f->n_near, 0);
        atomic_store(&f->ahead, end);
        return;
    }
    if (atomic_fetch_add(&f->n_near, 1) < IN_ORDER) return;
    const uint64_t until = tare_min_u64(end + v->ahead_bytes, f->info.n_bytes);
    uint64_t ahead = atomic_load(&f->ahead);
    if (ahead < end) atomic_store(&f->ahead, ahead = end);
    if (end >= f->info.n_bytes || ahead > end + v->ahead_bytes / 2 || ahead >= until) return;
    ask_ahead(v, i, until);
}

/* ---- reading --------------------------------------------------------------------------------- */

static tare_status read_file(void *buf, tare_view *v, size_t i, uint64_t offset, size_t n,
                             bool is_noted, tare_error *err) {
    TARE_REQUIRE(v && i < v->n_files && (buf || n == 0), err);
    const file *f = v->files[i];
    const tare_view_source *s = source_of(v, f);
    uint8_t *out = buf;
    if (offset > f->info.n_bytes || n > f->info.n_bytes - offset)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, f->info.n_bytes, "the file ends here");
    if (s->is_plain) return s->make(out, s->ctx, f->number, offset, n, err);
    if (n && is_noted) note_read(v, i, offset, offset + n);
    while (n) {
        tare_view_piece p;
        TARE_TRY(locate(&p, v, f, offset, err));
        const size_t take = (size_t)tare_min_u64(n, p.end - offset);
        TARE_TRY(read_of_piece(out, v, i, &p, offset, take, err));
        out += take;
        offset += take;
        n -= take;
    }
    return TARE_OK;
}

tare_status tare_view_read(void *buf, tare_view *view, size_t i, uint64_t offset, size_t n,
                           tare_error *err) {
    return read_file(buf, view, i, offset, n, true, err);
}

tare_status tare_view_read_alone(void *buf, tare_view *view, size_t i, uint64_t offset, size_t n,
                                 tare_error *err) {
    return read_file(buf, view, i, offset, n, false, err);
}

void tare_view_grain(uint64_t *begin, uint64_t *end, const tare_view *v, size_t i,
                     uint64_t offset) {
    tare_view_piece p = {offset, offset};
    if (i < v->n_files && offset < v->files[i]->info.n_bytes &&
        !source_of(v, v->files[i])->is_plain)
        (void)locate(&p, v, v->files[i], offset, NULL);
    *begin = p.begin;
    *end = p.end;
}
