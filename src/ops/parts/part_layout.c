/* SPDX-License-Identifier: MIT
 *
 * What a record calls the plan is a digest of what decides the output's bytes: its files, where each
 * of their bytes comes from, how tensors are encoded, the version of the program, and which files it
 * reads. These are known by size and time of modification: to read them all would cost as much as the
 * work itself. Files of a server are known by what it says of their version, other URLs by their text. */
#include "ops/parts/part_layout.h"

#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/files.h"
#include "base/os_file.h"
#include "base/str.h"
#include "ops/views/view_files.h"

static void hash_u64(tare_sha256 *h, uint64_t x) {
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(x >> 8 * i);
    tare_sha256_update(h, bytes, sizeof bytes);
}

static void hash_str(tare_sha256 *h, tare_str text) {
    hash_u64(h, text.len);
    if (text.len) tare_sha256_update(h, text.ptr, text.len);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static tare_str last_part(const char *path) {
    tare_str text = tare_str_of(path);
    while (text.len > 1 && text.ptr[text.len - 1] == '/') text.len--;
    size_t from = text.len;
    while (from > 0 && text.ptr[from - 1] != '/') from--;
    return tare_str_cut(text, from);
}

const char *tare_part_inner(tare_arena *arena, const char *folder, tare_str name) {
    const size_t n = strlen(folder), slash = n > 0 && folder[n - 1] != '/';
    char *text = tare_arena_take(arena, n + slash + name.len + 1);
    if (!text) return NULL;
    memcpy(text, folder, n);
    if (slash) text[n] = '/';
    memcpy(text + n + slash, name.ptr, name.len);
    return text;
}

static void hash_facts(tare_sha256 *h, const char *path, const tare_file_facts *facts) {
    hash_str(h, last_part(path));
    hash_u64(h, facts->kind);
    if (facts->kind == TARE_PATH_FOLDER) return;
    hash_u64(h, facts->size);
    hash_u64(h, (uint64_t)facts->seconds);
    hash_u64(h, facts->nanoseconds);
}

/* A folder's entries come in any order. */
typedef struct folder {
    const char *path;
    tare_arena *arena;
    uint8_t sum[32];
} folder;

/* A name that leads to no file is no fault: it may be a URL, or a link whose target is gone. */
static tare_status look(bool *is_there, tare_file_facts *facts, const char *path, tare_error *err) {
    const int failed = tare_entry_stat(facts, TARE_HERE, path, true);
    *is_there = !failed;
    if (!failed || failed == ENOENT || failed == ENOTDIR || failed == ENAMETOOLONG) return TARE_OK;
    tare_fail_errno(err, failed, "an input cannot be looked at");
    tare_error_file(err, path);
    return TARE_ERR_IO;
}

static tare_status hash_entry(void *ctx, const tare_files_entry *entry, tare_error *err) {
    folder *f = ctx;
    tare_file_facts facts;
    tare_sha256 h;
    uint8_t digest[32];
    const char *path = tare_part_inner(f->arena, f->path, tare_str_of(entry->name));
    if (!path) return tare_fail(err, TARE_ERR_NOMEM, "inputs of a part");
    bool is_there;
    TARE_TRY(look(&is_there, &facts, path, err));
    if (!is_there) return TARE_OK;
    tare_sha256_init(&h);
    hash_facts(&h, path, &facts);
    tare_sha256_final(&h, digest);
    for (size_t i = 0; i < sizeof digest; i++) f->sum[i] ^= digest[i];
    return TARE_OK;
}

static tare_status hash_input(tare_sha256 *h, const char *path, tare_arena *arena,
                              tare_error *err) {
    tare_file_facts facts;
    folder f = {.path = path, .arena = arena};
    bool is_there;
    TARE_TRY(look(&is_there, &facts, path, err));
    if (!is_there) {
        hash_str(h, tare_str_of(path));
        return TARE_OK;
    }
    hash_facts(h, path, &facts);
    if (facts.kind != TARE_PATH_FOLDER) return TARE_OK;
    TARE_TRY(tare_files_list(NULL, path, hash_entry, &f, err));
    tare_sha256_update(h, f.sum, sizeof f.sum);
    return TARE_OK;
}

static void hash_version(tare_sha256 *h, const tare_file_version *v) {
    if (v->is_known) tare_sha256_update(h, v->digest, sizeof v->digest);
}

static tare_status hash_model(tare_sha256 *h, const tare_model *m, tare_arena *arena,
                              tare_error *err) {
    hash_u64(h, m->n_files);
    for (size_t i = 0; i < m->n_files; i++) {
        const tare_open_file *file = &m->files[i];
        hash_u64(h, file->reader.size);
        hash_version(h, &file->reader.version);
        if (!file->is_decoded && !file->is_merged) TARE_TRY(hash_input(h, file->name, arena, err));
    }
    return TARE_OK;
}

/* ---- a plan ---------------------------------------------------------------------------------- */

static void hash_tensor(tare_sha256 *h, const tare_plan *p, size_t i) {
    const tare_planned *t = &p->tensors[i];
    const tare_tensor *source = &t->from->catalog.tensors[t->source];
    hash_str(h, source->name);
    hash_u64(h, source->size_bytes);
    hash_u64(h, source->encoding->n_planes ? source->planes[0].offset : 0);
    hash_u64(h, (uint64_t)t->action);
    hash_str(h, tare_str_of(source->encoding->name));
    hash_str(h, tare_str_of(t->becomes->encoding->name));
    hash_u64(h, (uint64_t)(t->importance != NULL) + 2 * t->floors_importance);
}

static void hash_extent(tare_sha256 *h, const tare_extent *e) {
    const uint64_t numbers[] = {(uint64_t)e->kind, e->file,  e->offset,       e->size,
                                e->item,           e->plane, e->source_offset};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) hash_u64(h, numbers[i]);
    if (e->kind == TARE_EXTENT_BYTES)
        hash_str(h, (tare_str){(const char *)e->bytes, (size_t)e->size});
}

