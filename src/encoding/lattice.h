/* SPDX-License-Identifier: MIT
 *
 * From any combination of levels to a point of a codebook: the point itself if it is one, else the
 * list of the nearest points. The tables are computed once, at first use. */
#ifndef TARE_ENCODING_LATTICE_H
#define TARE_ENCODING_LATTICE_H

#include <stdint.h>

typedef struct tare_lattice {
    const uint16_t *points; /* packed as in codebooks.h */
    uint16_t n_points;
    uint8_t lanes;  /* elements of a point */
    uint8_t bits;   /* of an element in a packed point */
    uint8_t levels; /* an element is 0..levels-1 */
    uint8_t rings;  /* how many different distances a list covers */
    int32_t *at;    /* by place: index of the point, or -1 - start of the list in `near` */
    uint16_t *near; /* lists: their length, then indexes of points, nearest first, then ascending */
} tare_lattice;

/* All of them: LATTICE(ID, name). */
#define TARE_LATTICES(LATTICE)                                                                     \
    LATTICE(IQ2_XXS, iq2_xxs)                                                                      \
    LATTICE(IQ2_XS, iq2_xs)                                                                        \
    LATTICE(IQ2_S, iq2_s)                                                                          \
    LATTICE(IQ1, iq1)                                                                              \
    LATTICE(IQ3_XXS, iq3_xxs)                                                                      \
    LATTICE(IQ3_S, iq3_s)

typedef enum tare_lattice_id {
#define TARE_LATTICE_ENUM(id, name) TARE_LATTICE_##id,
    TARE_LATTICES(TARE_LATTICE_ENUM)
#undef TARE_LATTICE_ENUM
        TARE_LATTICE_COUNT
} tare_lattice_id;

const tare_lattice *tare_lattice_get(tare_lattice_id id);

/* The position of a combination of levels in `at`. */
static inline uint32_t tare_lattice_place(const tare_lattice *l, const uint8_t *levels) {
    uint32_t place = 0;
    for (int i = l->lanes - 1; i >= 0; i--) place = place * l->levels + levels[i];
    return place;
}

static inline uint8_t tare_lattice_level(const tare_lattice *l, uint32_t index, int lane) {
    return (uint8_t)(l->points[index] >> l->bits * lane & ((1 << l->bits) - 1));
}

#endif
