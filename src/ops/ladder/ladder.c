/* SPDX-License-Identifier: MIT
 *
 * Packing all models of a folder, with the files beside them, as one; and adding to what was packed. */
#include "ops/ladder/ladder.h"

#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "ops/packing/pack_directory.h"
#include "ops/packing/pack_run.h"

/* What became of a model. */
static void tell_model(const tare_ladder *l, const tare_ladder_model *m) {
    size_t n_derived = 0, n_weighted = 0, n_blocks = 0;
    for (size_t i = m->first; i < m->first + m->n; i++) {
        n_blocks += l->all->catalog.tensors[i].encoding->kind == TARE_KIND_BLOCK;
        n_derived += l->derivations[i].is_set;
        n_weighted += l->derivations[i].importance != NULL;
    }
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "pack.derived");
    f.file = m->name;
    if (n_derived)
        tare_report_addf(l->context.report, &f,
                         "%zu of %zu tensors are made of larger models' when they are read%s",
                         n_derived, m->n, n_weighted ? ", some with an importance matrix" : "");
    f = TARE_FINDING(WARNING, TARE_OK, "pack.not-derived");
    f.file = m->name;
    if (n_blocks && n_derived < n_blocks / 2)
        tare_report_addf(l->context.report, &f,
                         "stored as it is, for the most part: made with an importance matrix that "
                         "is not in the folder, by another encoder, or of another model");
}

/* ---- what was packed before ------------------------------------------------------------------ */

static const tare_reader *reader_of(const tare_ladder *l, int64_t packed, const char *path) {
    for (size_t i = 0; i < l->n_models; i++) {
        const tare_ladder_model *m = &l->models[i];
        if (packed < 0 ? m->packed < 0 && strcmp(m->path, path) == 0 : m->packed == packed)
            return &l->all->files[m->file].reader;
    }
    return NULL;
}

/* An entry of the container, as it is stated there. */
static tare_status list_packed(tare_pack_files *f, const tare_ladder *l, uint32_t number,
                               tare_error *err) {
    tare_packed *store = tare_packed_of(l->container);
    const tare_packed_file *file = &tare_packed_describe(store).files[number];
    tare_packed_origin origin = {.name = file->name, .entry = file->entry, .content = SIZE_MAX};
    if (file->entry.kind == TARE_PACKED_FILE) {
        origin.reader = reader_of(l, number, NULL);
        tare_reader *own = origin.reader ? NULL : TARE_NEW(&f->arena, tare_reader);
        if (!origin.reader && !own) return tare_fail(err, TARE_ERR_NOMEM, "files");
        if (own) {
            const char *name = tare_packed_source(store)->name;
            TARE_TRY(tare_packed_file_reader(own, store, number, name, err));
            TARE_TRY(tare_pack_list_keep(f, own, err));
            origin.reader = own;
        }
    }
    return tare_pack_list_add(f, &origin, err);
}

typedef struct adding {
    const tare_ladder *l;
    const char *path; /* of one file; NULL: a directory is packed beside */
} adding;

static tare_status list_before(void *ctx, tare_pack_files *f, tare_error *err) {
    const adding *a = ctx;
    const uint32_t n = tare_packed_describe(tare_packed_of(a->l->container)).n_files;
    f->is_directory = true;
    for (uint32_t i = 0; i < n; i++) TARE_TRY(list_packed(f, a->l, i, err));
    return a->path ? tare_pack_file_alone(f, a->path, reader_of(a->l, -1, a->path), err) : TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static tare_status pack(tare_pack_summary *out, const char *out_path, tare_ladder *l,
                        const tare_pack_options *o, adding *more, tare_error *err) {
    TARE_TRY(tare_ladder_name(l, err));
    TARE_TRY(tare_ladder_derive(l, err));
    const tare_pack_source source = {.format = tare_format_packing(),
                                     .model = l->all,
                                     .derivations = l->derivations,
                                     .has_files = true,
                                     .list = more ? list_before : NULL,
                                     .list_ctx = more};
    TARE_TRY(tare_pack_run(out, out_path, &source, o, err));
    for (size_t i = 0; i < l->n_models; i++) tell_model(l, &l->models[i]);
    return TARE_OK;
}

static tare_status add(tare_pack_summary *out, const char *container, const char *path,
                       tare_pack_options *o, tare_output_options *output, tare_error *err) {
    tare_ladder ladder;
    adding more = {.l = &ladder, .path = path};
    tare_status status = tare_ladder_open_more(&ladder, container, path, o->context, err);
    o->directory = tare_path_stat(path, NULL) == TARE_PATH_FOLDER ? path : NULL;
    if (o->directory) more.path = NULL;
    output->force = true; /* it takes the container's place */
    if (status == TARE_OK) status = pack(out, container, &ladder, o, &more, err);
    tare_ladder_free(&ladder);
    return status;
}

static tare_status read_options(tare_pack_summary *out, tare_pack_options *o, tare_context *context,
                                tare_output_options *output, const tare_pack_options *options,
                                tare_error *err) {
    if (out) TARE_TRY(tare_result_check(out, err));
    *o = tare_pack_options_default();
    TARE_TRY(tare_options_read(o, sizeof *o, options, err));
    TARE_TRY(tare_context_keep(context, &o->context, err));
    TARE_TRY(tare_output_keep(output, &o->output, err));
    if (o->lossy || o->n_bases)
        return tare_fail(err, TARE_ERR_ARG,
                         "several models are packed without loss, and without bases");
    return TARE_OK;
}

tare_status tare_pack_ladder(tare_pack_summary *out, const char *out_path, const char *folder,
                             const tare_pack_options *options, tare_error *err) {
    tare_ladder ladder;
    tare_pack_options o;
    tare_context context;
    tare_output_options output;
    TARE_REQUIRE(out_path && folder, err);
    TARE_TRY(read_options(out, &o, &context, &output, options, err));
    o.directory = folder;
    tare_status status = tare_ladder_open(&ladder, folder, o.context, err);
    if (status == TARE_OK) status = pack(out, out_path, &ladder, &o, NULL, err);
    tare_ladder_free(&ladder);
    return status;
}

tare_status tare_pack_add(tare_pack_summary *out, const char *container, const char *path,
                          const tare_pack_options *options, tare_error *err) {
    tare_pack_options o;
    tare_context context;
    tare_output_options output;
    TARE_REQUIRE(container && path, err);
    TARE_TRY(read_options(out, &o, &context, &output, options, err));
    return add(out, container, path, &o, &output, err);
}
