/* SPDX-License-Identifier: MIT
 *
 * tare/base.h: what every other header of tare relies on: version, status, error, strings,
 * allocator, limits, reports, progress, CPU levels.
 *
 * Conventions of all headers
 *   - Argument order is always: out, inputs, options, error.
 *   - `options` and `err` may be NULL. On failure `*out` is NULL and the caller owns nothing.
 *   - Options structs begin with `size_t size`. Set them up with `tare_NAME_default()`, or, from
 *     other languages, with `tare_NAME_init(&options, sizeof options)`. A smaller size than the
 *     library's is accepted, the rest takes its default; a larger one only if its tail is zero.
 *   - A getter returns a pointer to what its handle owns. Where a call computes a result it fills a
 *     struct of the caller that begins with `size_t size`, set up in the same way: a smaller one
 *     gets the members it has, the tail of a larger one becomes zero.
 *   - Structs without a size are final: strings, values, errors, digests, walks.
 *   - Handles are opaque; every `tare_*_free(NULL)` does nothing.
 *   - The library never prints, exits, aborts, or reads the environment.
 *
 * Threads
 *   - Each handle says what threads may do with it. Most do not change once they are made: any
 *     number of threads may use them at once, only freeing must come last.
 *   - No thread of the library outlives the call that started it, except that of a session for URLs
 *     (tare/experimental/remote.h), and no lock is held between calls: a process may fork between calls, and the
 *     child may go on with all handles but sessions and the models opened through them.
 */
#ifndef TARE_BASE_H
#define TARE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(TARE_BUILD_DLL)
#define TARE_API __declspec(dllexport)
#elif defined(_WIN32)
#define TARE_API
#else
#define TARE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Declares what sets up a struct that begins with its size: tare_NAME_init(&x, sizeof x) gives the
 * members that the caller knows their defaults; in C and C++ `tare_NAME x = tare_NAME_default()`. */
#define TARE_DECLARE_INIT(type)                                                                    \
    TARE_API void type##_init(type *x, size_t size);                                               \
    static inline type type##_default(void) {                                                      \
        type x;                                                                                    \
        type##_init(&x, sizeof x);                                                                 \
        return x;                                                                                  \
    }

#define TARE_VERSION_MAJOR 0
#define TARE_VERSION_MINOR 1
#define TARE_VERSION_PATCH 0

/* The version of the library that runs, "major.minor.patch". Static. */
TARE_API const char *tare_version(void);
/* Library i behind this one and its version ("libdeflate", "1.14"), that of libzstd as it runs, of
 * the others as they were compiled; false beyond the end. Both strings are static. */
TARE_API bool tare_dependency(const char **name, const char **version, size_t i);

/* ---- status ---------------------------------------------------------------------------------- */

/* The code says whose fault it is. Numbers never change; the list only grows at its end. */
#define TARE_STATUS_LIST(X)                                                                        \
    X(OK, 0, "ok")                                                                                 \
    X(ERR_ARG, 1, "wrong argument")                                                                \
    X(ERR_IO, 2, "input/output error")                                                             \
    X(ERR_NOMEM, 3, "out of memory")                                                               \
    X(ERR_NOSPACE, 4, "no space left")                                                             \
    X(ERR_UNSUPPORTED, 5, "unsupported")                                                           \
    X(ERR_TRUNCATED, 6, "truncated")                                                               \
    X(ERR_CORRUPT, 7, "corrupt")                                                                   \
    X(ERR_LIMIT, 8, "limit exceeded")                                                              \
    X(ERR_CHECKSUM, 9, "checksum mismatch")                                                        \
    X(ERR_CANCELLED, 10, "cancelled")

typedef enum tare_status {
#define TARE_STATUS_ENUM(name, number, text) TARE_##name = number,
    TARE_STATUS_LIST(TARE_STATUS_ENUM)
#undef TARE_STATUS_ENUM
} tare_status;

/* The short text of a status ("corrupt"). Static; "unknown status" for a number not in the list. */
TARE_API const char *tare_status_text(tare_status status);

/* ---- strings --------------------------------------------------------------------------------- */

