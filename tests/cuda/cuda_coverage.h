/* SPDX-License-Identifier: MIT
 *
 * What of the format (docs/wcodec.md) the layers have that a test decodes: each of these must come at
 * least once, so that no kernel goes untested because an encoder or a vector has changed. */
#ifndef TESTS_CUDA_CUDA_COVERAGE_H
#define TESTS_CUDA_CUDA_COVERAGE_H

#include <stdio.h>

#include <tare/experimental/wcodec.h>

/* Where: in the test vectors, in the samples of test_cuda_damage. */
enum { IN_VECTORS = 1, IN_SAMPLES = 2, IN_BOTH = 3 };

/* X(name, where it has to come, condition): of a field f, a segment s and, if that is DIRECT, its rule
 * r. */
#define CUDA_FEATURES(X)                                                                           \
    X("RAW", IN_BOTH, s->mode == TARE_CODED_RAW)                                                   \
    X("RAW, joined", IN_BOTH, s->mode == TARE_CODED_RAW && f->join.high_bits)                      \
    X("CONSTANT", IN_VECTORS, s->mode == TARE_CODED_CONSTANT)                                      \
    X("CONSTANT, 4 bits", IN_SAMPLES, s->mode == TARE_CODED_CONSTANT && f->value_bits == 4)        \
    X("CONSTANT, 6 bits", IN_SAMPLES, s->mode == TARE_CODED_CONSTANT && f->value_bits == 6)        \
    X("CONSTANT, 16 bits", IN_SAMPLES, s->mode == TARE_CODED_CONSTANT && f->value_bits == 16)      \
    X("ZSTD", IN_VECTORS, s->mode == TARE_CODED_ZSTD)                                              \
    X("STRUCTURED", IN_VECTORS, s->mode == TARE_CODED_STRUCTURED)                                  \
    X("DIRECT, 4 bits", IN_BOTH, r && f->value_bits == 4)                                          \
    X("DIRECT, 6 bits", IN_BOTH,                                                                   \
      r && f->value_bits == 6 && !f->join.high_bits && !f->is_packed_scales)                       \
    X("DIRECT, 8 bits", IN_BOTH, r && f->value_bits == 8)                                          \
    X("DIRECT, 16 bits", IN_BOTH, r && f->value_bits == 16)                                        \
    X("DIRECT, 16 bits, big-endian", IN_BOTH, r && f->is_big_endian)                               \
    X("joined, one high bit", IN_BOTH, r && f->join.high_bits == 1)                                \
    X("joined, two high bits", IN_SAMPLES, r && f->join.high_bits == 2)                            \
    X("packed scales", IN_BOTH, r && f->is_packed_scales)                                          \
    X("units with room between them", IN_BOTH, r && f->stride > f->width)                          \
    X("PLAIN without bypass bits", IN_BOTH, r && r->form == TARE_CODED_PLAIN && !r->bypass_bits)   \
    X("PLAIN with bypass bits", IN_BOTH, r && r->form == TARE_CODED_PLAIN && r->bypass_bits)       \
    X("SIGN, 16 bits", IN_BOTH, r && r->form == TARE_CODED_SIGN && f->value_bits == 16)            \
    X("SIGN, 8 bits", IN_VECTORS, r && r->form == TARE_CODED_SIGN && f->value_bits == 8)           \
    X("EDGE", IN_BOTH, r && r->form == TARE_CODED_EDGE)                                            \
    X("a map", IN_BOTH, r && r->has_map)                                                           \
    X("groups of 4 bits and others", IN_BOTH, r && s->n_groups > 1 && s->group_bits[0] == 4)       \
    X("a group of 2 bits", IN_BOTH, r && s->n_groups && s->group_bits[s->n_groups - 1] == 2)       \
    X("a group of 1 bit", IN_SAMPLES, r && s->n_groups && s->group_bits[s->n_groups - 1] == 1)     \
    X("classes", IN_BOTH, r && s->n_classes)                                                       \
    X("patches", IN_BOTH, r && s->n_patches)                                                       \
    X("patches, 16 bits", IN_BOTH, r && s->n_patches && f->value_bits == 16)                       \
    X("trellis of 8 states", IN_VECTORS, r && r->trellis == 8)                                     \
    X("trellis of 32 states", IN_VECTORS, r && r->trellis == 32)                                   \
    X("REF, 4 bits", IN_BOTH, s->predictor == TARE_CODED_REF && f->value_bits == 4)                \
    X("REF, 6 bits", IN_BOTH, s->predictor == TARE_CODED_REF && f->value_bits == 6)                \
    X("REF, 8 bits", IN_BOTH, s->predictor == TARE_CODED_REF && f->value_bits == 8)                \
    X("REF, 16 bits", IN_BOTH, s->predictor == TARE_CODED_REF && f->value_bits == 16)              \
    X("REF, CONSTANT", IN_VECTORS,                                                                 \
      s->predictor == TARE_CODED_REF && s->mode == TARE_CODED_CONSTANT)                            \
    X("REF_SCALED", IN_BOTH, s->predictor == TARE_CODED_REF_SCALED)

#define CUDA_NAME(name, where, condition) {name, where},
static const struct {
    const char *name;
    unsigned where;
} cuda_features[] = {CUDA_FEATURES(CUDA_NAME)};
#undef CUDA_NAME
enum { N_CUDA_FEATURES = sizeof cuda_features / sizeof *cuda_features };

typedef struct cuda_coverage {
    unsigned n[N_CUDA_FEATURES];
} cuda_coverage;

static void cuda_cover_segment(cuda_coverage *c, const tare_coded_field *f,
                               const tare_coded_segment *s, const tare_coded_head *head) {
    const tare_coded_rule *r = s->mode == TARE_CODED_DIRECT ? &head->rules[s->rule] : NULL;
    unsigned i = 0;
#define CUDA_COUNT(name, where, condition) c->n[i++] += (condition) ? 1 : 0;
    CUDA_FEATURES(CUDA_COUNT)
#undef CUDA_COUNT
}

static inline void cuda_cover(cuda_coverage *c, const tare_coded *coded) {
    const tare_coded_layer *l = tare_coded_describe(coded);
    for (unsigned i = 0; i < l->n_streams; i++)
        for (uint64_t n = 0; n < l->streams[i].n_segments; n++) {
            tare_coded_segment s = tare_coded_segment_default();
            if (tare_coded_parse_segment(&s, coded, i, n, NULL) == TARE_OK)
                cuda_cover_segment(c, &l->streams[i].field, &s, tare_coded_stream_head(coded, i));
        }
}

/* How many never came that have to come here; says which. */
static inline unsigned cuda_uncovered(const cuda_coverage *c, unsigned where) {
    unsigned n = 0;
    for (unsigned i = 0; i < N_CUDA_FEATURES; i++) {
        if (c->n[i] || !(cuda_features[i].where & where)) continue;
        printf("not covered: %s\n", cuda_features[i].name);
        n++;
    }
    return n;
}

#endif
