/* SPDX-License-Identifier: MIT
 *
 * Serving a view to the kernel (FUSE). Several threads take requests; none writes, so a node is all that
 * is known of an open file, and the kernel may keep every page. What is computed along with a page that
 * was read out of order is handed to the kernel, too, by a thread of its own: the one that answers a
 * request must never wait for a page, which might wait for it. */
#include "mount.h"

#include "fuse_library.h"

#if TARE_HAS_FUSE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_THREADS = 16,
    LEAST_THREADS = 4,
    WAITING = 64,           /* pieces that the kernel is to be given */
    STORED_MOST = 64 << 20, /* bytes of one */
    STORE_STEP = 1 << 20,
    PAGE_BYTES = 4096,
    TORN_PAGES = 4096,
};
#define FOREVER 86400.0 /* seconds that the kernel trusts what it knows: nothing changes */

typedef struct extra {
    uint64_t node, begin, end;
} extra;

/* A page that pieces meet in, and what of it has been made. */
typedef struct torn_page {
    uint64_t node, number; /* node 0: none */
    size_t from, to;
    char bytes[PAGE_BYTES];
} torn_page;

static cli_fuse fuse; /* loaded once */

typedef struct server {
    struct fuse_session *session;
    const cli_mount *mount;
    tare_view *view;
    cli_tree tree;
    struct timespec started;
    _Atomic uint64_t *next; /* of each node: byte after what was read last */
    torn_page *torn;        /* the storer's, each at a place that its number tells */
    pthread_mutex_t mutex;  /* guards what follows */
    pthread_cond_t changed;
    extra queue[WAITING], recent[WAITING];
    size_t first, n_waiting, n_recent;
    bool is_ending;
    char last[1024]; /* line of the log */
    FILE *log;       /* NULL: the system's */
    pthread_t main_thread, threads[MOST_THREADS], storer;
    unsigned n_threads;
    bool has_storer;
    bool is_detached; /* from its folder, by this process */
    _Atomic unsigned n_running;
    _Atomic int failure; /* of the system, for which requests cannot be received; 0: none */
} server;

/* ---- the log --------------------------------------------------------------------------------- */

static void log_line(const server *s, const char *line) {
    if (s->log) {
        fprintf(s->log, "%s\n", line);
        fflush(s->log);
    } else {
        syslog(LOG_ERR, "%s", line);
    }
}

/* The kernel tries a page again; that is said once. */
static void log_failure(server *s, const cli_node *node, const tare_error *err) {
    char text[768], line[1024];
    cli_error_text(text, sizeof text, err, s->mount->source);
    snprintf(line, sizeof line, "tare mount: %s: %s", node->path, text);
    pthread_mutex_lock(&s->mutex);
    const bool is_new = strcmp(line, s->last) != 0;
    snprintf(s->last, sizeof s->last, "%s", line);
    if (is_new) log_line(s, line);
    pthread_mutex_unlock(&s->mutex);
}

static void log_memory(server *s, const cli_node *node) {
    log_failure(s, node,
                &(tare_error){.status = TARE_ERR_NOMEM,
                              .item = -1,
                              .offset = TARE_NO_OFFSET,
                              .what = "buffer for what is read"});
}

static server *serving; /* the one whose log libfuse's messages belong in */

/* What fails in libfuse is answered by it, and said here alone. */
__attribute__((format(printf, 2, 0))) static void log_of_library(int level, const char *format,
                                                                 va_list args) {
    char line[1024] = "tare mount: ";
    const size_t n = strlen(line);
    if (level > LOG_WARNING) return;
    vsnprintf(line + n, sizeof line - n, format, args);
    line[n + strcspn(line + n, "\n")] = '\0';
    pthread_mutex_lock(&serving->mutex);
    log_line(serving, line);
    pthread_mutex_unlock(&serving->mutex);
}

/* ---- what the kernel asks -------------------------------------------------------------------- */

static server *server_of(fuse_req_t request) {
    return fuse.req_userdata(request);
}

