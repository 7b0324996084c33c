/* SPDX-License-Identifier: MIT
 *
 * Layers that test_cuda_damage encodes: together they have every form, so that every kernel is
 * launched. */
#ifndef TESTS_CUDA_CUDA_SAMPLES_H
#define TESTS_CUDA_CUDA_SAMPLES_H

#include <tare/experimental/wcodec.h>

enum { MAX_FIELDS = 3, UNITS = 1 << 15 };

/* TOPS + k: k low bits without any order. */
typedef enum fill { NORMAL, LOUD, EDGES, FLOATS, ANY, SMALL, SPARSE, ALIKE, TOPS } fill;

typedef struct sample {
    const char *name;
    unsigned fill;
    uint32_t stride, units;
    bool is_full, has_base;
    unsigned n_fields;
    tare_coded_field fields[MAX_FIELDS];
} sample;

/* Values whose low bits are all alike, so that the encoder stores K of them as they are. */
#define BYTES_OF(K)                                                                                \
    {                                                                                              \
        "bytes, k = " #K, TOPS + K, 1, 70001 + K, false, false, 1, {                               \
            { .value_bits = 8 }                                                                    \
        }                                                                                          \
    }
#define WORDS_OF(K)                                                                                \
    {                                                                                              \
        "16 bits, k = " #K, TOPS + K, 2, 50001 + K, false, false, 1, {                             \
            { .value_bits = 16 }                                                                   \
        }                                                                                          \
    }

#define Q6_PLACE                                                                                   \
    { 1, 2, 3, 4, 5, 6, 0, 7 }
#define Q5_K_PLACE                                                                                 \
    { 0, 3, 4, 5, 6, 7, 1, 2 }
#define Q5_PLACE                                                                                   \
    { 4, 0, 1, 2, 3 }
