/* SPDX-License-Identifier: MIT
 *
 * Sections of an MCF file that is being read: found by type, loaded, reported on. */
#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/mcf/mcf.h"

void tare_mcf_report(const tare_mcf_reader *r, tare_level level, const char *code, int64_t tensor,
                     uint64_t offset, const char *text) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, code);
    f.level = level;
    f.offset = offset;
    if (tensor >= 0) {
        f.item_kind = TARE_ITEM_TENSOR;
        f.item = tensor;
        f.item_name = r->m->catalog.tensors[tensor].name;
    }
    f.text = tare_str_of(text);
    tare_report_add(r->report, &f);
}

const tare_mcf_section *tare_mcf_find(const tare_mcf_reader *r, uint32_t type) {
    for (size_t i = 0; i < r->n_sections; i++)
        if (r->sections[i].type == type) return &r->sections[i];
    return NULL;
}

tare_status tare_mcf_load_at(tare_mcf_reader *r, uint64_t offset, uint64_t n, tare_cursor *out,
                             tare_error *err) {
    size_t size;
    if (n > r->m->limits.metadata_bytes || !tare_size_of_u64(n, &size) ||
        r->m->directory_bytes > r->m->limits.metadata_bytes - n)
        return tare_fail_at(err, TARE_ERR_LIMIT, offset, "size of the directory");
    uint8_t *bytes = tare_alloc(r->m->allocator, size ? size : 1);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "section");
    tare_status status = tare_model_keep(r->m, bytes, size ? size : 1, err);
    if (status != TARE_OK) {
        tare_free(r->m->allocator, bytes, size ? size : 1);
        return status;
    }
    TARE_TRY(tare_reader_read(&r->m->files[r->file].reader, offset, bytes, size, err));
    r->m->directory_bytes += n;
    tare_cursor_init(out, bytes, n, offset);
    return TARE_OK;
}

tare_status tare_mcf_load(tare_mcf_reader *r, const tare_mcf_section *s, uint64_t from, uint64_t n,
                          tare_cursor *out, tare_error *err) {
    return tare_mcf_load_at(r, s->offset + from, n, out, err);
}
