/* SPDX-License-Identifier: MIT
 *
 * Files of a server as files here. Each is read in sequence, of which the session fetches the next ranges
 * side by side (base/file_blocks.h), and written to a part that a later run goes on with. The part has
 * the digest of what it will be in its name, so that parts of two versions never meet. */
#include <stdio.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/part_file.h"
#include "base/pool.h"
#include "base/str.h"
#include "remote/hub_type.h"
#include "remote/remote_files.h"

TARE_DEFINE_INIT(tare_download_options)

#define PIECE    ((size_t)4 << 20)
#define SLICE    TARE_BLOCK_STEP /* is written as soon as it is there: a slow run may be killed */
#define ID_BYTES 8               /* of a digest, in the name of a part */

typedef struct download {
    tare_remote_files files;
    tare_download_options options;
    const tare_context *context;
    const tare_output_options *output;
    const char *folder;
    tare_arena arena;
    uint8_t *piece;
    uint64_t done, total;
} download;

/* One file, and how to tell that it is right. */
typedef struct wanted {
    tare_str name;             /* in the folder */
    const char *from;          /* the path of remote files */
    const tare_listed *listed; /* NULL: not of a list */
    tare_download told;
    char *part; /* path */
} wanted;

/* ---- digests --------------------------------------------------------------------------------- */

typedef struct digest {
    const tare_listed *listed;
    tare_sha256 sha256;
    tare_git_blob blob;
} digest;

static bool is_stated(const tare_listed *listed) {
    return listed && (listed->has_sha256 || listed->has_blob);
}

static void digest_begin(digest *d, const tare_listed *listed, uint64_t size) {
    d->listed = listed;
    if (!is_stated(listed)) return;
    if (listed->has_sha256)
        tare_sha256_init(&d->sha256);
    else
        tare_git_blob_init(&d->blob, size);
}

static void digest_add(digest *d, const void *bytes, size_t n) {
    if (!is_stated(d->listed)) return;
    if (d->listed->has_sha256)
        tare_sha256_update(&d->sha256, bytes, n);
    else
        tare_git_blob_update(&d->blob, bytes, n);
}

/* Whether it is the stated one; also where none is. */
static bool digest_is_right(digest *d) {
    uint8_t found[32];
    if (!is_stated(d->listed)) return true;
    if (d->listed->has_sha256) {
        tare_sha256_final(&d->sha256, found);
        return memcmp(found, d->listed->sha256, 32) == 0;
    }
    tare_git_blob_final(&d->blob, found);
    return memcmp(found, d->listed->blob, TARE_GIT_BLOB_BYTES) == 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static char *join(download *d, const char *folder, const char *middle, tare_str name,
                  const char *end) {
    const size_t size = strlen(folder) + strlen(middle) + name.len + strlen(end) + 2;
    char *path = tare_arena_take(&d->arena, size);
    if (path) snprintf(path, size, "%s/%s%.*s%s", folder, middle, (int)name.len, name.ptr, end);
    return path;
}

/* "FOLDER/SUB/.NAME.ID.tare-part": what ID is made of tells versions of the file apart. */
static tare_status name_part(wanted *w, download *d, const uint8_t *id, tare_error *err) {
    char hex[2 * ID_BYTES + 1], end[sizeof hex + 16];
    tare_hex(hex, id, ID_BYTES);
    snprintf(end, sizeof end, ".%s.tare-part", hex);
    size_t at = w->name.len;
    while (at && w->name.ptr[at - 1] != '/') at--;
    const tare_str sub = tare_arena_str(&d->arena, (tare_str){w->name.ptr, at});
    const char *folder = sub.ptr ? join(d, d->folder, sub.ptr, TARE_STR(""), "") : NULL;
    w->part = folder ? join(d, folder, ".", tare_str_cut(w->name, at), end) : NULL;
    return w->part ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "path");
}

/* Of a file that no digest is stated of: by what the server tells versions apart by. False: it does
 * not, or no server was asked, so nothing can be resumed. */
