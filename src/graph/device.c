/* Devices by name, over the registry of backends. */
#include <string.h>

#include "base/memory.h"
#include "graph/planner.h"

pct_status pct_device_list_create(pct_device_list **out)
{
    *out = NULL;
    pct_device_list *list = pcti_calloc(1, sizeof *list);
    if (!list) return PCT_ERROR_MEMORY;
    for (int b = 0; b < pcti_backend_count; b++) {
        pct_status status = pcti_backends[b]->enumerate ? pcti_backends[b]->enumerate(list) : PCT_OK;
        if (status != PCT_OK) {
            pct_device_list_destroy(list);
            return status;
        }
    }
    *out = list;
    return PCT_OK;
}

void pct_device_list_destroy(pct_device_list *list)
{
    if (!list) return;
    pcti_free(list->items);
    pcti_free(list->note);
    pcti_free(list);
}

int pct_device_list_count(const pct_device_list *list) { return (int)list->count; }

const pct_device_info *pct_device_list_get(const pct_device_list *list, int index)
{
    return index >= 0 && (size_t)index < list->count ? &list->items[index] : NULL;
}

const char *pct_device_list_note(const pct_device_list *list) { return list->note ? list->note : ""; }

static pct_status load_tuning(pct_device **device)
{
    pct_status status = pcti_tuning_load(*device);
    if (status == PCT_OK) return PCT_OK;
    pct_device_close(*device);
    *device = NULL;
    return status;
}

pct_status pct_device_open(const pct_device_options *given, pct_device **device)
{
    pct_device_options options = {.struct_bytes = sizeof options};
    *device = NULL;
    memcpy(&options, given, given->struct_bytes < sizeof options ? given->struct_bytes : sizeof options);
    pcti_text names = {0};
    for (int b = 0; b < pcti_backend_count; b++) {
        if (options.backend && !strcmp(pcti_backends[b]->name, options.backend)) {
            pcti_text_free(&names);
            PCTI_RETURN_IF_FAILED(pcti_backends[b]->open(&options, device));
            return options.no_tuning || pcti_backends[b]->stores_double ? PCT_OK : load_tuning(device);
        }
        pcti_text_add(&names, "%s%s", b ? ", " : "", pcti_backends[b]->name);
    }
    pct_status status = pcti_fail(PCT_ERROR_ARGUMENT, "no backend \"%s\" in this build; there are %s",
                                  options.backend ? options.backend : "", names.data ? names.data : "none");
    pcti_text_free(&names);
    return status;
}

void pct_device_close(pct_device *device)
{
    if (!device) return;
    pcti_tuning_free(device);
    device->backend->close(device);
}

const pct_device_info *pct_device_get_info(const pct_device *device) { return &device->info; }
