/* SPDX-License-Identifier: MIT
 *
 * The layers that ComfyUI's metadata lists, by the names of modules. These may begin otherwise than those
 * of the file, which says where the model is: one name is the other with more parts before it. */
#include <stdlib.h>

#include "base/str.h"
#include "quantized/settings.h"

enum { MOST_PARTS = 64 }; /* names of models have a dozen */

/* A layer's name, or what it ends in from the beginning of a part on. */
typedef struct tare_layer_name {
    tare_str end;
    const tare_json_node *layer;
    size_t at; /* of the layer in the list */
} tare_layer_name;

static bool is_whole(const tare_layer_name *n) {
    return n->end.len == n->layer->key.len;
}

/* Of equal ends a layer that is called so, then the one with the longest name, then the first. */
static int by_end(const void *a, const void *b) {
    const tare_layer_name *x = a, *y = b;
    const int c = tare_str_compare(x->end, y->end);
    if (c) return c;
    if (is_whole(x) != is_whole(y)) return is_whole(x) ? -1 : 1;
    if (x->layer->key.len != y->layer->key.len)
        return x->layer->key.len > y->layer->key.len ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The next shorter end of a name; false: it has one part. */
static bool cut_part(tare_str *name) {
    const char *dot = memchr(name->ptr, '.', name->len);
    if (dot) *name = tare_str_cut(*name, (size_t)(dot - name->ptr) + 1);
    return dot != NULL;
}

/* How many ends a name has; `to` gets them, unless it is NULL. */
static size_t list_ends(tare_layer_name *to, const tare_json_node *layer, size_t at) {
    tare_str end = layer->key;
    size_t n = 0;
    do {
        if (to) to[n] = (tare_layer_name){end, layer, at};
        n++;
    } while (n < MOST_PARTS && cut_part(&end));
    return n;
}

tare_status tare_weight_layers_index(tare_weight_settings *s, tare_arena *arena, tare_error *err) {
    size_t n = 0, at = 0;
    if (!s->layers) return TARE_OK;
    for (const tare_json_node *l = s->layers->child; l; l = l->next) n += list_ends(NULL, l, 0);
    s->layer_names = TARE_NEW_ARRAY(arena, tare_layer_name, n);
    if (!s->layer_names) return tare_fail(err, TARE_ERR_NOMEM, "settings of packed weights");
    for (const tare_json_node *l = s->layers->child; l; l = l->next)
        s->n_layer_names += list_ends(s->layer_names + s->n_layer_names, l, at++);
    if (n) qsort(s->layer_names, n, sizeof *s->layer_names, by_end);
    return TARE_OK;
}

/* The first of those with an end; NULL: there is none. */
static const tare_layer_name *first_of(const tare_weight_settings *s, tare_str end) {
    size_t from = 0, to = s->n_layer_names;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (tare_str_compare(s->layer_names[middle].end, end) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < s->n_layer_names && tare_str_equal(s->layer_names[from].end, end)
               ? &s->layer_names[from]
               : NULL;
}

const tare_json_node *tare_weight_comfy_layer(const tare_weight_settings *s, tare_str module) {
    const tare_layer_name *found = first_of(s, module);
    for (int n = 0; !found && n < MOST_PARTS && cut_part(&module); n++) {
        found = first_of(s, module);
        if (found && !is_whole(found)) found = NULL;
    }
    return found ? found->layer : NULL;
}
