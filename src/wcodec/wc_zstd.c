/* SPDX-License-Identifier: MIT
 *
 * ZSTD_compress of a segment may take many seconds at a high level, and cannot be stopped. The
 * streaming interface gives the same bytes if it is told that the input stays where it is, so that
 * matches are looked for as they are in one piece; it then returns after each block. */
#include "wcodec/wc_zstd.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "base/pool.h"

enum {
    BLOCK = 1 << 17, /* ZSTD_BLOCKSIZE_MAX: of less, zstd would wait for the rest */
    /* ZSTD_c_stableInBuffer, whose name is kept for those who link zstd statically */
    INPUT_STAYS = ZSTD_c_experimentalParam9,
    PIECES_SINCE = 10504, /* an older zstd takes an input that stays whole, and at once */
};

/* All but the last block are complete, so that each call ends with one. */
static tare_status pack_blocks(ZSTD_CCtx *zstd, ZSTD_outBuffer *out, const uint8_t *bytes, size_t n,
                               size_t step, tare_error *err) {
    ZSTD_inBuffer in = {.src = bytes};
    size_t left;
    do {
        TARE_TRY(tare_run_check(err));
        in.size = n - in.pos > step ? in.pos + step : n;
        left = ZSTD_compressStream2(zstd, out, &in, in.size < n ? ZSTD_e_continue : ZSTD_e_end);
        bool is_done = in.size == n && left == 0;
        const bool is_full = ZSTD_isError(left)
                                 ? ZSTD_getErrorCode(left) == ZSTD_error_dstSize_tooSmall
                                 : !is_done && out->pos == out->size;
        if (is_full) out->pos = 0;
        if (is_full) return TARE_OK;
        if (ZSTD_isError(left))
            return tare_fail(err, TARE_ERR_NOMEM, "zstd"); /* all that is left */
    } while (in.size < n || left);
    return TARE_OK;
}

tare_status tare_wc_zstd_pack(size_t *size, uint8_t *dst, size_t room, const uint8_t *bytes,
                              size_t n, int level, tare_error *err) {
    ZSTD_outBuffer out = {.dst = dst, .size = room};
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    *size = 0;
    if (!zstd) return tare_fail(err, TARE_ERR_NOMEM, "zstd");
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setPledgedSrcSize(zstd, n);
    const bool stays = ZSTD_versionNumber() >= PIECES_SINCE &&
                       !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, (ZSTD_cParameter)INPUT_STAYS, 1));
    tare_status status = pack_blocks(zstd, &out, bytes, n, stays ? BLOCK : n, err);
    ZSTD_freeCCtx(zstd);
    *size = out.pos;
    return status;
}

bool tare_wc_zstd_is_frame(const uint8_t *bytes, size_t n) {
    /* The library may know frames older than RFC 8878, too. */
    if (n < 4 || tare_load_le32(bytes) != ZSTD_MAGICNUMBER) return false;
    const size_t size = ZSTD_findFrameCompressedSize(bytes, n);
    return !ZSTD_isError(size) && size == n;
}

bool tare_wc_zstd_unpack(uint8_t *out, size_t n_out, const uint8_t *frame, size_t n) {
    const size_t got = ZSTD_decompress(out, n_out, frame, n);
    return !ZSTD_isError(got) && got == n_out;
}