/* Bytes from a file: not NUL-terminated, may hold any byte. Lives as long as its owner. */
typedef struct tare_str {
    const char *ptr;
    size_t len;
} tare_str;

/* ---- byte order ------------------------------------------------------------------------------ */

typedef enum tare_byte_order {
    TARE_ORDER_KEEP = 0, /* the source's where it has one, else little */
    TARE_ORDER_LITTLE = 1,
    TARE_ORDER_BIG = 2,
} tare_byte_order;

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum tare_item_kind {
    TARE_ITEM_NONE = 0,
    TARE_ITEM_TENSOR = 1,
    TARE_ITEM_KEY = 2,
    TARE_ITEM_RESOURCE = 3,
    TARE_ITEM_ADAPTER = 4,
} tare_item_kind;

#define TARE_NO_OFFSET UINT64_MAX

/* Where and why something failed. A plain value: copy it freely, nothing to free. */
typedef struct tare_error {
    tare_status status;
    tare_item_kind item_kind;
    int64_t item;     /* index of the tensor, key, resource or adapter in its list; -1: none */
    uint64_t offset;  /* byte in `file`; TARE_NO_OFFSET: none */
    int os_error;     /* errno of a failed system call, else 0 */
    const char *what; /* static: the field and what was expected; never NULL after a failure */
    const char *code; /* static: identifies the fault for programs, one of those below; or NULL */
    char item_name[112]; /* name of the item, escaped, cut with "..."; empty: none */
    char field[64];      /* where in a text of fields: "tensors[3].offset_scales"; empty: `what`
                            says it */
    char file[112];      /* the file the offset is in, a long path cut in front; empty: the only or
                            main input */
} tare_error;

/* Faults that a caller may want to word itself. Codes never change; the list may grow. */
#define TARE_CODE_OUTPUT_EXISTS    "output.exists"         /* and `force` is off */
#define TARE_CODE_OUTPUT_WRITE     "output.write"          /* the system cannot write it */
#define TARE_CODE_OUTPUT_IS_INPUT  "output.is-input"       /* or a base, or holds one of them */
#define TARE_CODE_OUTPUT_FORMAT    "output.format"         /* neither named nor told by the path */
#define TARE_CODE_UNKNOWN_FORMAT   "open.unknown-format"   /* of an input */
#define TARE_CODE_CANNOT_HOLD      "convert.cannot-hold"   /* the requested type */
#define TARE_CODE_CANNOT_ENCODE    "convert.cannot-encode" /* the same, in any format */
#define TARE_CODE_NOT_RUNNABLE     "convert.not-runnable"  /* by llama.cpp, and `force` is off */
#define TARE_CODE_NEEDS_IMPORTANCE "convert.needs-importance" /* no importance matrix was given */
#define TARE_CODE_UNKNOWN_MIX      "quantize.unknown-mix"     /* there is none of this name */
#define TARE_CODE_QUANTIZED        "quantize.again"           /* and `allow_requantize` is off */
#define TARE_CODE_NEEDS_BASE       "wcodec.base"              /* a model it was packed against */
#define TARE_CODE_PACKED_DAMAGED   "wcodec.damaged"    /* unpacking with `salvage` may help */
#define TARE_CODE_NOT_ALIGNED      "model.not-aligned" /* where bytes lie in memory */
#define TARE_CODE_NOT_FOUND        "remote.not-found"  /* the server has no such file */

/* Findings about what loading a pickle in Python would import or call; tare does neither. */
#define TARE_CODE_PICKLE_NAME "pickle.name"      /* not by PyTorch itself: a note */
#define TARE_CODE_PICKLE_RUNS "pickle.runs-code" /* that can run any code: an error */
#define TARE_CODE_REPORT_LOST "report.lost"      /* the findings are not all: no memory */

/* Writes one line without newline, "model.gguf: byte 1832: tensor 7 "blk.0.attn_q.weight":
 * dimensions overflow", at most size - 1 bytes and a NUL. `path` names the input where err->file
 * is empty; may be NULL. Control characters are escaped. Returns the length the whole text has. */
