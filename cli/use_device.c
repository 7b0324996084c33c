/* SPDX-License-Identifier: MIT
 *
 * --device: a GPU that decodes the layers of a .wcodec. It is opened once; without it, or where it
 * cannot be used, the CPU decodes, which is said once. */
#include "cli.h"

#include <inttypes.h>
#include <tare/experimental/device.h>

static tare_device *device;
static bool is_tried;

static void note(const char *text) {
    if (!cli.quiet) fprintf(cli_error_stream(), "tare: note: %s: %s\n", cli.device, text);
}

tare_status cli_device(tare_device **out, tare_error *err) {
    *out = device;
    if (!cli.device || is_tried) return TARE_OK;
    tare_status status = tare_device_open(&device, cli.device, err);
    *out = device;
    if (status == TARE_ERR_ARG || status == TARE_ERR_NOMEM) return status;
    is_tried = true;
    if (status == TARE_OK) return TARE_OK;
    char text[256];
    snprintf(text, sizeof text, "%s; the CPU decodes", err->what);
    note(text);
    return TARE_OK;
}

const char *cli_device_name(void) {
    return device ? tare_device_name(device) : NULL;
}

void cli_device_free(void) {
    tare_device_counts counts = tare_device_counts_default();
    if (!device) return;
    if (tare_device_count(&counts, device) == TARE_OK && counts.n_left) {
        char text[256];
        snprintf(text, sizeof text, "the CPU decoded %" PRIu64 " of %" PRIu64 " layers: %s",
                 counts.n_left, counts.n_left + counts.n_layers, counts.reason);
        note(text);
    }
    tare_device_free(device);
    device = NULL;
}
