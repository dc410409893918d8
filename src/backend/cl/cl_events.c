#include "backend/cl/cl_events.h"

#include "base/memory.h"

typedef struct entry {
    cl_event before; /* of a bracket; else NULL */
    cl_event event;
    pcti_interval_kind kind;
    int step;
} entry;

struct pcti_cl_events {
    entry *entries;
    size_t n, capacity;
    cl_event open; /* marker of a bracket that has begun */
};

static void event_release(cl_event *event) {
    if (!*event) return;
    clReleaseEvent(*event);
    pcti_cl_count(PCTI_CL_EVENTS, -1);
    *event = NULL;
}

pct_status pcti_cl_events_create(size_t capacity, pcti_cl_events **out) {
    *out = NULL;
    pcti_cl_events *events = pcti_calloc(1, sizeof *events);
    if (!events) return PCT_ERROR_MEMORY;
    events->entries = pcti_calloc(capacity, sizeof *events->entries);
    if (!events->entries) {
        pcti_free(events);
        return PCT_ERROR_MEMORY;
    }
    events->capacity = capacity;
    *out = events;
    return PCT_OK;
}

void pcti_cl_events_clear(pcti_cl_events *events) {
    if (!events) return;
    event_release(&events->open);
    for (size_t i = 0; i < events->n; i++) {
        event_release(&events->entries[i].before);
        event_release(&events->entries[i].event);
    }
    events->n = 0;
}

void pcti_cl_events_destroy(pcti_cl_events *events) {
    if (!events) return;
    pcti_cl_events_clear(events);
    pcti_free(events->entries);
    pcti_free(events);
}

/* Takes both events, also when it fails. */
static pct_status add(pcti_cl_events *events, entry added) {
    pct_status status = pcti_grow(&events->entries, &events->capacity, events->n, sizeof *events->entries);
    if (status == PCT_OK) {
        events->entries[events->n++] = added;
        return PCT_OK;
    }
    event_release(&added.before);
    event_release(&added.event);
    return status;
}

pct_status pcti_cl_events_take(pcti_cl_events *events, pcti_interval_kind kind, int step, cl_event event) {
    if (!events || !event) return PCT_OK;
    pcti_cl_count(PCTI_CL_EVENTS, 1);
    return add(events, (entry){.event = event, .kind = kind, .step = step});
}

static pct_status mark(cl_command_queue queue, cl_event *event) {
    cl_int code = clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
    if (code != CL_SUCCESS) return pcti_cl_fail("clEnqueueMarkerWithWaitList", code, NULL);
    pcti_cl_count(PCTI_CL_EVENTS, 1);
    return PCT_OK;
}

pct_status pcti_cl_events_begin(pcti_cl_events *events, cl_command_queue queue) {
    if (!events) return PCT_OK;
    event_release(&events->open);
    return mark(queue, &events->open);
}

pct_status pcti_cl_events_end(pcti_cl_events *events, cl_command_queue queue, pcti_interval_kind kind,
                              int step) {
    if (!events) return PCT_OK;
    entry added = {.before = events->open, .kind = kind, .step = step};
    events->open = NULL;
    pct_status status = mark(queue, &added.event);
    if (status != PCT_OK) {
        event_release(&added.before);
        return status;
    }
    return add(events, added);
}

size_t pcti_cl_events_count(const pcti_cl_events *events) {
    return events ? events->n : 0;
}

/* 0 where the driver refuses or leaves the value alone. */
static uint64_t stamp(cl_event event, cl_profiling_info query) {
    cl_ulong value = 0;
    if (clGetEventProfilingInfo(event, query, sizeof value, &value, NULL) != CL_SUCCESS) return 0;
    return value;
}

static bool is_complete(cl_event event) {
    cl_int state = CL_QUEUED;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ==
               CL_SUCCESS &&
           state == CL_COMPLETE;
}

pcti_cl_time pcti_cl_events_time(const pcti_cl_events *events, size_t i) {
    const entry *from = &events->entries[i];
    pcti_cl_time to = {.interval.kind = from->kind, .step = from->step};
    /* Stamps of a failed or unfinished command are garbage on some drivers. */
    if (!is_complete(from->event) || (from->before && !is_complete(from->before))) return to;
    uint64_t start_ns;
    if (from->before) {
        start_ns = stamp(from->before, CL_PROFILING_COMMAND_END);
    } else {
        to.queued_ns = stamp(from->event, CL_PROFILING_COMMAND_QUEUED);
        to.submit_ns = stamp(from->event, CL_PROFILING_COMMAND_SUBMIT);
        start_ns = stamp(from->event, CL_PROFILING_COMMAND_START);
    }
    to.interval = pcti_interval_from_stamps(from->kind, to.queued_ns, to.submit_ns, start_ns,
                                            stamp(from->event, CL_PROFILING_COMMAND_END));
    return to;
}
