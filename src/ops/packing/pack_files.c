/* SPDX-License-Identifier: MIT
 *
 * Which files are packed: those of a directory with all that lies in it (pack_directory.c), else
 * those that the model was opened from, and the index of a set of shards. */
#include "ops/packing/pack_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "ops/packing/pack_directory.h"

static tare_status add(tare_pack_files *f, const tare_reader *reader, tare_str name,
                       tare_error *err) {
    const tare_packed_origin origin = {.reader = reader, .name = name};
    return tare_pack_list_add(f, &origin, err);
}

static tare_str last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return tare_str_of(slash && slash[1] ? slash + 1 : path);
}

/* ---- the files of a model -------------------------------------------------------------------- */

/* A model from memory may be without a name, or have one that no file can have. */
static tare_str name_of(const char *path) {
    tare_str name = last_part(path);
    bool is_none = !name.len || tare_str_is(name, ".") || tare_str_is(name, "..") ||
                   name.ptr[name.len - 1] == '/';
    return is_none ? TARE_STR("model") : name;
}

/* A set that was opened by an index has one file more, which was read whole then. */
static tare_status add_index(tare_pack_files *f, const tare_model *m, tare_error *err) {
    const tare_layout *layout = m->catalog.layout;
    const char *path;
    tare_str text;
    bool is_set = m->n_files && layout && layout->format->read.found_by;
    if (!is_set || !layout->format->read.found_by(&path, &text, m)) return TARE_OK;
    tare_reader *r = TARE_NEW(&f->arena, tare_reader);
    if (!r) return tare_fail(err, TARE_ERR_NOMEM, "files");
    tare_reader_memory(r, text.ptr, text.len, path);
    return add(f, r, last_part(path), err);
}

/* Whether a path is that of a file with this name below some directory. */
static bool is_path_of(tare_str path, tare_str name) {
    return path.len > name.len && path.ptr[path.len - name.len - 1] == '/' &&
           tare_str_ends(path, name);
}

/* Side files have the names that they have in the directory: "1_Pooling/config.json". */
static void name_side_files(tare_str *names, const tare_model *m) {
    const tare_catalog *c = &m->catalog;
    for (size_t i = 0; i < c->n_resources; i++) {
        const tare_resource_entry *r = &c->resources[i];
        if (r->bytes) continue;
        const tare_open_file *f = &m->files[r->file];
        if (r->offset == 0 && r->info.size == f->reader.size &&
            is_path_of(tare_str_of(f->name), r->info.name))
            names[r->file] = r->info.name;
    }
}

/* A path of one shard stands for all of them, which is more than its name says. */
static void say_whole_set(const tare_pack_files *f, const tare_model *m) {
    const tare_layout *layout = m->catalog.layout;
    if (!f->is_directory || (layout && layout->format->is_directory)) return;
    tare_report_addf(f->strict.report, &TARE_FINDING(INFO, TARE_OK, "pack.whole-set"),
                     "all %zu files of the model are packed; a member of a set can be "
                     "opened, and packed, alone",
                     f->n);
}

static tare_status take_model(tare_pack_files *f, const tare_model *m, tare_error *err) {
    tare_str *names = TARE_NEW_ARRAY(&f->arena, tare_str, m->n_files);
    if (!names) return tare_fail(err, TARE_ERR_NOMEM, "files");
    for (size_t i = 0; i < m->n_files; i++) names[i] = name_of(m->files[i].name);
    name_side_files(names, m);
    for (size_t i = 0; i < m->n_files; i++)
        if (!m->files[i].is_decoded) TARE_TRY(add(f, &m->files[i].reader, names[i], err));
    TARE_TRY(add_index(f, m, err));
    f->is_directory = f->n > 1;
    say_whole_set(f, m);
    tare_strict_left_out(&f->strict, m);
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const tare_packed_origin *)a)->name,
                            ((const tare_packed_origin *)b)->name);
}

tare_status tare_pack_files_open(tare_pack_files *f, const tare_model *in,
                                 const tare_pack_options *options, tare_pack_lister list, void *ctx,
                                 tare_error *err) {
    *f = (tare_pack_files){
        .strict = {.report = options->context->report, .is_strict = options->output->strict}};
    tare_arena_init(&f->arena, options->context->allocator);
    if (list) TARE_TRY(list(ctx, f, err));
    if (options->directory) TARE_TRY(tare_pack_directory(f, in, options, err));
    if (!list && !options->directory) TARE_TRY(take_model(f, in, err));
    if (f->n) qsort(f->files, f->n, sizeof *f->files, by_name);
    for (size_t i = 1; i < f->n; i++) {
        if (!tare_str_equal(f->files[i - 1].name, f->files[i].name)) continue;
        tare_fail(err, TARE_ERR_UNSUPPORTED, "there are two files of this name");
        tare_error_item(err, TARE_ITEM_RESOURCE, -1, f->files[i].name);
        return TARE_ERR_UNSUPPORTED;
    }
    tare_pack_resolve_links(f);
    return tare_strict_check(&f->strict, err);
}
