/* SPDX-License-Identifier: MIT
 *
 * A thread-safe growing list of findings. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/report.h"
#include "base/str.h"

struct tare_report {
    pthread_mutex_t mutex;
    tare_arena arena; /* of the strings */
    tare_finding *findings;
    size_t n, capacity;
    size_t n_of_level[3];
    bool is_cut; /* a finding was lost; `lost`, behind the others, says so */
};

static const tare_finding lost = {
    .level = TARE_LEVEL_ERROR,
    .status = TARE_ERR_NOMEM,
    .code = TARE_CODE_REPORT_LOST,
    .offset = TARE_NO_OFFSET,
    .item = -1,
    .text = {"no memory for all findings", 26},
};

tare_report *tare_report_new(void) {
    tare_report *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    if (pthread_mutex_init(&r->mutex, NULL)) {
        free(r);
        return NULL;
    }
    tare_arena_init(&r->arena, NULL);
    return r;
}

void tare_report_free(tare_report *report) {
    if (!report) return;
    pthread_mutex_destroy(&report->mutex);
    tare_arena_free(&report->arena);
    free(report->findings);
    free(report);
}

size_t tare_report_count(const tare_report *report) {
    return report ? report->n + report->is_cut : 0;
}

size_t tare_report_count_level(const tare_report *report, tare_level level) {
    size_t n = 0;
    for (int l = (int)level; report && l <= TARE_LEVEL_ERROR; l++) n += report->n_of_level[l];
    return n;
}

const tare_finding *tare_report_at(const tare_report *report, size_t i) {
    if (!report || i >= tare_report_count(report)) return NULL;
    return i < report->n ? &report->findings[i] : &lost;
}

void tare_report_add(tare_report *report, const tare_finding *finding) {
    if (!report) return;
    pthread_mutex_lock(&report->mutex);
    void *list = report->findings;
    if (tare_grow(NULL, &list, &report->capacity, report->n + 1, sizeof *finding)) {
        report->findings = list;
        tare_finding *mine = &report->findings[report->n++];
        report->n_of_level[finding->level]++;
        *mine = *finding;
        mine->file = tare_arena_str(&report->arena, finding->file);
        mine->item_name = tare_arena_str(&report->arena, finding->item_name);
        mine->text = tare_arena_str(&report->arena, finding->text);
    } else if (!report->is_cut) {
        report->is_cut = true;
        report->n_of_level[TARE_LEVEL_ERROR]++;
    }
    pthread_mutex_unlock(&report->mutex);
}

void tare_report_addf(tare_report *report, const tare_finding *finding, const char *format, ...) {
    if (!report) return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tare_finding f = *finding;
    f.text = tare_str_of(text);
    tare_report_add(report, &f);
}

void tare_report_remove(tare_report *report, const char *code) {
    size_t n = 0;
    for (size_t i = 0; report && i < report->n; i++) {
        const tare_finding *f = &report->findings[i];
        if (f->code && strcmp(f->code, code) == 0)
            report->n_of_level[f->level]--;
        else
            report->findings[n++] = *f;
    }
    if (report) report->n = n;
}
