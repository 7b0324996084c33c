/* SPDX-License-Identifier: MIT
 *
 * Looking at the parts of an output: names are read from the folder, records say what belongs
 * together. Nothing is taken for granted that a name or a record says, and every part that does not
 * fit is told by its name. */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/os_file.h"
#include "base/str.h"
#include "ops/parts/parts_state.h"

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct search {
    tare_parts *parts;
    tare_str base; /* "OUT.part-", without its folder */
    const char *folder;
} search;

/* Digits at the beginning of a text, cut off; false: none, or too many. */
static bool take_digits(tare_str *text, uint32_t *out) {
    size_t n = 0;
    *out = 0;
    for (; n < text->len && n < 9 && text->ptr[n] >= '0' && text->ptr[n] <= '9'; n++)
        *out = *out * 10 + (uint32_t)(text->ptr[n] - '0');
    *text = tare_str_cut(*text, n);
    return n > 0;
}

/* "00002-of-00007" and perhaps ".json". */
static bool read_name(tare_str tail, uint32_t *index, uint32_t *count, bool *is_record) {
    if (!take_digits(&tail, index) || !tare_str_starts(tail, TARE_STR("-of-"))) return false;
    tail = tare_str_cut(tail, 4);
    if (!take_digits(&tail, count)) return false;
    *is_record = tare_str_is(tail, ".json");
    return *is_record || tail.len == 0;
}

/* An entry for a name; the two of a part become one once all names are known. */
static tare_part_found *add_entry(search *s, tare_str stem, tare_error *err) {
    tare_parts *p = s->parts;
    if (!tare_grow(p->context.allocator, (void **)&p->found, &p->capacity, p->n_found + 1,
                   sizeof *p->found)) {
        tare_fail(err, TARE_ERR_NOMEM, "list of parts");
        return NULL;
    }
    tare_part_found *f = &p->found[p->n_found++];
    *f = (tare_part_found){.info = tare_part_info_default()};
    f->info.name = tare_arena_str(&p->arena, stem);
    f->path = tare_part_inner(&p->arena, s->folder, stem);
    if (f->info.name.ptr && f->path) return f;
    tare_fail(err, TARE_ERR_NOMEM, "list of parts");
    return NULL;
}

static tare_status visit(void *ctx, const tare_files_entry *entry, tare_error *err) {
    search *s = ctx;
    tare_str name = tare_str_of(entry->name);
    uint32_t index, count;
    bool is_record;
    if (!tare_str_starts(name, s->base) ||
        !read_name(tare_str_cut(name, s->base.len), &index, &count, &is_record))
        return TARE_OK;
    if (is_record) name.len -= strlen(".json");
    tare_part_found *f = add_entry(s, name, err);
    if (!f) return TARE_ERR_NOMEM;
    f->info.index = index;
    f->info.count = count;
    if (is_record) {
        f->has_record = true;
    } else {
        f->has_bytes = true;
        f->n_bytes = entry->size;
    }
    return TARE_OK;
}

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const tare_part_found *)a)->info.name,
                            ((const tare_part_found *)b)->info.name);
}

/* A part's bytes and its record are one entry. */
static void merge_entries(tare_parts *p) {
    size_t n = 0;
    if (p->n_found) qsort(p->found, p->n_found, sizeof *p->found, by_name);
    for (size_t i = 0; i < p->n_found; i++) {
        const tare_part_found *f = &p->found[i];
        tare_part_found *before = n ? &p->found[n - 1] : NULL;
        if (!before || !tare_str_equal(before->info.name, f->info.name)) {
            p->found[n++] = *f;
            continue;
        }
        before->has_record |= f->has_record;
        before->has_bytes |= f->has_bytes;
        before->n_bytes += f->n_bytes;
    }
    p->n_found = n;
}