static const sample samples[] = {
    {"bytes", NORMAL, 1, 100003, false, false, 1, {{.value_bits = 8}}},
    {"bytes at their edges",
     EDGES,
     1,
     100000,
     false,
     false,
     1,
     {{.value_bits = 8, .is_signed = true}}},
    {"bytes by rows", LOUD, 1, 120000, true, false, 1, {{.value_bits = 8, .row = 600}}},
    {"bytes, predicted", NORMAL, 1, 90001, true, true, 1, {{.value_bits = 8}}},
    {"steps of a trellis", NORMAL, 1, 70000, false, false, 1, {{.value_bits = 8, .trellis = 32}}},
    {"any bytes", ANY, 1, 50000, false, false, 1, {{.value_bits = 8}}},
    {"blocks of 32 bytes",
     NORMAL,
     34,
     3001,
     false,
     false,
     2,
     {{.value_bits = 16, .stride = 34, .width = 2},
      {.value_bits = 8, .stride = 34, .offset = 2, .width = 32}}},
    {"blocks of 32 bytes, scaled",
     NORMAL,
     34,
     3001,
     true,
     true,
     2,
     {{.value_bits = 16, .stride = 34, .width = 2},
      {.value_bits = 8,
       .stride = 34,
       .offset = 2,
       .width = 32,
       .scale_stream = 1,
       .scale_form = 1,
       .values_per_scale = 32}}},
    {"bf16", FLOATS, 2, 60001, false, false, 1, {{.value_bits = 16}}},
    {"bf16, big-endian",
     FLOATS,
     2,
     60001,
     false,
     true,
     1,
     {{.value_bits = 16, .is_big_endian = true}}},
    {"16 bits, all alike", ALIKE, 2, 40000, false, false, 1, {{.value_bits = 16}}},
    {"nibbles, all alike", ALIKE, 1, 40000, false, false, 1, {{.value_bits = 4}}},
    {"sixes, all alike", ALIKE, 3, 30000, false, false, 1, {{.value_bits = 6}}},
    {"tops of F32",
     FLOATS,
     4,
     40001,
     false,
     false,
     2,
     {{.value_bits = 16, .stride = 4, .offset = 2, .width = 2},
      {.value_bits = 8, .stride = 4, .width = 2}}},
    {"nibbles in blocks",
     SMALL,
     18,
     5001,
     false,
     true,
     2,
     {{.value_bits = 16, .stride = 18, .width = 2},
      {.value_bits = 4, .stride = 18, .offset = 2, .width = 16}}},
    BYTES_OF(0),
    BYTES_OF(1),
    BYTES_OF(2),
    WORDS_OF(6),
    WORDS_OF(7),
    WORDS_OF(8),
    WORDS_OF(9),
    WORDS_OF(10),
    {"nibbles", SMALL, 1, 60007, false, false, 1, {{.value_bits = 4}}},
    {"pairs of nibbles that are nearly all 0",
     SPARSE,
     1,
     60007,
     false,
     false,
     1,
     {{.value_bits = 8}}},
    {"nibbles in blocks, no base",
     SMALL,
     18,
     5003,
     false,
     false,
     2,
     {{.value_bits = 16, .stride = 18, .width = 2},
      {.value_bits = 4, .stride = 18, .offset = 2, .width = 16}}},
    {"sixes", SMALL, 3, 30001, false, true, 1, {{.value_bits = 6}}},
    {"joined, two high bits",
     SMALL,
     210,
     401,
     false,
     true,
     3,
     {{.value_bits = 6, .stride = 210, .width = 128, .join = {128, 2, 8, Q6_PLACE}},
      {.value_bits = 8, .stride = 210, .offset = 192, .width = 16},
      {.value_bits = 16, .stride = 210, .offset = 208, .width = 2}}},
    {"joined, two high bits, no base",
     SMALL,
     210,
     403,
     false,
     false,
     3,
     {{.value_bits = 6, .stride = 210, .width = 128, .join = {128, 2, 8, Q6_PLACE}},
      {.value_bits = 8, .stride = 210, .offset = 192, .width = 16},
      {.value_bits = 16, .stride = 210, .offset = 208, .width = 2}}},
    {"joined, high bits before and at odd places",
     SMALL,
     193,
     205,
     false,
     false,
     2,
     {{.value_bits = 6, .stride = 193, .offset = 65, .width = 128, .join = {0, 2, 8, Q6_PLACE}},
      {.value_bits = 8, .stride = 193, .offset = 64, .width = 1}}},
    {"joined, two high bits, in another order",
     SMALL,
     192,
     205,
     false,
     false,
     1,
     {{.value_bits = 6, .stride = 192, .width = 128, .join = {128, 2, 8, Q5_K_PLACE}}}},
    {"joined, one high bit, in another order",
     SMALL,
     160,
     205,
     false,
     false,
     1,
     {{.value_bits = 6, .stride = 160, .width = 128, .join = {128, 1, 8, Q6_PLACE}}}},
    {"joined, high bits before",
     SMALL,
     194,
     205,
     false,
     false,
     2,
     {{.value_bits = 6, .stride = 194, .offset = 66, .width = 128, .join = {0, 2, 8, Q6_PLACE}},
      {.value_bits = 8, .stride = 194, .offset = 64, .width = 2}}},
    {"joined, one high bit",
     SMALL,
     22,
     2501,
     false,
     false,
     2,
     {{.value_bits = 16, .stride = 22, .width = 2},
      {.value_bits = 6, .stride = 22, .offset = 6, .width = 16, .join = {2, 1, 5, Q5_PLACE}}}},
    {"joined, one high bit, in units of 256",
     SMALL,
     176,
     407,
     false,
     false,
     2,
     {{.value_bits = 8, .stride = 176, .width = 16},
      {.value_bits = 6,
       .stride = 176,
       .offset = 48,
       .width = 128,
       .join = {16, 1, 8, Q5_K_PLACE}}}},
    {"joined, one high bit, after the nibbles",
     SMALL,
     162,
     211,
     false,
     false,
     2,
     {{.value_bits = 8, .stride = 162, .offset = 160, .width = 2},
      {.value_bits = 6, .stride = 162, .width = 128, .join = {128, 1, 8, Q5_K_PLACE}}}},
    {"packed scales",
     SMALL,
     16,
     5003,
     true,
     true,
     2,
     {{.value_bits = 6, .stride = 16, .width = 12, .is_packed_scales = true},
      {.value_bits = 16, .stride = 16, .offset = 12, .width = 4}}},
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

#endif
