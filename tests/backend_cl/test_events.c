/* Event times: what counts as a time, and that every event is released. */
#include "cl_test.h"

#include <string.h>

#include "backend/cl/cl_events.h"
#include "base/clock.h"
#include "base/memory.h"

enum { ITEMS = 64, N_KERNELS = 20 };

typedef struct work {
    pcti_cl_device *device;
    cl_kernel kernel;
    cl_mem buffer;
} work;

static work work_create(bool profiling, cl_int n) {
    work w = {.device = test_open(profiling)};
    pcti_cl_program *program;
    assert_int_equal(pcti_cl_program_get_text(w.device, "test", TEST_SOURCE, "-DBIAS=1", &program), PCT_OK);
    assert_int_equal(pcti_cl_kernel_create(program, "slow", &w.kernel), PCT_OK);
    assert_int_equal(
        pcti_cl_buffer_create(w.device, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, &w.buffer), PCT_OK);
    assert_int_equal(pcti_cl_kernel_set(w.kernel, 0, sizeof w.buffer, &w.buffer), PCT_OK);
    assert_int_equal(pcti_cl_kernel_set(w.kernel, 1, sizeof n, &n), PCT_OK);
    return w;
}

static void work_destroy(work *w) {
    pcti_cl_device_finish(w->device);
    pcti_cl_kernel_release(w->kernel);
    pcti_cl_buffer_release(w->buffer);
    pcti_cl_device_close(w->device);
    pcti_cl_live live = pcti_cl_live_objects(), none = {0};
    assert_memory_equal(&live, &none, sizeof live);
}

static void launch(work *w, cl_command_queue queue, pcti_cl_events *events, int step) {
    const size_t global = ITEMS, local = 1;
    cl_event event;
    cl_event *slot = pcti_cl_event_slot(events, &event);
    assert_int_equal(pcti_cl_kernel_launch(queue, w->kernel, 1, &global, &local, slot), PCT_OK);
    assert_int_equal(pcti_cl_events_take(events, PCTI_INTERVAL_KERNEL, step, event), PCT_OK);
}

static void read_all(pcti_cl_events *events, pcti_cl_time *times) {
    size_t n = pcti_cl_events_count(events);
    for (size_t i = 0; i < n; i++) times[i] = pcti_cl_events_time(events, i);
    pcti_cl_events_clear(events);
}

static void test_times(void **state) {
    (void)state;
    work w = work_create(true, 20000);
    pcti_cl_queues *queues = &w.device->profiling;
    pcti_cl_events *events;
    pcti_cl_time times[N_KERNELS + 2];
    float values[ITEMS];
    cl_event event;
    assert_int_equal(pcti_cl_events_create(4, &events), PCT_OK); /* grows */
    launch(&w, queues->compute, NULL, 0);                        /* warm-up; nobody wants its time */
    assert_int_equal(pcti_cl_device_finish(w.device), PCT_OK);
    uint64_t start = pcti_clock_ns();
    for (int i = 0; i < N_KERNELS; i++) launch(&w, queues->compute, events, i);
    assert_int_equal(clEnqueueReadBuffer(queues->compute, w.buffer, CL_FALSE, 0, sizeof values, values, 0,
                                         NULL, pcti_cl_event_slot(events, &event)),
                     CL_SUCCESS);
    assert_int_equal(pcti_cl_events_take(events, PCTI_INTERVAL_DOWNLOAD, 100, event), PCT_OK);
    /* a launch of nothing has no event, and that is no entry */
    assert_int_equal(pcti_cl_events_take(events, PCTI_INTERVAL_KERNEL, 101, NULL), PCT_OK);
    assert_int_equal(pcti_cl_device_finish(w.device), PCT_OK);
    uint64_t host_ns = pcti_clock_ns() - start;
    assert_int_equal(pcti_cl_events_count(events), N_KERNELS + 1);
    assert_int_equal(pcti_cl_live_objects().events, N_KERNELS + 1);
    read_all(events, times);
    assert_int_equal(pcti_cl_events_count(events), 0);
    assert_int_equal(pcti_cl_live_objects().events, 0);
    uint64_t sum = 0;
    for (int i = 0; i <= N_KERNELS; i++) {
        assert_true(times[i].interval.valid);
        assert_int_equal(times[i].step, i < N_KERNELS ? i : 100);
        assert_int_equal(times[i].interval.kind,
                         i < N_KERNELS ? PCTI_INTERVAL_KERNEL : PCTI_INTERVAL_DOWNLOAD);
        if (i) assert_true(times[i].interval.start_ns >= times[i - 1].interval.end_ns); /* in order */
        sum += times[i].interval.end_ns - times[i].interval.start_ns;
    }
    /* On one in-order queue the parts cannot exceed the host's clock around them (clock rates may differ a
     * little). */
    assert_true(sum <= host_ns + host_ns / 20);
    pcti_cl_events_destroy(events);
    work_destroy(&w);
}

