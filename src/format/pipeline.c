/* SPDX-License-Identifier: MIT
 *
 * The index of a pipeline of diffusers, model_index.json: its parts as [library, class], and settings. */
#include "format/pipeline.h"

#include "base/str.h"

#define INDEX      "model_index.json"
#define INDEX_MOST (1u << 20)

static tare_status see(void *ctx, const tare_files_entry *entry, tare_error *err) {
    (void)err;
    *(bool *)ctx |= strcmp(entry->name, INDEX) == 0;
    return TARE_OK;
}

bool tare_is_pipeline(const tare_files *files, const char *path) {
    bool is_one = false;
    return tare_files_list(files, path, see, &is_one, NULL) == TARE_OK && is_one;
}

static tare_status read_text(tare_str *text, const tare_reader *r, tare_arena *arena,
                             tare_error *err) {
    if (r->size > INDEX_MOST) return tare_fail(err, TARE_ERR_LIMIT, "bytes of the index");
    char *bytes = tare_arena_take(arena, (size_t)r->size);
    *text = (tare_str){bytes, (size_t)r->size};
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "index of a pipeline");
    return tare_reader_read(r, 0, bytes, text->len, err);
}

static tare_status read_tree(const tare_json_node **out, const tare_files *files, const char *path,
                             tare_arena *arena, tare_error *err) {
    tare_reader r;
    tare_str text;
    TARE_TRY(tare_files_open(files, &r, path, TARE_MAP_NONE, err));
    tare_status status = read_text(&text, &r, arena, err);
    tare_reader_close(&r);
    if (status == TARE_OK) status = tare_json_tree(out, text, arena, err);
    if (status == TARE_OK && (*out)->type != TARE_JSON_OBJECT)
        status =
            tare_fail_at(err, TARE_ERR_CORRUPT, 0, "the index of a pipeline: an object expected");
    return status;
}

tare_status tare_pipeline_index(const tare_json_node **out, const tare_files *files,
                                const char *path, tare_arena *arena, tare_error *err) {
    const char *root = path;
    const size_t n = strlen(path);
    if (n && path[n - 1] != '/') root = tare_join_path(arena, path, TARE_STR("/"));
    const char *file = root ? tare_join_path(arena, root, TARE_STR(INDEX)) : NULL;
    if (!file) return tare_fail(err, TARE_ERR_NOMEM, "path");
    const tare_status status = read_tree(out, files, file, arena, err);
    if (status != TARE_OK) tare_error_file(err, file);
    return status;
}

tare_status tare_pipeline_check(const tare_files *files, const char *path, tare_error *err) {
    const tare_json_node *index;
    tare_arena arena;
    if (!tare_is_pipeline(files, path)) return TARE_OK;
    tare_arena_init(&arena, NULL);
    const tare_status status = tare_pipeline_index(&index, files, path, &arena, err);
    tare_arena_free(&arena);
    return status;
}
