/* SPDX-License-Identifier: MIT
 *
 * Lists of packed points. The sizes were counted once, like those in lattice.c. */
#include "encoding/simd/point_lists.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define PACKED_8 65536 /* 8 elements of 2 bits */
#define PACKED_4 4096  /* 4 elements of 3 bits */

#define STORAGE(name, packed, list_words)                                                          \
    static int32_t entries_##name[packed];                                                         \
    static uint16_t points_##name[list_words];                                                     \
    static const tare_point_lists lists_##name = {entries_##name, points_##name};
STORAGE(iq2_xxs, PACKED_8, 161136)
STORAGE(iq2_xs, PACKED_8, 230560)
STORAGE(iq2_s, PACKED_8, 100576)
STORAGE(iq1, PACKED_8, 362352)
STORAGE(iq3_xxs, PACKED_4, 62432)
STORAGE(iq3_s, PACKED_4, 59296)

/* Appends a list of the lattice; returns its length with what fills it up. */
static size_t put_list(uint16_t *points, const tare_lattice *l, const uint16_t *list) {
    size_t n = list[0], n_filled = (n + TARE_LIST_STEP - 1) / TARE_LIST_STEP * TARE_LIST_STEP;
    for (size_t j = 0; j < n_filled; j++) points[j] = l->points[list[j < n ? 1 + j : 1]];
    return n_filled;
}

static void fill(tare_lattice_id id, int32_t *entries, uint16_t *points) {
    const tare_lattice *l = tare_lattice_get(id);
    uint32_t n_packed = l->lanes == 8 ? PACKED_8 : PACKED_4;
    size_t used = 0;
    for (uint32_t packed = 0; packed < n_packed; packed++) {
        uint8_t levels[8];
        bool is_combination = true;
        for (int i = 0; i < l->lanes; i++) {
            levels[i] = (uint8_t)(packed >> l->bits * i & ((1u << l->bits) - 1));
            is_combination &= levels[i] < l->levels;
        }
        if (!is_combination) continue;
        int32_t at = l->at[tare_lattice_place(l, levels)];
        entries[packed] = at;
        if (at >= 0) {
            entries[packed] = -1 - at;
            continue;
        }
        const uint16_t *list = l->near + (-1 - at);
        entries[packed] = (int32_t)(used / TARE_LIST_STEP) << TARE_LIST_BITS | list[0];
        used += put_list(points + used, l, list);
    }
}

#define FILL_ONCE(id, name)                                                                        \
    static void fill_##name(void) {                                                                \
        fill(TARE_LATTICE_##id, entries_##name, points_##name);                                    \
    }                                                                                              \
    static pthread_once_t once_##name = PTHREAD_ONCE_INIT;
TARE_LATTICES(FILL_ONCE)

const tare_point_lists *tare_point_lists_get(tare_lattice_id id) {
#define ONCE_ROW(id, name) {&once_##name, fill_##name, &lists_##name},
    static const struct {
        pthread_once_t *once;
        void (*fill)(void);
        const tare_point_lists *lists;
    } rows[TARE_LATTICE_COUNT] = {TARE_LATTICES(ONCE_ROW)};
#undef ONCE_ROW
    pthread_once(rows[id].once, rows[id].fill);
    return rows[id].lists;
}
