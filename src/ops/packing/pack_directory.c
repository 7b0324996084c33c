/* SPDX-License-Identifier: MIT
 *
 * Packing a directory: every file in it and in its folders, links, empty folders, permissions and
 * times. Whatever is not packed is reported: files that other programs keep there, what the caller
 * excludes, and what has no contents to pack. */
#include "ops/packing/pack_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/glob.h"
#include "base/os_file.h"
#include "base/outfile_stale.h"
#include "base/str.h"

/* A file by what the system knows it by, and the model's own reader of it. */
typedef struct own_file {
    uint64_t device, inode;
    size_t number; /* weights come first */
} own_file;

/* The folders on the way to where the walk is. */
typedef struct chain {
    const struct chain *up;
    uint64_t device, inode;
    unsigned depth;
} chain;

typedef struct walk {
    tare_pack_files *f;
    const tare_model *in;
    const tare_pack_options *o;
    own_file *own; /* sorted, each once */
    size_t n_own;
    bool *is_used;    /* for each pattern that excludes */
    const char *base; /* ends in a slash, and what follows it in a path is the name */
} walk;

/* ---- the model's own files ------------------------------------------------------------------- */

static int by_inode(const void *a, const void *b) {
    const own_file *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->inode > y->inode) - (x->inode < y->inode);
}

static int by_inode_and_number(const void *a, const void *b) {
    const own_file *x = a, *y = b;
    const int order = by_inode(a, b);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static tare_status fail_status(tare_error *err, int os_error, const char *path) {
    tare_fail_errno(err, os_error, "the status of the file cannot be read");
    tare_error_file(err, path);
    return TARE_ERR_IO;
}

/* A file that a link leads to may be a resource as well as the weights: it is these. */
static tare_status list_own(walk *w, tare_error *err) {
    const tare_model *m = w->in;
    w->own = TARE_NEW_ARRAY(&w->f->arena, own_file, m->n_files);
    if (!w->own) return tare_fail(err, TARE_ERR_NOMEM, "files");
    for (size_t i = 0; i < m->n_files; i++) {
        tare_file_facts facts;
        const int failed = tare_entry_stat(&facts, TARE_HERE, m->files[i].name, true);
        if (failed == ENOENT || failed == ENOTDIR) continue;
        if (failed) return fail_status(err, failed, m->files[i].name);
        w->own[w->n_own++] = (own_file){facts.device, facts.inode, i};
    }
    size_t n = 0;
    if (w->n_own) qsort(w->own, w->n_own, sizeof *w->own, by_inode_and_number);
    for (size_t i = 0; i < w->n_own; i++)
        if (!n || by_inode(&w->own[i], &w->own[n - 1]) != 0) w->own[n++] = w->own[i];
    w->n_own = n;
    return TARE_OK;
}

/* The model's own reader of a file, which its tensors are known by; NULL: it has none. */
static const tare_reader *find_own(const walk *w, const tare_file_facts *facts) {
    const own_file key = {.device = facts->device, .inode = facts->inode};
    const own_file *found = w->n_own ? bsearch(&key, w->own, w->n_own, sizeof key, by_inode) : NULL;
    return found ? &w->in->files[found->number].reader : NULL;
}

/* Without a file that tensors lie in what is packed would be no model. */
static tare_status expect_tensors(const walk *w, tare_error *err) {
    const tare_model *m = w->in;
    bool *is_there = TARE_NEW_ARRAY(&w->f->arena, bool, m->n_files);
    if (!is_there) return tare_fail(err, TARE_ERR_NOMEM, "files");
    for (size_t i = 0; i < w->f->n; i++)
        for (size_t k = 0; w->f->files[i].reader && k < m->n_files; k++)
            is_there[k] |= w->f->files[i].reader == &m->files[k].reader;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        const tare_tensor *t = &m->catalog.tensors[i];
        for (uint32_t p = 0; p < t->encoding->n_planes; p++) {
            const uint32_t file = t->planes[p].file;
            if (!t->planes[p].size || is_there[file] || m->files[file].is_decoded) continue;
            tare_fail(err, TARE_ERR_ARG,
                      "the weights are in it, and it is excluded or outside the directory");
            tare_error_file(err, m->files[file].name);
            return TARE_ERR_ARG;
        }
    }
    return TARE_OK;
}