static bool id_of_version(uint8_t id[32], const tare_remote_file *file, uint64_t size) {
    tare_sha256 h;
    memset(id, 0, 32);
    if (!file) return false;
    tare_sha256_init(&h);
    tare_sha256_update(&h, file->etag, strlen(file->etag));
    tare_sha256_update(&h, file->modified, strlen(file->modified));
    tare_sha256_update(&h, &size, sizeof size);
    tare_sha256_final(&h, id);
    return file->etag[0] || file->modified[0];
}

/* ---- one file -------------------------------------------------------------------------------- */

static tare_status add_progress(download *d, uint64_t n, tare_error *err) {
    d->done += n;
    TARE_TRY(tare_cancel_check(d->context->cancel, err));
    if (d->context->progress && d->context->progress(d->context->progress_ctx, d->done, d->total))
        return tare_fail(err, TARE_ERR_CANCELLED, "cancelled");
    return TARE_OK;
}

/* Whether the file at its place is the one: it has the size and the digest. */
static tare_status look_at_place(bool *is_there, bool *is_same, download *d, const wanted *w,
                                 tare_error *err) {
    tare_reader r;
    digest own;
    tare_error fault = TARE_ERROR_NONE;
    tare_status status = tare_reader_open(&r, w->told.path, TARE_MAP_NONE, &fault);
    *is_there = *is_same = false;
    if (status != TARE_OK && tare_error_is_absent(&fault)) return TARE_OK;
    if (status != TARE_OK) {
        if (err) *err = fault;
        return status;
    }
    *is_there = true;
    digest_begin(&own, w->listed, r.size);
    if (is_stated(w->listed) && r.size == w->told.size_bytes) {
        for (uint64_t at = 0; at < r.size && status == TARE_OK; at += PIECE) {
            const size_t n = (size_t)tare_min_u64(PIECE, r.size - at);
            status = tare_reader_read(&r, at, d->piece, n, err);
            if (status == TARE_OK) digest_add(&own, d->piece, n);
            if (status == TARE_OK) status = add_progress(d, n, err);
        }
        *is_same = status == TARE_OK && digest_is_right(&own);
        if (!*is_same) d->done -= r.size;
    }
    tare_reader_close(&r);
    return status;
}

/* What an earlier run has fetched goes into the digest. */
static tare_status take_up(digest *own, download *d, const wanted *w, tare_part_file *part,
                           tare_error *err) {
    if (part->size > w->told.size_bytes) TARE_TRY(tare_part_restart(part, err));
    for (uint64_t at = 0; at < part->size; at += PIECE) {
        const size_t n = (size_t)tare_min_u64(PIECE, part->size - at);
        TARE_TRY(tare_part_read(part, at, d->piece, n, err));
        digest_add(own, d->piece, n);
        TARE_TRY(add_progress(d, n, err));
    }
    return TARE_OK;
}

/* What a part of the file is called, its ID left out, and the largest that there is. */
typedef struct parts_there {
    tare_str before;
    uint64_t size;
} parts_there;

static tare_status look_at_part(void *ctx, const tare_files_entry *entry, tare_error *err) {
    (void)err;
    static const char end[] = ".tare-part";
    parts_there *p = ctx;
    const tare_str name = tare_str_of(entry->name);
    if (entry->kind == TARE_PATH_FILE && tare_str_starts(name, p->before) &&
        name.len == p->before.len + 2 * ID_BYTES + sizeof end - 1 &&
        tare_str_equal(tare_str_cut(name, name.len - (sizeof end - 1)), TARE_STR(end)))
        p->size = entry->size > p->size ? entry->size : p->size;
    return TARE_OK;
}

/* Where the first request may begin, of a file whose size and version no list has said: at the last byte of a
 * part that may be of it, which the answer tells. */
