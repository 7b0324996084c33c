/* SPDX-License-Identifier: MIT
 *
 * Resources as files of an output directory, next to the files that a format puts there itself. */
#include "base/files.h"
#include "base/str.h"
#include "format/resources.h"
#include "model/names.h"

static tare_status fail_resource(const tare_catalog *c, size_t i, const char *what,
                                 tare_error *err) {
    tare_fail(err, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, (int64_t)i, c->resources[i].info.name);
    return TARE_ERR_UNSUPPORTED;
}

/* Names are untrusted: each must name a file in the directory, and no two the same. */
static tare_status check_names(const tare_write_plan *out, const tare_catalog *c, tare_error *err) {
    tare_str *names = TARE_NEW_ARRAY(out->arena, tare_str, out->n_files + c->n_resources);
    if (!names) return tare_fail(err, TARE_ERR_NOMEM, "resources");
    for (size_t i = 0; i < out->n_files; i++) names[i] = tare_str_of(out->files[i].name);
    for (size_t i = 0; i < c->n_resources; i++) {
        names[out->n_files + i] = c->resources[i].info.name;
        if (!tare_is_inner_path(c->resources[i].info.name)) {
            return fail_resource(c, i, "resource: not the name of a file in the directory", err);
        }
    }
    tare_name_index index;
    size_t n = out->n_files + c->n_resources;
    TARE_TRY(tare_name_index_init(&index, out->arena, n, err));
    for (size_t i = 0; i < n; i++) {
        if (tare_name_index_add(&index, names, sizeof *names, i, NULL) < 0) continue;
        return fail_resource(c, i - out->n_files, "resource: another file has its name", err);
    }
    return TARE_OK;
}

static tare_status plan_resource(tare_write_plan *out, const tare_resource_entry *r, size_t i,
                                 tare_error *err) {
    uint32_t file;
    tare_str name = tare_arena_str(out->arena, r->info.name);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    TARE_TRY(tare_write_plan_add_file(out, name.ptr, &file, err));
    out->files[file].size = r->info.size;
    if (r->info.size == 0) return TARE_OK;
    tare_extent extent = {.kind = r->bytes ? TARE_EXTENT_BYTES : TARE_EXTENT_RESOURCE,
                          .file = file,
                          .size = r->info.size,
                          .bytes = r->bytes,
                          .item = i};
    return tare_write_plan_add(out, &extent, err);
}

tare_status tare_plan_resource_files(tare_write_plan *out, const tare_catalog *catalog,
                                     tare_error *err) {
    TARE_TRY(check_names(out, catalog, err));
    for (size_t i = 0; i < catalog->n_resources; i++)
        TARE_TRY(plan_resource(out, &catalog->resources[i], i, err));
    return TARE_OK;
}