static tare_status find(tare_parts *p, tare_error *err) {
    const tare_str name = tare_part_output_name(p->out_path);
    const tare_str folder = {p->out_path, (size_t)(name.ptr - p->out_path)};
    search s = {.parts = p};
    char *base = tare_arena_take(&p->arena, name.len + 7);
    s.folder = tare_arena_str(&p->arena, folder).ptr;
    if (!base || !s.folder) return tare_fail(err, TARE_ERR_NOMEM, "list of parts");
    memcpy(base, name.ptr, name.len);
    memcpy(base + name.len, ".part-", 7);
    s.base = tare_str_of(base);
    TARE_TRY(tare_files_list(NULL, folder.len ? s.folder : ".", visit, &s, err));
    merge_entries(p);
    if (p->n_found) return TARE_OK;
    tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_NO_PARTS, "there is no part of this output");
    tare_error_file(err, p->out_path);
    return TARE_ERR_ARG;
}

/* ---- what belongs together ------------------------------------------------------------------- */

static bool is_same_plan(const tare_part_record *a, const tare_part_record *b) {
    return a->count == b->count && a->total == b->total && a->is_shared == b->is_shared &&
           a->is_directory == b->is_directory && a->is_packed == b->is_packed &&
           memcmp(a->plan, b->plan, sizeof a->plan) == 0;
}

/* Whether a record is that of the part that its name says. */
static bool is_own(const tare_parts *p, const tare_part_found *f) {
    return f->record.index == f->info.index && f->record.count == f->info.count &&
           tare_str_equal(f->record.output, tare_part_output_name(p->out_path));
}

static tare_status read_records(tare_parts *p, tare_error *err) {
    for (size_t i = 0; i < p->n_found; i++) {
        tare_part_found *f = &p->found[i];
        if (!f->has_record) continue;
        const char *path = tare_part_record_path(&p->arena, f->path);
        if (!path) return tare_fail(err, TARE_ERR_NOMEM, "list of parts");
        const tare_status status = tare_part_record_read(&f->record, path, &p->arena, err);
        if (status == TARE_ERR_NOMEM || status == TARE_ERR_IO) return status;
        if (status != TARE_OK) f->record = (tare_part_record){0};
    }
    return TARE_OK;
}

/* The part whose plan most of them share, of these the first; NULL: no record can be read. */
static const tare_part_found *find_common(const tare_parts *p) {
    const tare_part_found *best = NULL;
    size_t n_best = 0;
    for (size_t i = 0; i < p->n_found; i++) {
        const tare_part_found *f = &p->found[i];
        size_t n = 0;
        if (!f->record.count || !is_own(p, f)) continue;
        if (best && is_same_plan(&best->record, &f->record)) continue;
        for (size_t k = i; k < p->n_found; k++)
            n += is_own(p, &p->found[k]) && is_same_plan(&f->record, &p->found[k].record);
        if (n > n_best) {
            best = f;
            n_best = n;
        }
    }
    return best;
}

/* ---- states ---------------------------------------------------------------------------------- */

static tare_part_state state_of(const tare_parts *p, const tare_part_found *f,
                                const tare_part_record *common) {
    const tare_part_record *r = &f->record;
    if (!f->has_record) return TARE_PART_UNFINISHED;
    if (!r->count) return TARE_PART_DAMAGED;
    if (!is_own(p, f)) return TARE_PART_FOREIGN;
    if (!is_same_plan(common, r)) return TARE_PART_STALE;
    if (r->is_shared) return f->has_bytes ? TARE_PART_DOUBLED : TARE_PART_DONE;
    return f->has_bytes && f->n_bytes == tare_part_bytes(r) ? TARE_PART_DONE : TARE_PART_DAMAGED;
}

static int by_number(const void *a, const void *b) {
    const tare_part_info *x = &((const tare_part_found *)a)->info,
                         *y = &((const tare_part_found *)b)->info;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return tare_str_compare(x->name, y->name);
}