static void fill_stat(struct stat *st, const server *s, uint64_t number, const cli_node *node) {
    tare_view_file f = tare_view_file_default();
    *st = (struct stat){.st_ino = number,
                        .st_nlink = 1,
                        .st_uid = getuid(),
                        .st_gid = getgid(),
                        .st_mode = S_IFDIR | 0555,
                        .st_blksize = 1 << 17,
                        .st_mtim = s->started};
    if (node->file != CLI_TREE_FOLDER && tare_view_at(&f, s->view, node->file)) {
        st->st_mode = f.kind == TARE_VIEW_FILE   ? S_IFREG | 0444
                      : f.kind == TARE_VIEW_LINK ? S_IFLNK | 0777
                                                 : S_IFDIR | 0555;
        st->st_size = (off_t)(f.kind == TARE_VIEW_LINK ? f.target.len : f.n_bytes);
        st->st_blocks = (blkcnt_t)((st->st_size + 511) / 512);
        if (f.is_stated) st->st_mtim = (struct timespec){f.seconds, (long)f.nanoseconds};
        if (f.is_stated && f.kind == TARE_VIEW_FILE) st->st_mode = S_IFREG | 0400 | (f.mode & 0555);
    }
    if (S_ISDIR(st->st_mode)) st->st_nlink = 2;
    st->st_atim = st->st_ctim = st->st_mtim;
}

static void get_entry(fuse_req_t request, fuse_ino_t folder, const char *name) {
    const server *s = server_of(request);
    const uint64_t number = cli_tree_find(&s->tree, folder, name);
    struct fuse_entry_param e = {.ino = number, .attr_timeout = FOREVER, .entry_timeout = FOREVER};
    if (number) fill_stat(&e.attr, s, number, cli_tree_at(&s->tree, number));
    fuse.reply_entry(request, &e); /* number 0: there is none, for as long */
}

static void get_attributes(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    const server *s = server_of(request);
    const cli_node *node = cli_tree_at(&s->tree, number);
    struct stat st;
    (void)info;
    if (!node) {
        fuse.reply_err(request, ENOENT);
        return;
    }
    fill_stat(&st, s, number, node);
    fuse.reply_attr(request, &st, FOREVER);
}

static bool file_of(tare_view_file *out, const server *s, fuse_ino_t number) {
    const cli_node *node = cli_tree_at(&s->tree, number);
    *out = tare_view_file_default();
    return node && node->file != CLI_TREE_FOLDER && tare_view_at(out, s->view, node->file);
}

static void read_link(fuse_req_t request, fuse_ino_t number) {
    const server *s = server_of(request);
    tare_view_file f;
    if (file_of(&f, s, number) && f.kind == TARE_VIEW_LINK)
        fuse.reply_readlink(request, f.target.ptr);
    else
        fuse.reply_err(request, EINVAL);
}

static void open_file(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info) {
    const server *s = server_of(request);
    tare_view_file f;
    if (!file_of(&f, s, number) || f.kind != TARE_VIEW_FILE) {
        fuse.reply_err(request, cli_tree_at(&s->tree, number) ? EISDIR : ENOENT);
        return;
    }
    info->keep_cache = 1;
    fuse.reply_open(request, info);
}

/* What comes after place `after` of a folder, and its own place: "." and ".." have 1 and 2. */
static const char *next_entry(uint64_t *number, off_t *place, const server *s, fuse_ino_t folder,
                              off_t after) {
    *number = folder;
    *place = after + 1;
    if (after < 2) return after == 0 ? "." : "..";
    *number = cli_tree_next(&s->tree, folder, after == 2 ? 0 : (uint64_t)after - 2);
    *place = (off_t)*number + 2;
    return *number ? cli_node_name(cli_tree_at(&s->tree, *number)) : NULL;
}

static void read_folder(fuse_req_t request, fuse_ino_t folder, size_t size, off_t after,
                        struct fuse_file_info *info) {
    server *s = server_of(request);
    char *buf = malloc(size);
    size_t used = 0;
    uint64_t number;
    off_t place;
    (void)info;
    if (!buf) {
        fuse.reply_err(request, ENOMEM);
        log_memory(s, cli_tree_at(&s->tree, folder));
        return;
    }
    for (const char *name; (name = next_entry(&number, &place, s, folder, after)) != NULL;) {
        struct stat st;
        fill_stat(&st, s, number, cli_tree_at(&s->tree, number));
        const size_t n = fuse.add_direntry(request, buf + used, size - used, name, &st, place);
        if (n > size - used) break;
        used += n;
        after = place;
    }
    fuse.reply_buf(request, buf, used);
    free(buf);
}

