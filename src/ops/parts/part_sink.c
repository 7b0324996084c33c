/* SPDX-License-Identifier: MIT
 *
 * The files that a part's bytes go to. */
#include "ops/parts/part_sink.h"

#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/os_file.h"
#include "base/outfile.h"
#include "base/outfile_os.h"
#include "base/str.h"
#include "ops/scratch_slots.h"

/* ---- sums ------------------------------------------------------------------------------------ */

static tare_status begin_sums(tare_part_sink *s, tare_error *err) {
    const tare_part_record *r = s->record;
    s->sums = TARE_NEW_ARRAY(&s->arena, _Atomic uint32_t, r->n_pieces);
    if (!s->sums) return tare_fail(err, TARE_ERR_NOMEM, "sums of a part");
    for (size_t i = 0; i < r->n_pieces; i++)
        atomic_init(&s->sums[i], tare_crc32_zeros(r->pieces[i].n_bytes));
    return TARE_OK;
}

/* Pieces are of files that follow each other. */
static void sum_up(const tare_part_sink *s, uint32_t file, uint64_t offset, const void *bytes,
                   size_t n) {
    const size_t i = file - s->record->pieces[0].row;
    const tare_part_piece *piece = &s->record->pieces[i];
    const uint64_t n_after = piece->offset + piece->n_bytes - offset - n;
    atomic_fetch_xor(&s->sums[i], tare_crc32_in_zeros(bytes, n, n_after));
}

static void end_sums(const tare_part_sink *s) {
    for (size_t i = 0; i < s->record->n_pieces; i++)
        if (s->record->pieces[i].file.kind == TARE_VIEW_FILE)
            s->record->pieces[i].crc = atomic_load(&s->sums[i]);
}

/* ---- a file of its own ----------------------------------------------------------------------- */

static uint64_t place_in_part(const tare_part_sink *s, uint32_t file, uint64_t offset) {
    return s->layout->starts[file] + offset - s->record->begin;
}

static tare_status put_own(void *ctx, uint32_t file, uint64_t offset, const void *bytes, size_t n,
                           tare_scratch *scratch, tare_error *err) {
    const tare_part_sink *s = ctx;
    sum_up(s, file, offset, bytes, n);
    return s->to_files.put(s->to_files.ctx, 0, place_in_part(s, file, offset), bytes, n, scratch,
                           err);
}

#define READ_BYTES ((size_t)1 << 20)

/* The system has copied the bytes: they are read where they are now. */
static tare_status copy_own(void *ctx, uint32_t file, uint64_t offset, int in_fd,
                            uint64_t in_offset, uint64_t n, tare_scratch *scratch,
                            tare_error *err) {
    const tare_part_sink *s = ctx;
    const uint64_t place = place_in_part(s, file, offset);
    uint8_t *room = tare_scratch_get(scratch, TARE_SCRATCH_READ_BACK, READ_BYTES);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    TARE_TRY(s->to_files.copy(s->to_files.ctx, 0, place, in_fd, in_offset, n, scratch, err));
    for (uint64_t done = 0, take; done < n; done += take) {
        take = tare_min_u64(n - done, READ_BYTES);
        TARE_TRY(s->to_files.read(s->to_files.ctx, 0, place + done, room, (size_t)take, err));
        sum_up(s, file, offset + done, room, (size_t)take);
    }
    return TARE_OK;
}

static tare_status begin_own(tare_part_sink *s, tare_sink *out, tare_error *err) {
    const uint64_t size = s->record->end - s->record->begin;
    const tare_out_options o = {.force = true,
                                .no_sync = s->output->no_sync,
                                .withheld = s->record->withheld,
                                .total_size = size,
                                .report = s->context->report};
    uint32_t index;
    TARE_TRY(tare_outset_new(&s->set, s->path, &o, s->context->allocator, err));
    TARE_TRY(tare_outset_add(s->set, NULL, size, &index, err));
    atomic_init(&s->hinted, 0);
    s->files = (tare_file_sink){s->set, &s->hinted};
    s->to_files = tare_sink_of_files(&s->files);
    *out = (tare_sink){.ctx = s, .put = put_own, .copy = copy_own};
    return TARE_OK;
}

/* ---- one output that all share --------------------------------------------------------------- */

static const char *shared_file(const tare_part_sink *s, tare_arena *arena, size_t file) {
    return s->layout->is_directory ? tare_part_inner(arena, s->path, s->layout->files[file].name)
                                   : s->path;
}

static tare_status fail_shared(const tare_part_sink *s, int os_error, const char *what,
                               tare_error *err) {
    const tare_status status = tare_fail_errno(err, os_error, what);
    tare_error_file(err, s->path);
    return status;
}

