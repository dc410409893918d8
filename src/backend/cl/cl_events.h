/* Times of what a run enqueues: events are collected while it runs and read afterwards in one go. A NULL list
 * means that nobody wants times; every function then does nothing. */
#ifndef PCTI_BACKEND_CL_EVENTS_H
#define PCTI_BACKEND_CL_EVENTS_H

#include "backend/cl/cl_runtime.h"

typedef enum pcti_cl_kind { PCTI_CL_KERNEL, PCTI_CL_UPLOAD, PCTI_CL_DOWNLOAD } pcti_cl_kind;

/* On the device's clock, which has no fixed relation to the host's. queued_ns and submit_ns may be 0 =
 * unknown. */
typedef struct pcti_cl_interval {
    uint64_t queued_ns, submit_ns, start_ns, end_ns;
    int step; /* as given when the event was taken */
    pcti_cl_kind kind;
    bool valid; /* only then do start_ns and end_ns mean anything */
} pcti_cl_interval;

/* Sets `valid`: start and end known, end not before start, and what is known of queued and submit in order.
 */
void pcti_cl_interval_check(pcti_cl_interval *interval);

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
pct_status pcti_cl_events_take(pcti_cl_events *events, pcti_cl_kind kind, int step, cl_event event);

/* Brackets a step of several kernels or a library's call, whose own event covers its last kernel only: from
 * the END of a marker before to the END of a marker after, on an in-order profiling queue. Not nested. A
 * `begin` without its `end` (the step failed) is dropped by the next begin or read. */
pct_status pcti_cl_events_begin(pcti_cl_events *events, cl_command_queue queue);
pct_status pcti_cl_events_end(pcti_cl_events *events, cl_command_queue queue, pcti_cl_kind kind, int step);

size_t pcti_cl_events_count(const pcti_cl_events *events);
/* Reads every entry into `intervals` (events_count of them, in the order taken), releases the events and
 * empties the list. The queues must be finished. An event that the driver refuses to read is an invalid
 * interval, not an error. */
void pcti_cl_events_read(pcti_cl_events *events, pcti_cl_interval *intervals);

#endif