/* ---- what is not packed ---------------------------------------------------------------------- */

static void note(const walk *w, tare_str name, const char *code, const char *text) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, code);
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = name;
    f.text = tare_str_of(text);
    tare_report_add(w->o->context->report, &f);
}

/* A pattern without a slash matches names, in any folder; any other matches paths relative to the
 * directory. One that ends in a slash matches folders. */
static bool matches(const char *pattern, const char *path, bool is_folder) {
    tare_str p = tare_str_of(pattern);
    const bool for_folders = p.len > 1 && p.ptr[p.len - 1] == '/';
    p.len -= for_folders;
    if (for_folders && !is_folder) return false;
    const bool in_path = p.len && memchr(p.ptr, '/', p.len);
    const char *slash = strrchr(path, '/');
    return tare_glob_matches(p, tare_str_of(in_path || !slash ? path : slash + 1), in_path);
}

/* Whether an entry is left out, which is reported. */
static bool is_skipped(const walk *w, const char *path, bool is_folder) {
    const tare_str name = tare_str_of(path);
    bool is_excluded = false;
    for (size_t i = 0; i < w->o->n_exclude; i++) {
        bool is_match = matches(w->o->exclude[i], path, is_folder);
        w->is_used[i] |= is_match;
        is_excluded |= is_match;
    }
    if (is_excluded) note(w, name, "pack.excluded", "excluded: not packed");
    if (is_excluded) return true;
    if (!tare_files_is_bookkeeping(name)) return false;
    note(w, name, "pack.skipped", "kept by other programs: not packed");
    return true;
}

static void note_unused(const walk *w) {
    for (size_t i = 0; i < w->o->n_exclude; i++) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "pack.exclude-unused");
        if (w->is_used[i]) continue;
        tare_strict_note(&w->f->strict, &f, "a pattern excludes nothing",
                         "the pattern \"%s\" excludes nothing", w->o->exclude[i]);
    }
}

/* ---- walking --------------------------------------------------------------------------------- */

static tare_packed_origin origin_of(tare_str name, const tare_file_facts *facts, uint8_t kind) {
    return (tare_packed_origin){.name = name,
                                .entry = {.is_stated = true,
                                          .kind = kind,
                                          .mode = facts->mode & 0777,
                                          .seconds = facts->seconds,
                                          .nanoseconds = facts->nanoseconds},
                                .content = SIZE_MAX};
}

/* Whether a link is packed as one: it leads to somewhere in the directory. */
static tare_status take_link(bool *is_taken, const walk *w, const char *path, tare_str name,
                             const tare_file_facts *facts, tare_error *err) {
    char text[TARE_PATH_MOST];
    const int failed = tare_link_read(text, sizeof text, TARE_HERE, path);
    *is_taken = false;
    if (failed == ENAMETOOLONG) return TARE_OK;
    if (failed) {
        tare_fail_errno(err, failed, "the link cannot be read");
        tare_error_file(err, path);
        return TARE_ERR_IO;
    }
    const tare_str target = tare_str_of(text);
    if (!tare_packed_link_stays(name, target)) return TARE_OK;
    tare_packed_origin origin = origin_of(name, facts, TARE_PACKED_LINK);
    origin.entry.target = tare_arena_str(&w->f->arena, target);
    if (!origin.entry.target.ptr) return tare_fail(err, TARE_ERR_NOMEM, "files");
    *is_taken = true;
    return tare_pack_list_add(w->f, &origin, err);
}

static tare_status take_file(const walk *w, const char *path, tare_str name,
                             const tare_file_facts *facts, tare_error *err) {
    tare_packed_origin origin = origin_of(name, facts, TARE_PACKED_FILE);
    origin.reader = find_own(w, facts);
    if (!origin.reader) TARE_TRY(tare_pack_list_read(&origin.reader, w->f, path, err));
    return tare_pack_list_add(w->f, &origin, err);
}

static tare_status take_folder(const walk *w, const char *path, const chain *up, tare_error *err);

