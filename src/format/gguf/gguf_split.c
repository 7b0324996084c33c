/* SPDX-License-Identifier: MIT
 *
 * Models that are split into shards: NAME-00001-of-00003.gguf and its siblings. The keys are in the
 * first shard; all of them have split.no, split.count and split.tensors.count. Whichever member is
 * opened, the whole set is; its keys about the split are then omitted, since the resulting model is
 * whole. */
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "format/gguf/gguf.h"

/* "-00001-of-00003.gguf" */
#define TAIL_LENGTH 20

typedef struct shard_name {
    tare_str stem; /* the part before the tail */
    uint32_t number, count;
} shard_name;

static bool take_number(const char *p, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 5; i++) {
        if (p[i] < '0' || p[i] > '9') return false;
        *out = *out * 10 + (uint32_t)(p[i] - '0');
    }
    return true;
}

static bool parse_name(shard_name *out, tare_str path) {
    if (path.len < TAIL_LENGTH) return false;
    const char *tail = path.ptr + path.len - TAIL_LENGTH;
    out->stem = (tare_str){path.ptr, path.len - TAIL_LENGTH};
    return tail[0] == '-' && take_number(tail + 1, &out->number) &&
           memcmp(tail + 6, "-of-", 4) == 0 && take_number(tail + 10, &out->count) &&
           memcmp(tail + 15, ".gguf", 5) == 0 && out->number >= 1 && out->number <= out->count;
}

bool tare_gguf_is_later_part(tare_str name) {
    shard_name part;
    return parse_name(&part, name) && part.number > 1;
}

/* The path of a member, in the arena. */
static const char *member_path(tare_model *m, const shard_name *name, uint32_t number) {
    char tail[TAIL_LENGTH + 1];
    snprintf(tail, sizeof tail, "-%05" PRIu32 "-of-%05" PRIu32 ".gguf", number % 100000,
             name->count % 100000);
    char *path = tare_arena_take(&m->arena, name->stem.len + sizeof tail);
    if (!path) return NULL;
    memcpy(path, name->stem.ptr, name->stem.len);
    memcpy(path + name->stem.len, tail, sizeof tail);
    return path;
}

/* ---- what the shards say of themselves ------------------------------------------------------- */

typedef struct split_words {
    const char *key, *missing, *no_number, *wrong;
} split_words;

static tare_status check_number(const tare_gguf_reader *r, const tare_gguf_split_key *k,
                                uint64_t expected, const split_words *words, tare_error *err) {
    const char *what = !k->is_present         ? words->missing
                       : !k->is_number        ? words->no_number
                       : k->value != expected ? words->wrong
                                              : NULL;
    if (!what) return TARE_OK;
    tare_fail(err, TARE_ERR_CORRUPT, what);
    if (k->is_present) {
        if (err) err->offset = k->offset;
        tare_error_item(err, TARE_ITEM_KEY, k->item, tare_str_of(words->key));
    }
    tare_error_file(err, r->m->files[r->file].name);
    return TARE_ERR_CORRUPT;
}

static tare_status check_shard(const tare_gguf_reader *r, uint64_t number, uint64_t count,
                               tare_error *err) {
    static const split_words no = {"split.no", "split.no: missing in a shard",
                                   "split.no: not a whole number",
                                   "split.no: not the number of this shard"};
    static const split_words n = {"split.count", "split.count: missing in a shard",
                                  "split.count: not a whole number",
                                  "split.count: not the number of shards of this set"};
    TARE_TRY(check_number(r, &r->split_no, number, &no, err));
    return check_number(r, &r->split_count, count, &n, err);
}

/* Whether a shard says that it is of another model than the first one. */
static tare_status check_model(const tare_gguf_reader *r, tare_error *err) {
    const tare_catalog *c = &r->m->catalog;
    const tare_str name = TARE_STR("general.architecture");
    const tare_metadata *first = NULL, *here = NULL;
    for (size_t i = 0; i < c->n_metadata; i++)
        if (tare_str_equal(c->metadata[i].key, name))
            *(i < r->first_key ? &first : &here) = &c->metadata[i];
    if (!first || !here || tare_value_equal(&first->value, &here->value)) return TARE_OK;
    tare_fail_at(err, TARE_ERR_CORRUPT, here->offset,
                 "not that of the first shard: this one is of another model");
    tare_error_item(err, TARE_ITEM_KEY, here - c->metadata, name);
    tare_error_file(err, r->m->files[r->file].name);
    return TARE_ERR_CORRUPT;
}

