/* SPDX-License-Identifier: MIT
 *
 * Packed scales to values of 6 bits and back, four or eight of them in a word. */
#include "wcodec/wc_scales.h"

#include <string.h>

#include "base/bytes.h"

enum { LOW_SIX = 0x3f3f3f3f, LOW_FOUR = 0x0f0f0f0f, HIGH_TWO = 0x30303030 };

/* Eight values, one in each byte, to 48 bits. */
static uint64_t close_up(uint64_t v) {
    v = (v & UINT64_C(0x003f003f003f003f)) | (v & UINT64_C(0x3f003f003f003f00)) >> 2;
    v = (v & UINT64_C(0x00000fff00000fff)) | (v & UINT64_C(0x0fff00000fff0000)) >> 4;
    return (v & UINT64_C(0xffffff)) | v >> 32 << 24;
}

static uint64_t spread(uint64_t v) {
    v = (v & UINT64_C(0xffffff)) | v >> 24 << 32;
    v = (v & UINT64_C(0x00000fff00000fff)) | (v & UINT64_C(0x00fff00000fff000)) << 4;
    return (v & UINT64_C(0x003f003f003f003f)) | (v & UINT64_C(0x0fc00fc00fc00fc0)) << 2;
}

static void store_eight(uint8_t *to, uint32_t low, uint32_t high) {
    uint64_t v = close_up(low | (uint64_t)high << 32);
    tare_store_le32(to, (uint32_t)v);
    tare_store_le16(to + 4, (uint16_t)(v >> 32));
}

static uint64_t load_eight(const uint8_t *from) {
    return spread(tare_load_le32(from) | (uint64_t)tare_load_le16(from + 4) << 32);
}

void tare_wc_scales_unpack(uint8_t *dst, const uint8_t *src, uint32_t n) {
    for (uint32_t at = 0; at < n;) {
        uint32_t units = tare_wc_scales_group_units(n - at);
        uint8_t *scales = dst + at, *minima = scales + TARE_WC_SCALES_EIGHT * units;
        for (uint32_t u = 0; u < units; u++, at += TARE_WC_SCALES_UNIT) {
            uint32_t a = tare_load_le32(src + at), b = tare_load_le32(src + at + 4);
            uint32_t c = tare_load_le32(src + at + 8);
            store_eight(scales + TARE_WC_SCALES_EIGHT * u, a & LOW_SIX,
                        (c & LOW_FOUR) | (a >> 2 & HIGH_TWO));
            store_eight(minima + TARE_WC_SCALES_EIGHT * u, b & LOW_SIX,
                        (c >> 4 & LOW_FOUR) | (b >> 2 & HIGH_TWO));
        }
    }
}

void tare_wc_scales_pack_units(uint8_t *units, const uint8_t *scales, const uint8_t *minima,
                               uint32_t n) {
    for (uint32_t u = 0; u < n; u++, units += TARE_WC_SCALES_UNIT) {
        uint64_t s = load_eight(scales + TARE_WC_SCALES_EIGHT * u);
        uint64_t m = load_eight(minima + TARE_WC_SCALES_EIGHT * u);
        uint32_t s_high = (uint32_t)(s >> 32), m_high = (uint32_t)(m >> 32);
        tare_store_le32(units, (uint32_t)s | (s_high & HIGH_TWO) << 2);
        tare_store_le32(units + 4, (uint32_t)m | (m_high & HIGH_TWO) << 2);
        tare_store_le32(units + 8, (s_high & LOW_FOUR) | (m_high & LOW_FOUR) << 4);
    }
}

void tare_wc_scales_pack_c(uint8_t *bytes, uint32_t n) {
    uint8_t group[TARE_WC_SCALES_UNIT * TARE_WC_SCALES_GROUP];
    for (uint32_t at = 0, units; at < n; at += TARE_WC_SCALES_UNIT * units) {
        units = tare_wc_scales_group_units(n - at);
        memcpy(group, bytes + at, TARE_WC_SCALES_UNIT * (size_t)units);
        tare_wc_scales_pack_units(bytes + at, group, group + TARE_WC_SCALES_EIGHT * units, units);
    }
}
