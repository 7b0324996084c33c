/* SPDX-License-Identifier: MIT
 *
 * Combined progress of work in several steps: it never goes back and has a single total. Also,
 * which options a run passes on to another run that is part of it. */
#ifndef TARE_OPS_STEPS_H
#define TARE_OPS_STEPS_H

#include <tare/base.h>

typedef struct tare_steps {
    tare_progress_fn progress; /* NULL: nobody wants to know */
    void *ctx;
    uint64_t done, total; /* bytes of the steps before, of all */
    uint64_t shown;       /* bytes that all the work represents, if some are read more than once:
                             the progress reported is scaled to them; 0: total */
} tare_steps;

/* The progress of the step at hand; `steps` is the context. */
bool tare_steps_tell(void *steps, uint64_t done, uint64_t total);
/* The same for a step that does not count: the progress stays where it is, and can stop the work. */
bool tare_steps_stay(void *steps, uint64_t done, uint64_t total);
/* The step at hand, of so many bytes, is over. */
void tare_steps_end(tare_steps *steps, uint64_t bytes);

/* Threads, cancelling, memory and findings: the options that a step shares with the whole, whatever
 * the types of the two structs. Progress goes through steps. */
#define TARE_COPY_RUN_OPTIONS(to, from)                                                            \
    ((to)->threads = (from)->threads, (to)->parallel = (from)->parallel,                           \
     (to)->parallel_ctx = (from)->parallel_ctx, (to)->cancel = (from)->cancel,                     \
     (to)->allocator = (from)->allocator, (to)->report = (from)->report)
/* And how an output is written. */
#define TARE_COPY_RUN_OPTIONS_OUTPUT(to, from)                                                     \
    (TARE_COPY_RUN_OPTIONS(to, from), (to)->force = (from)->force, (to)->no_sync = (from)->no_sync)
/* For a step that does not count. */
#define TARE_RUN_STAY(steps)                                                                       \
    .progress = (steps)->progress ? tare_steps_stay : NULL, .progress_ctx = (steps)
#define TARE_COPY_RUN_OPTIONS_STEPS(to, steps)                                                     \
    ((to)->progress = (steps)->progress ? tare_steps_tell : NULL, (to)->progress_ctx = (steps))

#endif