/* A bracket spans every kernel in it; the last kernel's own event does not. */
static void test_bracket(void **state) {
    (void)state;
    work w = work_create(true, 20000);
    cl_command_queue queue = w.device->profiling.compute;
    pcti_cl_events *bracket, *single;
    pcti_cl_time whole, parts[N_KERNELS];
    assert_int_equal(pcti_cl_events_create(1, &bracket), PCT_OK);
    assert_int_equal(pcti_cl_events_create(N_KERNELS, &single), PCT_OK);
    launch(&w, queue, NULL, 0);
    assert_int_equal(pcti_cl_events_begin(bracket, queue), PCT_OK);
    assert_int_equal(pcti_cl_events_begin(bracket, queue), PCT_OK); /* the step before failed: dropped */
    for (int i = 0; i < N_KERNELS; i++) launch(&w, queue, single, i);
    assert_int_equal(pcti_cl_events_end(bracket, queue, PCTI_INTERVAL_KERNEL, 7), PCT_OK);
    assert_int_equal(pcti_cl_device_finish(w.device), PCT_OK);
    read_all(bracket, &whole);
    read_all(single, parts);
    assert_true(whole.interval.valid);
    assert_int_equal(whole.step, 7);
    assert_true(whole.interval.start_ns <= parts[0].interval.start_ns &&
                whole.interval.end_ns >= parts[N_KERNELS - 1].interval.end_ns);
    assert_int_equal(pcti_cl_live_objects().events, 0);
    /* no list: nothing to do, no event */
    assert_int_equal(pcti_cl_events_begin(NULL, queue), PCT_OK);
    assert_int_equal(pcti_cl_events_end(NULL, queue, PCTI_INTERVAL_KERNEL, 0), PCT_OK);
    assert_int_equal(pcti_cl_events_count(NULL), 0);
    pcti_cl_events_destroy(bracket);
    pcti_cl_events_destroy(single);
    work_destroy(&w);
}

/* Events of a queue without the profiling flag: where the driver refuses to tell times (one tells them all
 * the same), the interval is invalid, not of length zero. */
static void test_no_profiling(void **state) {
    (void)state;
    work w = work_create(false, 10);
    pcti_cl_events *events;
    pcti_cl_time time;
    assert_int_equal(pcti_cl_events_create(1, &events), PCT_OK);
    cl_event event;
    cl_ulong end_ns;
    const size_t global = ITEMS, local = 1;
    assert_int_equal(pcti_cl_kernel_launch(w.device->plain.compute, w.kernel, 1, &global, &local, &event),
                     PCT_OK);
    assert_int_equal(pcti_cl_device_finish(w.device), PCT_OK);
    bool told =
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end_ns, &end_ns, NULL) == CL_SUCCESS;
    assert_int_equal(pcti_cl_events_take(events, PCTI_INTERVAL_KERNEL, 0, event), PCT_OK);
    read_all(events, &time);
    assert_int_equal(time.interval.valid, told);
    /* destroyed unread, an open bracket included */
    launch(&w, w.device->plain.compute, events, 0);
    assert_int_equal(pcti_cl_events_begin(events, w.device->plain.compute), PCT_OK);
    assert_int_equal(pcti_cl_device_finish(w.device), PCT_OK);
    assert_int_equal(pcti_cl_live_objects().events, 2);
    pcti_cl_events_destroy(events);
    pcti_cl_events_destroy(NULL);
    work_destroy(&w);
}

static void test_allocation_failure(void **state) {
    (void)state;
    work w = work_create(true, 10);
    pcti_cl_events *events;
    cl_event event;
    const size_t global = ITEMS, local = 1;
    assert_int_equal(pcti_cl_events_create(1, &events), PCT_OK);
    launch(&w, w.device->profiling.compute, events, 0);
    assert_int_equal(pcti_cl_kernel_launch(w.device->profiling.compute, w.kernel, 1, &global, &local, &event),
                     PCT_OK);
    pcti_memory_fail_at(1);
    assert_int_equal(pcti_cl_events_take(events, PCTI_INTERVAL_KERNEL, 1, event), PCT_ERROR_MEMORY);
    pcti_memory_fail_at(0);
    assert_int_equal(pcti_cl_events_count(events), 1);
    assert_int_equal(pcti_cl_live_objects().events, 1);
    pcti_cl_events_destroy(events);
    work_destroy(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_times),
        cmocka_unit_test(test_bracket),
        cmocka_unit_test(test_no_profiling),
        cmocka_unit_test(test_allocation_failure),
    };
    return cmocka_run_group_tests_name("cl_events", tests, NULL, NULL);
}