/* The folders that lead to a file; another part may make them at the same time. */
static int make_folders(char *path, size_t from) {
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int e = tare_path_stat(path, NULL) == TARE_PATH_FOLDER
                          ? 0
                          : tare_folder_make(TARE_HERE, path, 0777);
        const bool is_made = e == 0 || tare_path_stat(path, NULL) == TARE_PATH_FOLDER;
        *slash = '/';
        if (!is_made) return e;
    }
    return 0;
}

/* A file that another part has begun has its size already, or gets it now. */
static tare_status make_shared(tare_part_sink *s, size_t file, tare_error *err) {
    const uint64_t size = s->layout->files[file].n_bytes;
    tare_file_facts facts;
    int fd;
    const char *path = shared_file(s, &s->arena, file);
    const tare_str kept = path ? tare_arena_str(&s->arena, tare_str_of(path)) : (tare_str){0};
    if (!kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
    int e = 0;
    if (s->layout->is_directory) e = make_folders((char *)(uintptr_t)kept.ptr, strlen(s->path));
    if (e == 0)
        e = tare_fd_open(&fd, TARE_HERE, kept.ptr, TARE_OPEN_WRITE | TARE_OPEN_MAKE,
                         (uint16_t)(0666 & ~s->record->withheld));
    if (e != 0) return fail_shared(s, e, "the shared output cannot be made", err);
    e = tare_fd_stat(&facts, fd);
    if (e == 0 && facts.size != size) e = tare_fd_resize(fd, size);
    const int closed = tare_fd_close(fd);
    if (e == 0) e = closed;
    return e ? fail_shared(s, e, "the shared output cannot be given its size", err) : TARE_OK;
}

/* Opened for each write: a part may have bytes of more files than may be open. */
static tare_status put_shared(void *ctx, uint32_t file, uint64_t offset, const void *bytes,
                              size_t n, tare_scratch *scratch, tare_error *err) {
    const tare_part_sink *s = ctx;
    tare_arena arena;
    int fd;
    (void)scratch;
    sum_up(s, file, offset, bytes, n);
    tare_arena_init(&arena, s->context->allocator);
    const char *path = shared_file(s, &arena, file);
    int e = path ? tare_fd_open(&fd, TARE_HERE, path, TARE_OPEN_WRITE, 0) : 0;
    if (path && e == 0) {
        e = tare_fd_write(fd, offset, bytes, n);
        const int closed = tare_fd_close(fd);
        if (e == 0) e = closed;
    }
    tare_arena_free(&arena);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
    return e ? fail_shared(s, e, "the shared output cannot be written", err) : TARE_OK;
}

static tare_status begin_shared(tare_part_sink *s, tare_sink *out, tare_error *err) {
    for (size_t i = 0; i < s->record->n_pieces; i++) {
        const tare_part_piece *piece = &s->record->pieces[i];
        if (piece->file.kind == TARE_VIEW_FILE) TARE_TRY(make_shared(s, piece->row, err));
    }
    *out = (tare_sink){.ctx = s, .put = put_shared};
    return TARE_OK;
}

static tare_status sync_shared(tare_part_sink *s, tare_error *err) {
    for (size_t i = 0; i < s->record->n_pieces && !s->output->no_sync; i++) {
        const tare_part_piece *piece = &s->record->pieces[i];
        int fd;
        if (piece->file.kind != TARE_VIEW_FILE) continue;
        const char *path = shared_file(s, &s->arena, piece->row);
        if (!path) return tare_fail(err, TARE_ERR_NOMEM, "name of a file");
        int e = tare_fd_open(&fd, TARE_HERE, path, TARE_OPEN_WRITE, 0);
        if (e == 0) {
            e = tare_os_sync(fd);
            const int closed = tare_fd_close(fd);
            if (e == 0) e = closed;
        }
        if (e) return fail_shared(s, e, "the shared output cannot be stored", err);
    }
    return TARE_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

tare_status tare_part_sink_begin(tare_part_sink *s, tare_sink *out, tare_error *err) {
    tare_arena_init(&s->arena, s->context->allocator);
    TARE_TRY(begin_sums(s, err));
    return s->record->is_shared ? begin_shared(s, out, err) : begin_own(s, out, err);
}

tare_status tare_part_sink_end(tare_part_sink *s, tare_error *err) {
    TARE_TRY(s->record->is_shared ? sync_shared(s, err) : tare_outset_commit(s->set, err));
    end_sums(s);
    return TARE_OK;
}

void tare_part_sink_free(tare_part_sink *s) {
    tare_outset_free(s->set);
    tare_arena_free(&s->arena);
}
