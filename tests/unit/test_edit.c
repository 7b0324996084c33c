/* SPDX-License-Identifier: MIT
 *
 * Guards against: a model that is half edited, whenever the edit is killed; and data that moves
 * where it need not, or an edited file that is not what a conversion would write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <tare/experimental/edit.h>
#include <tare/private/synth.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "convert_help.h"
#include "ops/edit/edit_state.h"

/* ---- a model on disk ------------------------------------------------------------------------- */

static tare_edit_step set(const char *key, const char *text) {
    return (tare_edit_step){
        .kind = TARE_EDIT_SET_KEY, .name = tare_str_of(key), .text = tare_str_of(text)};
}

/* A text that makes a header larger than what is written at once. */
static const char *long_text(char letter) {
    static char texts[2][150001];
    char *text = texts[letter & 1];
    memset(text, letter, sizeof texts[0] - 1);
    return text;
}

static void make_model(const char *path, const char *format, uint64_t shard_size) {
    tare_convert_options o = tare_convert_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    tare_metadata keys[] = {{.key = TARE_STR("general.name"),
                             .value = {.type = TARE_VALUE_STRING, .as.s = TARE_STR("old")}},
                            {.key = TARE_STR("a.text"), .value = {.type = TARE_VALUE_STRING}}};
    keys[1].value.as.s = tare_str_of(long_text('a'));
    tare_model *m;
    assert_int_equal(tare_synth_open(&m, "llama-tiny", 0, NULL), TARE_OK);
    o.to = format;
    o.shard_size = shard_size;
    output.no_sync = true;
    o.overrides = keys;
    o.n_overrides = 2;
    assert_int_equal(tare_convert(path, m, &o, NULL), TARE_OK);
    tare_model_free(m);
}

/* SHA-256 of all files of a directory, by name. */
static void fingerprint(uint8_t out[32], const char *directory) {
    struct dirent **list;
    tare_sha256 h;
    int n = scandir(directory, &list, NULL, alphasort);
    assert_true(n >= 2);
    tare_sha256_init(&h);
    for (int i = 0; i < n; i++) {
        char path[2048];
        /* a temporary whose run is dead goes with the next one that writes the file */
        if (strstr(list[i]->d_name, ".tare-") && !strstr(list[i]->d_name, ".tare-edit")) {
            free(list[i]);
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", directory, list[i]->d_name);
        int fd = open(path, O_RDONLY);
        tare_sha256_update(&h, list[i]->d_name, strlen(list[i]->d_name) + 1);
        static uint8_t buf[1 << 16];
        for (ssize_t got; (got = read(fd, buf, sizeof buf)) > 0;)
            tare_sha256_update(&h, buf, (size_t)got);
        close(fd);
        free(list[i]);
    }
    free(list);
    tare_sha256_final(&h, out);
}

/* ---- killing --------------------------------------------------------------------------------- */

typedef struct countdown {
    int left;
} countdown;

static void kill_at(void *ctx, const char *step) {
    countdown *c = ctx;
    (void)step;
    if (c->left-- == 0) raise(SIGKILL);
}

/* Runs an edit that is killed before step n; false: it had fewer steps. */
static bool run_and_kill(const char *path, const tare_edit_step *steps, size_t n_steps,
                         const tare_edit_options *o, int n) {
    pid_t child = fork();
    if (child == 0) {
        countdown c = {n};
        const tare_edit_watch watch = {kill_at, &c};
        tare_edit *e;
        if (tare_edit_new(&e, path, steps, n_steps, o, NULL) != TARE_OK) _exit(90);
        _exit((int)tare_edit_run_watched(e, &watch, NULL));
    }
    int result;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFSIGNALED(result)) return true;
    assert_int_equal(WEXITSTATUS(result), TARE_OK);
    return false;
}

typedef struct states {
    uint8_t before[32], after[32];
} states;

static bool is(const uint8_t a[32], const uint8_t b[32]) {
    return memcmp(a, b, 32) == 0;
}

/* What a kill has left: old, new, or what no program takes for a model; then old or new. */
static void check_left(const states *s, const char *folder, const char *path, int n) {
    uint8_t now[32];
    tare_edit_recovery what;
    tare_model *m;
    char copy[2048];
    fingerprint(now, folder);
    tare_open_options o = tare_open_options_default();
    if (tare_open_path(&m, path, &o, NULL) == TARE_OK) {
        /* whole, though a journal may lie beside it */
        tare_metadata const *name;
        int64_t at = tare_model_find_key(m, TARE_STR("general.name"));
        assert_true(at >= 0);
        name = tare_model_metadata(m, (size_t)at);
        int64_t text = tare_model_find_key(m, TARE_STR("a.text"));
        assert_true(text >= 0);
        const char first = tare_model_metadata(m, (size_t)text)->value.as.s.ptr[0];
        assert_true(tare_str_is(name->value.as.s, "old") == (first == 'a'));
        tare_model_free(m);
    }
    snprintf(copy, sizeof copy, "%s", path);
    assert_int_equal(tare_edit_recover(&what, copy, NULL, NULL), TARE_OK);
    fingerprint(now, folder);
    if (!is(now, s->before) && !is(now, s->after))
        fail_msg("after step %d neither the old nor the new model", n);
}

