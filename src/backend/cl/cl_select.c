/* Which device a user's --platform and --device mean: pure functions over the list. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "backend/cl/cl_device.h"

void pcti_cl_list_describe(const pcti_cl_list *list, pcti_text *text) {
    if (list->note[0]) pcti_text_add(text, "%s\n", list->note);
    for (size_t p = 0; p < list->n_platforms; p++) {
        const pcti_cl_platform *platform = &list->platforms[p];
        pcti_text_add(text, "platform %zu: %s%s%s\n", p, platform->name, platform->problem[0] ? ": " : "",
                      platform->problem);
        for (size_t d = 0; d < list->n_devices; d++) {
            const pcti_cl_info *info = &list->devices[d];
            if (info->platform_index != (int)p) continue;
            pcti_text_add(text, "  device %d: %s (%s)", info->device_index, info->name,
                          pcti_cl_type_name(info->type));
            if (info->duplicate_of != PCTI_CL_NO_DUPLICATE) {
                const pcti_cl_info *other = &list->devices[info->duplicate_of];
                pcti_text_add(text, ", the same board as platform %d device %d", other->platform_index,
                              other->device_index);
            }
            pcti_text_add(text, "%s%s\n", info->problem[0] ? ", unusable: " : "", info->problem);
        }
    }
}

/* The message that has just been set, followed by the list. */
static pct_status with_list(const pcti_cl_list *list, pct_status status) {
    pcti_text text = {0};
    pcti_cl_list_describe(list, &text);
    if (!text.failed && text.length) {
        text.data[text.length - 1] = 0; /* the last newline */
        pcti_fail(status, "%s\n%s", pct_error_message(), text.data);
    }
    pcti_text_free(&text);
    return status;
}

/* What the user wrote for one option: nothing, an index, or a part of a name. */
typedef struct wish {
    const char *option, *part; /* part: NULL unless a name */
    int64_t index;             /* -1 unless an index */
} wish;

static pct_status read_wish(const char *option, const char *text, wish *wanted) {
    *wanted = (wish){.option = option, .index = -1};
    if (!text) return PCT_OK;
    if (!*text) return pcti_fail(PCT_ERROR_ARGUMENT, "%s: empty text", option);
    if (!isdigit((unsigned char)*text) && *text != '-' && *text != '+') {
        wanted->part = text;
        return PCT_OK;
    }
    if (*text == '+' || !pcti_parse_int(text, &wanted->index) || wanted->index < 0) {
        wanted->index = -1;
        return pcti_fail(PCT_ERROR_ARGUMENT,
                         "%s \"%s\" is not an index (and a name's part cannot begin like one)", option, text);
    }
    return PCT_OK;
}

static bool contains(const char *name, const char *part) {
    size_t length = strlen(part);
    for (; *name; name++)
        if (!strncasecmp(name, part, length)) return true;
    return false;
}

/* Feeds candidates one by one; a whole name outdoes parts. */
typedef struct match {
    size_t index, n_parts, n_whole;
} match;

static void offer(match *found, const wish *wanted, size_t index, const char *name) {
    if (!contains(name, wanted->part)) return;
    bool whole = !strcasecmp(name, wanted->part);
    if (whole ? !found->n_whole : !found->n_whole && !found->n_parts) found->index = index;
    if (whole)
        found->n_whole++;
    else
        found->n_parts++;
}

/* 0 = none, 1 = found->index, 2 = ambiguous */
static int verdict(const match *found) {
    size_t n = found->n_whole ? found->n_whole : found->n_parts;
    return n > 1 ? 2 : (int)n;
}

