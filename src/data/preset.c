#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/resample.h"
#include "pct/data.h"

enum { VALUES = 256, CHANNELS = 3, MAX_SIZE = 16384 };

/* A channel's value is (x / divisor - mean) / deviation, each step rounded to float32 as the frameworks do.
 */
struct pct_preset {
    const char *name;
    int channel[CHANNELS]; /* plane c takes this channel of RGB */
    float divisor, mean[CHANNELS], deviation[CHANNELS];
};

static const pct_preset presets[] = {
    {"torchvision", {0, 1, 2}, 255.0f, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
    {"lite", {0, 1, 2}, 1.0f, {127.0f, 127.0f, 127.0f}, {128.0f, 128.0f, 128.0f}},
    {"caffe", {2, 1, 0}, 1.0f, {103.939f, 116.779f, 123.68f}, {1.0f, 1.0f, 1.0f}},
    {"tf", {0, 1, 2}, 127.5f, {1.0f, 1.0f, 1.0f}, {1.0f, 1.0f, 1.0f}},
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

pct_status pct_preset_find(const char *name, const pct_preset **preset) {
    *preset = NULL;
    for (int i = 0; i < PRESETS; i++)
        if (name && !strcmp(name, presets[i].name)) *preset = &presets[i];
    if (*preset) return PCT_OK;
    pcti_text names = {0};
    for (int i = 0; i < PRESETS; i++) pcti_text_add(&names, "%s%s", i ? ", " : "", presets[i].name);
    pct_status status = names.failed ? PCT_ERROR_MEMORY
                                     : pcti_fail(PCT_ERROR_NOT_FOUND, "no preset \"%s\"; there are: %s",
                                                 name ? name : "", names.data);
    pcti_text_free(&names);
    return status;
}

/* Half of `length - size`, ties to even. */
static int64_t crop_start(int64_t length, int32_t size) {
    int64_t margin = length - size, half = margin / 2;
    return margin % 2 ? half + half % 2 : half;
}

static pcti_window central_square(const pct_picture *picture, int32_t size) {
    int64_t side = (int64_t)size * 256 / 224, width = picture->width, height = picture->height;
    pcti_window window = {.full_width = side, .full_height = side, .width = size, .height = size};
    if (width < height)
        window.full_height = side * height / width;
    else
        window.full_width = side * width / height;
    window.x = crop_start(window.full_width, size);
    window.y = crop_start(window.full_height, size);
    return window;
}

static void normalize(const uint8_t *rgb, const pct_preset *preset, size_t pixels, float *planes) {
    float value[CHANNELS][VALUES];
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < VALUES; i++)
            value[c][i] = ((float)i / preset->divisor - preset->mean[c]) / preset->deviation[c];
    const int *channel = preset->channel;
    for (size_t i = 0; i < pixels; i++, rgb += CHANNELS)
        for (size_t c = 0; c < CHANNELS; c++) planes[c * pixels + i] = value[c][rgb[channel[c]]];
}

pct_status pct_picture_preprocess(const pct_picture *picture, const pct_preset *preset, int32_t size,
                                  float *chw) {
    if (!picture || !preset || !chw)
        return pcti_fail(PCT_ERROR_ARGUMENT, "preprocess: picture, preset and chw are needed");
    if (size < 1 || size > MAX_SIZE)
        return pcti_fail(PCT_ERROR_ARGUMENT, "preprocess: size %d is not 1 to %d", (int)size, MAX_SIZE);
    size_t pixels = (size_t)size * (size_t)size;
    uint8_t *cropped = pcti_alloc_aligned(pixels * CHANNELS);
    if (!cropped) return PCT_ERROR_MEMORY;
    pcti_window window = central_square(picture, size);
    pct_status status = pcti_resample(picture->rgb, picture->width, picture->height, &window, cropped);
    if (status == PCT_OK) normalize(cropped, preset, pixels, chw);
    pcti_free_aligned(cropped);
    return status;
}
