/* SPDX-License-Identifier: MIT
 *
 * The older form of llama.cpp's importance matrices, little-endian, no magic, no alignment:
 *
 *     i32 n_entries, then for each: i32 length, name; i32 n_calls, i32 n_values, f32 values
 *     then, in later versions: i32 n_chunks; i32 length, name of the dataset
 *
 * A value is a sum over n_calls of mean squares. Experts follow one another; the file does not say
 * how many there are. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "model/names.h"
#include "ops/mix/importance_matrix.h"

/* The bytes of the shortest entry: a name of one byte, one value. */
#define ENTRY_LEAST (4 + 1 + 4 + 4 + 4)

typedef struct dat {
    const tare_reader *reader;
    uint64_t at;
} dat;

/* The next n bytes; the file must have all of them. */
static tare_status take(dat *d, void *buf, uint64_t n, tare_error *err) {
    if (n > d->reader->size - d->at)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, d->at,
                            "importance matrix: the file ends inside it");
    TARE_TRY(tare_reader_read(d->reader, d->at, buf, (size_t)n, err));
    d->at += n;
    return TARE_OK;
}

/* A count: an i32 of at least `least`; `what` it says if not. */
static tare_status take_count(dat *d, uint64_t *out, int32_t least, const char *what,
                              tare_error *err) {
    uint8_t bytes[4];
    uint64_t at = d->at;
    TARE_TRY(take(d, bytes, sizeof bytes, err));
    uint32_t bits = tare_load_le32(bytes);
    *out = bits;
    if (bits > INT32_MAX || bits < (uint32_t)least)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, what);
    return TARE_OK;
}

/* A string of `n` bytes into the arena; n has been read, at the four bytes before. */
static tare_status take_text(dat *d, tare_importance *m, tare_str *out, uint64_t n,
                             tare_error *err) {
    if (n > m->limits.name_bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, d->at - 4, "importance matrix: length of a name");
    if (n > d->reader->size - d->at)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, d->at - 4,
                            "importance matrix: length of a name: the file is too short for it");
    char *text = tare_arena_take(&m->arena, (size_t)n);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    *out = (tare_str){text, (size_t)n};
    return take(d, text, n, err);
}

/* The values of an entry, divided by the calls they were summed over. */
static tare_status take_values(dat *d, tare_importance *m, tare_importance_entry *entry,
                               uint64_t n_calls, tare_error *err) {
    uint64_t from = d->at, bad;
    if (entry->n_values > m->limits.array_elements)
        return tare_fail_at(err, TARE_ERR_LIMIT, from - 4, "importance matrix: number of values");
    if (entry->n_values > (d->reader->size - from) / sizeof(float))
        return tare_fail_at(err, TARE_ERR_TRUNCATED, from - 4,
                            "importance matrix: number of values: the file is too short for it");
    float *values = TARE_NEW_ARRAY(&m->arena, float, entry->n_values);
    float *count = TARE_NEW(&m->arena, float);
    if (!values || !count) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    TARE_TRY(take(d, values, entry->n_values * sizeof *values, err));
    *count = n_calls > 0 ? (float)n_calls : 1;
    for (uint64_t i = 0; i < entry->n_values; i++) {
        uint32_t bits = tare_load_le32(&values[i]);
        memcpy(&values[i], &bits, sizeof bits);
        values[i] /= *count;
    }
    entry->values = values;
    m->origins[m->n_entries] = (tare_importance_origin){values, entry->n_values, from, count, 1};
    if (!tare_importance_check(m, entry, &bad))
        return tare_fail_at(err, TARE_ERR_CORRUPT, from + bad * sizeof *values,
                            "importance matrix: value is not finite, or beyond 1e30");
    return TARE_OK;
}

static tare_status take_entry(dat *d, tare_importance *m, tare_importance_entry *entry,
                              tare_error *err) {
    uint64_t length, n_calls;
    TARE_TRY(take_count(d, &length, 1, "importance matrix: length of a name: not above 0", err));
    TARE_TRY(take_text(d, m, &entry->name, length, err));
    TARE_TRY(take_count(d, &n_calls, 0, "importance matrix: number of calls: below 0", err));
    TARE_TRY(take_count(d, &entry->n_values, 1, "importance matrix: number of values: not above 0",
                        err));
    return take_values(d, m, entry, n_calls, err);
}

/* The end, which the first versions of the format did not have. */
static tare_status take_end(dat *d, tare_importance *m, tare_error *err) {
    uint64_t length;
    if (d->at == d->reader->size) return TARE_OK;
    TARE_TRY(take_count(d, &m->n_chunks, 0, "importance matrix: number of chunks: below 0", err));
    if (d->at == d->reader->size) return TARE_OK;
    TARE_TRY(
        take_count(d, &length, 0, "importance matrix: length of the dataset's name: below 0", err));
    m->datasets = TARE_NEW(&m->arena, tare_str);
    if (!m->datasets) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    TARE_TRY(take_text(d, m, m->datasets, length, err));
    m->n_datasets = length > 0;
    if (d->at == d->reader->size) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "importance.trailing");
    f.offset = d->at;
    tare_report_addf(m->report, &f, "%llu bytes after the end of the importance matrix",
                     (unsigned long long)(d->reader->size - d->at));
    return TARE_OK;
}

tare_status tare_importance_read_dat(tare_importance *m, const tare_reader *reader,
                                     tare_error *err) {
    dat d = {.reader = reader};
    uint64_t n;
    TARE_TRY(take_count(&d, &n, 1, "importance matrix: number of entries: not above 0", err));
    if (n > m->limits.tensors)
        return tare_fail_at(err, TARE_ERR_LIMIT, 0, "importance matrix: number of entries");
    if (n > (reader->size - d.at) / ENTRY_LEAST)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, 0,
                            "importance matrix: number of entries: the file is too short for it");
    m->entries = TARE_NEW_ARRAY(&m->arena, tare_importance_entry, n);
    m->origins = TARE_NEW_ARRAY(&m->arena, tare_importance_origin, n);
    if (!m->entries || !m->origins) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    TARE_TRY(tare_name_index_init(&m->index, &m->arena, (size_t)n, err));
    for (; m->n_entries < n; m->n_entries++) {
        uint64_t at = d.at;
        TARE_TRY(take_entry(&d, m, &m->entries[m->n_entries], err));
        if (tare_name_index_add(&m->index, m->entries, sizeof *m->entries, m->n_entries, NULL) >= 0)
            return tare_fail_at(err, TARE_ERR_CORRUPT, at, "importance matrix: name appears twice");
    }
    return take_end(&d, m, err);
}
