/* SPDX-License-Identifier: MIT
 *
 * Options of convert and quantize that only one container understands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool parse_bound(const cli_command *command, const char *name, const char *text,
                        float *out) {
    char *end;
    *out = strtof(text, &end);
    if (end != text && *end == '\0' && isfinite(*out)) return true;
    cli_usage(command, "--%s: \"%s\" is not a finite number", name, text);
    return false;
}

/* Both bounds or none. */
static bool parse_clip(const cli_command *command, tare_convert_mcf_options *options,
                       const cli_write *write) {
    options->has_clip = write->min_clip || write->max_clip;
    if (!options->has_clip) return true;
    if (!write->min_clip || !write->max_clip) {
        cli_usage(command, "--min-clip and --max-clip go together");
        return false;
    }
    return parse_bound(command, "min-clip", write->min_clip, &options->clip_min) &&
           parse_bound(command, "max-clip", write->max_clip, &options->clip_max);
}

/* 0 switches outliers off, which for the library is a threshold that nothing exceeds. */
static bool parse_outliers(const cli_command *command, tare_convert_infq_options *options,
                           const cli_write *write) {
    const char *share = write->outliers;
    char *end;
    if (write->outlier_threshold && share) {
        cli_usage(command, "--outlier-threshold and --outliers exclude each other");
        return false;
    }
    if (write->outlier_threshold) {
        float *t = &options->outlier_threshold;
        if (!parse_bound(command, "outlier-threshold", write->outlier_threshold, t)) return false;
        if (*t < 0) {
            cli_usage(command, "--outlier-threshold: a magnitude, at least 0");
            return false;
        }
        if (*t == 0) *t = INFINITY;
    }
    if (!share) return true;
    options->outlier_share = strtod(share, &end) / 100;
    if (end != share && strcmp(end, "%") == 0 && options->outlier_share > 0 &&
        options->outlier_share <= 1)
        return true;
    cli_usage(command, "--outliers: a share like 0.1%%, above 0 and at most 100%%");
    return false;
}

bool cli_containers_fill(cli_containers *c, const cli_command *command, const cli_write *write) {
    if (write->compat) c->mcf.compat = TARE_COMPAT_MANTLE;
    if (write->dedup && *write->dedup != 't')
        c->mcf.dedup = *write->dedup == 'a' ? TARE_DEDUP_ALL : TARE_DEDUP_NONE;
    c->wcodec.effort = cli_effort();
    return parse_clip(command, &c->mcf, write) && parse_outliers(command, &c->infq, write);
}
