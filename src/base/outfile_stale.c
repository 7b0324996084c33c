/* SPDX-License-Identifier: MIT
 *
 * Temporaries are called .OUT.tare-XXXXXX and locked by the run they belong to, so the next run to
 * the same OUT knows the dead ones by a lock it can take: docs/behaviour.md, "Writing". */
#include "base/outfile_stale.h"

#include <errno.h>
#include <string.h>

#include "base/os_file.h"
#include "base/os_system.h"
#include "base/report.h"
#include "base/str.h"

#define MARK        ".tare-"
#define RANDOM_SIZE 6
#define ADDED_SIZE  (1 + sizeof MARK - 1 + RANDOM_SIZE) /* the dot in front, too */

/* ".OUT.tare-"; returns its length. */
static size_t temp_prefix(char out[TARE_TEMP_NAME_SIZE], const char *final_name) {
    size_t n = strlen(final_name);
    if (n > TARE_TEMP_NAME_SIZE - 1 - ADDED_SIZE) n = TARE_TEMP_NAME_SIZE - 1 - ADDED_SIZE;
    out[0] = '.';
    memcpy(out + 1, final_name, n);
    memcpy(out + 1 + n, MARK, sizeof MARK);
    return n + sizeof MARK;
}

void tare_random_name(char *out, size_t n) {
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; i < n; i++) {
        unsigned char byte;
        /* 248 = 4 * 62: values above it would make the modulus favour some letters. */
        do {
            if (!tare_random_bytes(&byte, 1)) byte = (unsigned char)(i * 37);
        } while (byte >= 248);
        out[i] = letters[byte % 62];
    }
    out[n] = '\0';
}

void tare_temp_name(char out[TARE_TEMP_NAME_SIZE], const char *final_name) {
    size_t n = temp_prefix(out, final_name);
    tare_random_name(out + n, RANDOM_SIZE);
}

bool tare_is_temp_name(tare_str name) {
    const size_t n = name.len;
    return n > ADDED_SIZE && name.ptr[0] == '.' &&
           memcmp(name.ptr + n - RANDOM_SIZE - (sizeof MARK - 1), MARK, sizeof MARK - 1) == 0;
}

typedef struct each {
    int folder;
    int (*visit)(void *ctx, int folder, const char *name);
    void *ctx;
} each;

static int pass_on(void *ctx, const char *name) {
    const each *e = ctx;
    return e->visit(e->ctx, e->folder, name);
}

/* Calls `visit` for the names in a folder; 0, what it gave, or an errno. */
static int each_name(int parent_fd, const char *name,
                     int (*visit)(void *ctx, int folder, const char *name), void *ctx) {
    each e = {.visit = visit, .ctx = ctx};
    int failed = tare_fd_open(&e.folder, parent_fd, name, TARE_OPEN_FOLDER | TARE_OPEN_NO_LINK, 0);
    if (failed) return failed;
    failed = tare_folder_names(e.folder, pass_on, &e);
    tare_fd_close(e.folder);
    return failed;
}

static int remove_below(void *ctx, int folder, const char *name) {
    const unsigned *depth = ctx;
    if (tare_entry_remove(folder, name) != 0 && *depth) tare_remove_tree(folder, name, *depth - 1);
    return 0;
}

void tare_remove_tree(int parent_fd, const char *name, unsigned depth) {
    if (each_name(parent_fd, name, remove_below, &depth) == 0)
        tare_folder_remove(parent_fd, name);
    else
        tare_entry_remove(parent_fd, name);
}

static int look_for_folder(void *ctx, int folder, const char *name) {
    bool *has_subdirectory = ctx;
    tare_file_facts facts;
    if (tare_entry_stat(&facts, folder, name, false) == 0 && facts.kind == TARE_PATH_FOLDER)
        *has_subdirectory = true;
    return 0;
}

int tare_directory_is_flat(int parent_fd, const char *name, bool *has_subdirectory) {
    *has_subdirectory = false;
    return each_name(parent_fd, name, look_for_folder, has_subdirectory);
}

/* Locking through NFS asks for a descriptor that can write; a directory has none. O_NONBLOCK: the
 * name may have become a FIFO. */
static void remove_if_free(int parent_fd, const char *name, tare_report *report) {
    int fd;
    int failed = tare_fd_open(&fd, parent_fd, name,
                              TARE_OPEN_WRITE | TARE_OPEN_NO_LINK | TARE_OPEN_NO_WAIT, 0);
    if (failed == EISDIR)
        failed = tare_fd_open(&fd, parent_fd, name, TARE_OPEN_FOLDER | TARE_OPEN_NO_LINK, 0);
    if (failed) return;
    tare_file_facts facts;
    const bool is_free = tare_fd_lock(fd) == 0;
    if (is_free) tare_remove_tree(parent_fd, name, TARE_FOLDERS_MOST);
    tare_fd_close(fd);
    if (!is_free || tare_entry_stat(&facts, parent_fd, name, false) == 0) return;
    tare_finding f = TARE_FINDING(INFO, TARE_ERR_IO, "output.stale");
    f.file = tare_str_of(name);
    tare_report_addf(report, &f, "removed: left over from a run that was killed");
}

typedef struct prefix {
    char text[TARE_TEMP_NAME_SIZE];
    size_t n;
    tare_report *report;
} prefix;

static int remove_if_stale(void *ctx, int folder, const char *name) {
    const prefix *p = ctx;
    if (strlen(name) == p->n + RANDOM_SIZE && memcmp(name, p->text, p->n) == 0)
        remove_if_free(folder, name, p->report);
    return 0;
}

void tare_remove_stale(int parent_fd, const char *final_name, tare_report *report) {
    prefix p = {.report = report};
    p.n = temp_prefix(p.text, final_name);
    (void)each_name(parent_fd, ".", remove_if_stale, &p);
}
