/* SPDX-License-Identifier: MIT
 *
 * Devices, their memory and streams, and the page-locked buffers through which bytes get there. */
#include <stdlib.h>

#include "wg_device.h"
#include "wg_plan.h"

/* ---- the device ------------------------------------------------------------------------------ */

tare_status tare_cuda_open(tare_cuda **out, int device, tare_error *err) {
    if (!out) return wg_fail(err, TARE_ERR_ARG, -1, "out: NULL");
    *out = NULL;
    tare_cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda) return wg_fail(err, TARE_ERR_NOMEM, -1, "device");
    cuda->device = device;
    tare_status status = wg_device_open(cuda->name, device, err);
    if (status == TARE_OK)
        *out = cuda;
    else
        free(cuda);
    return status;
}

void tare_cuda_close(tare_cuda *cuda) {
    free(cuda);
}

const char *tare_cuda_name(const tare_cuda *cuda) {
    return cuda->name;
}

tare_status tare_cuda_alloc(void **out, tare_cuda *cuda, size_t n, tare_error *err) {
    if (!out || !cuda) return wg_fail(err, TARE_ERR_ARG, -1, "out or device: NULL");
    return wg_device_alloc(out, cuda->device, n, err);
}

void tare_cuda_release(tare_cuda *cuda, void *memory) {
    if (cuda && memory) wg_device_release(cuda->device, memory);
}

tare_status tare_cuda_upload(void *to, tare_cuda *cuda, const void *from, size_t n,
                             tare_error *err) {
    if (!cuda || (n && !(to && from))) return wg_fail(err, TARE_ERR_ARG, -1, "memory: NULL");
    return wg_device_upload(to, cuda->device, from, n, err);
}

tare_status tare_cuda_download(void *to, tare_cuda *cuda, const void *from, size_t n,
                               tare_error *err) {
    if (!cuda || (n && !(to && from))) return wg_fail(err, TARE_ERR_ARG, -1, "memory: NULL");
    return wg_device_download(to, cuda->device, from, n, err);
}

/* ---- streams --------------------------------------------------------------------------------- */

tare_status tare_cuda_stream_new(void **out, tare_cuda *cuda, tare_error *err) {
    if (!out || !cuda) return wg_fail(err, TARE_ERR_ARG, -1, "out or device: NULL");
    *out = NULL;
    return wg_device_new_stream(out, cuda->device, err);
}

void tare_cuda_stream_free(tare_cuda *cuda, void *stream) {
    if (cuda && stream) wg_device_free_stream(cuda->device, stream);
}

tare_status tare_cuda_stream_wait(tare_cuda *cuda, void *stream, tare_error *err) {
    if (!cuda) return wg_fail(err, TARE_ERR_ARG, -1, "device: NULL");
    return wg_device_wait(cuda->device, stream, err);
}

/* ---- staging --------------------------------------------------------------------------------- */

/* A page-locked buffer; the mark is behind the copy of what it holds. */
typedef struct buffer {
    void *bytes, *mark;
} buffer;

struct tare_cuda_stage {
    int device;
    size_t buffer_bytes;
    unsigned n, next;
    bool is_filling; /* the buffer before the next one is the caller's */
    buffer buffers[];
};

static tare_status make_buffers(tare_cuda_stage *s, unsigned n, tare_error *err) {
    for (; s->n < n; s->n++) {
        buffer *b = &s->buffers[s->n];
        tare_status status = wg_device_alloc_host(&b->bytes, s->device, s->buffer_bytes, err);
        if (status != TARE_OK) return status;
        status = wg_device_new_mark(&b->mark, s->device, err);
        if (status == TARE_OK) continue;
        wg_device_release_host(s->device, b->bytes);
        return status;
    }
    return TARE_OK;
}

tare_status tare_cuda_stage_new(tare_cuda_stage **out, tare_cuda *cuda, size_t buffer_bytes,
                                unsigned n_buffers, tare_error *err) {
    if (!out) return wg_fail(err, TARE_ERR_ARG, -1, "out: NULL");
    *out = NULL;
    if (!cuda || !n_buffers) return wg_fail(err, TARE_ERR_ARG, -1, "device or number of buffers");
    tare_cuda_stage *s = calloc(1, sizeof *s + n_buffers * sizeof *s->buffers);
    if (!s) return wg_fail(err, TARE_ERR_NOMEM, -1, "buffers");
    s->device = cuda->device;
    s->buffer_bytes = buffer_bytes;
    tare_status status = make_buffers(s, n_buffers, err);
    if (status == TARE_OK)
        *out = s;
    else
        tare_cuda_stage_free(s);
    return status;
}

void tare_cuda_stage_free(tare_cuda_stage *s) {
    if (!s) return;
    for (unsigned i = 0; i < s->n; i++) {
        wg_device_wait_mark(s->device, s->buffers[i].mark, NULL);
        wg_device_free_mark(s->device, s->buffers[i].mark);
        wg_device_release_host(s->device, s->buffers[i].bytes);
    }
    free(s);
}

tare_status tare_cuda_stage_next(void **out, tare_cuda_stage *s, tare_error *err) {
    if (!out || !s) return wg_fail(err, TARE_ERR_ARG, -1, "out or stage: NULL");
    buffer *b = &s->buffers[s->next];
    tare_status status = wg_device_wait_mark(s->device, b->mark, err);
    if (status != TARE_OK) return status;
    s->next = (s->next + 1) % s->n;
    s->is_filling = true;
    *out = b->bytes;
    return TARE_OK;
}

tare_status tare_cuda_stage_send(void *to, tare_cuda_stage *s, size_t n, void *stream,
                                 tare_error *err) {
    if (!s || (n && !to) || n > s->buffer_bytes || !s->is_filling)
        return wg_fail(err, TARE_ERR_ARG, -1, "device memory, size, or no buffer to send");
    buffer *b = &s->buffers[(s->next + s->n - 1) % s->n];
    s->is_filling = false;
    tare_status status = wg_device_send(to, s->device, b->bytes, n, stream, err);
    if (status == TARE_OK) status = wg_device_set_mark(b->mark, s->device, stream, err);
    if (status != TARE_OK)
        wg_device_wait(s->device, stream, NULL); /* no mark says when it was read */
    return status;
}