/* An empty folder is recorded only by an entry of its own. */
static tare_status enter_folder(const walk *w, const char *path, tare_str name,
                                const tare_file_facts *facts, const chain *up, tare_error *err) {
    const chain here = {up, facts->device, facts->inode, up->depth + 1};
    const size_t before = w->f->n;
    for (const chain *c = up; c; c = c->up)
        if (c->device == here.device && c->inode == here.inode) {
            tare_strict_file(&w->f->strict, name,
                             "a link to a folder that contains it: not packed");
            return TARE_OK;
        }
    if (here.depth > TARE_FOLDERS_MOST) {
        tare_strict_file(&w->f->strict, name, "more than 32 levels of folders: not packed");
        return TARE_OK;
    }
    TARE_TRY(take_folder(w, path, &here, err));
    if (w->f->n > before) return TARE_OK;
    const tare_packed_origin origin = origin_of(name, facts, TARE_PACKED_FOLDER);
    return tare_pack_list_add(w->f, &origin, err);
}

static tare_status take_entry(const walk *w, const char *path, const chain *up, tare_error *err) {
    tare_file_facts facts;
    const tare_str name = tare_str_of(path + strlen(w->base));
    int failed = tare_entry_stat(&facts, TARE_HERE, path, false);
    if (failed) return fail_status(err, failed, path);
    if (is_skipped(w, name.ptr, facts.kind == TARE_PATH_FOLDER)) return TARE_OK;
    if (facts.kind == TARE_PATH_LINK) {
        bool is_taken;
        TARE_TRY(take_link(&is_taken, w, path, name, &facts, err));
        if (is_taken) return TARE_OK;
        failed = tare_entry_stat(&facts, TARE_HERE, path, true);
        if (failed && failed != ENOENT && failed != ENOTDIR && failed != ELOOP)
            return fail_status(err, failed, path);
        if (failed) {
            tare_strict_file(&w->f->strict, name, "a broken link: not packed");
            return TARE_OK;
        }
        note(w, name, "pack.link-followed",
             "a link out of the directory: the contents of its target are packed");
    }
    if (facts.kind == TARE_PATH_FOLDER) return enter_folder(w, path, name, &facts, up, err);
    if (facts.kind == TARE_PATH_FILE) return take_file(w, path, name, &facts, err);
    tare_strict_file(&w->f->strict, name, "neither a file nor a link to one: not packed");
    return TARE_OK;
}

typedef struct paths {
    const walk *w;
    const char *folder; /* ends with a slash */
    const char **items;
    size_t n, capacity;
} paths;