/* The keys of the first shard are the model's; those of the others only describe the split, or
 * repeat the alignment. */
static void drop_keys(tare_gguf_reader *r, bool is_first) {
    tare_catalog *c = &r->m->catalog;
    size_t kept = r->first_key, n_foreign = c->n_resources - r->first_resource;
    for (size_t i = r->first_key; i < c->n_metadata; i++) {
        const tare_metadata *e = &c->metadata[i];
        if (tare_metadata_is_split(e)) continue;
        if (is_first)
            c->metadata[kept++] = *e;
        else
            n_foreign +=
                !tare_str_is(e->key, TARE_GGUF_ALIGNMENT_KEY) && !tare_metadata_is_spare(e);
    }
    c->n_metadata = kept;
    if (is_first) return;
    c->n_resources = r->first_resource;
    if (n_foreign)
        tare_gguf_report_file(r, TARE_LEVEL_WARNING, "gguf.shard-keys", TARE_NO_OFFSET,
                              "keys in another shard than the first are ignored");
}

/* ---- reading a set --------------------------------------------------------------------------- */

/* Where the shards come from: sources, or the names of siblings. */
typedef struct shard_list {
    const tare_source *set;
    tare_blocks **blocks; /* of the sources */
    const tare_files *files;
    shard_name name;
    uint32_t n;
} shard_list;

static tare_status open_shard(tare_reader *out, tare_model *m, const shard_list *list, uint32_t i,
                              tare_map_mode map, tare_error *err) {
    if (list->set)
        return tare_source_open(out, tare_source_shard(list->set, i), map, list->blocks, err);
    const char *path = member_path(m, &list->name, i + 1);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "shard name");
    tare_status s = tare_files_open(list->files, out, path, map, err);
    if (s != TARE_OK && err && !tare_is_lost_link(path))
        err->what = "a shard of the set cannot be opened";
    return s;
}

/* Checks the total that every shard states; `totals` has one for each file. */
static tare_status check_totals(tare_gguf_reader *r, const tare_gguf_split_key *totals,
                                tare_error *err) {
    static const split_words words = {"split.tensors.count", "",
                                      "split.tensors.count: not a whole number",
                                      "split.tensors.count: not the number of tensors of the set"};
    for (r->file = 0; r->file < r->m->n_files; r->file++)
        if (totals[r->file].is_present)
            TARE_TRY(check_number(r, &totals[r->file], r->m->catalog.n_tensors, &words, err));
    return TARE_OK;
}

/* Adds the fillers of the file just read to those of the files before it. */
static tare_status join_fillers(tare_gguf_reader *r, tare_filler **all, size_t *n,
                                tare_error *err) {
    tare_filler *joined = TARE_NEW_ARRAY(&r->m->arena, tare_filler, *n + r->n_fillers);
    if (!joined) return tare_fail(err, TARE_ERR_NOMEM, "list of gaps");
    if (*n) memcpy(joined, *all, *n * sizeof *joined);
    if (r->n_fillers) memcpy(joined + *n, r->fillers, r->n_fillers * sizeof *joined);
    *all = joined;
    *n += r->n_fillers;
    return TARE_OK;
}

