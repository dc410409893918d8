/* Times of what a run enqueues: events are collected while it runs and read afterwards in one go. A NULL list
 * means that nobody wants times; every function then does nothing. */
#ifndef PCTI_BACKEND_CL_EVENTS_H
#define PCTI_BACKEND_CL_EVENTS_H

#include "backend/cl/cl_runtime.h"
#include "prof/intervals.h"

/* What one entry's stamps say, on the device's clock, which has no fixed relation to the host's. */
typedef struct pcti_cl_time {
    pcti_interval interval;
    uint64_t queued_ns, submit_ns; /* 0 = unknown, as always for brackets */
    int step;                      /* as given when the event was taken */
} pcti_cl_time;

typedef struct pcti_cl_events pcti_cl_events;

/* Room for `capacity` entries before anything is allocated again. */
pct_status pcti_cl_events_create(size_t capacity, pcti_cl_events **events);
/* Releases what was never read. NULL allowed. */
void pcti_cl_events_destroy(pcti_cl_events *events);

/* Where clEnqueue* is to put the event: &slot, or NULL when `events` is NULL. Afterwards `take` gets it. */
static inline cl_event *pcti_cl_event_slot(pcti_cl_events *events, cl_event *slot) {
    *slot = NULL;
    return events ? slot : NULL;
}
/* Takes ownership of an event of a profiling queue, also when it fails. */
pct_status pcti_cl_events_take(pcti_cl_events *events, pcti_interval_kind kind, int step, cl_event event);

/* Brackets a step of several kernels or a library's call, whose own event covers its last kernel only: from
 * the END of a marker before to the END of a marker after, on an in-order profiling queue. Not nested. A
 * `begin` without its `end` (the step failed) is dropped by the next begin or clear. */
pct_status pcti_cl_events_begin(pcti_cl_events *events, cl_command_queue queue);
pct_status pcti_cl_events_end(pcti_cl_events *events, cl_command_queue queue, pcti_interval_kind kind,
                              int step);

size_t pcti_cl_events_count(const pcti_cl_events *events);
/* The times of entry i, in the order taken; the queues must be finished. An event that the driver refuses to
 * read has an invalid interval, which is no error. */
pcti_cl_time pcti_cl_events_time(const pcti_cl_events *events, size_t i);
/* Releases every event and empties the list; its room stays. */
void pcti_cl_events_clear(pcti_cl_events *events);

#endif
