/* SPDX-License-Identifier: MIT
 *
 * A look at a segment before tiles or zstd are tried on it: both take long, and on dense weights
 * neither ever pays. It may let pass what then does not pay, and should hold back little that
 * would. */
#include "wcodec/wc_screen.h"

#include <string.h>
#include <zstd.h>

#include "wcodec/wc_kernels.h"
#include "wcodec/wc_structured.h"

enum {
    MAX_COLS = 256, /* of the sample: a few thousand values, in as many rows */
    SAMPLE = 4096,
    SIZES = 9,  /* of values: bits they take */
    NEAR = 10,  /* of what stands around them */
    GUESSES = 4 /* left, top, their mean, the plane through them */
};

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct sample {
    uint64_t plain[256], rest[GUESSES][256];  /* values; differences to what is guessed */
    uint64_t sizes[SIZES], near[NEAR][SIZES]; /* sizes alone; beside what stands around */
} sample;

static unsigned bits_of(unsigned n) {
    return n ? 32u - (unsigned)__builtin_clz(n) : 0;
}

static unsigned size_of(int v) {
    return (unsigned)(v < 0 ? -v : v);
}

static void add_value(sample *s, int v, int left, int top, int corner, unsigned mask) {
    const int guesses[GUESSES] = {left, top, (left + top) >> 1, left + top - corner};
    s->plain[(unsigned)v & mask]++;
    for (unsigned g = 0; g < GUESSES; g++) s->rest[g][(unsigned)(v - guesses[g]) & mask]++;
    s->sizes[bits_of(size_of(v))]++;
    s->near[bits_of(size_of(left) + size_of(top))][bits_of(size_of(v))]++;
}

/* Rows from the middle of the segment; of one row alone, its beginning. */
static void take_sample(sample *s, uint8_t item, bool is_signed, uint32_t width,
                        const uint8_t *bytes, uint32_t n_values) {
    uint32_t height = n_values / width, most = height > 1 ? MAX_COLS : SAMPLE;
    uint32_t cols = width < most ? width : most, rows = SAMPLE / cols + 1;
    if (rows > height) rows = height;
    uint32_t first = (height - rows) / 2 * width;
    for (uint32_t r = rows > 1; r < rows; r++) {
        uint32_t at = first + r * width, above = rows > 1 ? at - width : at;
        int left = 0, corner = 0;
        for (uint32_t c = 0; c < cols; c++) {
            int v = tare_wc_value_at(bytes, item, is_signed, at + c);
            int top = rows > 1 ? tare_wc_value_at(bytes, item, is_signed, above + c) : left;
            if (c) add_value(s, v, left, top, corner, (1u << item) - 1);
            left = v;
            corner = top;
        }
    }
}

bool tare_wc_may_have_tiles(uint8_t item, bool is_signed, uint32_t width, const uint8_t *bytes,
                            uint32_t n_bytes) {
    uint32_t n_values = (uint32_t)tare_wc_values_of(item, n_bytes);
    size_t n = (size_t)1 << item;
    sample s;
    memset(&s, 0, sizeof s);
    take_sample(&s, item, is_signed, width < n_values ? width : n_values, bytes, n_values);
    uint64_t plain = tare_wc_entropy(s.plain, n), near = 0;
    for (unsigned g = 0; g < GUESSES; g++)
        if (tare_wc_entropy(s.rest[g], n) < plain) return true;
    for (unsigned i = 0; i < NEAR; i++) near += tare_wc_entropy(s.near[i], SIZES);
    /* Sizes that follow those around them: 3 %, as counts of so few values flatter. */
    return tare_wc_entropy(s.sizes, SIZES) > near + plain / 32;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

bool tare_wc_may_repeat(const uint8_t *bytes, uint32_t n_bytes, uint8_t *room, size_t room_size) {
    enum { ZSTD_SAMPLE = 1 << 16, NO_LITERALS = -1 };
    uint64_t counts[256] = {0};
    size_t n = n_bytes < ZSTD_SAMPLE ? n_bytes : ZSTD_SAMPLE;
    /* At negative levels literals stay as they are: what shrinks was said before. */
    size_t packed = ZSTD_compress(room, room_size, bytes, n, NO_LITERALS);
    if (ZSTD_isError(packed) || packed > n - n / 256) return false;
    tare_wc_kernels_get()->count_bytes(counts, bytes, n);
    uint64_t plain = tare_wc_entropy(counts, 256) >> 19; /* bytes */
    packed = ZSTD_compress(room, room_size, bytes, n, 1);
    return !ZSTD_isError(packed) && packed * 100 < plain * 98;
}
