/* SPDX-License-Identifier: MIT
 *
 * The GPU: the kernels, and memory, copies and launches by the CUDA runtime. */
#include <cuda_runtime.h>
#include <stdio.h>

#include "wg_device.h"
#include "wg_fast.h"
#include "wg_reference.h"
#include "wg_reread.h"
#include "wg_segment.h"

/* Warps of a block of kernels in which a warp has a segment, and blocks of an SM that has 64 registers
 * for each thread. Threads are (lane, warp): so neither number takes a register. */
enum { WARPS = 8, BLOCKS = 4 };

__device__ static uint32_t warp_of_block() {
    return wg_uniform(threadIdx.y);
}

__global__ void __launch_bounds__(WG_LANES *WARPS, BLOCKS) wg_decode_pages(wg_call call) {
    __shared__ uint8_t bytes[WARPS][WG_PAGE], values[WARPS][WG_PAGE];
    uint32_t warp = warp_of_block(), i = blockIdx.x * WARPS + warp;
    if (i >= call.n_jobs) return;
    i += call.first_job;
    wg_pages pages = {
        {bytes[warp]}, {values[warp]}, {call.scratch + wg_job_of(call.image, i)->scratch}};
    wg_decode(call, i, pages);
}

__global__ void __launch_bounds__(WG_LANES *WARPS, BLOCKS) wg_predict_all(wg_call call) {
    __shared__ uint8_t bytes[WARPS][WG_PAGE], values[WARPS][WG_PAGE];
    uint32_t warp = warp_of_block(), i = blockIdx.x * WARPS + warp;
    wg_memory of_bytes = {bytes[warp]}, of_values = {values[warp]};
    if (i < call.n_jobs) wg_predict_segment(call, call.first_job + i, of_bytes, of_values);
}

/* Segments that share a table. */
template <class F>
__global__ void __launch_bounds__(WG_LANES *WG_WARPS, 2) wg_decode_block(wg_call call) {
    __shared__ wg_fast_table<F> table;
    const wg_block &block = wg_block_of(call, blockIdx.x);
    wg_begin_block<F>(table, call, block, threadIdx.y * WG_LANES + threadIdx.x,
                      WG_LANES * WG_WARPS);
    __syncthreads();
    if (warp_of_block() >= block.n) return;
    auto number = [&] { return wg_block_of(call, wg_again(blockIdx.x)).first + warp_of_block(); };
    wg_decode_fast<F>(call, number, table);
}

__global__ void __launch_bounds__(WG_LANES *WARPS, BLOCKS) wg_check_all(wg_call call) {
    auto number = [] { return blockIdx.x * WARPS + warp_of_block(); };
    if (number() < call.n_jobs) wg_check_segment(call, [&] { return call.first_job + number(); });
}

static tare_status tell(cudaError_t e, tare_error *err, const char *what) {
    if (e == cudaSuccess) return TARE_OK;
    return wg_fail(err, e == cudaErrorMemoryAllocation ? TARE_ERR_NOMEM : TARE_ERR_IO, -1, what);
}

/* The current device is a property of the thread: it is set for the call and then restored. */
struct on_device {
    int before;
    explicit on_device(int device) : before(0) {
        cudaGetDevice(&before);
        cudaSetDevice(device);
    }
    ~on_device() { cudaSetDevice(before); }
};

extern "C" {

tare_status wg_device_open(char name[WG_NAME], int device, tare_error *err) {
    int n = 0;
    cudaDeviceProp about;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaErrorInsufficientDriver)
        return wg_fail(err, TARE_ERR_UNSUPPORTED, -1,
                       "device: no driver, or one that is older than libtare_cuda needs");
    if (e != cudaSuccess || n == 0)
        return wg_fail(err, TARE_ERR_UNSUPPORTED, -1, "device: no driver, or no GPU");
    if (device < 0 || device >= n || cudaGetDeviceProperties(&about, device) != cudaSuccess)
        return wg_fail(err, TARE_ERR_UNSUPPORTED, -1, "device: there is none of this number");
    if (about.major < 8)
        return wg_fail(err, TARE_ERR_UNSUPPORTED, -1,
                       "device: compute capability 8.0 or newer is needed");
    snprintf(name, WG_NAME, "%s", about.name);
    return TARE_OK;
}

/* The driver copies a kernel to the GPU when it is first used, for which it may have to allocate and to
 * wait; asking for its attributes is a use. */
tare_status wg_device_prepare(int device, tare_error *err) {
#define ADDRESS(name, ...) (const void *)wg_decode_block<__VA_ARGS__>,
    static const void *const kernels[] = {WG_FAST_LIST(ADDRESS)(const void *) wg_decode_pages,
                                          (const void *)wg_check_all, (const void *)wg_predict_all};
#undef ADDRESS
    on_device here(device);
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; e == cudaSuccess && i < sizeof kernels / sizeof *kernels; i++) {
        cudaFuncAttributes about;
        e = cudaFuncGetAttributes(&about, kernels[i]);
    }
    return tell(e, err, "kernels cannot be copied to the device");
}

tare_status wg_device_alloc(void **out, int device, size_t n, tare_error *err) {
    on_device here(device);
    return tell(cudaMalloc(out, n ? n : 1), err, "memory of the device");
}