static void hash_options(tare_sha256 *h, const tare_plan *p) {
    hash_str(h, tare_str_of(p->format->name));
    hash_u64(h, (uint64_t)p->options.quality);
    hash_u64(h, (uint64_t)p->options.weighs_output);
    hash_u64(h, (uint64_t)p->files.is_big_endian);
    hash_u64(h, (uint64_t)p->mcf.compat);
    hash_u64(h, (uint64_t)p->mcf.has_clip);
}

static void begin(tare_sha256 *h, const tare_part_options *o) {
    tare_sha256_init(h);
    hash_str(h, TARE_STR("tare.part/1"));
    hash_str(h, tare_str_of(tare_version()));
    hash_str(h, o->key);
}

static tare_status end(tare_part_layout *out, tare_sha256 *h, const tare_part_options *o,
                       tare_arena *arena, tare_error *err) {
    for (size_t i = 0; i < o->n_inputs; i++) TARE_TRY(hash_input(h, o->inputs[i], arena, err));
    hash_u64(h, out->n_files);
    for (size_t i = 0; i < out->n_files; i++) {
        hash_str(h, out->files[i].name);
        hash_u64(h, out->files[i].n_bytes);
        hash_u64(h, (uint64_t)out->files[i].kind);
    }
    tare_sha256_final(h, out->digest);
    return TARE_OK;
}

static tare_status allocate(tare_part_layout *out, size_t n_files, tare_arena *arena,
                            tare_error *err) {
    *out = (tare_part_layout){.n_files = n_files};
    out->files = TARE_NEW_ARRAY(arena, tare_view_file, n_files);
    out->starts = TARE_NEW_ARRAY(arena, uint64_t, n_files + 1);
    if (out->files && out->starts) return TARE_OK;
    return tare_fail(err, TARE_ERR_NOMEM, "files of an output");
}

static tare_status place(tare_part_layout *out, tare_error *err) {
    for (size_t i = 0; i < out->n_files; i++)
        if (!tare_add_u64(out->starts[i], out->files[i].n_bytes, &out->starts[i + 1]))
            return tare_fail(err, TARE_ERR_LIMIT, "size of the output");
    return TARE_OK;
}

tare_status tare_part_layout_of_plan(tare_part_layout *out, const tare_plan *plan,
                                     const tare_part_options *options, tare_arena *arena,
                                     tare_error *err) {
    tare_sha256 h;
    TARE_TRY(allocate(out, plan->files.n_files, arena, err));
    out->is_directory = plan->files.is_directory;
    for (size_t i = 0; i < out->n_files; i++) {
        out->files[i] = tare_view_file_default();
        if (out->is_directory) out->files[i].name = tare_str_of(plan->files.files[i].name);
        out->files[i].n_bytes = plan->files.files[i].size;
    }
    TARE_TRY(place(out, err));
    begin(&h, options);
    hash_options(&h, plan);
    TARE_TRY(hash_model(&h, plan->in, arena, err));
    for (size_t i = 0; i < tare_plan_n_stored(plan); i++) hash_tensor(&h, plan, i);
    for (size_t i = 0; i < plan->files.n_extents; i++) hash_extent(&h, &plan->files.extents[i]);
    return end(out, &h, options, arena, err);
}

