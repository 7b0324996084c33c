/* SPDX-License-Identifier: MIT
 *
 * What an archive states of the bytes of its members: their CRC-32. PyTorch writes a CRC of 0 where it was told not to
 * compute them: none is stated then. */
#include "base/arith.h"
#include "model/catalog.h"

/* The list doubles whenever its length is a power of two, so that length is its capacity too. */
static bool grow(tare_model *m) {
    const size_t n = m->n_stated;
    if (n & (n - 1)) return true;
    tare_stated_crc *list = TARE_NEW_ARRAY(&m->arena, tare_stated_crc, n ? n * 2 : 1);
    if (!list) return false;
    if (n) memcpy(list, m->stated_crcs, n * sizeof *list);
    m->stated_crcs = list;
    return true;
}

tare_status tare_model_state_crc(tare_model *m, const tare_stated_crc *of, tare_error *err) {
    const tare_str name = tare_arena_str(&m->arena, of->name);
    if (!name.ptr || !grow(m)) return tare_fail(err, TARE_ERR_NOMEM, "checksums");
    m->stated_crcs[m->n_stated] = *of;
    m->stated_crcs[m->n_stated++].name = name;
    return TARE_OK;
}

tare_status tare_model_state_members(tare_model *m, const tare_zip *zip, uint64_t base,
                                     uint32_t file, tare_error *err) {
    for (size_t i = 0; i < zip->n; i++) {
        const tare_zip_member *from = &zip->members[i];
        if (from->method != TARE_ZIP_STORED || from->is_encrypted || !from->crc) continue;
        const tare_stated_crc of = {from->name, base + from->offset, from->size, file, from->crc};
        TARE_TRY(tare_model_state_crc(m, &of, err));
    }
    return TARE_OK;
}