/* Room that is taken, and none that is free. */
static void get_space(fuse_req_t request, fuse_ino_t number) {
    const server *s = server_of(request);
    tare_view_file f = tare_view_file_default();
    struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255};
    (void)number;
    for (size_t i = 0; tare_view_at(&f, s->view, i); i++) st.f_blocks += (f.n_bytes + 4095) / 4096;
    st.f_files = tare_view_count(s->view);
    fuse.reply_statfs(request, &st);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Asks for the rest of the piece around a read out of order, unless that was done lately. */
static void want_extra(server *s, fuse_ino_t number, size_t file, uint64_t offset, size_t n) {
    extra e = {.node = number};
    if (atomic_exchange(&s->next[number - CLI_TREE_ROOT], offset + n) == offset) return;
    tare_view_grain(&e.begin, &e.end, s->view, file, offset);
    if (e.end - e.begin <= n || e.end - e.begin > STORED_MOST) return;
    pthread_mutex_lock(&s->mutex);
    bool is_new = s->n_waiting < WAITING;
    for (size_t i = 0; i < WAITING && is_new; i++)
        is_new = s->recent[i].node != e.node || s->recent[i].begin != e.begin;
    if (is_new) {
        s->recent[s->n_recent++ % WAITING] = e;
        s->queue[(s->first + s->n_waiting++) % WAITING] = e;
        pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
}

static void read_file(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                      struct fuse_file_info *info) {
    server *s = server_of(request);
    const cli_node *node = cli_tree_at(&s->tree, number);
    tare_view_file f;
    tare_error err;
    (void)info;
    if (!file_of(&f, s, number) || offset < 0) {
        fuse.reply_err(request, EINVAL);
        return;
    }
    const uint64_t at = (uint64_t)offset < f.n_bytes ? (uint64_t)offset : f.n_bytes;
    const size_t n = f.n_bytes - at < size ? (size_t)(f.n_bytes - at) : size;
    char *buf = malloc(n + 1);
    const tare_status status =
        buf ? tare_view_read(buf, s->view, node->file, at, n, &err) : TARE_ERR_NOMEM;
    if (status == TARE_OK) {
        fuse.reply_buf(request, buf, n);
        if (n) want_extra(s, number, node->file, at, n);
    } else {
        fuse.reply_err(request, status == TARE_ERR_NOMEM ? ENOMEM : EIO);
        if (buf)
            log_failure(s, node, &err);
        else
            log_memory(s, node);
    }
    free(buf);
}

/* The kernel takes whole pages alone for known. */
static bool give(server *s, uint64_t node, uint64_t at, const void *bytes, size_t n) {
    struct fuse_bufvec v = FUSE_BUFVEC_INIT(n);
    v.buf[0].mem = (void *)(uintptr_t)bytes;
    return fuse.lowlevel_notify_store(s->session, node, (off_t)at, &v, 0) == 0;
}

/* Of a page that another piece has the rest of: given when all of it is there. */
static bool give_torn(server *s, uint64_t node, uint64_t at, const char *bytes, size_t n,
                      uint64_t n_file) {
    const uint64_t number = at / PAGE_BYTES;
    const size_t from = (size_t)(at % PAGE_BYTES), to = from + n;
    torn_page *p = &s->torn[(number + node * 977) % TORN_PAGES];
    if (p->node != node || p->number != number || (p->to != from && p->from != to))
        *p = (torn_page){.node = node, .number = number, .from = from, .to = from};
    memcpy(p->bytes + from, bytes, n);
    if (from < p->from) p->from = from;
    if (to > p->to) p->to = to;
    if (p->from || (p->to < PAGE_BYTES && at + n < n_file)) return true;
    p->node = 0;
    return give(s, node, number * PAGE_BYTES, p->bytes, p->to);
}

static void store(server *s, const extra *e, char *buf) {
    const cli_node *node = cli_tree_at(&s->tree, e->node);
    tare_view_file f;
    bool is_given = file_of(&f, s, e->node);
    for (uint64_t at = e->begin, end; at < e->end && is_given; at = end) {
        const uint64_t page = at - at % PAGE_BYTES;
        end = at == page ? at + STORE_STEP : page + PAGE_BYTES;
        if (end > e->end) end = e->end;
        if (end - page > PAGE_BYTES) end -= end % PAGE_BYTES;
        const size_t n = (size_t)(end - at);
        is_given = tare_view_read_alone(buf, s->view, node->file, at, n, NULL) == TARE_OK &&
                   (at % PAGE_BYTES || n % PAGE_BYTES ? give_torn(s, e->node, at, buf, n, f.n_bytes)
                                                      : give(s, e->node, at, buf, n));
    }
}

static void *run_storer(void *ctx) {
    server *s = ctx;
    char *buf = malloc(STORE_STEP);
    pthread_mutex_lock(&s->mutex);
    while (buf && !s->is_ending) {
        if (s->n_waiting == 0) {
            pthread_cond_wait(&s->changed, &s->mutex);
            continue;
        }
        const extra e = s->queue[s->first];
        s->first = (s->first + 1) % WAITING;
        s->n_waiting--;
        pthread_mutex_unlock(&s->mutex);
        store(s, &e, buf);
        pthread_mutex_lock(&s->mutex);
    }
    pthread_mutex_unlock(&s->mutex);
    free(buf);
    return NULL;
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = get_entry,
    .getattr = get_attributes,
    .readlink = read_link,
    .open = open_file,
    .read = read_file,
    .readdir = read_folder,
    .statfs = get_space,
};

/* ---- the session ----------------------------------------------------------------------------- */

static void *run_requests(void *ctx) {
    server *s = ctx;
    struct fuse_buf buf = {.mem = NULL};
    while (!fuse.session_exited(s->session)) {
        const int n = fuse.session_receive_buf(s->session, &buf);
        if (n == -EINTR || n == -EAGAIN) continue;
        if (n < 0) atomic_store(&s->failure, -n);
        if (n <= 0) break;
        fuse.session_process_buf(s->session, &buf);
    }
    free(buf.mem);
    if (!atomic_load(&s->failure)) fuse.session_exit(s->session);
    if (atomic_fetch_sub(&s->n_running, 1) == 1 || atomic_load(&s->failure))
        pthread_kill(s->main_thread, SIGUSR1);
    return NULL;
}

static unsigned count_threads(void) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t n = cli.threads ? cli.threads : processors > 0 ? 2 * (uint64_t)processors : 0;
    return n < LEAST_THREADS ? LEAST_THREADS : n > MOST_THREADS ? MOST_THREADS : (unsigned)n;
}