/* Kills an edit before each of its steps. `path` lies in `folder`, and nothing else does. */
static void kill_everywhere(const char *format, uint64_t shard_size, const char *folder,
                            const char *path, tare_edit_way way, const tare_edit_step *steps,
                            size_t n_steps, int least) {
    tare_edit_options o = tare_edit_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    states s;
    int n = 0;
    o.way = way;
    output.no_sync = true;
    bool is_folder = strcmp(folder, path) == 0;
    for (bool is_killed = true; is_killed; n++) {
        help_remove(folder);
        if (!is_folder) assert_int_equal(mkdir(folder, 0777), 0);
        make_model(path, format, shard_size);
        if (n == 0) {
            tare_edit *e;
            fingerprint(s.before, folder);
            assert_int_equal(tare_edit_new(&e, path, steps, n_steps, &o, NULL), TARE_OK);
            assert_int_equal(tare_edit_run(e, NULL), TARE_OK);
            tare_edit_free(e);
            fingerprint(s.after, folder);
            assert_false(is(s.before, s.after));
            help_remove(folder);
            if (!is_folder) assert_int_equal(mkdir(folder, 0777), 0);
            make_model(path, format, shard_size);
        }
        is_killed = run_and_kill(path, steps, n_steps, &o, n);
        check_left(&s, folder, path, n);
    }
    assert_true(n > least);
    help_remove(folder);
}

static void gguf_is_old_or_new(void **state) {
    (void)state;
    const tare_edit_step steps[] = {set("general.name", "new"), set("a.text", long_text('b'))};
    kill_everywhere("gguf", 0, help_path("one"), help_path("one/m.gguf"), TARE_EDIT_IN_PLACE, steps,
                    2, 8);
}

static void a_rewritten_file_is_old_or_new(void **state) {
    (void)state;
    const tare_edit_step steps[] = {set("general.name", "a longer name than there is room for"),
                                    set("a.text", long_text('b'))};
    kill_everywhere("gguf", 0, help_path("one"), help_path("one/m.gguf"), TARE_EDIT_REWRITE, steps,
                    2, 1);
}

static void shards_are_old_or_new(void **state) {
    (void)state;
    const tare_edit_step steps[] = {
        set("general.name", "new"),
        set("a.text", long_text('b')),
        {.kind = TARE_EDIT_RENAME_TENSORS, .name = TARE_STR("model.*"), .text = TARE_STR("*")}};
    /* in place, all shards and the index by one journal */
    kill_everywhere("hf", 3000000, help_path("set"), help_path("set"), TARE_EDIT_IN_PLACE, steps, 3,
                    12);
}

static void dropped_shards_are_old_or_new(void **state) {
    (void)state;
    const tare_edit_step steps[] = {set("general.name", "new"),
                                    set("a.text", long_text('b')),
                                    {.kind = TARE_EDIT_DROP_TENSORS, .name = TARE_STR("*.mlp.*")}};
    kill_everywhere("hf", 3000000, help_path("set"), help_path("set"), TARE_EDIT_AUTO, steps, 3, 6);
}

/* ---- where the bytes are --------------------------------------------------------------------- */

static void read_all(uint8_t **bytes, size_t *n, const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    *n = (size_t)st.st_size;
    *bytes = malloc(*n + 1);
    assert_int_equal(read(fd, *bytes, *n), st.st_size);
    close(fd);
}

static void edit(const char *path, const tare_edit_step *steps, size_t n,
                 const tare_edit_options *o) {
    tare_edit *e;
    tare_error err;
    if (tare_edit_new(&e, path, steps, n, o, &err) != TARE_OK) fail_msg("%s", err.what);
    assert_int_equal(tare_edit_run(e, &err), TARE_OK);
    tare_edit_free(e);
}

/* What is laid out anew is what a conversion of the same model with that key writes; through the
 * spare room and back, too. */
