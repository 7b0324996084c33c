/* SPDX-License-Identifier: MIT
 *
 * ggml itself as the judge: its shared library, named by TARE_TEST_GGML, encodes and decodes the
 * same rows as tare does at each CPU level, with and without importance, and every byte must be the
 * same. The fault it guards against: a type that is ggml's in name only.
 *
 * The library must be built with -ffp-contract=off: with it ggml gives one result on every machine.
 * Where ggml ends the program, as it does on some NaN, tare must not, and its levels must agree.
 *
 *     ggml_differential [--elements N] [--types A,B,...] [--seed N] [-v] [MODEL|synth:SPEC]...
 *
 * Exit: 0 all the same, 1 something differs, 77 no library is named. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tare/private/synth.h>
#include <tare/tare.h>

#include "judge/ggml_library.h"

#define CHUNK      ((uint64_t)1 << 18) /* elements compared at a time */
#define N_LEVELS   4
#define MOST_SHOWN 6 /* differing blocks of one type that -v prints */

/* ---- ggml ------------------------------------------------------------------------------------ */

static struct {
    ggml_traits_fn traits;
    ggml_quantize_fn quantize;
    void (*init)(int type);
    bool (*needs_importance)(int type);
} ggml;

_Noreturn static void die(const char *what) {
    fprintf(stderr, "ggml_differential: %s\n", what);
    exit(2);
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) die(name);
    return found;
}

static void load_ggml(const char *path) {
    setenv("GGML_NO_BACKTRACE", "1", 1); /* it would call a debugger for each abort */
    void *library = dlopen(path, RTLD_NOW);
    if (!library) die(dlerror());
    void *symbols[] = {
        symbol(library, "ggml_get_type_traits"), symbol(library, "ggml_quantize_chunk"),
        symbol(library, "ggml_quantize_init"), symbol(library, "ggml_quantize_requires_imatrix")};
    memcpy(&ggml.traits, &symbols[0], sizeof symbols[0]);
    memcpy(&ggml.quantize, &symbols[1], sizeof symbols[1]);
    memcpy(&ggml.init, &symbols[2], sizeof symbols[2]);
    memcpy(&ggml.needs_importance, &symbols[3], sizeof symbols[3]);
}

/* ---- what is compared ------------------------------------------------------------------------ */

typedef struct tally {
    uint64_t n_blocks, n_aborted;
    uint64_t n_different[N_LEVELS];
    unsigned n_shown;
} tally;

typedef struct type {
    int number; /* ggml's */
    const struct ggml_type_traits *traits;
    const tare_encoding *encoding;
    bool is_encoded;
    tally encoded[2], decoded; /* without and with importance */
} type;

static const char *const levels[N_LEVELS] = {"c", "avx2", "avx512", "vbmi2"};

static type types[GGML_TYPES];
static size_t n_types;
static bool has_level[N_LEVELS];
static uint8_t *theirs; /* shared with the process in which ggml runs */
static uint8_t *ours;
static bool is_verbose;

static bool is_listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : "")
        if (strncasecmp(at, name, n) == 0 && (at[n] == ',' || !at[n])) return true;
    return !list;
}

/* Types that ggml decodes, or encodes in ggml_quantize_chunk: those it also decodes, but for F32
 * and the types that only activations have. */
static void find_types(const char *wanted) {
    for (int i = 0; i < GGML_TYPES; i++) {
        const struct ggml_type_traits *traits = ggml.traits(i);
        if (!traits->type_name || !traits->to_float || !is_listed(wanted, traits->type_name))
            continue;
        const tare_encoding *e =
            tare_encoding_find((tare_str){traits->type_name, strlen(traits->type_name)});
        if (!e || e->id == TARE_ENCODING_F32) continue;
        if ((int64_t)e->block != traits->block || e->planes[0].unit_bytes != traits->block_bytes)
            die("a type has another block in ggml");
        types[n_types] = (type){.number = i, .traits = traits, .encoding = e};
        types[n_types].is_encoded = e->id != TARE_ENCODING_Q8_K;
        if (types[n_types].is_encoded) ggml.init(i);
        n_types++;
    }
}