static tare_status read_set(tare_gguf_reader *r, const shard_list *list, tare_map_mode map,
                            tare_gguf_split_key *totals, tare_layout *layout, tare_error *err) {
    tare_filler *fillers = NULL;
    size_t n_fillers = 0;
    r->is_set = list->n > 1;
    for (uint32_t i = 0; i < list->n; i++) {
        tare_reader reader = {.fd = -1};
        TARE_TRY(open_shard(&reader, r->m, list, i, map, err));
        tare_status s = tare_model_add_file(r->m, &reader, reader.name, &r->file, err);
        tare_reader_close(&reader);
        TARE_TRY(s);
        TARE_TRY(tare_gguf_read_file(r, err));
        TARE_TRY(check_shard(r, i, list->n, err));
        if (i == 0) {
            layout->version = r->version;
            layout->is_big_endian = r->is_big_endian;
            layout->alignment = r->alignment;
            layout->data_offset = r->data_offset;
        } else if (layout->is_big_endian != r->is_big_endian) {
            tare_fail_at(err, TARE_ERR_CORRUPT, 4,
                         "version: byte order other than that of the first shard");
            tare_error_file(err, r->m->files[i].name);
            return TARE_ERR_CORRUPT;
        }
        TARE_TRY(check_model(r, err));
        drop_keys(r, i == 0);
        totals[i] = r->split_tensors;
        if (i) {
            TARE_TRY(join_fillers(r, &fillers, &n_fillers, err));
        } else {
            fillers = r->fillers;
            n_fillers = r->n_fillers;
        }
    }
    layout->fillers = fillers;
    layout->n_fillers = n_fillers;
    return check_totals(r, totals, err);
}

static tare_status open_set(tare_gguf_reader *r, const shard_list *list, tare_map_mode map,
                            tare_layout *layout, tare_error *err) {
    if (list->n > r->m->limits.shards) return tare_fail(err, TARE_ERR_LIMIT, "number of shards");
    tare_gguf_split_key *totals = TARE_NEW_ARRAY(&r->m->arena, tare_gguf_split_key, list->n);
    if (!totals) return tare_fail(err, TARE_ERR_NOMEM, "list of shards");
    return read_set(r, list, map, totals, layout, err);
}

/* ---- reading one file ------------------------------------------------------------------------ */

static tare_status open_one(tare_gguf_reader *r, bool is_alone, tare_layout *layout,
                            tare_error *err) {
    tare_gguf_layout *detail = TARE_NEW(&r->m->arena, tare_gguf_layout);
    if (!detail) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    TARE_TRY(tare_gguf_read_file(r, err));
    if (!is_alone && r->split_count.is_number && r->split_count.value > 1) {
        tare_fail_at(
            err, TARE_ERR_ARG, r->split_count.offset,
            r->is_joined
                ? "the first of several shards that were joined with cat, which no program "
                  "reads as one: take the shards themselves under their names"
                : "one shard of a set whose other members cannot be derived from its name: "
                  "name all of them, or open it as one shard alone");
        return TARE_ERR_ARG;
    }
    *detail = (tare_gguf_layout){.infos_end = r->infos_end,
                                 .file_size = r->m->files[0].reader.size,
                                 .n_resources = r->m->catalog.n_resources,
                                 .resource_places = r->resource_places};
    layout->version = r->version;
    layout->is_big_endian = r->is_big_endian;
    layout->alignment = r->alignment;
    layout->data_offset = r->data_offset;
    layout->fillers = r->fillers;
    layout->n_fillers = r->n_fillers;
    layout->detail = detail;
    return TARE_OK;
}

/* A file with the name of a shard is inspected before it is read, so that a set is read once, in
 * order, whichever member was named. */
static tare_status open_file(tare_gguf_reader *r, const tare_open_context *ctx, const char *path,
                             tare_reader *first, tare_layout *layout, tare_error *err) {
    shard_list list = {.files = ctx->probe->files};
    bool is_alone = ctx->options->one_shard;
    const char *name = path ? path : ctx->source->name;
    TARE_TRY(tare_model_add_file(r->m, first, name, &r->file, err));
    if (!path || is_alone || !parse_name(&list.name, tare_str_of(path)))
        return open_one(r, is_alone, layout, err);
    TARE_TRY(tare_gguf_peek(r, err));
    if (!r->split_count.is_number || r->split_count.value <= 1)
        return open_one(r, is_alone, layout, err);
    tare_reader_close(&r->m->files[0].reader);
    r->m->n_files = 0;
    list.n = list.name.count;
    return open_set(r, &list, ctx->options->map, layout, err);
}

/* ---- directories ----------------------------------------------------------------------------- */

