/* SPDX-License-Identifier: MIT
 *
 * Lookup tables over codebooks. The sizes of the lists are precomputed, and filling the lists must
 * yield the same sizes; so they are static and nothing is allocated. */
#include <pthread.h>
#include <string.h>

#include "encoding/codebooks.h"
#include "encoding/lattice.h"

#define PLACES_8      6561 /* 3^8 */
#define PLACES_4      4096 /* 8^4 */
#define MOST_DISTANCE 197  /* 4 * 7^2 + 1; 8 lanes of 3 levels give at most 32 */

/* Lists of a lattice: one length for each place off the codebook, plus all neighbours. */
#define STORAGE(name, places, list_words)                                                          \
    static int32_t at_##name[places];                                                              \
    static uint16_t near_##name[list_words];
STORAGE(iq2_xxs, PLACES_8, 6305 + 113157)
STORAGE(iq2_xs, PLACES_8, 6049 + 181721)
STORAGE(iq2_s, PLACES_8, 5537 + 44716)
STORAGE(iq1, PLACES_8, 4513 + 327721)
STORAGE(iq3_xxs, PLACES_4, 3840 + 18985)
STORAGE(iq3_s, PLACES_4, 3584 + 24733)

#define ROW(name, n, lanes, bits, levels, rings)                                                   \
    { tare_##name##_points, n, lanes, bits, levels, rings, at_##name, near_##name }
static const tare_lattice lattices[TARE_LATTICE_COUNT] = {
    [TARE_LATTICE_IQ2_XXS] = ROW(iq2_xxs, 256, 8, 2, 3, 2),
    [TARE_LATTICE_IQ2_XS] = ROW(iq2_xs, 512, 8, 2, 3, 2),
    [TARE_LATTICE_IQ2_S] = ROW(iq2_s, 1024, 8, 2, 3, 1),
    [TARE_LATTICE_IQ1] = ROW(iq1, 2048, 8, 2, 3, 3),
    [TARE_LATTICE_IQ3_XXS] = ROW(iq3_xxs, 256, 4, 3, 8, 2),
    [TARE_LATTICE_IQ3_S] = ROW(iq3_s, 512, 4, 3, 8, 3),
};

/* Squared distance, in levels, of a combination and a point. */
static unsigned distance(const tare_lattice *l, const uint8_t *levels, uint32_t index) {
    unsigned sum = 0;
    for (int i = 0; i < l->lanes; i++) {
        int d = tare_lattice_level(l, index, i) - levels[i];
        sum += (unsigned)(d * d);
    }
    return sum;
}

/* Appends the list of one place at `list`; returns its length in words. A counting sort by
 * distance keeps indexes ascending within a ring. */
static uint32_t put_list(const tare_lattice *l, const uint8_t *levels, uint16_t *list) {
    uint8_t of_point[2048];
    uint16_t count[MOST_DISTANCE] = {0}, start[MOST_DISTANCE];
    for (uint32_t j = 0; j < l->n_points; j++) {
        of_point[j] = (uint8_t)distance(l, levels, j);
        count[of_point[j]]++;
    }
    uint16_t n = 0;
    unsigned rings = 0, last = 0;
    for (unsigned d = 0; d < MOST_DISTANCE && rings < l->rings; d++) {
        start[d] = n;
        if (count[d] == 0) continue;
        n = (uint16_t)(n + count[d]);
        last = d;
        rings++;
    }
    list[0] = n;
    for (uint32_t j = 0; j < l->n_points; j++)
        if (of_point[j] <= last) list[1 + start[of_point[j]]++] = (uint16_t)j;
    return 1u + n;
}

static void fill(const tare_lattice *l) {
    uint32_t places = l->lanes == 8 ? PLACES_8 : PLACES_4, used = 0;
    memset(l->at, 0xff, places * sizeof *l->at); /* -1: no point here yet */
    for (uint32_t j = 0; j < l->n_points; j++) {
        uint8_t levels[8];
        for (int i = 0; i < l->lanes; i++) levels[i] = tare_lattice_level(l, j, i);
        l->at[tare_lattice_place(l, levels)] = (int32_t)j;
    }
    for (uint32_t place = 0; place < places; place++) {
        if (l->at[place] >= 0) continue;
        uint8_t levels[8];
        uint32_t rest = place;
        for (int i = 0; i < l->lanes; i++, rest /= l->levels)
            levels[i] = (uint8_t)(rest % l->levels);
        l->at[place] = -1 - (int32_t)used;
        used += put_list(l, levels, l->near + used);
    }
}

#define FILL_ONCE(id, name)                                                                        \
    static void fill_##name(void) {                                                                \
        fill(&lattices[TARE_LATTICE_##id]);                                                        \
    }                                                                                              \
    static pthread_once_t once_##name = PTHREAD_ONCE_INIT;
TARE_LATTICES(FILL_ONCE)

const tare_lattice *tare_lattice_get(tare_lattice_id id) {
#define ONCE_ROW(id, name) {&once_##name, fill_##name},
    static const struct {
        pthread_once_t *once;
        void (*fill)(void);
    } rows[TARE_LATTICE_COUNT] = {TARE_LATTICES(ONCE_ROW)};
#undef ONCE_ROW
    pthread_once(rows[id].once, rows[id].fill);
    return &lattices[id];
}
