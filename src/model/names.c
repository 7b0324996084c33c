/* SPDX-License-Identifier: MIT
 *
 * Names to positions: open addressing with linear probing, at most half full, built once. The
 * index keeps positions only; the names stay where they are. */
#include "model/names.h"
#include "base/str.h"

static tare_str name_at(const void *names, size_t stride, size_t i) {
    tare_str name;
    memcpy(&name, (const char *)names + i * stride, sizeof name);
    return name;
}

tare_status tare_name_index_init(tare_name_index *index, tare_arena *arena, size_t n,
                                 tare_error *err) {
    if (n >= UINT32_MAX) return tare_fail(err, TARE_ERR_LIMIT, "too many names");
    uint64_t size = 8;
    while (size < (uint64_t)n * 2) size *= 2;
    *index = (tare_name_index){.slots = TARE_NEW_ARRAY(arena, uint32_t, size),
                               .mask = size - 1,
                               .key = tare_hash_key_new()};
    return index->slots ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "name index");
}

int64_t tare_name_index_add(tare_name_index *index, const void *names, size_t stride, size_t i,
                            bool (*same)(const void *a, const void *b)) {
    tare_str name = name_at(names, stride, i);
    uint64_t at = tare_str_hash(name, &index->key) & index->mask;
    while (index->slots[at]) {
        size_t other = index->slots[at] - 1;
        if (tare_str_equal(name_at(names, stride, other), name) &&
            (!same || same((const char *)names + other * stride, (const char *)names + i * stride)))
            return (int64_t)other;
        at = (at + 1) & index->mask;
    }
    index->slots[at] = (uint32_t)i + 1;
    return -1;
}

tare_status tare_name_index_build(tare_name_index *index, tare_arena *arena, const void *names,
                                  size_t n, size_t stride, const char *duplicate, tare_error *err) {
    TARE_TRY(tare_name_index_init(index, arena, n, err));
    for (size_t i = 0; i < n; i++) {
        if (tare_name_index_add(index, names, stride, i, NULL) < 0) continue;
        tare_fail(err, TARE_ERR_CORRUPT, duplicate);
        if (err) err->item = (int64_t)i;
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

int64_t tare_name_index_find(const tare_name_index *index, const void *names, size_t stride,
                             tare_str name) {
    if (!index->slots) return -1;
    uint64_t at = tare_str_hash(name, &index->key) & index->mask;
    while (index->slots[at]) {
        size_t i = index->slots[at] - 1;
        if (tare_str_equal(name_at(names, stride, i), name)) return (int64_t)i;
        at = (at + 1) & index->mask;
    }
    return -1;
}
