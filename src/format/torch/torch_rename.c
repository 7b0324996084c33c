/* SPDX-License-Identifier: MIT
 *
 * Names after all of a file has been seen: without the keys that wrap everything, and no two alike.
 * Keys 1 and "1", or a key "a.b" and "b" under "a", lead to one name: those that come later get a
 * number. */
#include <stdio.h>

#include "base/report.h"
#include "format/torch/torch.h"
#include "model/names.h"

/* The length of what all names begin with and wrappers are; with the dot that follows. */
static size_t wrappers(const tare_torch_file *f) {
    const tare_strided_tensor *first = &f->tensors[0];
    size_t cut = first->wrapped;
    for (size_t i = 1; i < f->n_tensors; i++) {
        const tare_strided_tensor *t = &f->tensors[i];
        if (t->wrapped < cut) cut = t->wrapped;
        while (cut && (memcmp(t->name.ptr, first->name.ptr, cut) != 0 ||
                       (first->name.len > cut && first->name.ptr[cut] != '.')))
            cut--;
    }
    return cut && cut < first->name.len ? cut + 1 : 0;
}

/* A list of structs that begin with a name. */
typedef struct named {
    tare_torch_file *f;
    uint8_t *items;
    size_t n, stride;
    tare_name_index index;
    uint64_t *numbers; /* that the name of an item has been given */
    tare_item_kind kind;
} named;

static tare_str *name_at(const named *list, size_t i) {
    return (tare_str *)(void *)(list->items + i * list->stride);
}

static void report(const named *list, tare_str old, tare_str name) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "torch.same-name");
    finding.item_kind = list->kind;
    finding.item_name = name;
    tare_report_addf(list->f->report, &finding,
                     "another value is called \"%.*s\", too: keys of other types lead to one name",
                     (int)(old.len < 200 ? old.len : 200), old.ptr);
}

/* Gives item i, whose name an earlier one has, the first number that is free. */
static tare_status rename_item(named *list, size_t i, int64_t same, tare_error *err) {
    const tare_str old = *name_at(list, i);
    char *name = tare_arena_array(&list->f->m->arena, (uint64_t)old.len + 24, 1);
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "names of tensors");
    memcpy(name, old.ptr, old.len);
    do {
        const int n =
            snprintf(name + old.len, 24, "#%llu", (unsigned long long)(++list->numbers[same] + 1));
        *name_at(list, i) = (tare_str){name, old.len + (size_t)n};
    } while (tare_name_index_add(&list->index, list->items, list->stride, i, NULL) >= 0);
    if (name_at(list, i)->len > list->f->m->limits.name_bytes)
        return tare_fail(err, TARE_ERR_LIMIT, "length of a name");
    report(list, old, *name_at(list, i));
    return TARE_OK;
}

static tare_status rename_same(named *list, tare_error *err) {
    tare_arena *scratch = &list->f->scratch;
    list->numbers = TARE_NEW_ARRAY(scratch, uint64_t, list->n);
    if (!list->numbers) return tare_fail(err, TARE_ERR_NOMEM, "names of tensors");
    memset(list->numbers, 0, list->n * sizeof *list->numbers);
    TARE_TRY(tare_name_index_init(&list->index, scratch, list->n, err));
    for (size_t i = 0; i < list->n; i++) {
        const int64_t same = tare_name_index_add(&list->index, list->items, list->stride, i, NULL);
        if (same >= 0) TARE_TRY(rename_item(list, i, same, err));
    }
    return TARE_OK;
}

tare_status tare_torch_rename(tare_torch_file *f, tare_error *err) {
    named tensors = {.f = f,
                     .items = (uint8_t *)f->tensors,
                     .n = f->n_tensors,
                     .stride = sizeof *f->tensors,
                     .kind = TARE_ITEM_TENSOR};
    named keys = {.f = f,
                  .items = (uint8_t *)f->metadata,
                  .n = f->n_metadata,
                  .stride = sizeof *f->metadata,
                  .kind = TARE_ITEM_KEY};
    const size_t cut = f->n_tensors ? wrappers(f) : 0;
    for (size_t i = 0; i < f->n_tensors; i++)
        f->tensors[i].name = tare_str_cut(f->tensors[i].name, cut);
    TARE_TRY(rename_same(&tensors, err));
    return rename_same(&keys, err);
}