/* Puts one entry for each part first, then the others. */
static tare_status order(tare_parts *p, tare_error *err) {
    const size_t n = p->count + p->n_found;
    tare_part_found *all = tare_alloc(p->context.allocator, n * sizeof *all);
    size_t n_all = p->count;
    if (!all) return tare_fail(err, TARE_ERR_NOMEM, "list of parts");
    for (uint32_t i = 0; i < p->count; i++) {
        all[i] = (tare_part_found){.info = tare_part_info_default()};
        all[i].info.index = i + 1;
        all[i].info.count = p->count;
    }
    for (size_t i = 0; i < p->n_found; i++) {
        tare_part_found *f = &p->found[i];
        const bool fits = f->info.count == p->count && f->info.index >= 1 &&
                          f->info.index <= p->count && !all[f->info.index - 1].path;
        if (!fits) f->info.state = TARE_PART_DOUBLED;
        all[fits ? f->info.index - 1 : n_all++] = *f;
    }
    tare_free(p->context.allocator, p->found, p->capacity * sizeof *p->found);
    p->found = all;
    p->capacity = n;
    p->n_found = n_all;
    return TARE_OK;
}

/* Those that are done have to follow each other. */
static void check_ranges(tare_parts *p) {
    const tare_part_found *before = NULL;
    for (uint32_t i = 0; i < p->count; i++) {
        tare_part_found *f = &p->found[i];
        const tare_part_record *r = &f->record;
        const bool follows = i == 0 ? r->begin == 0 : !before || before->record.end == r->begin;
        const bool ends = i + 1 < p->count || r->end == r->total;
        if (f->info.state == TARE_PART_DONE && !(follows && ends)) {
            f->info.state = TARE_PART_DOUBLED;
            f->info.against = i;
        }
        before = f->info.state == TARE_PART_DONE ? f : NULL;
        p->n_done += f->info.state == TARE_PART_DONE;
    }
}

static tare_status judge(tare_parts *p, tare_error *err) {
    qsort(p->found, p->n_found, sizeof *p->found, by_number);
    const tare_part_found *common = find_common(p);
    const tare_part_record record = common ? common->record : (tare_part_record){0};
    p->count = common ? record.count : p->found[0].info.count;
    if (p->count == 0 || p->count > TARE_PARTS_MOST) {
        tare_fail(err, TARE_ERR_ARG, "the number of parts is impossible");
        tare_error_file(err, p->found[0].path);
        return TARE_ERR_ARG;
    }
    TARE_TRY(order(p, err));
    for (uint32_t i = 0; i < p->count; i++) {
        tare_part_found *f = &p->found[i];
        if (f->path) f->info.state = state_of(p, f, &record);
        if (f->info.state == TARE_PART_STALE) f->info.against = record.index;
        f->info.begin = f->record.begin;
        f->info.end = f->record.end;
    }
    check_ranges(p);
    return TARE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

tare_status tare_parts_open(tare_parts **out, const char *out_path, const tare_context *context,
                            tare_error *err) {
    tare_context own;
    TARE_REQUIRE(out && out_path && *out_path, err);
    *out = NULL;
    TARE_TRY(tare_context_keep(&own, &context, err));
    tare_parts *p = tare_alloc(own.allocator, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "list of parts");
    *p = (tare_parts){.context = own};
    tare_arena_init(&p->arena, own.allocator);
    p->out_path = tare_arena_str(&p->arena, tare_str_of(out_path)).ptr;
    p->shared_path = p->out_path ? tare_part_shared_path(&p->arena, p->out_path) : NULL;
    tare_status status = p->shared_path ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "list of parts");
    if (status == TARE_OK) status = find(p, err);
    if (status == TARE_OK) status = read_records(p, err);
    if (status == TARE_OK) status = judge(p, err);
    if (status == TARE_OK)
        *out = p;
    else
        tare_parts_free(p);
    return status;
}

void tare_parts_free(tare_parts *p) {
    if (!p) return;
    const tare_allocator *a = p->context.allocator;
    tare_free(a, p->found, p->capacity * sizeof *p->found);
    tare_arena_free(&p->arena);
    tare_free(a, p, sizeof *p);
}

uint32_t tare_parts_count(const tare_parts *parts) {
    return parts->count;
}

uint32_t tare_parts_done(const tare_parts *parts) {
    return parts->n_done;
}

bool tare_parts_at(tare_part_info *out, const tare_parts *parts, size_t i) {
    if (i >= parts->n_found || tare_result_check(out, NULL) != TARE_OK) return false;
    tare_result_write(out, &parts->found[i].info, sizeof parts->found[i].info);
    return true;
}

TARE_DEFINE_INIT(tare_part_info)
