/* SPDX-License-Identifier: MIT
 *
 * The files of an output set: opened when they are first needed, written and read back at offsets,
 * closed when they are complete. docs/behaviour.md, "Writing". */
#include "base/outfile_set.h"

#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/os_file.h"
#include "base/outfile_os.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_plain(const char *part, size_t n) {
    bool is_dots = (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
    return n <= TARE_NAME_MOST && !is_dots && tare_path_is_name(part, n);
}

bool tare_outset_is_name(const tare_outset *set, const char *name) {
    unsigned n_folders = 0;
    if (!set->options.is_directory || !name) return false;
    for (const char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        if (!set->options.has_folders || ++n_folders > TARE_FOLDERS_MOST) return false;
        if (!is_plain(name, (size_t)(slash - name))) return false;
    }
    return is_plain(name, strlen(name));
}

/* Calls `visit` with each folder that a member lies in, outermost first; 0, or what it gave. */
static int walk_folders(const tare_outset *set, tare_out_member *m,
                        int (*visit)(const tare_outset *set, const char *folder)) {
    int failed = 0;
    for (char *slash = m->name; !failed && (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        failed = visit(set, m->name);
        *slash = '/';
    }
    return failed;
}

static int make_folder(const tare_outset *set, const char *folder) {
    const int failed = tare_folder_make(set->temp_fd, folder, 0777);
    return failed == EEXIST ? 0 : failed;
}

int tare_outset_make_folders(const tare_outset *set, tare_out_member *m) {
    return walk_folders(set, m, make_folder);
}

static int sync_folder(const tare_outset *set, const char *folder) {
    int fd;
    int failed = tare_fd_open(&fd, set->temp_fd, folder, TARE_OPEN_FOLDER | TARE_OPEN_NO_LINK, 0);
    if (failed) return failed;
    failed = tare_os_sync(fd);
    tare_fd_close(fd);
    return failed;
}

static size_t folder_size(const tare_out_member *m) {
    const char *slash = m->name ? strrchr(m->name, '/') : NULL;
    return slash ? (size_t)(slash - m->name) : 0;
}

/* Members of one folder are mostly adjacent: it is synced once for all of them. */
tare_status tare_outset_sync_folders(tare_outset *set, tare_error *err) {
    for (size_t i = 0; i < set->n_members; i++) {
        tare_out_member *m = &set->members[i], *before = m - 1;
        size_t n = folder_size(m);
        if (!n || (i && folder_size(before) == n && memcmp(before->name, m->name, n) == 0))
            continue;
        int failed = walk_folders(set, m, sync_folder);
        if (failed)
            return tare_outset_fail_errno(err, failed, "the output cannot be synced", m->name);
    }
    return TARE_OK;
}

/* The owner goes on reading and writing a directory and its members by their names. A file system
 * without permissions has none to take away. */
int tare_outset_withhold(const tare_outset *set, int fd) {
    const unsigned kept = set->options.is_directory ? 0700 : 0, withheld = set->options.withheld;
    tare_file_facts facts;
    if (!withheld) return 0;
    int failed = tare_fd_stat(&facts, fd);
    if (failed) return failed;
    const unsigned mode = facts.mode & ~(withheld & ~kept);
    /* who may read a file may look into a directory */
    const unsigned in_folder = facts.kind == TARE_PATH_FOLDER ? (~withheld & 0444) >> 2 : 0;
    const unsigned wanted = mode | (in_folder & facts.mode);
    failed = wanted == facts.mode ? 0 : tare_fd_set_mode(fd, (uint16_t)wanted);
    return failed == EPERM || failed == ENOSYS || failed == EOPNOTSUPP ? 0 : failed;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static tare_status open_member(tare_outset *set, tare_out_member *m, tare_error *err) {
    const unsigned how = TARE_OPEN_WRITE | TARE_OPEN_NO_LINK | (m->is_made ? 0 : TARE_OPEN_NEW);
    int fd = -1;
    int failed = m->is_made ? 0 : tare_outset_make_folders(set, m);
    if (!failed) failed = tare_fd_open(&fd, set->temp_fd, m->name, how, 0666);
    if (failed)
        return tare_outset_fail_errno(err, failed, "an output file cannot be created", m->name);
    failed = m->is_made ? 0 : tare_outset_withhold(set, fd);
    if (!failed && !m->is_made) failed = tare_os_set_size(fd, m->size);
    if (failed) {
        tare_fd_close(fd);
        return tare_outset_fail_errno(err, failed, "an output file cannot be given its size",
                                      m->name);
    }
    m->is_made = true;
    m->fd = fd;
    return TARE_OK;
}

static tare_status member_fd(tare_outset *set, uint32_t index, int *fd, tare_error *err) {
    tare_out_member *m = &set->members[index];
    tare_status status = TARE_OK;
    if (m->name) {
        pthread_mutex_lock(&set->mutex);
        if (m->fd < 0) status = open_member(set, m, err);
        *fd = m->fd;
        pthread_mutex_unlock(&set->mutex);
    } else {
        *fd = m->fd;
    }
    return status;
}

tare_status tare_outset_add(tare_outset *set, const char *name, uint64_t size, uint32_t *index,
                            tare_error *err) {
    bool is_right = set->options.is_directory ? tare_outset_is_name(set, name)
                                              : name == NULL && set->n_members == 0;
    if (!is_right) return tare_fail(err, TARE_ERR_ARG, "output file: expected a plain name");
    if (size > INT64_MAX) return tare_fail(err, TARE_ERR_LIMIT, "output file: size");
    if (set->store) return tare_outset_add_object(set, name, size, index, err);
    tare_out_member m = {.size = size, .fd = -1};
    if (!name) {
        int failed = tare_os_set_size(set->temp_fd, size);
        if (failed)
            return tare_outset_fail_errno(err, failed, "the output cannot be given its size",
                                          set->path);
        m.fd = set->temp_fd;
        m.is_made = true;
    }
    return tare_outset_add_member(set, &m, name, index, err);
}

static const char *member_path(const tare_outset *set, uint32_t index) {
    const char *name = set->members[index].name;
    return name ? name : set->path;
}

static tare_status fail_write(tare_error *err, int os_error, const char *path) {
    tare_status status =
        tare_outset_fail_errno(err, os_error, "the output cannot be written", path);
    tare_error_code(err, TARE_CODE_OUTPUT_WRITE);
    return status;
}

static tare_status write_all(tare_outset *set, uint32_t index, int fd, uint64_t offset,
                             const uint8_t *bytes, size_t n, tare_error *err) {
    pthread_mutex_t *mutex = &set->writing[index % TARE_OUT_WRITERS];
    pthread_mutex_lock(mutex);
    const int failed = tare_fd_write(fd, offset, bytes, n);
    pthread_mutex_unlock(mutex);
    return failed ? fail_write(err, failed, member_path(set, index)) : TARE_OK;
}

tare_status tare_outset_write(tare_outset *set, uint32_t index, uint64_t offset, const void *bytes,
                              size_t n, tare_error *err) {
    int fd;
    if (set->store) return set->store->write(set->members[index].object, offset, bytes, n, err);
    TARE_TRY(member_fd(set, index, &fd, err));
    return write_all(set, index, fd, offset, bytes, n, err);
}

tare_status tare_outset_skip(tare_outset *set, uint32_t index, uint64_t offset, uint64_t n,
                             tare_error *err) {
    return set->store ? set->store->skip(set->members[index].object, offset, n, err) : TARE_OK;
}

/* Exactly n bytes of a descriptor. */
static tare_status read_all(int fd, uint64_t offset, void *buf, size_t n, tare_error *err) {
    size_t got;
    const int failed = tare_fd_read(&got, fd, offset, buf, n);
    if (failed) return tare_fail_errno(err, failed, "read");
    if (got == n) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_TRUNCATED, offset + got, "the file ends too early");
}

/* What is copied may have to be read first: while another thread writes, the system begins. */
static int64_t copy_some(tare_outset *set, uint32_t index, int fd, uint64_t offset, int in_fd,
                         uint64_t in_offset, uint64_t n) {
    pthread_mutex_t *mutex = &set->writing[index % TARE_OUT_WRITERS];
    if (pthread_mutex_trylock(mutex) != 0) {
        tare_os_will_need(in_fd, in_offset, n);
        pthread_mutex_lock(mutex);
    }
    int64_t done = tare_os_copy_range(in_fd, in_offset, fd, offset, n);
    int failed = errno;
    pthread_mutex_unlock(mutex);
    errno = failed;
    return done;
}

tare_status tare_outset_copy(tare_outset *set, uint32_t index, uint64_t offset, int in_fd,
                             uint64_t in_offset, uint64_t n, void *scratch, size_t scratch_size,
                             tare_error *err) {
    int fd;
    if (set->store)
        return tare_outset_copy_to_object(set, index, offset, in_fd, in_offset, n, scratch,
                                          scratch_size, err);
    TARE_TRY(member_fd(set, index, &fd, err));
    while (n > 0) {
        int64_t done = copy_some(set, index, fd, offset, in_fd, in_offset, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_write(err, errno, member_path(set, index));
        if (done == 0) {
            size_t part = (size_t)tare_min_u64(n, scratch_size);
            TARE_TRY(read_all(in_fd, in_offset, scratch, part, err));
            TARE_TRY(write_all(set, index, fd, offset, scratch, part, err));
            done = (int64_t)part;
        }
        in_offset += (uint64_t)done;
        offset += (uint64_t)done;
        n -= (uint64_t)done;
    }
    return TARE_OK;
}

void tare_outset_flush_hint(tare_outset *set, uint32_t index, uint64_t offset, uint64_t n) {
    int fd;
    if (set->store) return;
    if (!set->options.no_sync && member_fd(set, index, &fd, NULL) == TARE_OK)
        tare_os_start_write_back(fd, offset, n);
}

tare_status tare_outset_read(tare_outset *set, uint32_t index, uint64_t offset, void *buf, size_t n,
                             tare_error *err) {
    int fd;
    if (set->store) return tare_store_fail_rewritten(set->path, err);
    TARE_TRY(member_fd(set, index, &fd, err));
    tare_status status = read_all(fd, offset, buf, n, err);
    if (status != TARE_OK) tare_error_file(err, member_path(set, index));
    return status;
}

tare_status tare_outset_member_done(tare_outset *set, uint32_t index, tare_error *err) {
    tare_out_member *m = &set->members[index];
    if (!m->name || set->store) return TARE_OK;
    int fd;
    TARE_TRY(member_fd(set, index, &fd, err));
    int failed = set->options.no_sync ? 0 : tare_os_sync(fd);
    pthread_mutex_lock(&set->mutex);
    m->fd = -1;
    pthread_mutex_unlock(&set->mutex);
    const int failed_to_close = tare_fd_close(fd);
    if (!failed) failed = failed_to_close;
    return failed ? fail_write(err, failed, m->name) : TARE_OK;
}

int tare_outset_fd(const tare_outset *set) {
    return set->temp_fd;
}

const char *tare_outset_directory(const tare_outset *set) {
    return set->temp_path;
}