TARE_API size_t tare_error_format(char *buf, size_t size, const tare_error *err, const char *path);

/* Escapes bytes for a terminal: printable UTF-8 stays, control characters (those that turn the
 * direction of writing among them), bad UTF-8, backslash and (if `quote`) the double quote become
 * \n, \t, \", \\, \xNN. Writes at most size - 1 bytes and a NUL; never cuts an escape in two.
 * Returns the length the whole text has. */
TARE_API size_t tare_str_escape(char *buf, size_t size, tare_str text, bool quote);
/* Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
TARE_API bool tare_str_is_utf8(tare_str text);
/* Whether a text is JSON, an object (as Python writes it), and has a member of that
 * name. */
TARE_API bool tare_json_has_member(tare_str text, const char *name);

/* ---- memory ---------------------------------------------------------------------------------- */

/* The caller's allocator. `resize` gets the old size and may move; all three must be thread safe.
 * alloc(0) is never called. The struct must outlive everything made with it. */
typedef struct tare_allocator {
    void *ctx;
    void *(*alloc)(void *ctx, size_t size);
    void *(*resize)(void *ctx, void *ptr, size_t old_size, size_t new_size);
    void (*free)(void *ctx, void *ptr, size_t size);
} tare_allocator;

/* ---- files in memory ------------------------------------------------------------------------- */

/* Whether files are mapped into memory; one that cannot be (its file system has no way to) is read
 * all the same. If a file is truncated while it is mapped, access to the missing part raises
 * SIGBUS. */
typedef enum tare_map_mode {
    TARE_MAP_NONE = 0,
    TARE_MAP_READ = 1,    /* read only, shared with all that map the file */
    TARE_MAP_PRIVATE = 2, /* writable: what is written stays in this process (copy on write) */
} tare_map_mode;

/* ---- limits ---------------------------------------------------------------------------------- */

/* The most that a reader accepts; beyond it: TARE_ERR_LIMIT. */
typedef struct tare_limits {
    size_t size;
    uint64_t tensors;            /* 2^24 */
    uint64_t keys;               /* 2^20 */
    uint64_t array_elements;     /* 2^30 in one array */
    uint64_t name_bytes;         /* 65,535: tensor names and keys */
    uint64_t metadata_bytes;     /* 1 GiB: the directory of one file, tensor infos included */
    uint64_t safetensors_header; /* 100,000,000 */
    uint64_t resource_bytes;     /* 64 MiB: larger side files are not part of the model */
    uint32_t dims;               /* 8; a larger number here is taken as 8 */
    uint32_t nesting;            /* 8 levels of arrays; more than 30 is taken as 30 */
    uint32_t shards;             /* 65,535 */
} tare_limits;

TARE_DECLARE_INIT(tare_limits)

/* ---- reports --------------------------------------------------------------------------------- */

typedef enum tare_level {
    TARE_LEVEL_INFO = 0,
    TARE_LEVEL_WARNING = 1,
    TARE_LEVEL_ERROR = 2,
} tare_level;

/* One finding. `code` is a static identifier that scripts may match ("gguf.padding-nonzero");
 * `text` says it in words. Strings live until tare_report_free. */
typedef struct tare_finding {
    tare_level level;
    tare_status status; /* the status it would be, were it fatal */
    tare_item_kind item_kind;
    int64_t item;    /* -1: none */
    uint64_t offset; /* TARE_NO_OFFSET: none */
    const char *code;
    tare_str file;      /* empty: the only input */
    tare_str item_name; /* raw bytes; empty: none */
    tare_str text;
} tare_finding;

/* A growing list of findings. One for which there is no memory is not silent: a last finding, an error
 * (TARE_CODE_REPORT_LOST), says that the list is not whole. Threads: calls that add to it may run at the same time; it must not
 * be read or freed meanwhile. */
typedef struct tare_report tare_report;

