/* SPDX-License-Identifier: MIT
 *
 * Guards against, on a GPU: decoding that a CUDA graph cannot capture, or that gives other bytes when
 * it is replayed. tests/cuda/test_cuda_capture.c is the same in emulation. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "cuda_runner.h"
}

enum { N = 5000000, REPLAYS = 3 };

static void must(cudaError_t e, const char *what) {
    if (e == cudaSuccess) return;
    fprintf(stderr, "gpu_graph: %s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

static tare_status capture_and_replay(tare_cuda_batch *batch, const tare_cuda_decode_options *o,
                                      tare_error *err) {
    tare_cuda_decode_options on = *o;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    must(cudaStreamCreate(&stream), "stream");
    on.stream = stream;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin of the capture");
    tare_status status = tare_cuda_decode(batch, &on, err);
    must(cudaStreamEndCapture(stream, &graph), "end of the capture");
    if (status != TARE_OK) return status;
    must(cudaGraphInstantiate(&ready, graph, 0), "graph");
    for (int i = 0; i < REPLAYS; i++) must(cudaGraphLaunch(ready, stream), "replay");
    must(cudaStreamSynchronize(stream), "waiting");
    return TARE_OK;
}

int main() {
    static uint8_t bytes[N], made[N];
    uint8_t *to = made;
    tare_coded_field field;
    tare_coded_region region;
    tare_coded *coded;
    cuda_how how;
    cuda_counts counts;
    tare_error err;
    memset(&field, 0, sizeof field);
    memset(&region, 0, sizeof region);
    memset(&how, 0, sizeof how);
    srand(1);
    for (int i = 0; i < N; i++) bytes[i] = (uint8_t)(rand() % 16 + rand() % 16 + rand() % 16);
    field.value_bits = 8;
    field.log2_segment = 17;
    region.bytes = bytes;
    region.size = N;
    how.decode = capture_and_replay;
    tare_status status = tare_coded_encode(&coded, &region, 1, &field, 1, NULL, &err);
    if (status == TARE_OK) status = cuda_decode(&to, coded, NULL, &how, &counts, NULL, &err);
    if (status != TARE_OK || memcmp(made, bytes, N) != 0) {
        fprintf(stderr, "gpu_graph: %s\n", status != TARE_OK ? err.what : "other bytes");
        return 1;
    }
    printf("gpu_graph: %d replays of %llu segments give the bytes back\n", REPLAYS,
           (unsigned long long)counts.n_segments);
    tare_coded_free(coded);
    return 0;
}
