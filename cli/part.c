/* SPDX-License-Identifier: MIT
 *
 * --part: which part of an output a command is to write, said by number or by what a scheduler put into
 * the environment. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- which part ------------------------------------------------------------------------------ */

/* A whole number and nothing else. */
static bool read_number(const char *text, size_t n, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || *out > TARE_PARTS_MOST * 100ull) return false;
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return n > 0;
}

static bool from_environment(const char *name, uint64_t *out) {
    const char *text = getenv(name);
    return text && read_number(text, strlen(text), out);
}

/* What a scheduler says; `counted` false: it does not say of how many. */
typedef struct share {
    const char *by; /* the variable that numbers it; NULL: it is not at work here */
    const char *wrong;
    uint64_t index, count; /* index from 1 */
} share;

/* An array of Slurm: its elements must be 0 to N-1 or 1 to N, or their number says nothing. */
static share of_slurm(void) {
    share s = {.by = "SLURM_ARRAY_TASK_ID"};
    uint64_t id, least, most;
    if (!getenv(s.by)) return (share){.by = NULL};
    if (!from_environment(s.by, &id) || !from_environment("SLURM_ARRAY_TASK_COUNT", &s.count) ||
        !from_environment("SLURM_ARRAY_TASK_MIN", &least) ||
        !from_environment("SLURM_ARRAY_TASK_MAX", &most))
        s.wrong = "with SLURM_ARRAY_TASK_ID, _COUNT, _MIN and _MAX must be numbers";
    else if (least > 1 || most + 1 - least != s.count)
        s.wrong = "the elements of the array must be 0 to N-1 or 1 to N (sbatch --array=0-6); to "
                  "run some of them again, give --part I/N";
    else
        s.index = id - least + 1;
    return s;
}

/* Numbered from 0 on, with a variable for the count. */
static share of_pair(const char *by, const char *count, const char *wrong) {
    share s = {.by = by};
    uint64_t index;
    if (!getenv(by)) return (share){.by = NULL};
    if (from_environment(by, &index) && from_environment(count, &s.count))
        s.index = index + 1;
    else
        s.wrong = wrong;
    return s;
}

static int find_share(share *out, const cli_command *command) {
    const share all[] = {
        of_slurm(),
        of_pair("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS",
                "with JOB_COMPLETION_INDEX, the Job must set JOB_COMPLETIONS to its number of "
                "completions"),
        of_pair("RANK", "WORLD_SIZE", "with RANK, WORLD_SIZE must be a number"),
    };
    *out = (share){.by = NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].by) continue;
        if (all[i].wrong) return cli_usage(command, "--part auto: %s", all[i].wrong);
        if (out->by && (out->index != all[i].index || out->count != all[i].count))
            return cli_usage(command,
                             "--part auto: %s and %s say different things; give --part I/N",
                             out->by, all[i].by);
        *out = all[i];
    }
    if (out->by) return CLI_YES;
    return cli_usage(command, "--part auto: none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX and "
                              "RANK is set");
}

static int read_share(share *out, const cli_command *command) {
    const char *slash = strchr(cli.part, '/');
    *out = (share){.by = "--part"};
    if (strcmp(cli.part, "auto") == 0) {
        const int code = find_share(out, command);
        if (code != CLI_YES) return code;
    } else if (!slash || !read_number(cli.part, (size_t)(slash - cli.part), &out->index) ||
               !read_number(slash + 1, strlen(slash + 1), &out->count)) {
        char *safe = cli_escape_path(cli.part);
        cli_usage(command, "--part: \"%s\" is not I/N, such as 2/7, or auto", safe);
        free(safe);
        return CLI_USAGE;
    }
    if (out->count >= 1 && out->count <= TARE_PARTS_MOST && out->index >= 1 &&
        out->index <= out->count)
        return CLI_YES;
    return cli_usage(command, "%s: part %" PRIu64 " of %" PRIu64 ": parts are 1 to N, N up to %u",
                     out->by, out->index, out->count, TARE_PARTS_MOST);
}

int cli_part_read(tare_part_options *out, const cli_command *command) {
    share s;
    *out = tare_part_options_default();
    if (!cli.part) return cli.shared ? cli_usage(command, "--shared needs --part I/N") : CLI_YES;
    const int code = read_share(&s, command);
    out->index = (uint32_t)s.index;
    out->count = (uint32_t)s.count;
    out->is_shared = cli.shared;
    return code;
}

int cli_part_check_output(const cli_command *command, const char *out_path) {
    if (strcmp(out_path, "-") == 0) return cli_usage(command, "--part needs a path as OUT");
    if (!tare_is_url(out_path)) return CLI_YES;
    return cli_usage(command,
                     "--part writes files: as OUT give a path on a file system that all machines "
                     "see, and then tare join OUT -o s3://BUCKET/KEY, which uploads the whole");
}

/* ---- what it depends on ---------------------------------------------------------------------- */

void cli_part_needs(tare_part_options *part, const char *path) {
    if (!path) return;
    const char **list = (const char **)(uintptr_t)part->inputs;
    list = cli_grow(list, part->n_inputs + 1, sizeof *list);
    list[part->n_inputs++] = cli_copy(path, strlen(path));
    part->inputs = list;
}

void cli_part_free(tare_part_options *part) {
    for (size_t i = 0; i < part->n_inputs; i++) free((void *)(uintptr_t)part->inputs[i]);
    free((void *)(uintptr_t)part->inputs);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void print_json(const tare_part_options *part, const tare_part_result *r,
                       const char *in_path, const char *out_path, const tare_report *report) {
    tare_json_node *document = cli_json_new("tare.part/2");
    cli_json_text(document, "input", in_path);
    cli_json_text(document, "output", out_path);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    cli_json_u64(document, "part", part->index);
    cli_json_u64(document, "part_count", part->count);
    cli_json_bool(document, "is_present", r->was_done);
    cli_json_u64(document, "offset", r->begin);
    cli_json_u64(document, "size_bytes", r->end - r->begin);
    cli_json_u64(document, "total_bytes", r->total_bytes);
    cli_json_u64(document, "work_bytes", r->work);
    cli_json_u64(document, "total_work_bytes", r->total_work);
    cli_json_add(document, "findings", cli_json_findings(report));
    cli_json_print(document);
}

void cli_part_print(const tare_part_options *part, const tare_part_result *r, const char *in_path,
                    const char *out_path, const tare_report *report) {
    if (cli.json) {
        print_json(part, r, in_path, out_path, report);
        return;
    }
    if (cli.quiet) return;
    char *name = cli_escape_path(out_path);
    printf("%s%s: part %" PRIu32 " of %" PRIu32 ", ",
           r->was_done   ? "there already: "
           : cli.dry_run ? "would write "
                         : "",
           name, part->index, part->count);
    printf("%s", cli_size_text(r->end - r->begin).text);
    printf(" of %s\n", cli_size_text(r->total_bytes).text);
    free(name);
}
