/* SPDX-License-Identifier: MIT
 *
 * A device that is no GPU: memory of the process, kernels in the emulation of wg_emulated.h, warps
 * one after the other in an order that changes. What is enqueued on a stream is done as late as it
 * may be: when somebody waits for it. For tests. */
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>

#include "wg_device.h"
#include "wg_emulated_device.h"
#include "wg_fast.h"
#include "wg_plan.h"
#include "wg_reference.h"
#include "wg_reread.h"
#include "wg_segment.h"

/* 0 .. n - 1 in some order. */
static std::vector<uint32_t> shuffled(uint32_t n) {
    std::vector<uint32_t> order(n);
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n; i > 1; i--) std::swap(order[i - 1], order[wg_random() / 7 % i]);
    return order;
}

static void run_general(const wg_call &call) {
    for (uint32_t i : shuffled(call.n_jobs)) {
        /* Exactly as much as a warp has: what is read or written beyond is found. */
        std::vector<uint8_t> bytes(WG_PAGE), values(WG_PAGE);
        const wg_job *job = wg_job_of(call.image, call.first_job + i);
        uint32_t runs = job->n_classes ? (job->n_positions + WG_CLASS_RUN - 1) / WG_CLASS_RUN : 0;
        wg_pages pages = {{bytes.data(), WG_PAGE},
                          {values.data(), WG_PAGE},
                          {call.scratch + job->scratch, (runs + 63) / 64 * 64}};
        wg_decode(call, call.first_job + i, pages);
    }
}

static void run_predict(const wg_call &call) {
    for (uint32_t i : shuffled(call.n_jobs)) {
        std::vector<uint8_t> of_bytes(WG_PAGE), of_values(WG_PAGE);
        wg_memory bytes(of_bytes.data(), WG_PAGE), values(of_values.data(), WG_PAGE);
        wg_predict_segment(call, call.first_job + i, bytes, values);
    }
}

template <class F> static void run_fast(const wg_call &call) {
    for (uint32_t i : shuffled(call.n_blocks)) {
        const wg_block &block = wg_block_of(call, i);
        std::unique_ptr<wg_fast_table<F>> table(new wg_fast_table<F>);
        for (uint32_t thread : shuffled(WG_WARPS * WG_LANES))
            wg_begin_block<F>(*table, call, block, thread, WG_WARPS * WG_LANES);
        for (uint32_t warp : shuffled(block.n))
            wg_decode_fast<F>(
                call, [&] { return block.first + warp; }, *table);
    }
}

static void run(const wg_call &call) {
    switch (call.kernel) {
#define RUN(name, ...)                                                                             \
    case name:                                                                                     \
        run_fast<__VA_ARGS__>(call);                                                               \
        break;
        WG_FAST_LIST(RUN)
    case WG_CHECK:
        for (uint32_t i : shuffled(call.n_jobs))
            wg_check_segment(call, [&] { return call.first_job + i; });
        break;
    case WG_PREDICT:
        run_predict(call);
        break;
    default:
        run_general(call);
        break;
    }
}

static void reset(wg_faults *faults) {
    faults->first = WG_NO_FAULT;
    faults->n = 0;
}

/* ---- how it was used ------------------------------------------------------------------------- */

typedef std::function<void()> work;

/* The default one, NULL, is never behind. */
struct emulated_stream {
    std::deque<work> queue;
    uint64_t n_done = 0, n_enqueued = 0;
};
struct emulated_mark {
    emulated_stream *stream = nullptr;
    uint64_t at = 0; /* works of the stream before it */
};

/* Of all threads; they stay, for marks may outlive their streams. */
static std::mutex streams_mutex;
static std::vector<std::unique_ptr<emulated_stream>> streams;

/* As much as it says that it has; sanitizers end a program that asks malloc for very much. */
static const size_t MEMORY = (size_t)1 << 40;

static std::atomic<bool> is_prepared;
static thread_local wg_device_counts counts;
static thread_local bool is_capturing;
static thread_local std::vector<work> captured;

static tare_status enqueue(void *stream, const work &w) {
    emulated_stream *s = static_cast<emulated_stream *>(stream);
    counts.n_enqueued++;
    if (is_capturing) {
        captured.push_back(w);
    } else if (s) {
        s->n_enqueued++;
        s->queue.push_back(w);
    } else {
        w();
    }
    return TARE_OK;
}

static void work_up_to(emulated_stream *s, uint64_t n) {
    while (s && s->n_done < n) {
        work next = s->queue.front();
        s->queue.pop_front();
        s->n_done++;
        next();
    }
}

/* Counts what needs the device at once. */
static tare_status at_once(uint64_t &n, tare_error *err) {
    n++;
    if (!is_capturing) return TARE_OK;
    return wg_fail(err, TARE_ERR_IO, -1, "the device: not while its work is captured");
}

