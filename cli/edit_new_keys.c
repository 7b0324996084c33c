/* SPDX-License-Identifier: MIT
 *
 * A key that tare edit sets and the model did not have, though it has one of nearly that name. */
#include <stdlib.h>
#include <string.h>

#include "edit_new_keys.h"

#define KEYS_SEARCHED 256 /* a guess is a courtesy */

typedef struct keys {
    const tare_model *model;
    char *names[KEYS_SEARCHED];
} keys;

static const char *key_at(void *ctx, size_t i) {
    keys *k = ctx;
    const tare_metadata *m = i < KEYS_SEARCHED ? tare_model_metadata(k->model, i) : NULL;
    if (!m) return NULL;
    if (!k->names[i]) k->names[i] = cli_copy(m->key.ptr, m->key.len);
    return k->names[i];
}

static void note(keys *k, const char *path, tare_str key) {
    char *word = cli_copy(key.ptr, key.len);
    const char *nearest = cli_nearest(word, key_at, k);
    if (nearest) {
        char *name = cli_escape_path(path), *safe = cli_escape(key, true, 0);
        char *guess = cli_escape((tare_str){nearest, strlen(nearest)}, true, 0);
        fprintf(cli_error_stream(), "%s: note: %s is a new key; did you mean %s?\n", name, safe,
                guess);
        free(guess);
        free(safe);
        free(name);
    }
    free(word);
}

void cli_note_new_keys(const tare_edit *edit, const char *path) {
    static keys k;
    const tare_edit_change *c;
    tare_model *model = NULL; /* opened for the first new key: most edits have none */
    k = (keys){.model = NULL};
    for (size_t i = 0; !cli.quiet && (c = tare_edit_change_at(edit, i)); i++) {
        if (c->kind != TARE_ITEM_KEY || !c->new_key || c->old_key) continue;
        if (tare_edit_is_special_token(c->new_key->key)) continue; /* spelt as it should be */
        if (!model && tare_open_path(&model, path, NULL, NULL) != TARE_OK) return;
        k.model = model;
        note(&k, path, c->new_key->key);
    }
    for (size_t i = 0; i < KEYS_SEARCHED; i++) free(k.names[i]);
    tare_model_free(model);
}