static bool start_threads(server *s) {
    const unsigned n = count_threads();
    atomic_store(&s->n_running, n);
    while (s->n_threads < n &&
           pthread_create(&s->threads[s->n_threads], NULL, run_requests, s) == 0)
        s->n_threads++;
    atomic_fetch_sub(&s->n_running, n - s->n_threads);
    s->has_storer = s->n_threads > 0 && pthread_create(&s->storer, NULL, run_storer, s) == 0;
    return s->has_storer || cli_fail_text(CLI_MEMORY, "no threads can be started") == CLI_YES;
}

/* Whether all have ended; a reader elsewhere may keep the file system alive after it is unmounted. */
static bool wait_for_threads(server *s) {
    for (unsigned i = 0; i < 100 && atomic_load(&s->n_running); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return atomic_load(&s->n_running) == 0;
}

/* Whether nobody can read a folder that this process has detached: the library then forgets it, and
 * unmounts nothing that may have taken its place. */
static bool is_severed(const server *s) {
    struct pollfd kernel = {.fd = fuse.session_fd(s->session)};
    return !s->is_detached || (poll(&kernel, 1, 0) == 1 && kernel.revents & POLLERR);
}

/* While requests are answered: a page that it stores may be one that a reader waits for. */
static void end_storer(server *s) {
    if (!s->has_storer) return;
    pthread_mutex_lock(&s->mutex);
    s->is_ending = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->storer, NULL);
}

/* How the mount ended; why it could not go on is for the log. */
static int code_of(const server *s) {
    const int failure = atomic_load(&s->failure);
    char line[1024];
    if (!failure) return CLI_YES;
    snprintf(line, sizeof line, "tare mount: %s: the mount ends: no requests can be received: %s",
             s->mount->folder, strerror(failure));
    log_line(s, line);
    return failure == ENOMEM ? CLI_MEMORY : CLI_IO;
}

/* Whether there is a file system that whoever asked for it knows of. */
static bool begin(server *s) {
    if (!start_threads(s)) return false;
    if (s->mount->document) cli_json_print(s->mount->document);
    cli_flush();
    serving = s;
    if (!cli_mount_is_ready()) return false;
    if (fuse.set_log_func) fuse.set_log_func(log_of_library); /* the terminal is no longer there */
    return true;
}

