/* What tuning found, one JSON file for each device, driver and thread count in the cache folder:
 *   {"format":1,"device":"...","choices":{"conv2d src=1x64x56x56 ...":"winograd_4x4_3x3:phases", ...}} */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "graph/planner.h"

enum { FORMAT = 1 };

typedef struct choice { char *key, *value; } choice;

typedef struct pcti_tuning {
    choice *choices;
    size_t count, capacity;
} pcti_tuning;

/* Everything that a measured time depends on, the library's version included: rows may change their meaning. */
static char *device_key(const pct_device *device)
{
    const pct_device_info *i = &device->info;
    return pcti_format("%s | %s | %s | %s | %s | %d threads | pct %s", i->backend, i->platform, i->device, i->driver, i->isa, (int)i->threads,
                       pct_version());
}

static pct_status file_of(const char *key, char **path)
{
    char *folder;
    *path = NULL;
    PCTI_RETURN_IF_FAILED(pcti_cache_folder("tuning", &folder));
    uint64_t hash = pcti_fnv1a(PCTI_FNV_START, key, strlen(key));
    *path = pcti_format("%s/%016llx.json", folder, (unsigned long long)hash);
    pcti_free(folder);
    return *path ? PCT_OK : PCT_ERROR_MEMORY;
}

const char *pcti_tuning_find(const pct_device *device, const char *key)
{
    const pcti_tuning *tuning = device->tuning;
    for (size_t i = 0; tuning && i < tuning->count; i++)
        if (!strcmp(tuning->choices[i].key, key)) return tuning->choices[i].value;
    return NULL;
}

pct_status pcti_tuning_set(pct_device *device, const char *key, const char *value)
{
    if (!device->tuning && !(device->tuning = pcti_calloc(1, sizeof *device->tuning))) return PCT_ERROR_MEMORY;
    pcti_tuning *tuning = device->tuning;
    choice added = {pcti_strdup(key), pcti_strdup(value)};
    pct_status status = added.key && added.value ? PCT_OK : PCT_ERROR_MEMORY;
    for (size_t i = 0; i < tuning->count && status == PCT_OK; i++)
        if (!strcmp(tuning->choices[i].key, key)) {
            pcti_free(tuning->choices[i].value);
            tuning->choices[i].value = added.value;
            pcti_free(added.key);
            return PCT_OK;
        }
    if (status == PCT_OK) status = pcti_grow(&tuning->choices, &tuning->capacity, tuning->count, sizeof *tuning->choices);
    if (status != PCT_OK) {
        pcti_free(added.key);
        pcti_free(added.value);
        return status;
    }
    tuning->choices[tuning->count++] = added;
    return PCT_OK;
}

void pcti_tuning_free(pct_device *device)
{
    pcti_tuning *tuning = device->tuning;
    for (size_t i = 0; tuning && i < tuning->count; i++) {
        pcti_free(tuning->choices[i].key);
        pcti_free(tuning->choices[i].value);
    }
    if (tuning) pcti_free(tuning->choices);
    pcti_free(tuning);
    device->tuning = NULL;
}

static pct_status read_choices(pct_device *device, const char *key, const pcti_file *file, bool *good)
{
    pct_status status = PCT_OK;
    cJSON *root = cJSON_ParseWithLength((const char *)file->data, file->bytes);
    const cJSON *choices = cJSON_GetObjectItemCaseSensitive(root, "choices"), *item;
    const char *of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "device"));
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(root, "format");
    *good = cJSON_IsNumber(format) && format->valueint == FORMAT && of && !strcmp(of, key) && cJSON_IsObject(choices);
    if (*good) {
        cJSON_ArrayForEach(item, choices)
        {
            if (!cJSON_IsString(item)) *good = false;
            else if (status == PCT_OK) status = pcti_tuning_set(device, item->string, item->valuestring);
        }
    }
    cJSON_Delete(root);
    return status;
}

pct_status pcti_tuning_load(pct_device *device)
{
    pct_status status = PCT_OK;
    char *key = device_key(device), *path = NULL;
    pcti_file file = {0};
    bool good = true;
    if (!key) return PCT_ERROR_MEMORY;
    /* No cache folder or no file: nothing was tuned. */
    if (file_of(key, &path) == PCT_OK && pcti_file_map(path, &file) == PCT_OK) status = read_choices(device, key, &file, &good);
    if (!good) {
        pcti_log(PCT_LOG_WARNING, "%s: not a tuning file of this device: passed over", path);
        pcti_tuning_free(device);
    }
    pcti_file_unmap(&file);
    pcti_free(path);
    pcti_free(key);
    return status;
}

pct_status pcti_tuning_save(const pct_device *device)
{
    pct_status status = PCT_OK;
    const pcti_tuning *tuning = device->tuning;
    char *key = device_key(device), *path = NULL, *text = NULL;
    cJSON *root = cJSON_CreateObject(), *choices = NULL;
    if (!key || !root) {
        status = PCT_ERROR_MEMORY;
        goto fail;
    }
    PCTI_TRY(file_of(key, &path));
    cJSON_AddNumberToObject(root, "format", FORMAT);
    cJSON_AddStringToObject(root, "device", key);
    choices = cJSON_AddObjectToObject(root, "choices");
    bool good = choices;
    for (size_t i = 0; tuning && i < tuning->count && good; i++)
        good = cJSON_AddStringToObject(choices, tuning->choices[i].key, tuning->choices[i].value);
    if (!good || !(text = cJSON_Print(root))) {
        status = pcti_fail(PCT_ERROR_MEMORY, "out of memory");
        goto fail;
    }
    PCTI_TRY(pcti_file_replace(path, text, strlen(text)));
fail:
    cJSON_free(text);
    cJSON_Delete(root);
    pcti_free(path);
    pcti_free(key);
    return status;
}