static tare_status take_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    char *member = ctx;
    shard_name mine, seen;
    tare_str name = tare_str_of(entry->name);
    if (tare_files_is_bookkeeping(name) || entry->kind == TARE_PATH_FOLDER) return TARE_OK;
    if (!tare_str_ends(name, TARE_STR(".gguf")) && !tare_str_ends(name, TARE_STR(".safetensors")))
        return TARE_OK;
    bool is_other = tare_str_ends(name, TARE_STR(".safetensors")) || name.len > TARE_NAME_MOST;
    if (member[0] && !is_other)
        is_other = !parse_name(&mine, name) || !parse_name(&seen, tare_str_of(member)) ||
                   mine.count != seen.count || !tare_str_equal(mine.stem, seen.stem);
    if (is_other) return tare_fail(err, TARE_ERR_UNSUPPORTED, "more than one model");
    if (!member[0] || tare_str_compare(name, tare_str_of(member)) < 0)
        memcpy(member, name.ptr, name.len + 1);
    return TARE_OK;
}

/* The name of a directory's only model, or of the first member of its only set; false: there is
 * none, or more than one, or the directory is one of safetensors. */
static bool find_member(char member[TARE_NAME_MOST + 1], const tare_probe *p) {
    member[0] = 0;
    return tare_probe_list(p, take_entry, member) && member[0];
}

bool tare_gguf_probe_directory(const tare_probe *p) {
    char member[TARE_NAME_MOST + 1];
    return find_member(member, p);
}

static tare_status open_directory(tare_gguf_reader *r, const tare_open_context *ctx,
                                  tare_layout *layout, tare_error *err) {
    char member[TARE_NAME_MOST + 1];
    if (!find_member(member, ctx->probe))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "a directory that does not hold exactly one GGUF model: name the file");
    size_t size = strlen(ctx->source->name) + 1 + sizeof member;
    char *path = tare_arena_take(&r->m->arena, size);
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "path");
    snprintf(path, size, "%s/%s", ctx->source->name, member);
    tare_reader reader;
    TARE_TRY(tare_files_open(ctx->probe->files, &reader, path, ctx->options->map, err));
    tare_status s = open_file(r, ctx, path, &reader, layout, err);
    tare_reader_close(&reader);
    return s;
}

/* ---- opening --------------------------------------------------------------------------------- */

static tare_status open_any(tare_gguf_reader *r, const tare_open_context *ctx, tare_layout *layout,
                            tare_error *err) {
    const tare_source *s = ctx->source;
    if (s->kind == TARE_SOURCE_SHARDS) {
        if (s->n_shards > UINT32_MAX) return tare_fail(err, TARE_ERR_LIMIT, "number of shards");
        shard_list list = {.set = s, .blocks = ctx->blocks, .n = (uint32_t)s->n_shards};
        return open_set(r, &list, ctx->options->map, layout, err);
    }
    if (ctx->probe->is_directory) return open_directory(r, ctx, layout, err);
    return open_file(r, ctx, ctx->probe->path, ctx->first, layout, err);
}

/* The lists that grew while reading are handed to the model, or freed. */
static tare_status settle_lists(tare_gguf_reader *r, tare_status status, tare_error *err) {
    tare_catalog *c = &r->m->catalog;
    const struct {
        void *list;
        size_t size;
    } lists[] = {{c->metadata, r->metadata_capacity * sizeof *c->metadata},
                 {c->tensors, r->tensors_capacity * sizeof *c->tensors},
                 {c->resources, r->resources_capacity * sizeof *c->resources},
                 {r->resource_places, r->places_capacity * sizeof *r->resource_places}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!lists[i].list) continue;
        if (status == TARE_OK) status = tare_model_keep(r->m, lists[i].list, lists[i].size, err);
        if (status != TARE_OK) tare_free(r->m->allocator, lists[i].list, lists[i].size);
    }
    return status;
}

tare_status tare_gguf_open(tare_model *m, const tare_open_context *ctx, tare_error *err) {
    tare_gguf_reader r = {.m = m, .report = ctx->options->context->report};
    tare_layout *layout = TARE_NEW(&m->arena, tare_layout);
    if (!layout) return tare_fail(err, TARE_ERR_NOMEM, "layout");
    tare_status s = open_any(&r, ctx, layout, err);
    TARE_TRY(settle_lists(&r, s, err));
    layout->is_kept = true;
    m->catalog.layout = layout;
    return tare_model_finish(m, ctx->options->context->report, err);
}
