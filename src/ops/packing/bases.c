/* SPDX-License-Identifier: MIT
 *
 * Bases are identified by their contents, not by their names. */
#include "ops/packing/bases.h"

#include <stdio.h>
#include <string.h>

#include <tare/experimental/unpack.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/report.h"
#include "model/catalog.h"
#include "ops/digest.h"
#include "ops/steps.h"

static bool is_needed(const tare_packed *store, uint32_t base) {
    const uint32_t n_layers = tare_packed_describe(store).n_layers;
    for (uint32_t i = 0; i < n_layers; i++)
        if (tare_packed_describe_layer(store, i).base == base + 1) return true;
    return false;
}

/* Which of the given models is base number `base`; n: none. */
static size_t given_as(const tare_packed_contents *x, uint32_t base, const tare_digest *digests,
                       size_t n) {
    size_t i = 0;
    while (i < n && memcmp(digests[i].bytes, x->bases[base].digest, sizeof digests[i].bytes) != 0)
        i++;
    return i;
}

/* The given models that are not among the bases: how many, and the first one. */
static size_t unmatched_bases(const tare_packed_contents *x, const tare_digest *digests, size_t n,
                              const tare_digest **first) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t base = 0;
        while (base < x->n_bases && given_as(x, base, &digests[i], 1) == 1) base++;
        if (base < x->n_bases) continue;
        if (count++ == 0) *first = &digests[i];
    }
    return count;
}

static void report_base(const tare_packed_contents *x, uint32_t base, const tare_digest *digests,
                        size_t n, tare_report *report) {
    const tare_packed_base *b = &x->bases[base];
    const tare_digest *other = NULL;
    char wanted[65], given[65] = "";
    size_t n_others = unmatched_bases(x, digests, n, &other);
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_ARG, "wcodec.base");
    tare_hex(wanted, b->digest, sizeof b->digest);
    if (n_others == 1) tare_hex(given, other->bytes, sizeof other->bytes);
    int n_hint = (int)(b->hint.len < 200 ? b->hint.len : 200);
    tare_report_addf(report, &f, "%sneeds its base model \"%.*s\", which has the digest %s%s%s",
                     n_others < n ? "also " : "", n_hint, b->hint.ptr, wanted,
                     n_others == 0   ? ""
                     : n_others == 1 ? "; the one given has "
                                     : "; none of those given has",
                     given);
}

static tare_status use(tare_packed *store, uint32_t base, const tare_model *const *models,
                       const tare_digest *digests, size_t n, tare_report *report, tare_error *err) {
    const tare_packed_contents x = tare_packed_describe(store);
    const tare_digest *other;
    size_t i = given_as(&x, base, digests, n);
    if (i < n) {
        tare_packed_set_base(store, base, models[i]);
        return TARE_OK;
    }
    report_base(&x, base, digests, n, report);
    return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_NEEDS_BASE,
                          unmatched_bases(&x, digests, n, &other)
                              ? "needs its base model, and another one was given"
                              : "needs its base model");
}

tare_status tare_bases_use(tare_packed *store, const tare_model *const *models, size_t n,
                           const tare_context *context, tare_error *err) {
    const tare_packed_contents x = tare_packed_describe(store);
    tare_digest digests[UINT8_MAX];
    tare_steps steps = {.progress = context->progress,
                        .ctx = context->progress_ctx,
                        .total = tare_bases_bytes(models, n)};
    const tare_context run = tare_steps_context(context, &steps);
    if (n > UINT8_MAX) return tare_fail(err, TARE_ERR_LIMIT, "number of base models");
    bool has_any = false;
    for (uint32_t i = 0; i < x.n_bases; i++) has_any |= is_needed(store, i);
    for (size_t i = 0; has_any && i < n; i++) {
        TARE_TRY(tare_model_digest(NULL, &digests[i], models[i], &run, err));
        tare_steps_end(&steps, tare_catalog_tensor_bytes(&models[i]->catalog));
    }
    tare_status status = TARE_OK;
    for (uint32_t i = 0; i < x.n_bases; i++) {
        if (!is_needed(store, i)) continue;
        tare_status s =
            use(store, i, models, digests, n, context->report, status == TARE_OK ? err : NULL);
        if (status == TARE_OK) status = s;
    }
    return status;
}