static uint64_t expect_part(download *d, const wanted *w) {
    parts_there found = {.size = 0};
    const char *before = join(d, "", ".", w->name, ".");
    if (!before) return 0;
    found.before = tare_str_of(before + 1);
    return tare_files_list(NULL, d->folder, look_at_part, &found, NULL) == TARE_OK && found.size
               ? found.size - 1
               : 0;
}

/* What is there already is not asked for again. */
static void start_at(const download *d, const tare_reader *r, uint64_t offset) {
    tare_remote_file *file = d->files.opened; /* NULL: it is in the hub's cache */
    if (file && r->read_ctx == &file->blocks) tare_block_file_start_at(&file->blocks, offset);
}

static tare_status fetch_rest(digest *own, download *d, const wanted *w, const tare_reader *r,
                              tare_part_file *part, tare_error *err) {
    tare_reader_will_need(r, part->size, PIECE);
    while (part->size < w->told.size_bytes) {
        const size_t n =
            (size_t)tare_min_u64(SLICE - part->size % SLICE, w->told.size_bytes - part->size);
        TARE_TRY(tare_reader_read(r, part->size, d->piece, n, err));
        digest_add(own, d->piece, n);
        TARE_TRY(tare_part_append(part, d->piece, n, err));
        TARE_TRY(add_progress(d, n, err));
    }
    return TARE_OK;
}

/* A part that has gone wrong (a disk that lost power) is fetched anew, once. */
static tare_status fill_part(wanted *w, download *d, const tare_reader *r, tare_part_file *part,
                             tare_error *err) {
    for (int i = 0; i < 2; i++) {
        digest own;
        digest_begin(&own, w->listed, w->told.size_bytes);
        TARE_TRY(take_up(&own, d, w, part, err));
        w->told.resumed_bytes = part->size;
        start_at(d, r, part->size);
        TARE_TRY(fetch_rest(&own, d, w, r, part, err));
        if (digest_is_right(&own)) return TARE_OK;
        d->done -= w->told.size_bytes;
        TARE_TRY(tare_part_restart(part, err));
        if (!w->told.resumed_bytes) break;
    }
    return tare_fail(err, TARE_ERR_CHECKSUM,
                     "its bytes do not have the digest that the hub states");
}

static tare_status fetch_file(wanted *w, download *d, const tare_reader *r, bool can_resume,
                              tare_error *err) {
    tare_part_file part;
    tare_status status = tare_part_open(&part, w->part, err);
    if (status == TARE_OK && !can_resume) status = tare_part_restart(&part, err);
    if (status == TARE_OK) status = fill_part(w, d, r, &part, err);
    if (status == TARE_OK)
        status = tare_part_finish(&part, w->part, w->told.path, d->output->no_sync, err);
    tare_part_close(&part);
    if (status == TARE_OK) w->told.is_checked = is_stated(w->listed);
    return status;
}

static tare_status refuse_place(const wanted *w, tare_error *err) {
    tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_EXISTS,
                   "another file of this name is there; `force` replaces it");
    tare_error_file(err, w->told.path);
    return TARE_ERR_ARG;
}

/* ---- from a server without ranges ------------------------------------------------------------ */

/* A file that is too large for memory is written as it comes, and nothing of it is gone on with. */
typedef struct stream {
    download *d;
    wanted *w;
    tare_part_file part;
    bool has_part;
} stream;

static tare_status stream_begin(void *ctx, uint64_t size, tare_error *err) {
    static const uint8_t no_version[ID_BYTES];
    stream *s = ctx;
    bool is_there, is_same;
    if (!s->has_part) {
        TARE_TRY(look_at_place(&is_there, &is_same, s->d, s->w, err));
        if (is_there && !s->d->output->force) return refuse_place(s->w, err);
        TARE_TRY(name_part(s->w, s->d, no_version, err));
        TARE_TRY(tare_part_open(&s->part, s->w->part, err));
        s->has_part = true;
    }
    s->w->told.size_bytes = s->d->total = size;
    s->d->done = 0;
    return tare_part_restart(&s->part, err);
}

