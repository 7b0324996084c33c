/* SPDX-License-Identifier: MIT
 *
 * Numbers for names that occur twice. */
#include "format/same_names.h"

#include <stdio.h>

#include "base/report.h"
#include "model/names.h"

/* A list of structs that begin with a name. */
typedef struct named {
    const tare_same_names *how;
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
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, list->how->code);
    finding.item_kind = list->kind;
    finding.item_name = name;
    tare_report_addf(list->how->report, &finding, "another value is called \"%.*s\", too: %s",
                     (int)(old.len < 200 ? old.len : 200), old.ptr, list->how->why);
}

/* Gives item i, whose name an earlier one has, the first number that is free. */
static tare_status rename_item(named *list, size_t i, int64_t same, tare_error *err) {
    const tare_str old = *name_at(list, i);
    char *name = tare_arena_array(&list->how->m->arena, (uint64_t)old.len + 24, 1);
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    memcpy(name, old.ptr, old.len);
    do {
        const int n =
            snprintf(name + old.len, 24, "#%llu", (unsigned long long)(++list->numbers[same] + 1));
        *name_at(list, i) = (tare_str){name, old.len + (size_t)n};
    } while (tare_name_index_add(&list->index, list->items, list->stride, i, NULL) >= 0);
    if (name_at(list, i)->len > list->how->m->limits.name_bytes)
        return tare_fail(err, TARE_ERR_LIMIT, "length of a name");
    report(list, old, *name_at(list, i));
    return TARE_OK;
}

tare_status tare_same_names_number(const tare_same_names *names, void *items, size_t n,
                                   size_t stride, tare_item_kind kind, tare_error *err) {
    named list = {.how = names,
                  .items = items,
                  .n = n,
                  .stride = stride,
                  .numbers = TARE_NEW_ARRAY(names->scratch, uint64_t, n),
                  .kind = kind};
    if (!list.numbers) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    memset(list.numbers, 0, n * sizeof *list.numbers);
    TARE_TRY(tare_name_index_init(&list.index, names->scratch, n, err));
    for (size_t i = 0; i < n; i++) {
        const int64_t same = tare_name_index_add(&list.index, items, stride, i, NULL);
        if (same >= 0) TARE_TRY(rename_item(&list, i, same, err));
    }
    return TARE_OK;
}