void wg_device_release(int device, void *memory) {
    on_device here(device);
    cudaFree(memory);
}

/* cudaMemcpy may return when the runtime has the bytes, before they are in the device's memory; our
 * streams do not wait for the default one. */
tare_status wg_device_upload(void *to, int device, const void *from, size_t n, tare_error *err) {
    on_device here(device);
    tare_status status =
        tell(cudaMemcpy(to, from, n, cudaMemcpyHostToDevice), err, "copy to the device");
    return status == TARE_OK ? wg_device_wait(device, nullptr, err) : status;
}

tare_status wg_device_download(void *to, int device, const void *from, size_t n, tare_error *err) {
    on_device here(device);
    return tell(cudaMemcpy(to, from, n, cudaMemcpyDeviceToHost), err, "copy from the device");
}

tare_status wg_device_alloc_host(void **out, int device, size_t n, tare_error *err) {
    on_device here(device);
    return tell(cudaHostAlloc(out, n ? n : 1, cudaHostAllocPortable), err, "page-locked memory");
}

void wg_device_release_host(int device, void *memory) {
    on_device here(device);
    cudaFreeHost(memory);
}

tare_status wg_device_new_stream(void **out, int device, tare_error *err) {
    on_device here(device);
    return tell(cudaStreamCreateWithFlags((cudaStream_t *)out, cudaStreamNonBlocking), err,
                "stream of the device");
}

void wg_device_free_stream(int device, void *stream) {
    on_device here(device);
    cudaStreamSynchronize((cudaStream_t)stream);
    cudaStreamDestroy((cudaStream_t)stream);
}

tare_status wg_device_wait(int device, void *stream, tare_error *err) {
    on_device here(device);
    return tell(cudaStreamSynchronize((cudaStream_t)stream), err, "waiting for the device");
}

tare_status wg_device_new_mark(void **out, int device, tare_error *err) {
    on_device here(device);
    return tell(cudaEventCreateWithFlags((cudaEvent_t *)out, cudaEventDisableTiming), err,
                "event of the device");
}

void wg_device_free_mark(int device, void *mark) {
    on_device here(device);
    cudaEventDestroy((cudaEvent_t)mark);
}

tare_status wg_device_set_mark(void *mark, int device, void *stream, tare_error *err) {
    on_device here(device);
    return tell(cudaEventRecord((cudaEvent_t)mark, (cudaStream_t)stream), err,
                "event of the device");
}

tare_status wg_device_wait_mark(int device, void *mark, tare_error *err) {
    on_device here(device);
    return tell(cudaEventSynchronize((cudaEvent_t)mark), err, "waiting for the device");
}

tare_status wg_device_send(void *to, int device, const void *from, size_t n, void *stream,
                           tare_error *err) {
    on_device here(device);
    return tell(cudaMemcpyAsync(to, from, n, cudaMemcpyHostToDevice, (cudaStream_t)stream), err,
                "copy to the device");
}

/* The runtime has copied memory that is not page-locked when it returns, unless the GPU can read it
 * where it is, through the page tables of the host. */
tare_status wg_device_post(void *to, int device, const void *from, size_t n, void *stream,
                           tare_error *err) {
    int is_read_there = 0;
    cudaDeviceGetAttribute(&is_read_there, cudaDevAttrPageableMemoryAccessUsesHostPageTables,
                           device);
    tare_status status = wg_device_send(to, device, from, n, stream, err);
    return status == TARE_OK && is_read_there ? wg_device_wait(device, stream, err) : status;
}

tare_status wg_device_reset(wg_faults *faults, int device, void *stream, tare_error *err) {
    on_device here(device);
    cudaError_t e =
        cudaMemsetAsync(&faults->first, 255, sizeof faults->first, (cudaStream_t)stream);
    if (e == cudaSuccess)
        e = cudaMemsetAsync(&faults->n, 0, sizeof faults->n, (cudaStream_t)stream);
    return tell(e, err, "memory of the device cannot be set");
}

tare_status wg_device_launch(const wg_call *call, int device, void *stream, tare_error *err) {
    on_device here(device);
    const dim3 one_each(WG_LANES, WARPS), shared(WG_LANES, WG_WARPS);
    uint32_t n_blocks = (call->n_jobs + WARPS - 1) / WARPS; /* of a warp a job */
    cudaStream_t on = (cudaStream_t)stream;
    cudaGetLastError(); /* of an earlier call, which has told it */
    switch (call->kernel) {
#define RUN(name, ...)                                                                             \
    case name:                                                                                     \
        wg_decode_block<__VA_ARGS__><<<call->n_blocks, shared, 0, on>>>(*call);                    \
        break;
        WG_FAST_LIST(RUN)
    case WG_CHECK:
        wg_check_all<<<n_blocks, one_each, 0, on>>>(*call);
        break;
    case WG_PREDICT:
        wg_predict_all<<<n_blocks, one_each, 0, on>>>(*call);
        break;
    default:
        wg_decode_pages<<<n_blocks, one_each, 0, on>>>(*call);
        break;
    }
    return tell(cudaGetLastError(), err, "the kernel cannot be launched");
}
}
