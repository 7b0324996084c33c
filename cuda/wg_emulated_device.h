/* SPDX-License-Identifier: MIT
 *
 * What tests can ask of the emulated device: how often it was used, and to record work like the
 * capture of a CUDA graph, during which nothing may be allocated, copied or waited for. */
#ifndef TARE_CUDA_WG_EMULATED_DEVICE_H
#define TARE_CUDA_WG_EMULATED_DEVICE_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_device_counts {
    uint64_t n_memory, n_copies, n_waits; /* allocations and releases; both directions */
    uint64_t n_enqueued;
} wg_device_counts;

TARE_API wg_device_counts wg_device_count(void);
/* From now on this thread's work is recorded and not done, in place of what was recorded before;
 * whatever needs the device at once fails. */
TARE_API void wg_device_begin_capture(void);
TARE_API void wg_device_end_capture(void);
/* Does what was recorded. */
TARE_API void wg_device_replay(void);

#ifdef __cplusplus
}
#endif
#endif
