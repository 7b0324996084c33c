/* SPDX-License-Identifier: MIT
 *
 * Payload files of an INFQ package, which lie in its directory or in folders there, and the regions
 * in them that entries of the manifest claim. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/os_path.h"
#include "base/str.h"
#include "format/infq/infq_read.h"
#include "format/safetensors/safetensors.h"
#include "model/adapter_set.h"
#include "model/names.h"

struct tare_infq_region {
    uint32_t file;
    uint64_t offset, end;
    uint64_t at; /* where the manifest says it */
    size_t tensor;
    tare_infq_place place;
    const char *field;
};

/* ---- files ----------------------------------------------------------------------------------- */

tare_status tare_infq_expect_files(tare_infq_reader *r, uint64_t n, tare_error *err) {
    /* One more than the maximum: the file being looked up goes after the existing ones. */
    size_t most = (size_t)tare_min_u64(n, r->m->limits.shards) + 1;
    r->payloads = TARE_NEW_ARRAY(&r->m->arena, tare_infq_payload, most);
    if (!r->payloads) return tare_fail(err, TARE_ERR_NOMEM, "files");
    return tare_name_index_init(&r->payload_index, &r->m->arena, most, err);
}

/* Whether links on the way lead out of the directory. */
static bool leaves(const char *directory, const char *path) {
    char *home = tare_path_real(directory), *target = tare_path_real(path);
    size_t n = home ? strlen(home) : 0;
    bool is_inside = target && n && strncmp(target, home, n) == 0 && target[n] == '/';
    bool is_outside = target && !is_inside;
    free(home);
    free(target);
    return is_outside;
}

static tare_status open_new(tare_infq_reader *r, tare_infq_payload *p, const char *path,
                            tare_error *err) {
    tare_reader opened;
    tare_status status = tare_files_open(r->files, &opened, path, r->options->map, err);
    if (status != TARE_OK) {
        tare_error_file(err, path);
        return status;
    }
    status = tare_model_add_file(r->m, &opened, path, &p->file, err);
    if (status != TARE_OK) tare_reader_close(&opened);
    return status;
}

tare_status tare_infq_open_file(tare_infq_reader *r, const tare_json_value *v, uint32_t *file,
                                tare_error *err) {
    static const char what[] = "expected the name of a file in the package";
    tare_str name = v->type == TARE_JSON_STRING ? tare_json_text(v, &r->m->arena) : (tare_str){0};
    if (v->type == TARE_JSON_STRING && !name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "file");
    if (!name.ptr || !tare_is_inner_path(name))
        return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
    tare_infq_payload *p = &r->payloads[r->n_payloads];
    p->name = name;
    int64_t at =
        tare_name_index_add(&r->payload_index, r->payloads, sizeof *p, r->n_payloads, NULL);
    if (at >= 0) {
        *file = r->payloads[at].file;
        return TARE_OK;
    }
    if (r->n_payloads++ == r->m->limits.shards)
        return tare_fail_at(err, TARE_ERR_LIMIT, v->offset, "number of files");
    const char *path = tare_join_path(&r->m->arena, r->directory, name);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "file");
    if (!r->files && leaves(r->directory, path))
        return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
    TARE_TRY(open_new(r, p, path, err));
    *file = p->file;
    return TARE_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

static tare_status check_inside(tare_infq_reader *r, tare_plane *plane,
                                const tare_infq_where *where, tare_error *err) {
    const uint64_t size = r->m->files[plane->file].reader.size, at = where->offset->offset;
    if (plane->offset > size || (!where->record && plane->size > size - plane->offset))
        return tare_fail_at(err, TARE_ERR_TRUNCATED, at, "beyond the end of the file");
    if (where->record) plane->size = size - plane->offset;
    if (where->record && plane->size % where->record)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, at,
                            "what follows in the file is not a whole number of records");
    return TARE_OK;
}

tare_status tare_infq_place_plane(tare_infq_reader *r, const tare_infq_entry *e, tare_plane *plane,
                                  const tare_infq_where *where, tare_error *err) {
    const uint64_t at = where->offset->offset;
    r->field = where->offset_field;
    if (!tare_json_u64(where->offset, &plane->offset) || plane->offset > TARE_INFQ_MOST)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, TARE_INFQ_A_NUMBER);
    if (where->alignment > 1 && plane->offset % where->alignment)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "expected a multiple of 64");
    r->field = where->file_field;
    TARE_TRY(tare_infq_open_file(r, where->file, &plane->file, err));
    r->field = where->offset_field;
    TARE_TRY(check_inside(r, plane, where, err));
    void *regions = r->regions;
    if (!tare_grow(r->m->allocator, &regions, &r->regions_capacity, r->n_regions + 1,
                   sizeof *r->regions))
        return tare_fail(err, TARE_ERR_NOMEM, "regions");
    r->regions = regions;
    r->regions[r->n_regions++] = (tare_infq_region){.file = plane->file,
                                                    .offset = plane->offset,
                                                    .end = plane->offset + plane->size,
                                                    .at = at,
                                                    .tensor = r->m->catalog.n_tensors,
                                                    .place = e->place,
                                                    .field = r->field};
    return TARE_OK;
}

/* In the order of files; ties are broken by the order in the manifest. */
static int by_place(const void *a, const void *b) {
    const tare_infq_region *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

tare_status tare_infq_check_regions(tare_infq_reader *r, tare_error *err) {
    const tare_infq_region *last = NULL;
    if (r->n_regions) qsort(r->regions, r->n_regions, sizeof *r->regions, by_place);
    for (size_t i = 0; i < r->n_regions; i++) {
        const tare_infq_region *x = &r->regions[i];
        if (x->offset == x->end) continue;
        if (last && last->file == x->file && x->offset < last->end) {
            tare_fail_at(err, TARE_ERR_CORRUPT, x->at, "overlaps what another field has placed");
            tare_infq_error_field(err, &x->place, x->field);
            if (x->place.part)
                tare_error_item(err, TARE_ITEM_ADAPTER, (int64_t)x->place.index,
                                r->m->adapters->adapters[x->place.index].name);
            else
                tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)x->tensor,
                                r->m->catalog.tensors[x->tensor].name);
            return TARE_ERR_CORRUPT;
        }
        last = x;
    }
    return TARE_OK;
}

void tare_infq_free_regions(tare_infq_reader *r) {
    tare_free(r->m->allocator, r->regions, r->regions_capacity * sizeof *r->regions);
}
