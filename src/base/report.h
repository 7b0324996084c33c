/* SPDX-License-Identifier: MIT
 *
 * Adding to a report. */
#ifndef TARE_BASE_REPORT_H
#define TARE_BASE_REPORT_H

#include "base/status.h"

/* Adds a finding; if `finding->text` is empty, it is made from format and its arguments. Strings
 * are copied. Thread safe. With report NULL nothing happens; when out of memory, the finding is
 * counted and its strings are dropped. */
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