/* Until a signal, or until a thread says that the folder is unmounted, or that it cannot go on. */
static int serve(server *s, const sigset_t *signals) {
    int signal = 0, failed = begin(s) ? CLI_YES : s->has_storer ? CLI_IO : CLI_MEMORY;
    if (!failed) sigwait(signals, &signal);
    end_storer(s);
    if (signal != SIGUSR1 || atomic_load(&s->failure)) {
        /* the library's own way closes the descriptor, which threads still read */
        s->is_detached = atomic_load(&s->n_running) && cli_mount_detach(s->mount->folder);
        if (!s->is_detached) fuse.session_unmount(s->session);
        fuse.session_exit(s->session);
        /* who still reads is told by the kernel */
        if (!wait_for_threads(s) || !is_severed(s)) _exit(failed ? failed : code_of(s));
    }
    for (unsigned i = 0; i < s->n_threads; i++) pthread_join(s->threads[i], NULL);
    return failed ? failed : code_of(s);
}

static int mount_and_serve(server *s) {
    const cli_mount *m = s->mount;
    char options[64];
    char *words[] = {(char *)(uintptr_t) "tare", (char *)(uintptr_t) "-o", options, NULL};
    struct fuse_args args = {.argc = 3, .argv = words};
    sigset_t signals;
    snprintf(options, sizeof options, "ro,default_permissions,fsname=tare,subtype=tare%s",
             m->allow_other ? ",allow_other" : "");
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    s->session = fuse.session_new(&args, &operations, sizeof operations, s);
    fuse.opt_free_args(&args); /* what it made of them */
    if (!s->session) return cli_fail_text(CLI_IO, "libfuse3 cannot be started");
    if (fuse.session_mount(s->session, m->folder) != 0) {
        fuse.session_destroy(s->session);
        return cli_fail_text(CLI_IO, "%s: cannot be mounted", m->folder);
    }
    const int code = serve(s, &signals);
    fuse.session_unmount(s->session);
    fuse.session_destroy(s->session);
    return code;
}

static int open_log(server *s) {
    const cli_mount *m = s->mount;
    if (!m->log && m->in_foreground) s->log = stderr;
    if (!m->log && !m->in_foreground) openlog("tare", LOG_PID, LOG_USER);
    if (m->log && (s->log = fopen(m->log, "a")) == NULL)
        return cli_fail_text(CLI_IO, "%s: the log cannot be written: %s", m->log, strerror(errno));
    return CLI_YES;
}

tare_status cli_mount_check(tare_error *err) {
    const tare_status status = cli_fuse_load(&fuse, err);
    if (status != TARE_OK || access("/dev/fuse", F_OK) == 0) return status;
    *err = (tare_error){.status = TARE_ERR_UNSUPPORTED,
                        .item = -1,
                        .offset = TARE_NO_OFFSET,
                        .what = "mounting needs /dev/fuse, which this system does not have"};
    return TARE_ERR_UNSUPPORTED;
}

int cli_mount_serve(const cli_mount *mount, tare_view *view) {
    server *s = cli_alloc(1, sizeof *s);
    *s = (server){.mount = mount, .view = view, .main_thread = pthread_self()};
    cli_tree_build(&s->tree, view);
    s->next = cli_alloc(s->tree.n, sizeof *s->next);
    s->torn = cli_alloc(TORN_PAGES, sizeof *s->torn);
    for (size_t i = 0; i < s->tree.n; i++) atomic_init(&s->next[i], 0);
    clock_gettime(CLOCK_REALTIME, &s->started);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    int code = open_log(s);
    if (code == CLI_YES) code = mount_and_serve(s);
    if (s->log && s->log != stderr) fclose(s->log);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    cli_tree_free(&s->tree);
    free((void *)s->next);
    free(s->torn);
    free(s);
    return code;
}
#else
tare_status cli_mount_check(tare_error *err) {
    *err = (tare_error){.status = TARE_ERR_UNSUPPORTED,
                        .item = -1,
                        .offset = TARE_NO_OFFSET,
                        .what = "this build of tare cannot mount: it was made without libfuse3"};
    return TARE_ERR_UNSUPPORTED;
}

int cli_mount_serve(const cli_mount *mount, tare_view *view) {
    (void)mount, (void)view;
    return CLI_UNSUPPORTED;
}
#endif
