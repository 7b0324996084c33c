/* SPDX-License-Identifier: MIT
 *
 * How functions fail. The place that finds a fault fills the tare_error once; everything above
 * passes the status on with TARE_TRY. */
#ifndef TARE_BASE_STATUS_H
#define TARE_BASE_STATUS_H

#include <tare/base.h>
#include <tare/output.h>

/* Returns a failing status to the caller. TARE_TRACE builds tell where. */
#ifdef TARE_TRACE
void tare_trace(const char *file, int line, tare_status status);
#define TARE_TRY(expr)                                                                             \
    do {                                                                                           \
        tare_status tare_try_status_ = (expr);                                                     \
        if (tare_try_status_ != TARE_OK) {                                                         \
            tare_trace(__FILE__, __LINE__, tare_try_status_);                                      \
            return tare_try_status_;                                                               \
        }                                                                                          \
    } while (0)
#else
#define TARE_TRY(expr)                                                                             \
    do {                                                                                           \
        tare_status tare_try_status_ = (expr);                                                     \
        if (tare_try_status_ != TARE_OK) return tare_try_status_;                                  \
    } while (0)
#endif

/* Public entry points check their arguments with it. */
#define TARE_REQUIRE(cond, err)                                                                    \
    do {                                                                                           \
        if (!(cond)) return tare_fail(err, TARE_ERR_ARG, "wrong argument: " #cond);                \
    } while (0)

/* Sets *err (which may be NULL) to a fault without a place; returns status. */
tare_status tare_fail(tare_error *err, tare_status status, const char *what);
/* A fault that callers may recognise by its code. */
tare_status tare_fail_code(tare_error *err, tare_status status, const char *code, const char *what);
/* A fault at a byte of the (current) file. */
tare_status tare_fail_at(tare_error *err, tare_status status, uint64_t offset, const char *what);
/* A failed system call: errno decides between IO, NOMEM and NOSPACE. */
tare_status tare_fail_errno(tare_error *err, int os_error, const char *what);
/* Gives a fault its code. */
void tare_error_code(tare_error *err, const char *code);
/* Whether the fault is a missing file, in the file system or on a server. */
bool tare_error_is_absent(const tare_error *err);
/* Add what a lower layer could not know. Each returns err->status (never rely on OK when err is
 * NULL: pass the status along yourself). A name or file that is already set stays. */
void tare_error_item(tare_error *err, tare_item_kind kind, int64_t item, tare_str name);
/* Fills the place of `field` with what was found, cut to its room. */
void tare_error_detail(tare_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tare_error_file(tare_error *err, const char *file);
/* "list[index].part.field"; `part` and `field` may be NULL. A field that is set already stays. */
void tare_error_field(tare_error *err, const char *list, size_t index, const char *part,
                      const char *field);

/* Whether a fault is in the data at hand, so that other data may be fine. */
bool tare_status_is_loss(tare_status status);

#define TARE_ERROR_NONE                                                                            \
    ((tare_error){TARE_OK, TARE_ITEM_NONE, -1, TARE_NO_OFFSET, 0, "", NULL, {0}, {0}, {0}})

/* Reads a caller's options struct of any known size into ours, which holds the defaults. Fails
 * with ERR_ARG where a larger struct has a tail that is not zero. Both begin with size_t size. */
tare_status tare_options_read(void *ours, size_t our_size, const void *theirs, tare_error *err);
/* Fills a caller's struct, of which it knows the first `size` bytes, with defaults; its first
 * member becomes that size. */
void tare_options_fill(void *theirs, size_t size, const void *defaults, size_t our_size);
/* Defines tare_NAME_init for a public struct whose members are 0 unless they are stated. */
#define TARE_DEFINE_INIT(type) TARE_DEFINE_INIT_WITH(type, .size = sizeof(type))
#define TARE_DEFINE_INIT_WITH(type, ...)                                                           \
    void type##_init(type *x, size_t size) {                                                       \
        static const type defaults = {__VA_ARGS__};                                                \
        tare_options_fill(x, size, &defaults, sizeof defaults);                                    \
    }

/* Reads the context that options point to, NULL for the defaults, into *own, and lets them point to
 * that: what is below an entry of the library has a complete one. */
tare_status tare_context_keep(tare_context *own, const tare_context **context, tare_error *err);
tare_status tare_output_keep(tare_output_options *own, const tare_output_options **output,
                             tare_error *err);

/* The size stated in a caller's result struct. ERR_ARG: it is not initialised. */
tare_status tare_result_check(const void *theirs, tare_error *err);
/* Copies out as much of a result as the caller's struct has room for. Keeps its size; a struct that
 * is not initialised stays as it is. */
void tare_result_write(void *theirs, const void *ours, size_t our_size);

#endif
