/* SPDX-License-Identifier: MIT
 *
 * Mel filters as librosa.filters.mel makes them for 16 kHz and 400 samples: triangles on Slaney's
 * scale, linear up to 1 kHz and logarithmic above, of equal area. In the same steps of the same
 * precision: Whisper was trained with these numbers. */
#include <math.h>

#include "base/bytes.h"
#include "llama/whisper/whisper_parts.h"

#define LINEAR   (200.0 / 3) /* Hz a mel */
#define BEND     15.0        /* mel, at 1 kHz */
#define NYQUIST  8000.0      /* Hz */
#define BIN      40.0        /* Hz */
#define LOG_STEP (log(6.4) / 27)

static double hz_of(double mel) {
    return mel >= BEND ? 1000 * exp(LOG_STEP * (mel - BEND)) : LINEAR * mel;
}

/* The frequency of point i of n + 2, at equal distances in mel. */
static double point(size_t i, size_t n) {
    const double last = BEND + log(NYQUIST / 1000) / LOG_STEP;
    return hz_of(i == n + 1 ? last : (double)i * (last / (double)(n + 1)));
}

void tare_whisper_filters(uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double low = point(i, n), top = point(i + 1, n), high = point(i + 2, n);
        const double area = 2 / (high - low);
        for (size_t k = 0; k < TARE_WHISPER_BINS; k++) {
            const double hz = BIN * (double)k;
            const double up = -(low - hz) / (top - low), down = (high - hz) / (high - top);
            const double inside = up < down ? up : down;
            /* -0 where the first one begins: min and max of 0 and -0 differ among compilers. */
            const float side = hz == low ? -0.0F : inside > 0 ? (float)inside : 0;
            const float value = (float)((double)side * area);
            tare_store_le32(out + 4 * (i * TARE_WHISPER_BINS + k), tare_f32_bits(value));
        }
    }
}
