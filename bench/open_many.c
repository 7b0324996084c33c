/* SPDX-License-Identifier: MIT
 *
 * bench_open DIR [RUNS [GGML_LIBRARY]]: how long does it take to open a GGUF with very many small
 * things in it? Three files are made in DIR: 100,000 tensors; 100,000 keys; a vocabulary of 262,144
 * tokens with scores and types. Each is opened and closed RUNS times, by path; once more through a
 * callback that counts the reads. GGML_LIBRARY (libggml-base.so) is a peer for the same work: what
 * it needs more than two seconds for, it does once.
 *
 * Prints JSON; bench/open.py adds the peer written in Python and says it in words. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tare/tare.h>

enum { N_TENSORS = 100000, N_KEYS = 100000, N_TOKENS = 262144, MAX_RUNS = 1000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what) {
    fprintf(stderr, "bench_open: %s\n", what);
    exit(1);
}

/* ---- making the files ------------------------------------------------------------------------ */

static void put_u32(FILE *f, uint32_t v) {
    for (int i = 0; i < 4; i++) putc((int)(v >> (8 * i) & 0xff), f);
}

static void put_u64(FILE *f, uint64_t v) {
    put_u32(f, (uint32_t)v);
    put_u32(f, (uint32_t)(v >> 32));
}

static void put_str(FILE *f, const char *text) {
    put_u64(f, strlen(text));
    fputs(text, f);
}

static FILE *begin_gguf(const char *path, uint64_t n_tensors, uint64_t n_keys) {
    FILE *f = fopen(path, "wb");
    if (!f) die("cannot write into DIR");
    fputs("GGUF", f);
    put_u32(f, 3);
    put_u64(f, n_tensors);
    put_u64(f, n_keys + 1);
    put_str(f, "general.architecture");
    put_u32(f, TARE_VALUE_STRING);
    put_str(f, "llama");
    return f;
}

static void end_gguf(FILE *f) {
    if (fclose(f) != 0) die("cannot write into DIR");
}

/* Names as a mixture of experts has them; 32 floats each, so that the directory is most of it. */
static void make_tensors(const char *path) {
    FILE *f = begin_gguf(path, N_TENSORS, 0);
    for (uint32_t i = 0; i < N_TENSORS; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.%" PRIu32 ".ffn_down.%" PRIu32 ".weight", i / 512,
                 i % 512);
        put_str(f, name);
        put_u32(f, 1);
        put_u64(f, 32);
        put_u32(f, 0);
        put_u64(f, (uint64_t)i * 128);
    }
    while (ftell(f) % 32) putc(0, f);
    for (uint64_t i = 0; i < (uint64_t)N_TENSORS * 32; i++) put_u32(f, UINT32_C(0x3f800000));
    end_gguf(f);
}

static void make_keys(const char *path) {
    FILE *f = begin_gguf(path, 0, N_KEYS);
    for (uint32_t i = 0; i < N_KEYS; i++) {
        char name[64];
        snprintf(name, sizeof name, "bench.group_%" PRIu32 ".key_%" PRIu32, i / 100, i % 100);
        put_str(f, name);
        put_u32(f, TARE_VALUE_U32);
        put_u32(f, i);
    }
    end_gguf(f);
}

static void begin_array(FILE *f, const char *key, tare_value_type type) {
    put_str(f, key);
    put_u32(f, TARE_VALUE_ARRAY);
    put_u32(f, (uint32_t)type);
    put_u64(f, N_TOKENS);
}

static void make_vocabulary(const char *path) {
    FILE *f = begin_gguf(path, 0, 3);
    begin_array(f, "tokenizer.ggml.tokens", TARE_VALUE_STRING);
    for (uint32_t i = 0; i < N_TOKENS; i++) {
        char token[32];
        snprintf(token, sizeof token, "%.*s%" PRIx32, (int)(i % 5), "\xe2\x96\x81to",
                 i * 2654435761u);
        put_str(f, token);
    }
    begin_array(f, "tokenizer.ggml.scores", TARE_VALUE_F32);
    for (uint32_t i = 0; i < N_TOKENS; i++) put_u32(f, UINT32_C(0xc0000000) + i);
    begin_array(f, "tokenizer.ggml.token_type", TARE_VALUE_I32);
    for (uint32_t i = 0; i < N_TOKENS; i++) put_u32(f, 1);
    end_gguf(f);
}

/* ---- opening --------------------------------------------------------------------------------- */