static tare_status stream_put(void *ctx, const uint8_t *bytes, size_t n, tare_error *err) {
    stream *s = ctx;
    TARE_TRY(tare_part_append(&s->part, bytes, n, err));
    return add_progress(s->d, n, err);
}

static tare_status stream_end(stream *s, tare_error *err) {
    const wanted *w = s->w;
    s->has_part = false;
    return tare_part_finish(&s->part, w->part, w->told.path, s->d->output->no_sync, err);
}

/* Opens it, to know its size where no list has said it, and which version it is. */
static tare_status get_open(wanted *w, download *d, const tare_reader *r, tare_error *err) {
    uint8_t id[32];
    bool is_there, is_same, can_resume = true;
    w->told.size_bytes = r->size;
    if (w->listed && w->listed->has_sha256)
        memcpy(id, w->listed->sha256, sizeof id);
    else if (w->listed && w->listed->has_blob)
        memcpy(id, w->listed->blob, TARE_GIT_BLOB_BYTES);
    else
        can_resume = id_of_version(id, d->files.opened, r->size);
    TARE_TRY(name_part(w, d, id, err));
    TARE_TRY(look_at_place(&is_there, &is_same, d, w, err));
    w->told.is_present = is_same;
    w->told.is_checked = is_same;
    if (is_same) return TARE_OK;
    if (is_there && !d->output->force) return refuse_place(w, err);
    return d->output->dry_run ? TARE_OK : fetch_file(w, d, r, can_resume, err);
}

static tare_status get_file(download *d, const char *from, tare_str name, const tare_listed *listed,
                            tare_error *err) {
    tare_reader r;
    wanted w = {.name = name, .from = from, .listed = listed};
    w.told.path = join(d, d->folder, "", name, "");
    if (!w.told.path) return tare_fail(err, TARE_ERR_NOMEM, "path");
    stream whole = {.d = d, .w = &w};
    const tare_remote_sink sink = {stream_begin, d->output->dry_run ? NULL : stream_put, &whole};
    d->files.from = listed ? 0 : expect_part(d, &w);
    d->files.sink = listed ? NULL : &sink;
    tare_status status = d->files.files.open(&d->files.files, &r, from, err);
    if (status != TARE_OK) {
        if (whole.has_part) tare_part_close(&whole.part);
        return status;
    }
    if (!listed) d->total = r.size;
    const bool is_in_sink = d->files.opened && d->files.opened->is_in_sink;
    status = is_in_sink ? stream_end(&whole, err) : get_open(&w, d, &r, err);
    tare_reader_close(&r);
    if (status == TARE_OK && d->options.done) d->options.done(d->options.done_ctx, &w.told);
    if (status != TARE_OK) tare_error_file(err, from);
    return status;
}

/* ---- what a name stands for ------------------------------------------------------------------ */

/* Whether a file of the list is asked for: by its own name, or that of a folder that it is in. */
static bool is_asked(tare_str path, tare_str asked, tare_str type) {
    if (type.len) return tare_hub_is_of_type(path, type);
    if (!asked.len || tare_str_equal(path, asked)) return true;
    return path.len > asked.len && tare_str_starts(path, asked) && path.ptr[asked.len] == '/';
}

static tare_status none_is(tare_str type, tare_error *err) {
    if (!type.len) return tare_fail(err, TARE_ERR_ARG, "the model has no file of this name");
    return tare_fail(err, TARE_ERR_ARG, "the model has no GGUF file of this type");
}

static tare_status get_listed(download *d, tare_str asked, tare_str type, tare_error *err) {
    const tare_listing *list = &d->files.list;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (is_asked(list->files[i].path, asked, type) &&
            list->files[i].size != TARE_LISTED_NO_SIZE)
            d->total += list->files[i].size;
    for (size_t i = 0; i < list->n; i++) {
        const tare_listed *file = &list->files[i];
        if (!is_asked(file->path, asked, type)) continue;
        const char *from = join(d, d->files.root, "", file->path, "");
        if (!from) return tare_fail(err, TARE_ERR_NOMEM, "path");
        TARE_TRY(get_file(d, from, file->path, file, err));
        n++;
    }
    return n ? TARE_OK : none_is(type, err);
}