static int by_path(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_entry(void *ctx, const char *name) {
    paths *list = ctx;
    if (!tare_grow(list->w->o->context->allocator, (void **)&list->items, &list->capacity,
                   list->n + 1, sizeof *list->items))
        return ENOMEM;
    const char *entry = tare_join_path(&list->w->f->arena, list->folder, tare_str_of(name));
    if (!entry) return ENOMEM;
    list->items[list->n++] = entry;
    return 0;
}

static tare_status list_folder(paths *list, tare_error *err) {
    int fd;
    int failed = tare_fd_open(&fd, TARE_HERE, list->folder, TARE_OPEN_FOLDER, 0);
    if (failed) {
        tare_fail_errno(err, failed, "opening the directory");
        tare_error_file(err, list->folder);
        return TARE_ERR_IO;
    }
    failed = tare_folder_names(fd, list_entry, list);
    tare_fd_close(fd);
    if (failed == ENOMEM) return tare_fail(err, TARE_ERR_NOMEM, "files");
    if (failed) return tare_fail_errno(err, failed, "reading the directory");
    if (list->n) qsort(list->items, list->n, sizeof *list->items, by_path);
    return TARE_OK;
}

/* By name, so that reports have a fixed order. */
static tare_status take_folder(const walk *w, const char *path, const chain *up, tare_error *err) {
    const char *inside = path == w->base ? path : tare_join_path(&w->f->arena, path, TARE_STR("/"));
    if (!inside) return tare_fail(err, TARE_ERR_NOMEM, "files");
    paths list = {.w = w, .folder = inside};
    tare_status status = list_folder(&list, err);
    for (size_t i = 0; status == TARE_OK && i < list.n; i++)
        status = take_entry(w, list.items[i], up, err);
    tare_free(w->o->context->allocator, list.items, list.capacity * sizeof *list.items);
    return status;
}

tare_status tare_pack_directory(tare_pack_files *f, const tare_model *in,
                                const tare_pack_options *o, tare_error *err) {
    static const char *const told[] = {"hf.sub-folder", "hf.not-a-file", "hf.large-file",
                                       "hf.skipped", "hf.other-weights"};
    walk w = {.f = f,
              .in = in,
              .o = o,
              .base = tare_join_path(&f->arena, o->directory, TARE_STR("/")),
              .is_used = TARE_NEW_ARRAY(&f->arena, bool, o->n_exclude)};
    tare_file_facts facts;
    if (!w.base || !w.is_used) return tare_fail(err, TARE_ERR_NOMEM, "files");
    const int failed = tare_entry_stat(&facts, TARE_HERE, o->directory, true);
    if (failed) return tare_fail_errno(err, failed, "opening the directory");
    /* Files that opening does not count as the model's are packed nevertheless, or reported here.
     */
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        tare_report_remove(o->context->report, told[i]);
    f->is_directory = true;
    const chain top = {NULL, facts.device, facts.inode, 0};
    TARE_TRY(list_own(&w, err));
    TARE_TRY(take_folder(&w, w.base, &top, err));
    note_unused(&w);
    return expect_tensors(&w, err);
}

tare_status tare_pack_file_alone(tare_pack_files *f, const char *path, const tare_reader *reader,
                                 tare_error *err) {
    const char *slash = strrchr(path, '/');
    tare_file_facts facts;
    const int failed = tare_entry_stat(&facts, TARE_HERE, path, true);
    if (failed) return fail_status(err, failed, path);
    tare_packed_origin origin =
        origin_of(tare_str_of(slash ? slash + 1 : path), &facts, TARE_PACKED_FILE);
    origin.reader = reader;
    if (!reader) TARE_TRY(tare_pack_list_read(&origin.reader, f, path, err));
    return tare_pack_list_add(f, &origin, err);
}

/* ---- what links lead to ---------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const tare_packed_origin *)a)->name,
                            ((const tare_packed_origin *)b)->name);
}

static const tare_packed_origin *find(const tare_pack_files *f, tare_str name) {
    const tare_packed_origin key = {.name = name};
    return f->n ? bsearch(&key, f->files, f->n, sizeof key, by_name) : NULL;
}

/* Puts the place that a link leads to before `rest` of a path; false: too long. */
static bool follow(char out[TARE_PATH_MOST], const tare_packed_origin *link, tare_str rest) {
    tare_str folder = link->name, target = link->entry.target;
    char text[TARE_PATH_MOST];
    for (;;) { /* the folder that the link lies in, then one up for each ".." */
        while (folder.len && folder.ptr[folder.len - 1] != '/') folder.len--;
        bool is_up = tare_str_is(target, "..") || tare_str_starts(target, TARE_STR("../"));
        if (!is_up || !folder.len) break;
        folder.len--;
        target = tare_str_cut(target, target.len > 2 ? 3 : 2);
    }
    if (folder.len + target.len + rest.len >= sizeof text) return false;
    memcpy(text, folder.ptr, folder.len);
    memcpy(text + folder.len, target.ptr, target.len);
    memcpy(text + folder.len + target.len, rest.ptr, rest.len);
    text[folder.len + target.len + rest.len] = '\0';
    strcpy(out, text);
    return true;
}

/* The first part of a path that is a link; NULL: none is. */
static const tare_packed_origin *link_on(const tare_pack_files *f, const char *path, size_t *n) {
    for (*n = 1; path[*n - 1]; ++*n) {
        if (path[*n] && path[*n] != '/') continue;
        const tare_packed_origin *at = find(f, (tare_str){path, *n});
        if (at && at->entry.kind == TARE_PACKED_LINK) return at;
    }
    return NULL;
}

void tare_pack_resolve_links(tare_pack_files *f) {
    enum { MOST = 40 }; /* as the system does; beyond it is a circle */
    for (size_t i = 0; i < f->n; i++) {
        char path[TARE_PATH_MOST];
        if (f->files[i].entry.kind != TARE_PACKED_LINK) continue;
        const tare_packed_origin *link = &f->files[i];
        bool fits = follow(path, link, TARE_STR(""));
        size_t n;
        for (int k = 0; fits && k < MOST && (link = link_on(f, path, &n)) != NULL; k++)
            fits = follow(path, link, tare_str_of(path + n));
        const tare_packed_origin *at = fits && !link ? find(f, tare_str_of(path)) : NULL;
        if (at && at->reader) f->files[i].content = (size_t)(at - f->files);
    }
}
