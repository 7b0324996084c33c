/* SPDX-License-Identifier: MIT
 *
 * The bytes behind the catalog: planes of tensors, in little-endian order whatever the file's, and
 * resources. */
#include "base/str.h"
#include "model/model_internal.h"

tare_status tare_tensor_name_error(const tare_model *m, size_t tensor, tare_status s,
                                   tare_error *err) {
    if (s != TARE_OK)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)tensor, m->catalog.tensors[tensor].name);
    return s;
}

/* Swaps bytes read from a big-endian file. The unit is that of the stored type, as which a stand-in
 * was written. Types of unknown structure stay as they are. */
static tare_status to_little(const tare_model *m, size_t tensor, uint32_t plane, uint64_t offset,
                             uint8_t *buf, size_t n, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[tensor], *stored = tare_model_stored(m, tensor);
    const tare_encoding *encoding = stored->encoding;
    uint32_t p = stored == t ? plane : 0;
    if (encoding->kind == TARE_KIND_UNKNOWN) return TARE_OK;
    const tare_plane_info *info = &encoding->planes[p];
    uint64_t within = t->planes[plane].offset - stored->planes[p].offset + offset;
    if (within % info->unit_bytes || n % info->unit_bytes)
        return tare_fail(err, TARE_ERR_ARG, "offset and size must be whole units of the plane");
    const uint64_t n_units = (uint64_t)n / info->unit_bytes;
    tare_rows_mut rows = {.n_rows = 1, .cols = n_units * info->unit};
    if (info->scope == TARE_PLANE_ROW) rows = (tare_rows_mut){.n_rows = n_units, .cols = 1};
    rows.planes[p] = buf;
    tare_swap_rows(&rows, encoding);
    return TARE_OK;
}

tare_status tare_tensor_check_data(const tare_model *model, size_t tensor, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[tensor];
    const bool is_unknown = t->encoding->kind == TARE_KIND_UNKNOWN;
    for (uint32_t p = 0; p < (is_unknown ? 1 : t->encoding->n_planes); p++) {
        const tare_plane *plane = &t->planes[p];
        const tare_open_file *file = &model->files[plane->file];
        /* the size of an unknown type is what was found of it: nothing, where the file is cut */
        const bool is_lost = is_unknown && t->n_elements && plane->size == 0;
        if (!is_lost && (plane->size == 0 || (plane->offset <= file->reader.size &&
                                              plane->size <= file->reader.size - plane->offset)))
            continue;
        tare_fail_at(err, TARE_ERR_TRUNCATED, plane->offset, "the file ends too early");
        tare_error_file(err, file->name);
        return tare_tensor_name_error(model, tensor, TARE_ERR_TRUNCATED, err);
    }
    return TARE_OK;
}

tare_status tare_tensor_read(void *buf, const tare_model *model, size_t tensor, uint32_t plane,
                             uint64_t offset, size_t n, tare_error *err) {
    TARE_REQUIRE(model && tensor < model->catalog.n_tensors && (buf || n == 0), err);
    const tare_tensor *t = &model->catalog.tensors[tensor];
    TARE_REQUIRE(plane < t->encoding->n_planes, err);
    const tare_plane *p = &t->planes[plane];
    TARE_REQUIRE(offset <= p->size && n <= p->size - offset, err);
    tare_status s =
        tare_reader_read(&model->files[p->file].reader, p->offset + offset, buf, n, err);
    if (s == TARE_OK && tare_model_is_big_endian(model))
        s = to_little(model, tensor, plane, offset, buf, n, err);
    return tare_tensor_name_error(model, tensor, s, err);
}

/* n bytes of a file where they are in memory. */
static tare_status borrow(const uint8_t **out, const tare_reader *r, uint64_t offset, uint64_t n,
                          tare_error *err) {
    if (offset > r->size || n > r->size - offset)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, r->size, "the file ends too early");
    *out = tare_reader_borrow(r, offset, n);
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_UNSUPPORTED, "the file is not mapped");
}

static tare_status check_alignment(const void *at, size_t alignment, tare_error *err) {
    if (alignment & (alignment - 1) && alignment)
        return tare_fail(err, TARE_ERR_ARG, "alignment: not a power of two");
    if (alignment && (uintptr_t)at % alignment)
        return tare_fail_code(err, TARE_ERR_UNSUPPORTED, TARE_CODE_NOT_ALIGNED,
                              "the bytes do not start at a multiple of the alignment");
    return TARE_OK;
}