typedef struct counted {
    int fd;
    uint64_t reads, bytes;
} counted;

static tare_status counted_read(void *ctx, uint64_t offset, void *buf, size_t n) {
    counted *c = ctx;
    c->reads++;
    c->bytes += n;
    return pread(c->fd, buf, n, (off_t)offset) == (ssize_t)n ? TARE_OK : TARE_ERR_IO;
}

static void check(tare_status status, const tare_error *err, const char *path) {
    if (status == TARE_OK) return;
    char text[512];
    tare_error_format(text, sizeof text, err, path);
    die(text);
}

static counted count_reads(const char *path) {
    counted c = {.fd = open(path, O_RDONLY)};
    off_t size = c.fd < 0 ? -1 : lseek(c.fd, 0, SEEK_END);
    if (size < 0) die("cannot read from DIR");
    tare_source source = {.size = sizeof(tare_source),
                          .kind = TARE_SOURCE_CALLBACK,
                          .name = path,
                          .n_bytes = (uint64_t)size,
                          .read = counted_read,
                          .read_ctx = &c};
    tare_model *model;
    tare_error err;
    check(tare_model_open(&model, &source, NULL, &err), &err, path);
    tare_model_free(model);
    close(c.fd);
    return c;
}

static double open_with_tare(const char *path) {
    tare_model *model;
    tare_error err;
    double start = now();
    check(tare_open_path(&model, path, NULL, &err), &err, path);
    tare_model_free(model);
    return now() - start;
}

/* What ggml's header declares, as far as it is called here. */
struct gguf_init_params {
    bool no_alloc;
    void **ctx;
};
static void *(*peer_open)(const char *path, struct gguf_init_params params);
static void (*peer_free)(void *file);

static void load_peer(const char *library) {
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle) die(dlerror());
    void *symbols[2] = {dlsym(handle, "gguf_init_from_file"), dlsym(handle, "gguf_free")};
    if (!symbols[0] || !symbols[1]) die("GGML_LIBRARY has no gguf_init_from_file");
    memcpy(&peer_open, &symbols[0], sizeof peer_open);
    memcpy(&peer_free, &symbols[1], sizeof peer_free);
}

static double open_with_peer(const char *path) {
    double start = now();
    void *file = peer_open(path, (struct gguf_init_params){.no_alloc = true, .ctx = NULL});
    if (!file) die("ggml cannot open the file");
    peer_free(file);
    return now() - start;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Runs alternate, so that both see the same machine. */
static void measure(const char *work, const char *path, int runs, bool is_last) {
    static double ours[MAX_RUNS], theirs[MAX_RUNS];
    int peer_runs = 0;
    open_with_tare(path); /* the file is in memory from here on */
    for (int i = 0; i < runs; i++) {
        ours[i] = open_with_tare(path);
        if (peer_open && (i == 0 || theirs[0] < 2)) theirs[peer_runs++] = open_with_peer(path);
    }
    counted c = count_reads(path);
    printf("    {\"work\": \"%s\", \"file\": \"%s\", \"runs\": %d, \"tare_s\": %.6f, \"reads\": "
           "%" PRIu64 ", \"read_bytes\": %" PRIu64,
           work, path, runs, median(ours, runs), c.reads, c.bytes);
    if (peer_runs) printf(", \"ggml_s\": %.6f", median(theirs, peer_runs));
    printf("}%s\n", is_last ? "" : ",");
}

int main(int argc, char **argv) {
    static const struct {
        const char *work, *file;
        void (*make)(const char *path);
    } cases[] = {
        {"open 100,000 tensors", "tensors.gguf", make_tensors},
        {"open 100,000 keys", "keys.gguf", make_keys},
        {"open a vocabulary of 262,144 tokens", "vocabulary.gguf", make_vocabulary},
    };
    enum { N_CASES = sizeof cases / sizeof *cases };
    int runs = argc > 2 ? atoi(argv[2]) : 11;
    if (argc < 2 || runs < 1 || runs > MAX_RUNS) die("usage: bench_open DIR [RUNS [GGML_LIBRARY]]");
    if (argc > 3) load_peer(argv[3]);

    printf("{\n  \"flags\": \"%s\",\n  \"results\": [\n", TARE_BENCH_FLAGS);
    for (int i = 0; i < N_CASES; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], cases[i].file);
        cases[i].make(path);
        measure(cases[i].work, path, runs, i == N_CASES - 1);
    }
    printf("  ]\n}\n");
    return 0;
}
