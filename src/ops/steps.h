/* SPDX-License-Identifier: MIT
 *
 * Combined progress of work in several steps: it never goes back and has a single total, whatever
 * runs are part of it. */
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

/* The step at hand, of so many bytes, is over. */
void tare_steps_end(tare_steps *steps, uint64_t bytes);

/* The context of a step that is part of the whole: the same, but for the progress, which goes
 * through `steps`. */
tare_context tare_steps_context(const tare_context *whole, tare_steps *steps);
/* The same for a step that does not count: the progress stays where it is, and can stop the work. */
tare_context tare_steps_context_retain(const tare_context *whole, tare_steps *steps);
/* For a step that tells nobody how far it is. */
tare_context tare_steps_context_quiet(const tare_context *whole);

#endif
