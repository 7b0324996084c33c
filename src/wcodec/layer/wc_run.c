/* SPDX-License-Identifier: MIT
 *
 * Writing many layers with a few threads. There is one list of tasks for all layers, so that
 * threads are started only once. A stream has tasks that count its segments and, further down the
 * list, tasks that encode them; those of the next stream are counted in between, so that a thread
 * seldom waits for the last count. Before all these a task may read the small streams of the layer
 * into memory, and before the first one that encodes a task visits the layer, if the run has a
 * visitor. Small layers are one task, several of them. Encoded data goes through a ring in which the
 * tasks take turns: where bytes are placed depends on those before them.
 *
 * No task waits for ever: tasks are taken in order, and a task waits only for earlier ones. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/pool.h"
#include "wcodec/layer/wc_retain.h"

enum {
    SMALL = 1 << 18,    /* bytes of a layer that one thread writes by itself */
    BATCH = 1 << 20,    /* bytes of small layers in a task, */
    MOST_SMALL = 256,   /* and their number */
    SLOTS_A_THREAD = 2, /* encoded tasks that wait for their turn */
    MOST_WORKERS = 256,
};

typedef enum step_kind { VISIT, RETAIN, COUNT, ENCODE, WHOLE } step_kind;

/* A run of tasks: the segments of a stream; one task: some small layers, streams to be retained, a layer
 * to be visited. */
typedef struct step {
    step_kind kind;
    unsigned stream;
    size_t job, n_jobs;
    bool begins_layer, ends_layer; /* ENCODE */
    uint32_t retained;             /* RETAIN: streams, a bit each; `state` is the first one's */
    uint64_t first_task, n_tasks;
    uint64_t first_turn; /* of those that write */
    struct stream_state *state;
} step;

/* A stream being written. */
typedef struct stream_state {
    tare_wc_tally **tallies; /* one a worker, made when it first counts */
    uint64_t n_to_count, n_to_encode;
    tare_wc_scheme *scheme;
    bool is_awaited;   /* until its bytes are retained */
    uint8_t *retained; /* NULL: its bytes are read when they are needed */
    uint64_t n_retained;
} stream_state;

typedef struct slot {
    uint64_t turn; /* whose it is */
    bool is_done;
    const step *step;
    uint64_t segment;
    tare_buffer out;
} slot;

typedef struct workers {
    tare_wc_run *run;
    const tare_wc_target *target;
    step *steps;
    size_t n_steps, steps_capacity;
    stream_state *states;
    size_t n_states, n_states_made;
    tare_wc_worker *workers;
    tare_wc_tally *
        *spare; /* one a worker: counts of an earlier stream, whose memory is used again */
    unsigned n_workers;
    slot *slots;
    uint64_t n_slots, n_tasks, n_turns, total;
    _Atomic uint64_t done;
    pthread_mutex_t mutex; /* guards the rest, slots, counters and plans of streams */
    pthread_cond_t changed;
    uint64_t next_turn;   /* that gets its place */
    uint64_t position;    /* in the file */
    uint64_t failed_task; /* the lowest; UINT64_MAX: none */
} workers;

/* ---- the list -------------------------------------------------------------------------------- */

static uint64_t layer_bytes(const tare_wc_layer *l) {
    uint64_t n = 0;
    for (unsigned i = 0; i < l->n_regions; i++) n += l->region_bytes[i];
    return n;
}

static bool add_step(workers *c, step s) {
    if (!tare_grow(c->run->allocator, (void **)&c->steps, &c->steps_capacity, c->n_steps + 1,
                   sizeof *c->steps))
        return false;
    s.first_task = c->n_tasks;
    s.first_turn = c->n_turns;
    c->n_tasks += s.n_tasks;
    if (s.kind == ENCODE || s.kind == WHOLE) c->n_turns += s.n_tasks;
    c->steps[c->n_steps++] = s;
    return true;
}

/* A layer is visited just before it is encoded: its bytes are read by two threads at once. */
static bool add_waiting(workers *c, const step *waiting) {
    const step visit = {.kind = VISIT, .job = waiting->job, .n_tasks = 1};
    if (!waiting->state) return true;
    if (waiting->begins_layer && c->run->visitor.visit && !add_step(c, visit)) return false;
    return add_step(c, *waiting);
}

