/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a region with a joined field comes back, whole and in part, or the field is refused.
 *
 * Input: eight bytes of choices, the ten places, then the region's bytes. */
#include <stdlib.h>
#include <string.h>

#include <tare/experimental/wcodec.h>

#include "fuzz_check.h"

enum { CHOICES = 18, MOST = 1 << 12 };

/* A permutation, but for some inputs that are taken as they are. */
static void take_places(tare_coded_join *w, const uint8_t *data, bool is_as_given) {
    for (uint8_t i = 0; i < sizeof w->place; i++) {
        if (is_as_given) {
            w->place[i] = data[i];
        } else {
            uint8_t j = (uint8_t)(data[i] % (i + 1));
            w->place[i] = w->place[j];
            w->place[j] = i;
        }
    }
}

static void check_part(const tare_coded *coded, const uint8_t *bytes, size_t from, size_t n) {
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_error err;
    uint8_t *got = malloc(n ? n : 1);
    context.threads = 1;
    FUZZ_CHECK(got);
    FUZZ_CHECK(tare_coded_decode_region(got, coded, 0, from, n, &o, &err) == TARE_OK);
    FUZZ_CHECK(memcmp(got, bytes + from, n) == 0);
    free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < CHOICES || size > MOST) return 0;
    tare_coded_field fields[4] = {{.value_bits = 6}};
    tare_coded_join *w = &fields[0].join;
    w->high_bits = data[0] & 3;
    w->log2_values = data[1] & 15;
    take_places(w, data + 8, data[0] & 4);
    size_t n_low = (size_t)1 << w->log2_values >> 1;
    size_t n_high = (size_t)w->high_bits << w->log2_values >> 3;
    size_t gaps[3] = {data[2] & 7, data[3] & 7, data[4] & 7};
    bool is_low_first = data[0] & 8;
    size_t second = gaps[0] + (is_low_first ? n_low : n_high) + gaps[1];
    size_t stride = second + (is_low_first ? n_high : n_low) + gaps[2];
    fields[0].stride = (uint32_t)stride;
    fields[0].offset = (uint32_t)(is_low_first ? gaps[0] : second);
    w->high_offset = (uint32_t)(is_low_first ? second : gaps[0]);
    size_t n_fields = 1, starts[3] = {0, second - gaps[1], stride - gaps[2]};
    for (unsigned g = 0; g < 3; g++)
        if (gaps[g])
            fields[n_fields++] = (tare_coded_field){.value_bits = 8,
                                                    .stride = (uint32_t)stride,
                                                    .offset = (uint32_t)starts[g],
                                                    .width = (uint32_t)gaps[g]};
    size_t n = stride ? (size - CHOICES) / stride * stride : 0;
    const tare_coded_region region = {data + CHOICES, n, NULL};
    tare_coded_options o = tare_coded_options_default();
    tare_context context = tare_context_default();
    o.context = &context;
    tare_coded *coded;
    tare_error err = {0};
    context.threads = 1;
    if (tare_coded_encode(&coded, &region, 1, fields, n_fields, &o, &err) != TARE_OK) {
        FUZZ_CHECK(err.status == TARE_ERR_ARG && err.what && err.what[0]);
        return 0;
    }
    check_part(coded, data + CHOICES, 0, n);
    size_t from = n ? (data[5] | (size_t)data[6] << 8) % n : 0;
    check_part(coded, data + CHOICES, from, n ? data[7] % (n - from) : 0);
    tare_coded_free(coded);
    return 0;
}
