/* SPDX-License-Identifier: MIT
 *
 * The key or resource that a mistyped word may have meant. */
#include <stdlib.h>
#include <string.h>

#include "info.h"

#define NAMES_MAX 4096 /* a guess is a courtesy: larger models are searched in part */

/* Names as C strings: keys, then resources. */
typedef struct names {
    char **texts;
    size_t n;
} names;

static void add(names *list, tare_str name) {
    list->texts = cli_grow(list->texts, list->n + 1, sizeof *list->texts);
    list->texts[list->n++] = cli_copy(name.ptr, name.len);
}

static names list_names(const tare_model *model) {
    names list = {NULL, 0};
    const tare_metadata *entry;
    const tare_resource *resource;
    for (size_t i = 0; list.n < NAMES_MAX && (entry = tare_model_metadata(model, i)) != NULL; i++)
        add(&list, entry->key);
    for (size_t i = 0; list.n < NAMES_MAX && (resource = tare_model_resource(model, i)); i++)
        add(&list, resource->name);
    return list;
}

static const char *name_at(void *ctx, size_t i) {
    const names *list = ctx;
    return i < list->n ? list->texts[i] : NULL;
}

/* The one name whose last parts are the word: "context_length" of "llama.context_length". */
static const char *find_by_end(const names *list, const char *word) {
    const char *found = NULL;
    const size_t n_word = strlen(word);
    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->texts[i];
        const size_t n = strlen(name);
        if (n <= n_word || strcmp(name + n - n_word, word) != 0) continue;
        if (name[n - n_word - 1] != '.' && name[n - n_word - 1] != '/') continue;
        if (found) return NULL;
        found = name;
    }
    return found;
}

char *info_guess_key(const tare_model *model, const char *word) {
    names list = list_names(model);
    const char *guess = find_by_end(&list, word);
    if (!guess) guess = cli_nearest(word, name_at, &list);
    char *out = guess ? cli_escape((tare_str){guess, strlen(guess)}, true, 0) : NULL;
    for (size_t i = 0; i < list.n; i++) free(list.texts[i]);
    free(list.texts);
    return out;
}