static void find_levels(void) {
    for (int l = 0; l < N_LEVELS; l++) has_level[l] = tare_cpu_limit(levels[l], NULL) == TARE_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t random_bits(void) {
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float uniform(void) {
    return (float)(random_bits() >> 40) * 0x1p-24F;
}

static float normal(void) {
    float sum = -6;
    for (int i = 0; i < 12; i++) sum += uniform();
    return sum;
}

/* 2 to a whole power. */
static float power(int exponent) {
    return of_bits((uint32_t)(exponent + 127) << 23);
}

static float finite_bits(void) {
    uint32_t bits = (uint32_t)random_bits();
    return (bits & 0x7F800000) == 0x7F800000 ? of_bits(bits & 0xFF7FFFFF) : of_bits(bits);
}

typedef enum kind {
    NORMAL,
    LAPLACE,
    UNIFORM,
    SPREAD, /* another size every 16 elements */
    OUTLIERS,
    TIES, /* eighths: rounding and searches meet equals */
    SPARSE,
    CONSTANT, /* in runs of 32 */
    POSITIVE,
    TINY, /* about the smallest of F16, so that scales are subnormal or 0 */
    SUBNORMAL,
    LARGE, /* scales overflow F16 */
    FINITE,
    WITH_NAN,
    WITH_INF,
    N_KINDS
} kind;

static const char *const kind_names[N_KINDS] = {
    "normal",   "laplace", "uniform",   "spread", "outliers", "ties", "sparse", "constant",
    "positive", "tiny",    "subnormal", "large",  "finite",   "nan",  "inf"};

static float value(kind k, uint64_t i, float last, float *size) {
    switch (k) {
    case NORMAL:
        return normal() * 0.02F;
    case LAPLACE:
        return (uniform() - uniform()) * uniform() * uniform() * 4;
    case UNIFORM:
        return uniform() * 2 - 1;
    case SPREAD:
        if (i % 16 == 0) *size = power((int)(random_bits() % 24) - 20);
        return normal() * *size;
    case OUTLIERS:
        return normal() * (i % 61 == 7 ? 40 : 0.02F);
    case TIES:
        return (float)((int)(random_bits() % 33) - 16) * 0.125F;
    case SPARSE:
        return random_bits() % 8 ? (random_bits() % 2 ? 0.0F : -0.0F) : normal();
    case CONSTANT:
        return i % 32 ? last : normal();
    case POSITIVE:
        return uniform() * uniform() + 0.5F;
    case TINY:
        return normal() * power(-22 + (int)(random_bits() % 3));
    case SUBNORMAL:
        return of_bits((uint32_t)random_bits() & 0x807FFFFF);
    case LARGE:
        return normal() * power(20 + (int)(i / 512 % 100));
    case WITH_NAN:
        return random_bits() % 97 ? normal()
                                  : of_bits(0x7F800001 | ((uint32_t)random_bits() & 0x807FFFFF));
    case WITH_INF:
        return random_bits() % 97 ? normal() : of_bits(random_bits() % 2 ? 0x7F800000 : 0xFF800000);
    default:
        return finite_bits();
    }
}

static void fill(float *values, uint64_t n, kind k) {
    float size = 1, last = 0;
    for (uint64_t i = 0; i < n; i++) last = values[i] = value(k, i, last, &size);
}

/* Mean squares of activations: over some powers of ten, some exactly 0; now and then all the same,
 * a quarter of each block 0, all 0, or from the smallest to the largest. */
static void fill_importance(float *weights, uint64_t n) {
    uint64_t form = random_bits() % 12;
    for (uint64_t i = 0; i < n; i++) {
        float x = normal();
        weights[i] = x * x * power((int)(random_bits() % 12) - 10);
        if (random_bits() % 50 == 0) weights[i] = 0;
        if (form == 0) weights[i] = 1;
        if (form == 1 && i % 256 < 64) weights[i] = 0;
        if (form == 2 && random_bits() % 4 == 0)
            weights[i] = power((int)(random_bits() % 120) - 60);
        if (form == 3) weights[i] = 0;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct rows {
    const float *values, *importance;
    uint64_t n_rows, cols;
    const char *label;
} rows;

/* ggml in a process of its own, which it may end. False: it did. */
static bool encode_with_ggml(const type *t, const rows *r) {
    fflush(stdout);
    pid_t child = fork();
    int status;
    if (child < 0) die("fork");
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout)) _exit(1);
        ggml.quantize(t->number, r->values, theirs, 0, (int64_t)r->n_rows, (int64_t)r->cols,
                      r->importance);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child) die("waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void show_block(const type *t, const rows *r, int level, uint64_t block) {
    size_t size = t->traits->block_bytes;
    printf("  %s %s, %s, %s: block %" PRIu64 " of rows of %" PRIu64 "\n", t->encoding->name,
           levels[level], r->label, r->importance ? "importance" : "no importance", block, r->cols);
    for (int side = 0; side < 2; side++) {
        const uint8_t *bytes = (side ? ours : theirs) + block * size;
        printf("    %s", side ? "tare" : "ggml");
        for (size_t i = 0; i < size; i++) printf(i % 4 ? "%02x" : " %02x", bytes[i]);
        printf("\n");
    }
}

static bool same_float(const uint8_t *a, const uint8_t *b) {
    float x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
}

/* The sign of a NaN, and so of a scale that NaN got into, is the compiler's choice: where a block
 * decodes to NaN it counts what it decodes to. */
static bool same_block(const type *t, const uint8_t *a, const uint8_t *b) {
    float x[256], y[256];
    if (memcmp(a, b, t->traits->block_bytes) == 0) return true;
    t->traits->to_float(a, x, t->traits->block);
    t->traits->to_float(b, y, t->traits->block);
    bool has_nan = false;
    for (int64_t i = 0; i < t->traits->block; i++) {
        if (!same_float((const uint8_t *)&x[i], (const uint8_t *)&y[i])) return false;
        has_nan |= x[i] != x[i];
    }
    return has_nan;
}

/* sum NULL: there is nothing to compare with. */
static void compare_encoded(type *t, const rows *r, tally *sum, int level) {
    tare_rows_mut dst = {.planes = {ours}, .n_rows = r->n_rows, .cols = r->cols};
    tare_encode_params params = {.size = sizeof(tare_encode_params), .importance = r->importance};
    tare_error err;
    size_t n = (size_t)(r->n_rows * r->cols / t->encoding->block);
    size_t size = t->traits->block_bytes;
    tare_cpu_limit(levels[level], NULL);
    memset(ours, 0xA5, n * size);
    if (tare_encode_rows(&dst, t->encoding, r->values, &params, &err) != TARE_OK) die(err.what);
    for (uint64_t i = 0; sum && i < n; i++) {
        if (same_block(t, ours + i * size, theirs + i * size)) continue;
        sum->n_different[level]++;
        if (is_verbose && sum->n_shown++ < MOST_SHOWN) show_block(t, r, level, i);
    }
}

/* One set of rows through one encoder of ggml's and all of ours; where ggml aborts, row by row, and
 * then the reference is our scalar one. */
static void encode(type *t, const rows *r) {
    tally *sum = &t->encoded[r->importance != NULL];
    if (!r->importance && ggml.needs_importance(t->number)) return;
    if (!t->is_encoded || r->cols % t->encoding->block != 0) return;
    bool is_done = encode_with_ggml(t, r);
    if (!is_done && r->n_rows > 1) {
        rows one = *r;
        one.n_rows = 1;
        for (uint64_t i = 0; i < r->n_rows; i++, one.values += r->cols) encode(t, &one);
        return;
    }
    uint64_t n = r->n_rows * r->cols / t->encoding->block;
    *(is_done ? &sum->n_blocks : &sum->n_aborted) += n;
    for (int l = 0; l < N_LEVELS; l++) {
        if (!has_level[l]) continue;
        compare_encoded(t, r, is_done || l > 0 ? sum : NULL, l);
        if (!is_done && l == 0) memcpy(theirs, ours, (size_t)n * t->traits->block_bytes);
    }
}

/* `n` elements whose stored bytes are at `bytes`. */
static void decode(type *t, const uint8_t *bytes, uint64_t n) {
    float *want = (float *)(void *)theirs, *got = (float *)(void *)ours;
    uint64_t block = t->encoding->block;
    tare_rows src = {.planes = {bytes}, .n_rows = 1, .cols = n};
    tare_error err;
    t->traits->to_float(bytes, want, (int64_t)n);
    t->decoded.n_blocks += n / block;
    for (int l = 0; l < N_LEVELS; l++) {
        if (!has_level[l]) continue;
        tare_cpu_limit(levels[l], NULL);
        if (tare_decode_rows(got, t->encoding, &src, &err) != TARE_OK) die(err.what);
        for (uint64_t i = 0, last = UINT64_MAX; i < n; i++) {
            if (same_float(ours + 4 * i, theirs + 4 * i) || i / block == last) continue;
            last = i / block;
            if (is_verbose && t->decoded.n_shown++ < MOST_SHOWN)
                printf("  decoding %s %s: element %" PRIu64 ": ggml %a, tare %a\n",
                       t->encoding->name, levels[l], i, want[i], got[i]);
            t->decoded.n_different[l]++;
        }
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void encode_all(const rows *r, float *weights) {
    rows weighted = *r;
    fill_importance(weights, r->cols);
    weighted.importance = weights;
    for (size_t i = 0; i < n_types; i++) {
        encode(&types[i], r);
        encode(&types[i], &weighted);
    }
}

/* Row lengths of models, and the shortest (types of 256 leave the rows of 2880 out); a chunk is as
 * many whole rows as fit. There are chunks enough for every kind. */
static void run_random(uint64_t n_elements, float *values, float *weights) {
    static const uint64_t lengths[] = {4096, 256, 11008, 768, 2880, 2816};
    uint64_t chunk = n_elements / (2 * N_KINDS), done = 0;
    if (chunk > CHUNK) chunk = CHUNK;
    for (unsigned i = 0; done < n_elements; i++) {
        /* Every second chunk is of ordinary values. */
        kind k = i % 2 ? (kind)(i / 2 % N_KINDS) : (kind)(i / 2 % 3);
        uint64_t cols = lengths[i / 3 % 6];
        rows r = {.values = values, .cols = cols, .label = kind_names[k]};
        r.n_rows = chunk < cols ? 1 : chunk / cols;
        fill(values, r.n_rows * cols, k);
        encode_all(&r, weights);
        done += r.n_rows * cols;
    }
}

static void run_random_bytes(uint64_t n_elements, uint8_t *bytes) {
    for (uint64_t done = 0; done < n_elements; done += CHUNK) {
        for (uint64_t i = 0; i < CHUNK * 4; i += 8) {
            uint64_t r = random_bits();
            memcpy(bytes + i, &r, sizeof r);
        }
        for (size_t i = 0; i < n_types; i++) decode(&types[i], bytes, CHUNK);
    }
}

/* Float tensors of a model, in runs of rows. */
static void run_tensor(const tare_model *m, size_t i, float *values, float *weights) {
    const tare_tensor *t = tare_model_tensor(m, i);
    tare_error err;
    char label[80];
    if (t->encoding->kind != TARE_KIND_FLOAT || t->cols == 0 || t->cols > CHUNK) return;
    snprintf(label, sizeof label, "%.*s", (int)(t->name.len < 79 ? t->name.len : 79), t->name.ptr);
    for (uint64_t row = 0; row < t->n_rows;) {
        uint64_t n = CHUNK / t->cols;
        if (n > t->n_rows - row) n = t->n_rows - row;
        if (tare_tensor_rows_f32(values, m, i, row, n, &err) != TARE_OK) die(err.what);
        rows r = {.values = values, .n_rows = n, .cols = t->cols, .label = label};
        encode_all(&r, weights);
        row += n;
    }
}

static void run_model(const char *name, float *values, float *weights) {
    bool is_synth = strncmp(name, "synth:", 6) == 0;
    tare_model *m;
    tare_error err;
    tare_status status =
        is_synth ? tare_synth_open(&m, name + 6, NULL, &err) : tare_open_path(&m, name, NULL, &err);
    if (status != TARE_OK) die(err.what);
    for (size_t i = 0; tare_model_tensor(m, i); i++) run_tensor(m, i, values, weights);
    tare_model_free(m);
}

/* ---- telling --------------------------------------------------------------------------------- */

static uint64_t print_tally(const char *work, const type *t, const tally *sum) {
    uint64_t n_bad = 0;
    if (sum->n_blocks + sum->n_aborted == 0) return 0;
    printf("%-8s %-18s %9" PRIu64 " blocks", t->encoding->name, work, sum->n_blocks);
    for (int l = 0; l < N_LEVELS; l++) {
        if (!has_level[l]) continue;
        n_bad += sum->n_different[l];
        printf("  %s %" PRIu64, levels[l], sum->n_different[l]);
    }
    if (sum->n_aborted) printf("  (and %" PRIu64 " on which ggml aborts)", sum->n_aborted);
    printf("\n");
    return n_bad;
}

static int tell(void) {
    uint64_t n_bad = 0;
    printf("blocks, and how many differ from ggml's at each level:\n");
    for (size_t i = 0; i < n_types; i++) {
        n_bad += print_tally("encode", &types[i], &types[i].encoded[0]);
        n_bad += print_tally("encode, importance", &types[i], &types[i].encoded[1]);
        n_bad += print_tally("decode", &types[i], &types[i].decoded);
    }
    printf("%zu types, %" PRIu64 " blocks differ\n", n_types, n_bad);
    return n_bad ? 1 : 0;
}

static void *shared_memory(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die("memory");
    return p;
}

int main(int argc, char **argv) {
    const char *library = getenv("TARE_TEST_GGML"), *wanted = NULL;
    uint64_t n_elements = 1 << 18;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "-v") == 0)
            is_verbose = true;
        else if (first + 1 == argc)
            die("an option lacks its value");
        else if (strcmp(argv[first], "--elements") == 0)
            n_elements = strtoull(argv[++first], NULL, 10);
        else if (strcmp(argv[first], "--seed") == 0)
            state = strtoull(argv[++first], NULL, 10);
        else if (strcmp(argv[first], "--types") == 0)
            wanted = argv[++first];
        else
            die("options: --elements N, --types A,B,..., --seed N, -v");
    }
    if (!library || !*library) {
        printf("SKIP: TARE_TEST_GGML names no library of ggml, 1 test program left out\n");
        return 77;
    }
    load_ggml(library);
    find_types(wanted);
    find_levels();
    theirs = shared_memory(CHUNK * sizeof(float));
    ours = shared_memory(CHUNK * sizeof(float));
    float *values = shared_memory(CHUNK * sizeof *values);
    float *weights = shared_memory(CHUNK * sizeof *weights);
    run_random(n_elements, values, weights);
    run_random_bytes(n_elements, (uint8_t *)values);
    for (int i = first; i < argc; i++) run_model(argv[i], values, weights);
    return tell();
}