/* The files of the whole model are listed, whatever of it is asked for. */
static tare_status get_of_hub(download *d, tare_remote *remote, const char *url, tare_error *err) {
    tare_hub_name name;
    TARE_TRY(tare_hub_name_parse(&name, url, &d->arena, err));
    const char *root = tare_arena_str(&d->arena, name.root).ptr;
    if (!root) return tare_fail(err, TARE_ERR_NOMEM, "a URL");
    if (remote->options.is_offline)
        return tare_fail(err, TARE_ERR_IO, "nothing may be asked of the hub (HF_HUB_OFFLINE)");
    const tare_limits *limits = d->context->limits;
    const tare_limits own = tare_limits_default();
    TARE_TRY(tare_remote_files_begin(&d->files, remote, root, limits ? limits : &own, err));
    return get_listed(d, name.path, name.type, err);
}

/* What a file is called here: the last part of its path, "a b.gguf" for a%20b.gguf, but nothing that leads to
 * another folder. */
static tare_str name_at_server(download *d) {
    tare_str name = tare_str_of(d->files.root), plain = {NULL, 0};
    const char *slash = strrchr(d->files.root, '/');
    if (slash) name = tare_str_of(slash + 1);
    if (d->files.is_s3) return name;
    tare_buffer text;
    tare_buffer_init(&text, d->context->allocator);
    if (tare_url_unescape(&text, name) && !text.failed && text.size &&
        !memchr(text.data, '/', text.size) && !memchr(text.data, '\\', text.size) &&
        text.data[0] != '.')
        plain = tare_arena_str(&d->arena, (tare_str){(const char *)text.data, text.size});
    tare_buffer_free(&text);
    return plain.ptr ? plain : name;
}

static tare_status get_of_server(download *d, tare_remote *remote, const char *url,
                                 tare_error *err) {
    const tare_limits own = tare_limits_default();
    TARE_TRY(tare_remote_files_begin(&d->files, remote, url, &own, err));
    if (d->files.is_directory) return get_listed(d, TARE_STR(""), TARE_STR(""), err);
    return get_file(d, d->files.root, name_at_server(d), NULL, err);
}

static tare_status run(download *d, tare_remote *remote, const char *url, tare_error *err) {
    d->piece = tare_alloc(d->context->allocator, PIECE);
    if (!d->piece) return tare_fail(err, TARE_ERR_NOMEM, "buffer");
    tare_blocks_note_opened(remote->blocks);
    const bool is_hub = tare_same_letters(url, "hf://", 5);
    const tare_status status =
        is_hub ? get_of_hub(d, remote, url, err) : get_of_server(d, remote, url, err);
    if (d->files.remote) tare_remote_files_end(&d->files, true);
    tare_free(d->context->allocator, d->piece, PIECE);
    return status;
}

tare_status tare_remote_download(const char *folder, tare_remote *remote, const char *url,
                                 const tare_download_options *options, tare_error *err) {
    TARE_REQUIRE(folder && remote && url, err);
    download d = {.folder = folder, .options = tare_download_options_default()};
    tare_context context;
    tare_output_options output;
    TARE_TRY(tare_options_read(&d.options, sizeof d.options, options, err));
    TARE_TRY(tare_context_keep(&context, &d.options.context, err));
    TARE_TRY(tare_output_keep(&output, &d.options.output, err));
    if (!tare_is_url(url))
        return tare_fail(err, TARE_ERR_ARG, "not a URL of https, http, hf or s3");
    d.context = &context;
    d.output = &output;
    tare_arena_init(&d.arena, context.allocator);
    const tare_status status = run(&d, remote, url, err);
    tare_arena_free(&d.arena);
    return status;
}
