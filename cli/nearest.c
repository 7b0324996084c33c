/* SPDX-License-Identifier: MIT
 *
 * What a mistyped word may have meant. */
#include <string.h>

#include "cli.h"

/* Words longer than this are not compared: no command, option or usual tensor name is. */
#define WORD_MAX 96
/* A word that was cut off is told by so many letters. */
#define BEGINNING_LEAST 4

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Edits that turn a into b: a letter more, less, other, or two neighbours swapped. Three rows of
 * the usual matrix are kept. */
static size_t distance(const char *a, const char *b) {
    size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a > WORD_MAX || n_b > WORD_MAX) return SIZE_MAX;
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n_b; j++) above[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t other = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = least(other, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[n_b];
}

static bool is_part(const char *rest) {
    return rest[0] == '.' && strcmp(rest, ".weight") != 0;
}

/* The only name that begins with a word of some length, but not by another part of it unless that is what
 * weights end with. */
static const char *only_longer(const char *word, const char *(*name_at)(void *ctx, size_t i),
                               void *ctx) {
    const size_t n = strlen(word);
    const char *found = NULL, *name;
    if (n < BEGINNING_LEAST) return NULL;
    for (size_t i = 0; (name = name_at(ctx, i)) != NULL; i++) {
        if (strncmp(name, word, n) != 0 || is_part(name + n)) continue;
        if (found) return NULL;
        found = name;
    }
    return found;
}

const char *cli_nearest(const char *word, const char *(*name_at)(void *ctx, size_t i), void *ctx) {
    const char *best = NULL;
    size_t limit = least(strlen(word) / 3, 2); /* more than a third wrong is another word */
    size_t best_distance = limit + 1;
    const char *name;
    for (size_t i = 0; (name = name_at(ctx, i)) != NULL; i++) {
        size_t d = distance(word, name);
        if (d < best_distance) {
            best_distance = d;
            best = name;
        }
    }
    return best ? best : only_longer(word, name_at, ctx);
}