/* ---- a view ---------------------------------------------------------------------------------- */

tare_status tare_part_layout_of_view(tare_part_layout *out, const tare_view *view, tare_str base,
                                     const tare_part_options *options, tare_arena *arena,
                                     tare_error *err) {
    tare_sha256 h;
    TARE_TRY(allocate(out, tare_view_count(view), arena, err));
    for (size_t i = 0; i < out->n_files; i++) {
        tare_view_file *f = &out->files[i];
        *f = tare_view_file_default();
        tare_view_at(f, view, i);
        if (tare_str_equal(f->name, base)) {
            f->name = (tare_str){"", 0};
            continue;
        }
        TARE_REQUIRE(tare_str_starts(f->name, base) && f->name.len > base.len + 1 &&
                         f->name.ptr[base.len] == '/',
                     err);
        out->is_directory = true;
        f->name = tare_str_cut(f->name, base.len + 1);
    }
    TARE_REQUIRE(out->n_files && (out->is_directory || out->n_files == 1), err);
    TARE_TRY(place(out, err));
    begin(&h, options);
    for (size_t i = 0; i < tare_view_n_sources(view); i++)
        hash_version(&h, tare_view_version(view, i));
    return end(out, &h, options, arena, err);
}

/* ---- what is packed -------------------------------------------------------------------------- */

static void hash_catalog(tare_sha256 *h, const tare_catalog *c) {
    for (size_t i = 0; i < c->n_tensors; i++) {
        hash_str(h, c->tensors[i].name);
        hash_u64(h, c->tensors[i].size_bytes);
    }
}

static tare_status hash_origin(tare_sha256 *h, const tare_packed_origin *o, tare_arena *arena,
                               tare_error *err) {
    const tare_packed_entry *e = &o->entry;
    const uint64_t numbers[] = {e->is_stated, e->kind, e->mode, (uint64_t)e->seconds,
                                e->nanoseconds};
    hash_str(h, o->name);
    hash_str(h, e->target);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) hash_u64(h, numbers[i]);
    if (!o->reader) return TARE_OK;
    hash_u64(h, o->reader->size);
    hash_version(h, &o->reader->version);
    return hash_input(h, o->reader->name, arena, err);
}

static void hash_pack_options(tare_sha256 *h, const tare_pack_options *o) {
    const uint64_t numbers[] = {(uint64_t)o->effort, (uint64_t)o->mode, o->log2_segment,
                                o->is_for_gpu};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) hash_u64(h, numbers[i]);
    tare_sha256_update(h, &o->tiles, sizeof o->tiles);
}

tare_status tare_part_layout_of_pack(tare_part_layout *out, const tare_model *model,
                                     const tare_pack_files *files,
                                     const tare_pack_options *pack_options,
                                     const tare_part_options *options, tare_arena *arena,
                                     tare_error *err) {
    tare_sha256 h;
    TARE_TRY(allocate(out, 0, arena, err));
    begin(&h, options);
    hash_str(&h, TARE_STR("wcodec"));
    hash_pack_options(&h, pack_options);
    TARE_TRY(hash_model(&h, model, arena, err));
    hash_catalog(&h, &model->catalog);
    for (size_t i = 0; i < files->n; i++) TARE_TRY(hash_origin(&h, &files->files[i], arena, err));
    return end(out, &h, options, arena, err);
}

tare_status tare_part_layout_of_manifest(tare_part_layout *out, const tare_model *model,
                                         uint64_t n_bytes, const tare_part_options *options,
                                         tare_arena *arena, tare_error *err) {
    tare_sha256 h;
    TARE_TRY(allocate(out, 1, arena, err));
    out->files[0] = tare_view_file_default();
    out->files[0].n_bytes = n_bytes;
    TARE_TRY(place(out, err));
    begin(&h, options);
    hash_str(&h, TARE_STR("manifest"));
    TARE_TRY(hash_model(&h, model, arena, err));
    hash_catalog(&h, &model->catalog);
    return end(out, &h, options, arena, err);
}

size_t tare_part_layout_file(const tare_part_layout *layout, uint64_t at) {
    size_t low = 0, high = layout->n_files;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (layout->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}
