/* SPDX-License-Identifier: MIT
 *
 * tare pack: the files of a model in one .wcodec. Tensors are read from where they lie in the
 * files; what else the files hold goes with them, so that they come back byte for byte. */
#include <tare/packing.h>

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "ops/digest.h"
#include "ops/item_walk.h"
#include "ops/pack_files.h"
#include "ops/sinks.h"

/* What one run needs. */
typedef struct packing {
    const tare_model *in;
    tare_pack_options options;
    tare_pack_files files;
    tare_wcodec_draft draft;
    tare_digest *digests;
    tare_outset *set;
    uint64_t done, total; /* for progress: of the steps before, of all */
} packing;

/* ---- progress -------------------------------------------------------------------------------- */

static bool tell(void *ctx, uint64_t done, uint64_t total) {
    packing *p = ctx;
    (void)total;
    return p->options.progress(p->options.progress_ctx, p->done + done, p->total);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status digest_tensors(packing *p, tare_error *err) {
    tare_run_options o = TARE_RUN_OPTIONS_INIT;
    size_t n = p->in->catalog.n_tensors;
    tare_digest whole;
    o.threads = p->options.threads;
    o.allocator = p->options.allocator;
    o.progress = p->options.progress ? tell : NULL;
    o.progress_ctx = p;
    p->digests = TARE_NEW_ARRAY(&p->draft.arena, tare_digest, n);
    if (!p->digests) return tare_fail(err, TARE_ERR_NOMEM, "digests");
    for (size_t i = 0; i < n; i++) TARE_TRY(tare_tensor_check_data(p->in, i, err));
    TARE_TRY(tare_model_digest(p->digests, &whole, p->in, &o, err));
    memcpy(p->draft.index.digest, whole.bytes, sizeof whole.bytes);
    for (size_t i = 0; i < n; i++) p->done += p->in->catalog.tensors[i].size_bytes;
    return TARE_OK;
}

typedef struct known {
    const tare_digest *digest;
    size_t tensor;
} known;

static int by_digest(const void *a, const void *b) {
    const known *x = a, *y = b;
    int order = memcmp(x->digest->bytes, y->digest->bytes, sizeof x->digest->bytes);
    return order ? order : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* For each tensor the first one of the same bytes, type and shape, itself where there is none. */
static tare_status find_twins(const packing *p, size_t *twins, tare_error *err) {
    size_t n = p->in->catalog.n_tensors;
    known *all = tare_alloc(p->options.allocator, n * sizeof *all);
    if (n && !all) return tare_fail(err, TARE_ERR_NOMEM, "digests");
    for (size_t i = 0; i < n; i++) all[i] = (known){&p->digests[i], i};
    if (n) qsort(all, n, sizeof *all, by_digest);
    for (size_t i = 0; i < n; i++) {
        bool is_twin = i && memcmp(all[i].digest, all[i - 1].digest, sizeof *all[i].digest) == 0;
        twins[all[i].tensor] = is_twin ? twins[all[i - 1].tensor] : all[i].tensor;
    }
    tare_free(p->options.allocator, all, n * sizeof *all);
    return TARE_OK;
}

static tare_wcodec_source source_of(const tare_model *m, const tare_tensor *t) {
    tare_wcodec_source s = {0};
    for (uint32_t i = 0; i < t->encoding->n_planes; i++) {
        s.readers[i] = &m->files[t->planes[i].file].reader;
        s.starts[i] = t->planes[i].offset;
    }
    return s;
}

static tare_status add_tensors(packing *p, tare_error *err) {
    const tare_catalog *c = &p->in->catalog;
    bool is_big_endian = c->layout && c->layout->is_big_endian;
    size_t *twins = TARE_NEW_ARRAY(&p->draft.arena, size_t, c->n_tensors);
    if (!twins) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(find_twins(p, twins, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        const tare_wcodec_source source = source_of(p->in, t);
        int64_t twin = twins[i] < i ? (int64_t)twins[i] : -1;
        tare_status status =
            tare_wcodec_draft_tensor(&p->draft, t, &source, is_big_endian, twin, NULL, err);
        TARE_TRY(tare_walk_blame(status, p->in, i, err));
    }
    p->draft.index.base_quant = tare_wcodec_base_quant(c->tensors, c->n_tensors);
    return TARE_OK;
}

/* ---- the output ------------------------------------------------------------------------------ */

static tare_status put(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                       tare_error *err) {
    tare_sink sink = tare_sink_of_files(ctx);
    return sink.put(ctx, 0, offset, bytes, n, NULL, err);
}

static tare_status write_file(packing *p, tare_pack_summary *sum, tare_error *err) {
    _Atomic uint64_t hinted = 0;
    tare_file_sink files = {p->set, &hinted};
    const tare_wcodec_target target = {put, &files};
    const tare_pack_options *o = &p->options;
    TARE_TRY(tare_wcodec_draft_write(&p->draft, &target, o->threads, o->progress ? tell : NULL, p,
                                     &sum->to_bytes, err));
    return tare_outset_commit(p->set, err);
}

static tare_status begin_output(packing *p, const char *path, tare_error *err) {
    const tare_out_options out = {.force = p->options.force, .no_sync = p->options.no_sync};
    uint32_t index;
    for (size_t i = 0; i < p->files.n; i++) {
        int fd = p->files.files[i].reader->fd;
        if (fd >= 0 && tare_same_file(path, fd))
            return tare_fail(err, TARE_ERR_ARG, "the output is the input");
    }
    TARE_TRY(tare_outset_new(&p->set, path, &out, p->options.allocator, err));
    return tare_outset_add(p->set, NULL, 0, &index, err);
}

/* ---- what became of it ----------------------------------------------------------------------- */

static void tell_layers(const packing *p, tare_pack_summary *sum) {
    for (uint32_t i = 0; i < p->draft.index.n_layers; i++) {
        const tare_wcodec_layer *l = &p->draft.index.layers[i];
        tare_packed_layer told = {.name = l->name, .is_shared = p->draft.twins[i] != i};
        for (unsigned r = 0; r < l->n_regions; r++) told.from_bytes += l->region_bytes[r];
        if (l->kind == TARE_WCODEC_TENSOR) told.encoding = tare_encoding_find(l->encoding);
        if (!told.is_shared) told.to_bytes = l->size;
        sum->n_tensors += l->kind == TARE_WCODEC_TENSOR;
        sum->n_shared += told.is_shared;
        sum->n_referring += l->base != 0;
        if (p->options.packed) p->options.packed(p->options.packed_ctx, &told);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status pack(packing *p, const char *path, tare_pack_summary *sum, tare_error *err) {
    TARE_TRY(tare_pack_files_open(&p->files, p->in, &p->options, err));
    sum->n_files = p->files.n;
    for (size_t i = 0; i < p->files.n; i++) sum->from_bytes += p->files.files[i].reader->size;
    p->total = sum->from_bytes;
    for (size_t i = 0; i < p->in->catalog.n_tensors; i++)
        p->total += p->in->catalog.tensors[i].size_bytes;
    TARE_TRY(begin_output(p, path, err));
    TARE_TRY(digest_tensors(p, err));
    TARE_TRY(add_tensors(p, err));
    TARE_TRY(
        tare_wcodec_draft_files(&p->draft, p->files.files, p->files.n, p->files.is_directory, err));
    TARE_TRY(write_file(p, sum, err));
    tell_layers(p, sum);
    return TARE_OK;
}

tare_status tare_pack(tare_pack_summary *out, const char *out_path, const tare_model *in,
                      const tare_pack_options *options, tare_error *err) {
    tare_pack_summary sum = {0};
    packing p = {.in = in};
    TARE_REQUIRE(out_path && in, err);
    p.options = (tare_pack_options)TARE_PACK_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&p.options, sizeof p.options, options, err));
    const tare_pack_options *o = &p.options;
    /* Its files are not those of the model alone: some would be lost. */
    if (strcmp(in->format, tare_format_wcodec.name) == 0)
        return tare_fail(err, TARE_ERR_ARG,
                         "the input is packed already: unpack it, or convert it");
    TARE_REQUIRE(!o->log2_segment ||
                     (o->log2_segment >= TARE_WC_MIN_LOG2 && o->log2_segment <= TARE_WC_MAX_LOG2),
                 err);
    static const int modes[] = {-1, TARE_WC_RAW, TARE_WC_ZSTD, TARE_WC_DIRECT, TARE_WC_STRUCTURED};
    TARE_REQUIRE((unsigned)o->mode < sizeof modes / sizeof *modes, err);
    const tare_wcodec_effort effort = {.is_full = o->effort == TARE_EFFORT_FULL,
                                       .forced = modes[o->mode],
                                       .log2_segment = (uint8_t)o->log2_segment};
    tare_wcodec_draft_init(&p.draft, &effort, o->allocator);
    tare_status status = pack(&p, out_path, &sum, err);
    tare_outset_free(p.set);
    tare_wcodec_draft_free(&p.draft);
    tare_pack_files_free(&p.files);
    if (out) *out = sum;
    return status;
}
