/* SPDX-License-Identifier: MIT
 *
 * Checksums of members of archives: they are compared wherever the numbers of a whole model are computed
 * from, and by `verify --deep`. A tensor is a part of a member, or all of it. */
#include "ops/checksums.h"

#include "base/arith.h"
#include "base/hash.h"

tare_status tare_crc_compare(bool *is_right, const tare_model *m, size_t k,
                             const tare_walk_job *job, tare_error *err) {
    const tare_stated_crc *of = &m->stated_crcs[k];
    const tare_reader *r = &m->files[of->file].reader;
    uint32_t crc = 0;
    for (uint64_t at = 0; at < of->size; at += TARE_PIECE) {
        const size_t n = (size_t)tare_min_u64(of->size - at, TARE_PIECE);
        TARE_TRY(tare_reader_read(r, of->offset + at, job->scratch, n, err));
        crc = tare_crc32(crc, job->scratch, n);
        TARE_TRY(tare_walk_tick(job, n, err));
    }
    *is_right = crc == of->crc;
    return TARE_OK;
}

static bool lies_in(const tare_tensor *t, const tare_stated_crc *of) {
    for (uint32_t p = 0; p < t->encoding->n_planes; p++)
        if (t->planes[p].file == of->file && t->planes[p].offset >= of->offset &&
            t->planes[p].offset - of->offset < of->size)
            return true;
    return false;
}

int64_t tare_crc_tensor(const tare_model *m, size_t k) {
    int64_t found = -1;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        if (!lies_in(&m->catalog.tensors[i], &m->stated_crcs[k])) continue;
        if (found >= 0) return -1;
        found = (int64_t)i;
    }
    return found;
}

/* Its numbers are put in order when they are read: of any member. */
static bool is_made(const tare_model *m, const tare_tensor *t) {
    return m->files[t->planes[0].file].is_decoded;
}

typedef struct crc_walk {
    const tare_model *model;
    const tare_tensor *of; /* only members that it lies in; NULL: all */
} crc_walk;

/* A file that is fetched over a network would be fetched twice, and a whole file is not read for one of its
 * tensors: that is for `verify --deep`. */
static bool is_wanted(const crc_walk *w, size_t k) {
    const tare_stated_crc *of = &w->model->stated_crcs[k];
    const tare_reader *r = &w->model->files[of->file].reader;
    if (w->of) return !r->has_crc && (is_made(w->model, w->of) || lies_in(w->of, of));
    return r->has_identity || r->map || r->has_crc;
}

static uint64_t member_size(const void *ctx, size_t item) {
    const crc_walk *w = ctx;
    return is_wanted(w, item) ? w->model->stated_crcs[item].size : 0;
}

static tare_status check_member(void *ctx, size_t item, const tare_walk_job *job, tare_error *err) {
    const crc_walk *w = ctx;
    const tare_stated_crc *of = &w->model->stated_crcs[item];
    bool is_right = true;
    if (is_wanted(w, item)) TARE_TRY(tare_crc_compare(&is_right, w->model, item, job, err));
    if (is_right) return TARE_OK;
    const int64_t tensor = tare_crc_tensor(w->model, item);
    tare_fail_at(err, TARE_ERR_CHECKSUM, of->offset, TARE_WRONG_CRC);
    tare_error_file(err, w->model->files[of->file].name);
    if (tensor < 0 && !w->model->files[of->file].reader.has_crc)
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, of->name);
    if (tensor >= 0)
        tare_error_item(err, TARE_ITEM_TENSOR, tensor, w->model->catalog.tensors[tensor].name);
    return TARE_ERR_CHECKSUM;
}

tare_status tare_crcs_check(const tare_model *model, const tare_tensor *of, const tare_context *o,
                            tare_error *err) {
    crc_walk w = {model, of};
    if (!model->n_stated) return TARE_OK;
    return tare_walk_run(&(tare_walk){.n_items = model->n_stated,
                                      .size_of = member_size,
                                      .visit = check_member,
                                      .ctx = &w,
                                      .scratch_size = TARE_PIECE,
                                      .context = *o},
                         err);
}