/* A new empty report; NULL when out of memory. Free with tare_report_free. */
TARE_API tare_report *tare_report_new(void);
TARE_API void tare_report_free(tare_report *report);
TARE_API size_t tare_report_count(const tare_report *report);
/* How many findings have at least this level. */
TARE_API size_t tare_report_count_level(const tare_report *report, tare_level level);
/* The i-th finding, NULL beyond the end. Borrowed; valid until the next add or free. */
TARE_API const tare_finding *tare_report_at(const tare_report *report, size_t i);
/* Removes the findings with this code, for callers who report them in other words. NULL: nothing
 * happens. */
TARE_API void tare_report_remove(tare_report *report, const char *code);

/* ---- progress -------------------------------------------------------------------------------- */

/* Called now and then, from the thread that called the library, with work done and total in bytes
 * (total 0: unknown). Return true to stop: the call cleans up and returns TARE_ERR_CANCELLED. */
typedef bool (*tare_progress_fn)(void *ctx, uint64_t done, uint64_t total);

/* ---- cancelling ------------------------------------------------------------------------------ */

/* A flag that stops the calls that have it in their options: they clean up and return
 * TARE_ERR_CANCELLED. Long work checks it every few milliseconds; a single system call (such as
 * waiting for the disk) and zstd at its highest level, within a segment, are not interrupted.
 * Threads: everything except freeing may be called at any time, tare_cancel_request from a signal
 * handler too. It must outlive the calls that use it. */
typedef struct tare_cancel tare_cancel;

/* A new flag, not raised; NULL when out of memory. Free with tare_cancel_free. */
TARE_API tare_cancel *tare_cancel_new(void);
TARE_API void tare_cancel_free(tare_cancel *cancel);
TARE_API void tare_cancel_request(tare_cancel *cancel);
TARE_API bool tare_cancel_is_requested(const tare_cancel *cancel);
/* Withdraws the request, so that the flag can be used again. */
TARE_API void tare_cancel_reset(tare_cancel *cancel);

/* ---- threads of the caller ------------------------------------------------------------------- */

/* Runs body(body_ctx, i) once for each i below n, on any threads, at the same time or one after
 * the other, and returns when all have returned: a caller's own thread pool. Each body takes work
 * while there is some, so bodies that start late may find none. */
typedef void (*tare_parallel_fn)(void *ctx, unsigned n, void (*body)(void *body_ctx, unsigned i),
                                 void *body_ctx);

/* ---- context --------------------------------------------------------------------------------- */

/* What a call works with, and whom it tells. One can serve many calls. It is copied, but what it
 * points to must outlive the call and what the call makes. */
typedef struct tare_context {
    size_t size;
    unsigned threads;          /* 0: what affinity and cgroup allow */
    tare_parallel_fn parallel; /* the caller's threads; NULL: some that live as long as the call.
                                  Progress is then called from one of them at a time */
    void *parallel_ctx;
    tare_progress_fn progress; /* NULL: nobody wants to know */
    void *progress_ctx;
    const tare_cancel *cancel;       /* may be NULL */
    const tare_allocator *allocator; /* NULL: malloc */
    const tare_limits *limits;       /* NULL: the defaults */
    tare_report *report;             /* findings; may be NULL */
} tare_context;
TARE_DECLARE_INIT(tare_context)

/* ---- CPU ------------------------------------------------------------------------------------- */

/* The levels of instruction sets that kernels may use, by name, each with all before it: "c" (none),
 * "avx2" (with FMA, F16C, BMI2), "avx512" (F, BW, DQ, VL), "vbmi2" (AVX-512 VBMI and VBMI2, GFNI,
 * VPCLMULQDQ); other processors will have others. NULL beyond the end. Static, like all these names. */
TARE_API const char *tare_cpu_level(size_t i);
/* The highest that this machine has. */
TARE_API const char *tare_cpu_detect(void);
/* Restricts all kernels to a level. For tests, or in case of doubt; call it before other threads use
 * the library. Results never depend on it. ARG: there is no such level; UNSUPPORTED: this machine
 * lacks it. */
TARE_API tare_status tare_cpu_limit(const char *level, tare_error *err);
/* The level in force. */
TARE_API const char *tare_cpu_active(void);

#ifdef __cplusplus
}
#endif
#endif