extern "C" {

wg_device_counts wg_device_count(void) {
    return counts;
}

void wg_device_begin_capture(void) {
    is_capturing = true;
    captured.clear();
}

void wg_device_end_capture(void) {
    is_capturing = false;
}

void wg_device_replay(void) {
    for (const work &w : captured) w();
}

/* ---- what wg_device.h asks for --------------------------------------------------------------- */

tare_status wg_device_open(char name[WG_NAME], int device, tare_error *err) {
    if (device != 0)
        return wg_fail(err, TARE_ERR_UNSUPPORTED, -1, "device: there is only number 0");
    strcpy(name, "emulated");
    return TARE_OK;
}

tare_status wg_device_prepare(int, tare_error *err) {
    uint64_t n = 0;
    tare_status status = at_once(n, err);
    if (status == TARE_OK) is_prepared = true;
    return status;
}

tare_status wg_device_alloc(void **out, int, size_t n, tare_error *err) {
    tare_status status = at_once(counts.n_memory, err);
    if (status != TARE_OK) return status;
    *out = nullptr;
    if (n > MEMORY) return wg_fail(err, TARE_ERR_NOMEM, -1, "memory of the device");
    if (posix_memalign(out, 256, n ? n : 1)) *out = nullptr; /* as a GPU aligns it */
    return *out ? TARE_OK : wg_fail(err, TARE_ERR_NOMEM, -1, "memory of the device");
}

void wg_device_release(int, void *memory) {
    counts.n_memory++;
    free(memory);
}

static tare_status copy(void *to, const void *from, size_t n, tare_error *err) {
    tare_status status = at_once(counts.n_copies, err);
    if (status == TARE_OK && n) memcpy(to, from, n);
    return status;
}
tare_status wg_device_upload(void *to, int, const void *from, size_t n, tare_error *err) {
    return copy(to, from, n, err);
}
tare_status wg_device_download(void *to, int, const void *from, size_t n, tare_error *err) {
    return copy(to, from, n, err);
}

tare_status wg_device_alloc_host(void **out, int device, size_t n, tare_error *err) {
    return wg_device_alloc(out, device, n, err);
}
void wg_device_release_host(int device, void *memory) {
    wg_device_release(device, memory);
}

tare_status wg_device_new_stream(void **out, int, tare_error *) {
    std::lock_guard<std::mutex> lock(streams_mutex);
    streams.emplace_back(new emulated_stream);
    *out = streams.back().get();
    return TARE_OK;
}
void wg_device_free_stream(int device, void *stream) {
    wg_device_wait(device, stream, nullptr);
}
tare_status wg_device_wait(int, void *stream, tare_error *err) {
    emulated_stream *s = static_cast<emulated_stream *>(stream);
    tare_status status = at_once(counts.n_waits, err);
    if (status == TARE_OK && s) work_up_to(s, s->n_enqueued);
    return status;
}

tare_status wg_device_new_mark(void **out, int, tare_error *err) {
    *out = new (std::nothrow) emulated_mark;
    return *out ? TARE_OK : wg_fail(err, TARE_ERR_NOMEM, -1, "event of the device");
}
void wg_device_free_mark(int, void *mark) {
    delete static_cast<emulated_mark *>(mark);
}
tare_status wg_device_set_mark(void *mark, int, void *stream, tare_error *) {
    emulated_mark *m = static_cast<emulated_mark *>(mark);
    m->stream = static_cast<emulated_stream *>(stream);
    m->at = m->stream ? m->stream->n_enqueued : 0;
    return TARE_OK;
}
tare_status wg_device_wait_mark(int, void *mark, tare_error *err) {
    const emulated_mark *m = static_cast<emulated_mark *>(mark);
    tare_status status = at_once(counts.n_waits, err);
    if (status == TARE_OK) work_up_to(m->stream, m->at);
    return status;
}

tare_status wg_device_send(void *to, int, const void *from, size_t n, void *stream, tare_error *) {
    return enqueue(stream, [=] { memcpy(to, from, n); });
}
tare_status wg_device_post(void *to, int, const void *from, size_t n, void *stream, tare_error *) {
    const uint8_t *bytes = static_cast<const uint8_t *>(from);
    std::vector<uint8_t> own(bytes, bytes + n);
    return enqueue(stream, [=] { memcpy(to, own.data(), n); });
}

tare_status wg_device_reset(wg_faults *faults, int, void *stream, tare_error *) {
    return enqueue(stream, [=] { reset(faults); });
}

tare_status wg_device_launch(const wg_call *call, int, void *stream, tare_error *err) {
    const wg_call own = *call;
    if (!is_prepared) return wg_fail(err, TARE_ERR_IO, -1, "the device: its kernels are not there");
    return enqueue(stream, [=] { run(own); });
}
}