static tare_status borrow_plane(const uint8_t **out, const tare_model *m, const tare_plane *p,
                                size_t alignment, tare_error *err) {
    const tare_reader *r = &m->files[p->file].reader;
    if (tare_model_is_big_endian(m))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "bytes of a big-endian file cannot be borrowed");
    TARE_TRY(borrow(out, r, p->offset, p->size, err));
    return check_alignment(*out, alignment, err);
}

tare_status tare_tensor_borrow(const uint8_t **out, const tare_model *model, size_t tensor,
                               uint32_t plane, size_t alignment, tare_error *err) {
    TARE_REQUIRE(out && model && tensor < model->catalog.n_tensors, err);
    *out = NULL;
    const tare_tensor *t = &model->catalog.tensors[tensor];
    TARE_REQUIRE(plane < t->encoding->n_planes, err);
    tare_status s = borrow_plane(out, model, &t->planes[plane], alignment, err);
    if (s != TARE_OK) *out = NULL;
    return tare_tensor_name_error(model, tensor, s, err);
}

tare_status tare_tensor_borrow_mut(uint8_t **out, const tare_model *model, size_t tensor,
                                   uint32_t plane, size_t alignment, tare_error *err) {
    const uint8_t *bytes;
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_TRY(tare_tensor_borrow(&bytes, model, tensor, plane, alignment, err));
    const tare_plane *p = &model->catalog.tensors[tensor].planes[plane];
    if (!model->files[p->file].reader.is_writable)
        return tare_tensor_name_error(
            model, tensor,
            tare_fail(err, TARE_ERR_UNSUPPORTED, "the file is not mapped to be written to"), err);
    *out = (uint8_t *)(uintptr_t)bytes;
    return TARE_OK;
}

static bool place(tare_plane *out, const tare_model *m, const tare_plane *p) {
    const tare_reader *r = &m->files[p->file].reader;
    *out = *p;
    return r->has_places && p->offset <= r->size && p->size <= r->size - p->offset;
}

bool tare_tensor_place(tare_plane *out, const tare_model *model, size_t tensor, uint32_t plane) {
    if (!model || tensor >= model->catalog.n_tensors || tare_model_is_big_endian(model))
        return false;
    const tare_tensor *t = &model->catalog.tensors[tensor];
    return plane < t->encoding->n_planes && place(out, model, &t->planes[plane]);
}

/* ---- resources ------------------------------------------------------------------------------- */

tare_status tare_resource_read(void *buf, const tare_model *model, size_t resource, uint64_t offset,
                               size_t n, tare_error *err) {
    TARE_REQUIRE(model && resource < model->catalog.n_resources && (buf || n == 0), err);
    const tare_resource_entry *r = &model->catalog.resources[resource];
    TARE_REQUIRE(offset <= r->info.size && n <= r->info.size - offset, err);
    if (r->bytes) {
        if (n) memcpy(buf, r->bytes + offset, n);
        return TARE_OK;
    }
    tare_status s =
        tare_reader_read(&model->files[r->file].reader, r->offset + offset, buf, n, err);
    if (s != TARE_OK) tare_error_item(err, TARE_ITEM_RESOURCE, (int64_t)resource, r->info.name);
    return s;
}

tare_status tare_resource_borrow(const uint8_t **out, const tare_model *model, size_t resource,
                                 size_t alignment, tare_error *err) {
    TARE_REQUIRE(out && model && resource < model->catalog.n_resources, err);
    const tare_resource_entry *r = &model->catalog.resources[resource];
    tare_status s = TARE_OK;
    *out = r->bytes;
    if (!r->bytes) s = borrow(out, &model->files[r->file].reader, r->offset, r->info.size, err);
    if (s == TARE_OK) s = check_alignment(*out, alignment, err);
    if (s == TARE_OK) return TARE_OK;
    *out = NULL;
    tare_error_item(err, TARE_ITEM_RESOURCE, (int64_t)resource, r->info.name);
    return s;
}

bool tare_resource_place(tare_plane *out, const tare_model *model, size_t resource) {
    if (!model || resource >= model->catalog.n_resources) return false;
    const tare_resource_entry *r = &model->catalog.resources[resource];
    return !r->bytes && place(out, model, &(tare_plane){r->file, r->offset, r->info.size});
}