/* The steps of a stream: it is counted before `waiting`, the stream before it, is encoded. */
static bool add_stream(workers *c, size_t job, unsigned stream, uint32_t retained, step *waiting) {
    const tare_coded_stream *p = &c->run->jobs[job].layer->streams[stream];
    stream_state *state = &c->states[c->n_states++];
    state->n_to_count = state->n_to_encode = p->n_segments;
    state->is_awaited = retained >> stream & 1;
    step count = {
        .kind = COUNT, .job = job, .stream = stream, .n_tasks = p->n_segments, .state = state};
    c->total += p->n_bytes;
    if (!add_step(c, count) || !add_waiting(c, waiting)) return false;
    *waiting = count;
    waiting->kind = ENCODE;
    return true;
}

static bool end_waiting(workers *c, step *waiting) {
    bool is_added = add_waiting(c, waiting);
    waiting->state = NULL;
    return is_added;
}

/* Adds a small layer to the last step if that is one of small layers with room. */
static bool add_small(workers *c, size_t job, uint64_t *batch) {
    uint64_t n = layer_bytes(c->run->jobs[job].layer);
    step *last = c->n_steps ? &c->steps[c->n_steps - 1] : NULL;
    c->total += n;
    if (last && last->kind == WHOLE && last->job + last->n_jobs == job &&
        last->n_jobs < MOST_SMALL && *batch + n <= BATCH) {
        *batch += n;
        last->n_jobs++;
        return true;
    }
    *batch = n;
    return add_step(c, (step){.kind = WHOLE, .job = job, .n_jobs = 1, .n_tasks = 1});
}

/* The steps of a layer that is not small. */
static bool add_layer(workers *c, size_t job, step *waiting) {
    const tare_wc_layer *l = c->run->jobs[job].layer;
    const uint32_t retained = tare_wc_streams_to_retain(&c->run->jobs[job]);
    const step to_retain = {.kind = RETAIN,
                            .job = job,
                            .retained = retained,
                            .n_tasks = 1,
                            .state = &c->states[c->n_states]};
    if (retained && !add_step(c, to_retain)) return false;
    bool is_first = true;
    for (unsigned i = 0; i < l->n_streams; i++) {
        if (!l->streams[i].n_segments) continue;
        if (!add_stream(c, job, i, retained, waiting)) return false;
        waiting->begins_layer = is_first;
        is_first = false;
    }
    waiting->ends_layer = true;
    return true;
}

/* Only one half of the work on a stream, the first of the only job. */
static bool list_half(workers *c) {
    const tare_coded_stream *p = c->run->jobs->layer->streams;
    stream_state *state = &c->states[c->n_states++];
    state->n_to_count = state->n_to_encode = p->n_segments;
    state->scheme = c->run->scheme;
    c->total = p->n_bytes;
    return add_step(c, (step){.kind = c->run->learned ? COUNT : ENCODE,
                              .n_tasks = p->n_segments,
                              .begins_layer = true,
                              .state = state});
}

static bool list_steps(workers *c) {
    step waiting = {0};
    uint64_t batch = 0;
    if (c->run->learned || c->run->scheme) return list_half(c);
    for (size_t j = 0; j < c->run->n_jobs; j++) {
        const tare_wc_layer *l = c->run->jobs[j].layer;
        if (layer_bytes(l) <= SMALL) {
            if (!end_waiting(c, &waiting) || !add_small(c, j, &batch)) return false;
            continue;
        }
        if (!add_layer(c, j, &waiting)) return false;
    }
    return end_waiting(c, &waiting);
}