static pct_status find_platform(const pcti_cl_list *list, const wish *wanted, int *platform) {
    if (!wanted->part) {
        if (wanted->index >= (int64_t)list->n_platforms)
            return pcti_fail(PCT_ERROR_NOT_FOUND, "%s %lld: there are %zu platform(s)", wanted->option,
                             (long long)wanted->index, list->n_platforms);
        *platform = (int)wanted->index;
        return PCT_OK;
    }
    match found = {0};
    for (size_t p = 0; p < list->n_platforms; p++) offer(&found, wanted, p, list->platforms[p].name);
    if (!verdict(&found))
        return pcti_fail(PCT_ERROR_NOT_FOUND, "%s \"%s\": no platform has that in its name", wanted->option,
                         wanted->part);
    if (verdict(&found) > 1)
        return pcti_fail(PCT_ERROR_ARGUMENT, "%s \"%s\" is ambiguous: give more of the name or the index",
                         wanted->option, wanted->part);
    *platform = (int)found.index;
    return PCT_OK;
}

/* The default of a platform, or of all (-1): the first GPU, else the first device. */
static bool find_default(const pcti_cl_list *list, int platform, size_t *index) {
    bool any = false;
    for (size_t d = 0; d < list->n_devices; d++) {
        const pcti_cl_info *info = &list->devices[d];
        if (platform >= 0 && info->platform_index != platform) continue;
        if (info->problem[0]) continue;
        /* A platform that the user names gives its own device, whoever else has it. */
        if (platform < 0 && info->duplicate_of != PCTI_CL_NO_DUPLICATE) continue;
        if (info->type == PCTI_CL_GPU) {
            *index = d;
            return true;
        }
        if (!any) *index = d;
        any = true;
    }
    return any;
}

static int find_device(const pcti_cl_list *list, const wish *wanted, int platform, size_t *index) {
    match found = {0};
    for (size_t d = 0; d < list->n_devices; d++) {
        const pcti_cl_info *info = &list->devices[d];
        if (info->platform_index != platform) continue;
        if (wanted->part)
            offer(&found, wanted, d, info->name);
        else if (info->device_index == wanted->index)
            found = (match){.index = d, .n_whole = 1};
    }
    *index = found.index;
    return verdict(&found);
}

static pct_status select_device(const pcti_cl_list *list, const char *platform_text, const char *device_text,
                                size_t *index) {
    wish platform_wish, device_wish;
    PCTI_RETURN_IF_FAILED(read_wish("platform", platform_text, &platform_wish));
    PCTI_RETURN_IF_FAILED(read_wish("device", device_text, &device_wish));
    if (!list->n_platforms) return pcti_fail(PCT_ERROR_NOT_FOUND, "no OpenCL device to choose");
    int platform = -1;
    if (platform_text) PCTI_RETURN_IF_FAILED(find_platform(list, &platform_wish, &platform));
    if (!device_text) {
        if (find_default(list, platform, index)) return PCT_OK;
        if (platform_text)
            return pcti_fail(PCT_ERROR_NOT_FOUND, "platform \"%s\" has no usable device", platform_text);
        return pcti_fail(PCT_ERROR_NOT_FOUND, "no usable OpenCL device");
    }
    int first = platform < 0 ? 0 : platform, last = platform < 0 ? (int)list->n_platforms - 1 : platform;
    int outcome = 0;
    for (int p = first; p <= last && !outcome; p++) outcome = find_device(list, &device_wish, p, index);
    if (!outcome)
        return pcti_fail(PCT_ERROR_NOT_FOUND, "device \"%s\": no such device%s%s%s", device_text,
                         platform_text ? " on platform \"" : "", platform_text ? platform_text : "",
                         platform_text ? "\"" : "");
    if (outcome > 1)
        return pcti_fail(PCT_ERROR_ARGUMENT, "device \"%s\" is ambiguous: give more of the name or the index",
                         device_text);
    const pcti_cl_info *info = &list->devices[*index];
    if (info->problem[0])
        return pcti_fail(PCT_ERROR_DEVICE, "device \"%s\" cannot be used: %s", info->name, info->problem);
    return PCT_OK;
}

pct_status pcti_cl_select(const pcti_cl_list *list, const char *platform, const char *device, size_t *index) {
    pct_status status = select_device(list, platform, device, index);
    if (status == PCT_OK) return PCT_OK;
    *index = 0;
    return with_list(list, status);
}
