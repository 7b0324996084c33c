/* SPDX-License-Identifier: MIT
 *
 * Where a string begins is known only once the length before it has been read, so one walk through
 * a vocabulary waits for memory 262,144 times in a row. Four walks wait at once: three of them
 * begin where a length seems to be. Each that ends exactly where the next one began proves that
 * this was right; if one does not, the strings are taken one by one for a while. */
#include "base/string_run.h"

#include "base/bytes.h"

enum {
    WALKS = 4,
    SPAN = 4096,                      /* bytes from one walk to the next, about */
    LOOK = 256,                       /* bytes in which a length has to be found */
    LONGEST = 4095,                   /* of a string that is skipped by one of several */
    ROOM = WALKS * SPAN + LOOK + 8,   /* bytes that must be there: lengths are read in it */
    MOST = (WALKS * SPAN + LOOK) / 8, /* strings in these bytes, if all are empty */
    ALONE = 1024,                     /* strings that are taken one by one after a failure */
};

static uint64_t skip_one_by_one(tare_string_run *run, uint64_t n) {
    const uint8_t *p = run->pos;
    const bool is_big_endian = run->is_big_endian;
    uint64_t left = (uint64_t)(run->end - p), lengths = 0, i = 0;
    for (; i < n && left >= 8; i++) {
        uint64_t length = tare_load_u64(p, is_big_endian);
        if (length > left - 8 || length > run->longest) break;
        lengths |= length;
        p += 8 + length;
        left -= 8 + length;
    }
    run->pos = p;
    run->lengths |= lengths;
    return i;
}

/* Where the walks begin, and where the last one ends: at lengths of 1 to 255, so far as one can
 * see. Texts without NULs have no other eight bytes like these. */
static bool find_starts(const uint8_t *p, uint32_t starts[WALKS + 1]) {
    starts[0] = 0;
    for (uint32_t k = 1; k <= WALKS; k++) {
        uint32_t at = k * SPAN, end = at + LOOK;
        while (at < end && tare_load_u64(p + at, false) - 1 >= 255) at++;
        if (at == end) return false;
        starts[k] = at;
    }
    return true;
}

/* Four walks, to the next one's beginning each; how many strings, or 0 if they do not meet. */
static uint64_t skip_four_at_once(tare_string_run *run) {
    const uint8_t *p = run->pos;
    const uint64_t longest = run->longest < LONGEST ? run->longest : LONGEST;
    uint32_t starts[WALKS + 1];
    if (!find_starts(p, starts)) return 0;
    uint64_t a = starts[0], b = starts[1], c = starts[2], d = starts[3], n = 0, lengths = 0;
    while (a < starts[1] && b < starts[2] && c < starts[3] && d < starts[4]) {
        uint64_t of_a = tare_load_u64(p + a, false), of_b = tare_load_u64(p + b, false);
        uint64_t of_c = tare_load_u64(p + c, false), of_d = tare_load_u64(p + d, false);
        if ((of_a | of_b | of_c | of_d) > longest) return 0;
        lengths |= of_a | of_b | of_c | of_d;
        a += 8 + of_a, b += 8 + of_b, c += 8 + of_c, d += 8 + of_d, n += WALKS;
    }
    const uint64_t places[WALKS] = {a, b, c, d};
    for (size_t k = 0; k < WALKS; k++) {
        uint64_t at = places[k];
        for (uint64_t length; at < starts[k + 1]; at += 8 + length, n++) {
            length = tare_load_u64(p + at, false);
            if (length > longest) return 0;
            lengths |= length;
        }
        if (at != starts[k + 1]) return 0;
    }
    run->pos += starts[WALKS];
    run->lengths |= lengths;
    return n;
}

uint64_t tare_string_run_skip(tare_string_run *run, uint64_t n) {
    uint64_t skipped = 0;
    while (!run->is_big_endian && n - skipped >= MOST && run->end - run->pos >= ROOM) {
        uint64_t some = skip_four_at_once(run);
        if (some == 0) {
            some = skip_one_by_one(run, ALONE);
            if (some < ALONE) return skipped + some;
        }
        skipped += some;
    }
    return skipped + skip_one_by_one(run, n - skipped);
}