static const step *find_step(const workers *c, uint64_t task) {
    return &c->steps[tare_part_of(&c->steps->first_task, c->n_steps, sizeof *c->steps, task)];
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void note_failure(workers *c, uint64_t task) {
    pthread_mutex_lock(&c->mutex);
    if (task < c->failed_task) c->failed_task = task;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
}

/* A waiting task gives up when an earlier one has failed: what it waits for will never happen. */
static tare_status gave_up(tare_error *err) {
    return tare_fail(err, TARE_ERR_CANCELLED, "another part failed");
}

static slot *take_slot(workers *c, uint64_t task, uint64_t turn) {
    slot *s = &c->slots[turn % c->n_slots];
    pthread_mutex_lock(&c->mutex);
    while (s->turn != turn && c->failed_task > task) pthread_cond_wait(&c->changed, &c->mutex);
    bool is_ours = s->turn == turn;
    pthread_mutex_unlock(&c->mutex);
    return is_ours ? s : NULL;
}

static bool wait_until_retained(workers *c, uint64_t task, const stream_state *state) {
    pthread_mutex_lock(&c->mutex);
    while (state->is_awaited && c->failed_task > task) pthread_cond_wait(&c->changed, &c->mutex);
    bool is_retained = !state->is_awaited;
    pthread_mutex_unlock(&c->mutex);
    return is_retained;
}

static const tare_wc_scheme *wait_for_scheme(workers *c, uint64_t task, const stream_state *state) {
    pthread_mutex_lock(&c->mutex);
    while (!state->scheme && c->failed_task > task) pthread_cond_wait(&c->changed, &c->mutex);
    const tare_wc_scheme *scheme = state->scheme;
    pthread_mutex_unlock(&c->mutex);
    return scheme;
}

/* ---- visiting -------------------------------------------------------------------------------- */

static tare_status visit(const workers *c, size_t job, tare_error *err) {
    const tare_wc_visitor *v = &c->run->visitor;
    return v->visit ? v->visit(v->ctx, c->run->jobs[job].number, err) : TARE_OK;
}

/* ---- retaining ------------------------------------------------------------------------------- */

/* Streams that have no memory are read like all others. */
static tare_status retain(workers *c, const step *s, tare_error *err) {
    const tare_wc_layer_job *job = &c->run->jobs[s->job];
    uint8_t *dst[TARE_CODED_MAX_STREAMS] = {NULL};
    stream_state *state = s->state, *end = state;
    uint32_t retained = 0;
    for (unsigned i = 0; i < job->layer->n_streams; i++) {
        if (!job->layer->streams[i].n_segments) continue;
        if (s->retained >> i & 1) {
            end->n_retained = job->layer->streams[i].n_bytes;
            dst[i] = end->retained = tare_alloc(c->run->allocator, (size_t)end->n_retained);
            if (dst[i]) retained |= UINT32_C(1) << i;
        }
        end++;
    }
    TARE_TRY(tare_wc_retain_streams(dst, retained, job, err));
    pthread_mutex_lock(&c->mutex);
    for (; state < end; state++) state->is_awaited = false;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    return TARE_OK;
}

static void free_retained(const workers *c, stream_state *state) {
    tare_free(c->run->allocator, state->retained, (size_t)state->n_retained);
    state->retained = NULL;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void free_tallies(const workers *c, stream_state *state) {
    for (unsigned i = 0; state->tallies && i < c->n_workers; i++)
        tare_wc_tally_free(state->tallies[i]);
    tare_free(c->run->allocator, state->tallies, c->n_workers * sizeof(tare_wc_tally *));
    state->tallies = NULL;
}

static void spare_tallies(workers *c, stream_state *state) {
    pthread_mutex_lock(&c->mutex);
    for (unsigned i = 0; i < c->n_workers; i++) {
        if (c->spare[i]) continue;
        c->spare[i] = state->tallies[i];
        state->tallies[i] = NULL;
    }
    pthread_mutex_unlock(&c->mutex);
    free_tallies(c, state);
}

static tare_wc_tally *take_tally(workers *c, const tare_wc_layer_job *job, unsigned stream,
                                 unsigned worker) {
    const tare_coded_field *field = &job->layer->streams[stream].field;
    const tare_wc_shape shape = tare_wc_shape_of(field);
    const tare_wc_options options = tare_wc_options_of(field, job->how);
    pthread_mutex_lock(&c->mutex);
    tare_wc_tally *spare = c->spare[worker];
    c->spare[worker] = NULL;
    pthread_mutex_unlock(&c->mutex);
    if (spare && tare_wc_tally_renew(spare, &shape, &options, job->base != NULL)) return spare;
    tare_wc_tally_free(spare);
    return tare_wc_tally_new(&shape, &options, job->base != NULL, c->run->allocator);
}

/* The sum of what the workers counted makes the scheme. */
static tare_status make_scheme(workers *c, stream_state *state, tare_error *err) {
    tare_wc_tally *sum = NULL;
    tare_wc_scheme *scheme = NULL;
    for (unsigned i = 0; i < c->n_workers; i++) {
        if (!state->tallies[i]) continue;
        if (sum)
            tare_wc_tally_merge(sum, state->tallies[i]);
        else
            sum = state->tallies[i];
    }
    tare_status status = tare_wc_scheme_new(&scheme, sum, err);
    spare_tallies(c, state);
    pthread_mutex_lock(&c->mutex);
    state->scheme = scheme;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    return status;
}

static tare_status own_tally(tare_wc_tally **out, workers *c, const step *s, unsigned worker,
                             tare_error *err) {
    const tare_allocator *a = c->run->allocator;
    const tare_wc_layer_job *job = &c->run->jobs[s->job];
    size_t size = c->n_workers * sizeof(tare_wc_tally *);
    pthread_mutex_lock(&c->mutex);
    if (!s->state->tallies) {
        s->state->tallies = tare_alloc(a, size);
        if (s->state->tallies) memset(s->state->tallies, 0, size);
    }
    tare_wc_tally **tallies = s->state->tallies;
    pthread_mutex_unlock(&c->mutex);
    if (!tallies) return tare_fail(err, TARE_ERR_NOMEM, "stream");
    if (!tallies[worker]) tallies[worker] = take_tally(c, job, s->stream, worker);
    *out = tallies[worker];
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "stream");
}

static tare_status count(workers *c, const step *s, uint64_t segment, uint64_t task,
                         unsigned worker, tare_error *err) {
    const tare_wc_layer_job *job = &c->run->jobs[s->job];
    uint64_t n = job->layer->streams[s->stream].n_segments;
    tare_wc_tally *tally;
    if (!wait_until_retained(c, task, s->state)) return gave_up(err);
    TARE_TRY(own_tally(&tally, c, s, worker, err));
    c->workers[worker].retained = s->state->retained;
    const tare_wc_options options =
        tare_wc_options_of(&job->layer->streams[s->stream].field, job->how);
    if (tare_wc_tally_wants(&options, segment, n))
        TARE_TRY(tare_wc_tally_segment(tally, job, s->stream, segment, &c->workers[worker], err));
    pthread_mutex_lock(&c->mutex);
    bool is_last = --s->state->n_to_count == 0;
    pthread_mutex_unlock(&c->mutex);
    return is_last ? make_scheme(c, s->state, err) : TARE_OK;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void free_scheme(const workers *c, stream_state *state) {
    if (state->scheme && !c->run->scheme) tare_wc_scheme_free(state->scheme);
    state->scheme = NULL;
}

static tare_status encode_segment(workers *c, const step *s, uint64_t segment, uint64_t task,
                                  tare_buffer *out, unsigned worker, tare_error *err) {
    const tare_wc_layer_job *job = &c->run->jobs[s->job];
    const tare_wc_scheme *scheme = wait_for_scheme(c, task, s->state);
    if (!scheme) return gave_up(err);
    tare_wc_worker *w = &c->workers[worker];
    w->retained = s->state->retained;
    if (segment == 0 && !c->run->scheme)
        TARE_TRY(tare_wc_put_first(out, scheme, job, s->stream, w, err));
    else
        TARE_TRY(tare_wc_put_segment(out, scheme, job, s->stream, segment, w, err));
    pthread_mutex_lock(&c->mutex);
    bool is_last = --s->state->n_to_encode == 0;
    pthread_mutex_unlock(&c->mutex);
    if (!is_last) return TARE_OK;
    free_scheme(c, s->state);
    free_retained(c, s->state);
    return TARE_OK;
}

/* Several layers; until they get their place, offsets count from where the first begins. */
static tare_status encode_layers(workers *c, const step *s, tare_buffer *out, unsigned worker,
                                 tare_error *err) {
    c->workers[worker].retained = NULL;
    for (size_t i = s->job; i < s->job + s->n_jobs; i++) {
        tare_wc_layer *l = c->run->jobs[i].layer;
        l->offset = out->size;
        TARE_TRY(tare_wc_put_layer(out, &c->run->jobs[i], &c->workers[worker], err));
        tare_buffer_put_zeros(out, (size_t)(0 - l->size) % TARE_WC_LAYER_ALIGN);
        l->size = out->size - l->offset;
        TARE_TRY(visit(c, i, err));
    }
    return tare_buffer_status(out, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

static void place_layers(workers *c, const step *s) {
    for (size_t i = s->job; i < s->job + s->n_jobs; i++) {
        tare_wc_layer *l = c->run->jobs[i].layer;
        l->offset = l->size ? l->offset + c->position : c->run->offset;
    }
}

static void place_segment(workers *c, slot *of) {
    const step *s = of->step;
    tare_wc_layer *l = c->run->jobs[s->job].layer;
    tare_coded_stream *p = &l->streams[s->stream];
    size_t head = 0;
    if (of->segment == 0) {
        if (s->begins_layer) {
            l->offset = c->position;
            l->crc = 0;
        }
        p->position = c->position - l->offset;
        head = p->head_bytes;
        l->crc = tare_crc32(l->crc, of->out.data, head);
    }
    tare_wc_note_segment(l, of->out.data + head);
    if (!s->ends_layer || of->segment + 1 < p->n_segments) return;
    uint64_t end = c->position + of->out.size;
    tare_buffer_put_zeros(&of->out, (size_t)(0 - end) % TARE_WC_LAYER_ALIGN);
    l->size = c->position + of->out.size - l->offset;
}

/* Assigns places to all finished tasks whose turn it is, and writes them; others may do so at the
 * same time. */
static tare_status write_ready(workers *c, tare_error *err) {
    tare_status status = TARE_OK;
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        slot *s = &c->slots[c->next_turn % c->n_slots];
        if (s->turn != c->next_turn || !s->is_done) break;
        uint64_t position = c->position;
        if (s->step->kind == WHOLE)
            place_layers(c, s->step);
        else
            place_segment(c, s);
        c->position += s->out.size;
        c->next_turn++;
        pthread_mutex_unlock(&c->mutex);
        status = tare_buffer_status(&s->out, err);
        if (status == TARE_OK && s->out.size)
            status = c->target->write(c->target->ctx, position, s->out.data, s->out.size, err);
        pthread_mutex_lock(&c->mutex);
        s->is_done = false;
        s->out.size = 0;
        s->turn += c->n_slots;
        pthread_cond_broadcast(&c->changed);
        if (status != TARE_OK) break;
    }
    pthread_mutex_unlock(&c->mutex);
    return status;
}

static tare_status encode(workers *c, const step *s, uint64_t index, uint64_t task, unsigned worker,
                          tare_error *err) {
    slot *mine = take_slot(c, task, s->first_turn + index);
    if (!mine) return gave_up(err);
    mine->step = s;
    mine->segment = index;
    if (s->kind == WHOLE)
        TARE_TRY(encode_layers(c, s, &mine->out, worker, err));
    else
        TARE_TRY(encode_segment(c, s, index, task, &mine->out, worker, err));
    pthread_mutex_lock(&c->mutex);
    mine->is_done = true;
    pthread_mutex_unlock(&c->mutex);
    return write_ready(c, err);
}

/* ---- the workers -------------------------------------------------------------------------------- */

/* The number of bytes a task handles, for progress. */
static uint64_t task_bytes(const workers *c, const step *s, uint64_t index) {
    uint64_t n = 0;
    if (s->kind == VISIT || s->kind == RETAIN || (s->kind == COUNT && !c->run->learned)) return 0;
    if (s->kind != WHOLE)
        return tare_wc_segment_bytes(&c->run->jobs[s->job].layer->streams[s->stream], index);
    for (size_t i = s->job; i < s->job + s->n_jobs; i++) n += layer_bytes(c->run->jobs[i].layer);
    return n;
}

static tare_status run_task(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    workers *c = ctx;
    const step *s = find_step(c, task);
    uint64_t index = task - s->first_task;
    tare_status status = s->kind == VISIT    ? visit(c, s->job, err)
                         : s->kind == RETAIN ? retain(c, s, err)
                         : s->kind == COUNT  ? count(c, s, index, task, worker, err)
                                             : encode(c, s, index, task, worker, err);
    if (status != TARE_OK)
        note_failure(c, task);
    else
        atomic_fetch_add(&c->done, task_bytes(c, s, index));
    return status;
}

static tare_status take_memory(workers *c, tare_error *err) {
    const tare_allocator *a = c->run->allocator;
    size_t n_streams = 0;
    for (size_t i = 0; i < c->run->n_jobs; i++) {
        const tare_wc_layer *l = c->run->jobs[i].layer;
        if (layer_bytes(l) > SMALL) n_streams += l->n_streams;
    }
    c->n_workers = c->run->how.threads ? c->run->how.threads : tare_default_threads();
    if (c->n_workers > MOST_WORKERS) c->n_workers = MOST_WORKERS;
    c->n_slots = (uint64_t)c->n_workers * SLOTS_A_THREAD;
    c->states = tare_alloc(a, (n_streams + 1) * sizeof *c->states);
    c->n_states_made = n_streams + 1;
    c->workers = tare_alloc(a, c->n_workers * sizeof *c->workers);
    c->spare = tare_alloc(a, c->n_workers * sizeof *c->spare);
    c->slots = tare_alloc(a, (size_t)c->n_slots * sizeof *c->slots);
    for (unsigned i = 0; c->spare && i < c->n_workers; i++) c->spare[i] = NULL;
    for (size_t i = 0; c->states && i < n_streams + 1; i++) c->states[i] = (stream_state){0};
    for (unsigned i = 0; c->workers && i < c->n_workers; i++)
        tare_wc_worker_init(&c->workers[i], a);
    for (uint64_t i = 0; c->slots && i < c->n_slots; i++) {
        c->slots[i] = (slot){.turn = i};
        tare_buffer_init(&c->slots[i].out, a);
    }
    return c->states && c->workers && c->spare && c->slots && list_steps(c)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_NOMEM, "work memory");
}

static void give_back(workers *c) {
    const tare_allocator *a = c->run->allocator;
    for (size_t i = 0; c->states && i < c->n_states; i++) {
        free_tallies(c, &c->states[i]);
        free_scheme(c, &c->states[i]);
        free_retained(c, &c->states[i]);
    }
    for (unsigned i = 0; c->workers && i < c->n_workers; i++) tare_wc_worker_free(&c->workers[i]);
    for (unsigned i = 0; c->spare && i < c->n_workers; i++) tare_wc_tally_free(c->spare[i]);
    for (uint64_t i = 0; c->slots && i < c->n_slots; i++) tare_buffer_free(&c->slots[i].out);
    tare_free(a, c->states, c->n_states_made * sizeof *c->states);
    tare_free(a, c->workers, c->n_workers * sizeof *c->workers);
    tare_free(a, c->spare, c->n_workers * sizeof *c->spare);
    tare_free(a, c->slots, (size_t)c->n_slots * sizeof *c->slots);
    tare_free(a, c->steps, c->steps_capacity * sizeof *c->steps);
}

static tare_status run_workers(workers *c, tare_arena *arena, tare_error *err) {
    tare_wc_run *run = c->run;
    for (size_t i = 0; i < run->n_jobs; i++)
        TARE_TRY(tare_wc_measure_layer(run->jobs[i].layer, arena, err));
    TARE_TRY(take_memory(c, err));
    tare_run tasks = {.context = run->how};
    tasks.context.threads = c->n_workers;
    tasks.n_tasks = c->n_tasks;
    tasks.task = run_task;
    tasks.ctx = c;
    tasks.total = c->total;
    tasks.done = &c->done;
    TARE_TRY(tare_run_parallel(&tasks, err));
    if (!run->learned) return TARE_OK;
    *run->learned = c->states->scheme;
    c->states->scheme = NULL;
    return TARE_OK;
}

tare_status tare_wc_run_jobs(tare_wc_run *run, const tare_wc_target *target, tare_arena *arena,
                             tare_error *err) {
    workers c = {.run = run, .target = target, .position = run->offset, .failed_task = UINT64_MAX};
    if (pthread_mutex_init(&c.mutex, NULL)) return tare_fail(err, TARE_ERR_NOMEM, "thread pool");
    if (pthread_cond_init(&c.changed, NULL)) {
        pthread_mutex_destroy(&c.mutex);
        return tare_fail(err, TARE_ERR_NOMEM, "thread pool");
    }
    tare_status status = run_workers(&c, arena, err);
    if (status == TARE_OK) run->offset = c.position;
    give_back(&c);
    pthread_cond_destroy(&c.changed);
    pthread_mutex_destroy(&c.mutex);
    return status;
}