static void anew_is_as_converted(void **state) {
    (void)state;
    const char *path = help_path("m.gguf"), *other = help_path("other.gguf");
    const tare_edit_step changed = set("general.name", "another, much longer name of this model");
    const tare_edit_step shorter = set("general.name", "x"), first = set("general.name", "old");
    tare_edit_options o = tare_edit_options_default();
    tare_output_options output = tare_output_options_default();
    o.output = &output;
    uint8_t *a, *b;
    size_t na, nb;
    make_model(path, "gguf", 0);
    read_all(&a, &na, path);
    output.no_sync = true;
    edit(path, &changed, 1, &o);
    tare_convert_options c = tare_convert_options_default();
    tare_output_options c_output = tare_output_options_default();
    c.output = &c_output;
    const tare_metadata key = {.key = TARE_STR("general.name"),
                               .value = {.type = TARE_VALUE_STRING, .as.s = changed.text}};
    tare_model *m;
    edit(path, &first, 1, &o); /* leaves room behind */
    edit(path, &changed, 1, &o);
    assert_int_equal(tare_open_path(&m, path, NULL, NULL), TARE_OK);
    c.overrides = &key;
    c.n_overrides = 1;
    c_output.no_sync = true;
    assert_int_equal(tare_convert(other, m, &c, NULL), TARE_OK);
    tare_model_free(m);
    uint8_t *x, *y;
    size_t nx, ny;
    read_all(&x, &nx, path);
    read_all(&y, &ny, other);
    assert_int_equal(nx, ny);
    assert_memory_equal(x, y, nx);
    edit(path, &shorter, 1, &o);
    o.way = TARE_EDIT_REWRITE;
    edit(path, &first, 1, &o);
    read_all(&b, &nb, path);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a), free(b), free(x), free(y);
}

/* A file far larger than the disk would like to copy: its holes stay holes. */
static void a_large_file_is_not_copied(void **state) {
    (void)state;
    const char *path = help_path("large.safetensors");
    static const char text[] = "{\"__metadata__\":{\"a\":\"first\"},\"w\":{\"dtype\":\"F32\","
                               "\"shape\":[1073741824],\"data_offsets\":[0,4294967296]}}  ";
    const tare_edit_step step = set("a", "other");
    tare_edit_options o = tare_edit_options_default();
    uint8_t size[8];
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    tare_store_le64(size, sizeof text - 1);
    assert_int_equal(write(fd, size, 8), 8);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    if (ftruncate(fd, (off_t)(8 + sizeof text - 1 + 4294967296u)) != 0) skip();
    close(fd);
    edit(path, &step, 1, &o);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_blocks * 512 < 1 << 20);
    tare_model *m;
    assert_int_equal(tare_open_path(&m, path, NULL, NULL), TARE_OK);
    assert_true(tare_str_is(tare_model_metadata(m, 0)->value.as.s, "other"));
    tare_model_free(m);
    assert_int_equal(unlink(path), 0);
}

/* ---- an untrusted journal -------------------------------------------------------------------- */

/* Cut anywhere, or with any byte changed, it is refused; a whole one may name no other folder. */
static void journals_are_checked(void **state) {
    (void)state;
    tare_buffer b;
    uint8_t digest[32];
    tare_sha256 h;
    tare_arena arena;
    tare_edit_journal j;
    tare_arena_init(&arena, NULL);
    for (unsigned is_bad = 0; is_bad < 2; is_bad++) {
        const char *name = is_bad ? "../x" : "m.gguf";
        tare_buffer_init(&b, NULL);
        tare_buffer_put_text(&b, "TAREJRNL");
        tare_buffer_put_u32(&b, 2, false);
        tare_buffer_put_u32(&b, 1, false);
        tare_buffer_put_text(&b, "12345678");
        tare_buffer_put_zeros(&b, 24); /* inodes, birth */
        tare_buffer_put_u32(&b, (uint32_t)strlen(name), false);
        tare_buffer_put_zeros(&b, 12 + 16);
        tare_buffer_put_text(&b, name);
        tare_buffer_put_zeros(&b, 2 * TARE_EDIT_HEAD);
        tare_buffer_put_u64(&b, 100, false);
        tare_buffer_put_u64(&b, 100, false);
        tare_buffer_put_u64(&b, 1, false);
        tare_buffer_put_u64(&b, 96, false);
        tare_buffer_put_u64(&b, 4, false);
        tare_buffer_put_text(&b, "data");
        tare_sha256_init(&h);
        tare_sha256_update(&h, b.data, b.size);
        tare_sha256_final(&h, digest);
        tare_buffer_put(&b, digest, sizeof digest);
        assert_int_equal(tare_edit_journal_parse(&j, b.data, b.size, &arena, NULL),
                         is_bad ? TARE_ERR_CORRUPT : TARE_OK);
        for (size_t n = 0; n < b.size; n++) {
            assert_int_not_equal(tare_edit_journal_parse(&j, b.data, n, &arena, NULL), TARE_OK);
            b.data[n] ^= 1;
            assert_int_not_equal(tare_edit_journal_parse(&j, b.data, b.size, &arena, NULL),
                                 TARE_OK);
            b.data[n] ^= 1;
        }
        tare_buffer_free(&b);
    }
    tare_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gguf_is_old_or_new),    cmocka_unit_test(a_rewritten_file_is_old_or_new),
        cmocka_unit_test(shards_are_old_or_new), cmocka_unit_test(dropped_shards_are_old_or_new),
        cmocka_unit_test(anew_is_as_converted),  cmocka_unit_test(a_large_file_is_not_copied),
        cmocka_unit_test(journals_are_checked),
    };
    return cmocka_run_group_tests(tests, help_set_up, help_tear_down);
}
