/* SPDX-License-Identifier: MIT
 *
 * Adding to a report. */
#ifndef TARE_BASE_REPORT_H
#define TARE_BASE_REPORT_H

#include "base/status.h"

/* Adds a finding; `finding->text` may be empty, then format and its arguments make it. Strings are
 * copied. Thread safe; report NULL: nothing happens; memory out: the finding is counted, its
 * strings are dropped. */
void tare_report_add(tare_report *report, const tare_finding *finding);
void tare_report_addf(tare_report *report, const tare_finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define TARE_FINDING(level_, status_, code_)                                                       \
    ((tare_finding){.level = TARE_LEVEL_##level_,                                                  \
                    .status = status_,                                                             \
                    .item = -1,                                                                    \
                    .offset = TARE_NO_OFFSET,                                                      \
                    .code = code_})

#endif
