/* SPDX-License-Identifier: MIT
 *
 * A stranger's use of the weight codec on memory, C and C++ alike: int8 weights there and back, on
 * threads of the program. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tare/experimental/wcodec.h>

enum { N = 1 << 20 };

/* A pool can be as simple as this. */
static void one_after_the_other(void *ctx, unsigned n, void (*body)(void *body_ctx, unsigned i),
                                void *body_ctx) {
    unsigned i;
    (void)ctx;
    for (i = 0; i < n; i++) body(body_ctx, i);
}

int main(void) {
    signed char *weights = (signed char *)malloc(N), *back = (signed char *)malloc(N);
    tare_coded_options options = tare_coded_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_coded_region region;
    tare_coded_field field;
    tare_coded_layer layer;
    tare_coded *coded;
    tare_error err;
    int i;
    if (!weights || !back) return 1;
    for (i = 0; i < N; i++)
        weights[i] = (signed char)(20 * sin(i * 0.7) * sin(i * 1.3) * sin(i * 0.11));
    memset(&region, 0, sizeof region);
    memset(&field, 0, sizeof field);
    region.bytes = weights;
    region.size = N;
    field.value_bits = 8;
    field.is_signed = true;
    context.threads = 2;
    context.parallel = one_after_the_other;
    if (tare_coded_encode(&coded, &region, 1, &field, 1, &options, &err) != TARE_OK) {
        fprintf(stderr, "%s\n", err.what);
        return 1;
    }
    layer = *tare_coded_describe(coded);
    if (tare_coded_decode_region(back, coded, 0, 0, N, &options, &err) != TARE_OK) {
        fprintf(stderr, "%s\n", err.what);
        return 1;
    }
    i = memcmp(weights, back, N) != 0 || layer.size > N * 3 / 4;
    printf("%s\n", i ? "something else came back" : "the same came back");
    tare_coded_free(coded);
    free(weights);
    free(back);
    return i;
}