/* ---- what may be predicted ------------------------------------------------------------------- */

static bool is_like(const tare_model *base, size_t at, const tare_tensor *t) {
    const tare_tensor *b = &base->catalog.tensors[at];
    bool is_alike = b->encoding == t->encoding && b->n_dims == t->n_dims &&
                    t->encoding->kind != TARE_KIND_UNKNOWN &&
                    tare_tensor_check_data(base, at, NULL) == TARE_OK;
    for (uint32_t i = 0; is_alike && i < t->n_dims; i++) is_alike = b->dims[i] == t->dims[i];
    for (uint32_t i = 0; is_alike && i < t->encoding->n_planes; i++)
        is_alike = b->planes[i].size == t->planes[i].size; /* lists too */
    return is_alike;
}

/* The number of the tensor of `model` from which t of `m` may be predicted; -1: none. */
static int64_t find_alike(const tare_model *model, const tare_model *m, const tare_tensor *t) {
    if (tare_model_is_big_endian(model) != tare_model_is_big_endian(m)) return -1;
    int64_t at = tare_model_find_tensor(model, t->name);
    return at >= 0 && is_like(model, (size_t)at, t) ? at : -1;
}

/* How much two tensors of one type and shape differ, judged by the same samples whatever the base: runs
 * of bytes spread over each plane. A byte counts by the size of its difference, as the codec stores
 * differences: their entropy grows with the logarithm of their spread. */
enum { RUNS = 16, RUN = 4096 };

/* Where a run of a plane begins, and its bytes: even numbers, so that no 16-bit number is cut. */
static size_t place_run(uint64_t *first, uint64_t plane_bytes, unsigned run) {
    const uint64_t n = tare_min_u64(plane_bytes, RUN);
    *first = (plane_bytes - n) / (RUNS - 1) * run / 2 * 2;
    return (size_t)n;
}

static unsigned difference_bits(uint8_t a, uint8_t b) {
    const unsigned d = (uint8_t)(a - b), size = d < 128 ? d : 256 - d;
    return size ? 32u - (unsigned)__builtin_clz(size) : 0;
}

static tare_status difference_of(uint64_t *out, const tare_model *model, size_t tensor,
                                 const tare_model *base, size_t base_tensor, tare_error *err) {
    const tare_tensor *t = tare_model_tensor(model, tensor);
    uint8_t own[RUN], other[RUN];
    uint64_t first;
    *out = 0;
    for (unsigned p = 0; p < t->encoding->n_planes; p++) {
        const unsigned n_runs = t->planes[p].size > RUN ? RUNS : 1;
        for (unsigned run = 0; run < n_runs; run++) {
            const size_t n = place_run(&first, t->planes[p].size, run);
            TARE_TRY(tare_tensor_read(own, model, tensor, p, first, n, err));
            TARE_TRY(tare_tensor_read(other, base, base_tensor, p, first, n, err));
            for (size_t i = 0; i < n; i++) *out += difference_bits(own[i], other[i]);
        }
    }
    return TARE_OK;
}

tare_status tare_bases_like(const tare_tensor **out, size_t *which, const tare_model *const *models,
                            size_t n, const tare_model *m, const tare_tensor *t, tare_error *err) {
    const size_t own = (size_t)(t - m->catalog.tensors);
    uint64_t least = UINT64_MAX;
    unsigned n_alike = 0;
    *out = NULL;
    for (size_t i = 0; i < n; i++) n_alike += find_alike(models[i], m, t) >= 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t at = find_alike(models[i], m, t);
        uint64_t difference = 0;
        if (at < 0) continue;
        if (n_alike > 1) TARE_TRY(difference_of(&difference, m, own, models[i], (size_t)at, err));
        if (difference >= least) continue;
        least = difference;
        *which = i;
        *out = &models[i]->catalog.tensors[at];
    }
    return TARE_OK;
}

uint64_t tare_bases_bytes(const tare_model *const *models, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += tare_catalog_tensor_bytes(&models[i]->catalog);
    return sum;
}
