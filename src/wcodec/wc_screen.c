/* SPDX-License-Identifier: MIT
 *
 * A look at a segment before tiles or zstd are tried on it: both take long, and on dense weights
 * neither ever pays. It may accept segments that then do not pay, but should reject few that would.
 */
#include "wcodec/wc_screen.h"

#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
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
static void take_sample(sample *s, uint8_t value_bits, bool is_signed, uint32_t width,
                        const uint8_t *bytes, uint32_t n_values) {
    uint32_t height = n_values / width, most = height > 1 ? MAX_COLS : SAMPLE;
    uint32_t cols = width < most ? width : most, rows = SAMPLE / cols + 1;
    if (rows > height) rows = height;
    uint32_t first = (height - rows) / 2 * width;
    for (uint32_t r = rows > 1; r < rows; r++) {
        uint32_t at = first + r * width, above = rows > 1 ? at - width : at;
        int left = 0, corner = 0;
        for (uint32_t c = 0; c < cols; c++) {
            int v = tare_wc_value_at(bytes, value_bits, is_signed, at + c);
            int top = rows > 1 ? tare_wc_value_at(bytes, value_bits, is_signed, above + c) : left;
            if (c) add_value(s, v, left, top, corner, (1u << value_bits) - 1);
            left = v;
            corner = top;
        }
    }
}

bool tare_wc_may_have_tiles(uint8_t value_bits, bool is_signed, uint32_t width,
                            const uint8_t *bytes, uint32_t n_bytes) {
    uint32_t n_values = (uint32_t)tare_wc_values_of(value_bits, n_bytes);
    size_t n = (size_t)1 << value_bits;
    sample s;
    memset(&s, 0, sizeof s);
    take_sample(&s, value_bits, is_signed, width < n_values ? width : n_values, bytes, n_values);
    uint64_t plain = tare_wc_entropy(s.plain, n), near = 0;
    for (unsigned g = 0; g < GUESSES; g++)
        if (tare_wc_entropy(s.rest[g], n) < plain) return true;
    for (unsigned i = 0; i < NEAR; i++) near += tare_wc_entropy(s.near[i], SIZES);
    /* Sizes that depend on those around them: 3 %, as counts of so few values flatter. */
    return tare_wc_entropy(s.sizes, SIZES) > near + plain / 32;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

/* Whether strings of 8 bytes recur, at any distance. An eighth of all strings is examined, selected
 * by their bytes, so that recurrences are selected too. */
static bool has_strings_again(const uint8_t *bytes, uint32_t n_bytes) {
    enum { STRING = 8, LOG2_PLACES = 14, LOG2_SHARE = 3, LEAST = 64 /* one in so many */ };
    uint32_t ends[1 << LOG2_PLACES] = {0}, n = 0, n_again = 0;
    for (uint32_t at = 0; at + STRING <= n_bytes; at += 2) {
        uint64_t hash = tare_load_le64(bytes + at) * UINT64_C(0x9e3779b97f4a7c15);
        if (hash >> (64 - LOG2_SHARE)) continue;
        uint32_t *end = &ends[hash >> (64 - LOG2_SHARE - LOG2_PLACES)];
        n++;
        n_again += *end && memcmp(bytes + *end - STRING, bytes + at, STRING) == 0;
        *end = at + STRING;
    }
    return n_again > n / LEAST;
}

bool tare_wc_may_repeat(const uint8_t *bytes, uint32_t n_bytes, uint32_t stored, uint8_t *room,
                        size_t room_size) {
    enum { ZSTD_SAMPLE = 1 << 16, MEDIUM = 1 << 18, NO_LITERALS = -1 };
    if (n_bytes <= ZSTD_SAMPLE) return true; /* as fast as a look at a sample */
    if (n_bytes <= MEDIUM && has_strings_again(bytes, n_bytes)) return true;
    /* At negative levels literals are stored as they are: only repeats shrink. */
    size_t packed = ZSTD_compress(room, room_size, bytes, ZSTD_SAMPLE, NO_LITERALS);
    if (ZSTD_isError(packed) || packed > ZSTD_SAMPLE - ZSTD_SAMPLE / 256) return false;
    uint64_t share = (stored ? stored : n_bytes) * (uint64_t)ZSTD_SAMPLE / n_bytes;
    packed = ZSTD_compress(room, room_size, bytes, ZSTD_SAMPLE, 1);
    return !ZSTD_isError(packed) && packed < share;
}

bool tare_wc_has_runs(const uint8_t *bytes, uint32_t n_bytes) {
    enum { PIECE = 64, LEAST = 16 /* one in so many */, FEWEST = 64 };
    const uint32_t n = n_bytes / PIECE;
    uint32_t n_same = 0;
    if (n < FEWEST) return false; /* its tensor may be smaller as one stream of bytes */
    for (uint32_t i = 1; i < n; i++)
        n_same += memcmp(bytes + (size_t)i * PIECE, bytes + (size_t)(i - 1) * PIECE, PIECE) == 0;
    return n_same > n / LEAST;
}
