/* SPDX-License-Identifier: MIT
 *
 * A downloader that sets a file's size aside and is stopped leaves a file of the right size whose end
 * is 0; a file of a cache that is named after its content may no longer be what its name says. */
#include "ops/inspect/verify_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/os_path.h"
#include "base/outfile.h"
#include "base/report.h"
#include "base/str.h"
#include "model/model_internal.h"

/* ---- zeros ----------------------------------------------------------------------------------- */

void tare_zero_run_add(tare_zero_run *run, const uint8_t *bytes, size_t n) {
    size_t zeros = 0;
    while (zeros < n && bytes[n - zeros - 1] == 0) zeros++;
    run->n = zeros == n ? run->n + n : zeros;
    run->size += n;
}

static bool is_zero(const tare_zero_run *run) {
    return run->size && run->n == run->size;
}

static void note_matrices(const tare_model *m, const tare_zero_run *runs, tare_report *report) {
    size_t n = 0, first = 0;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        if (t->n_dims < 2 || runs[i].size < t->size_bytes || !is_zero(&runs[i])) continue;
        if (n++ == 0) first = i;
    }
    if (n == 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "data.zeros");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)first;
    f.item_name = m->catalog.tensors[first].name;
    if (n == 1)
        tare_report_addf(report, &f, "all of it is 0");
    else if (n == 2)
        tare_report_addf(report, &f, "all of it is 0, and so is another matrix");
    else
        tare_report_addf(report, &f, "all of it is 0, and so are %zu other matrices", n - 1);
}

typedef struct placed {
    const tare_plane *plane; /* the last */
    const tare_zero_run *run;
    bool is_matrix;
} placed;

/* From the end of the last file to the beginning of the first. */
static int from_end(const void *a, const void *b) {
    const tare_plane *x = ((const placed *)a)->plane, *y = ((const placed *)b)->plane;
    if (x->file != y->file) return x->file > y->file ? -1 : 1;
    return x->offset > y->offset ? -1 : x->offset < y->offset;
}

static void warn_of_tail(const tare_model *m, uint32_t file, uint64_t first, size_t n_tensors,
                         tare_report *report) {
    const uint64_t size = m->files[file].reader.size;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "data.zero-tail");
    f.offset = first;
    f.file = tare_str_of(m->n_files > 1 ? m->files[file].name : NULL);
    tare_report_addf(report, &f,
                     "the last %" PRIu64 " of %" PRIu64
                     " bytes are 0, all of %zu tensors: an interrupted download into a "
                     "preallocated file looks like this",
                     size - first, size, n_tensors);
}

/* The tensors of one file, the last first; how many there are. One matrix of zeros at the end is a
 * start value, or a part that is not used; a run that covers more, or begins within a tensor, was
 * hardly meant. */
static size_t judge_tail(const tare_model *m, const placed *list, size_t n, tare_report *report) {
    const uint32_t file = list[0].plane->file;
    uint64_t first = m->files[file].reader.size;
    size_t n_zero = 0, n_here = 0, at;
    bool has_matrix = false, is_cut = false;
    while (n_here < n && list[n_here].plane->file == file) n_here++;
    if (list[0].plane->offset + list[0].plane->size > first) return n_here; /* packed, or cut */
    for (at = 0; at < n_here && is_zero(list[at].run); at++, n_zero++) {
        has_matrix |= list[at].is_matrix;
        first = list[at].plane->offset;
    }
    if (at < n_here && n_zero && list[at].run->n) {
        first = list[at].plane->offset + list[at].plane->size -
                tare_min_u64(list[at].run->n, list[at].plane->size);
        is_cut = true;
    }
    if (has_matrix && n_zero + is_cut > 1 && at < n_here)
        warn_of_tail(m, file, first, n_zero, report);
    return n_here;
}

tare_status tare_verify_zeros(const tare_model *m, const tare_zero_run *runs, tare_report *report,
                              tare_error *err) {
    const size_t n = m->catalog.n_tensors;
    size_t n_placed = 0;
    placed *list = tare_alloc(m->allocator, n * sizeof *list);
    note_matrices(m, runs, report);
    if (!list && n) return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    for (size_t i = 0; i < n; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        if (runs[i].size == t->size_bytes && t->size_bytes)
            list[n_placed++] =
                (placed){&t->planes[t->encoding->n_planes - 1], &runs[i], t->n_dims > 1};
    }
    if (n_placed) qsort(list, n_placed, sizeof *list, from_end);
    for (size_t i = 0; i < n_placed;) i += judge_tail(m, list + i, n_placed - i, report);
    tare_free(m->allocator, list, n * sizeof *list);
    return TARE_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

bool tare_has_named_digest(const tare_model *m, size_t file, uint8_t digest[32]) {
    const tare_reader *reader = &m->files[file].reader;
    const char *name = m->files[file].name;
    char *whole = reader->has_identity && name ? tare_path_real(name) : NULL;
    const bool has = whole && tare_same_file(whole, reader) && tare_digest_in_name(digest, whole);
    free(whole);
    return has;
}

tare_status tare_verify_named_digest(const tare_model *m, size_t file, tare_report *report,
                                     const tare_walk_job *job, tare_error *err) {
    const tare_reader *r = &m->files[file].reader;
    uint8_t stated[32], found[32];
    tare_sha256 hash;
    if (!tare_has_named_digest(m, file, stated)) return TARE_OK;
    tare_sha256_init(&hash);
    for (uint64_t at = 0; at < r->size; at += TARE_PIECE) {
        const size_t n = (size_t)tare_min_u64(r->size - at, TARE_PIECE);
        TARE_TRY(tare_reader_read(r, at, job->scratch, n, err));
        tare_sha256_update(&hash, job->scratch, n);
        TARE_TRY(tare_walk_tick(job, n, err));
    }
    tare_sha256_final(&hash, found);
    if (memcmp(found, stated, sizeof found) == 0) return TARE_OK;
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, "file.named-digest");
    f.file = tare_str_of(m->files[file].name);
    f.text = TARE_STR("its SHA-256 is not the one in its name: damaged, or changed under its name");
    tare_report_add(report, &f);
    return TARE_OK;
}
