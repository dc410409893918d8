/* Small services that every backend and the planner share. */
#include "op/backend.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

bool pcti_refuse(pcti_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return false;
}

bool pcti_operand_same(const pcti_operand *a, const pcti_operand *b)
{
    if (!a->buffer || a->buffer != b->buffer || a->tensor.offset != b->tensor.offset) return false;
    if (a->tensor.dtype != b->tensor.dtype || a->tensor.rank != b->tensor.rank) return false;
    if (a->tensor.channel_block != b->tensor.channel_block) return false;
    for (int d = 0; d < a->tensor.rank; d++)
        if (a->tensor.dims[d] != b->tensor.dims[d] || a->tensor.strides[d] != b->tensor.strides[d]) return false;
    return true;
}

void pcti_timeline_add(pcti_timeline *timeline, int step, pcti_interval interval)
{
    if (timeline->count == timeline->capacity) return; /* sized for the plan: see plan_run */
    timeline->intervals[timeline->count] = interval;
    timeline->interval_steps[timeline->count++] = step;
}

pct_status pcti_device_list_add(pct_device_list *list, const pct_device_info *info)
{
    PCTI_RETURN_IF_FAILED(pcti_grow(&list->items, &list->capacity, list->count, sizeof *list->items));
    list->items[list->count++] = *info;
    return PCT_OK;
}
