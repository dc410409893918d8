/* Resizing against Pillow's bytes, presets against torchvision's values and EfficientNet-Lite0's stored
 * inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "data/resample.h"
#include "expected.h"
#include "pct/data.h"

static uint8_t *noise_rgb(int width, int height) {
    uint32_t x = 1;
    uint8_t *rgb = malloc((size_t)(width * height * 3));
    assert_non_null(rgb);
    for (int i = 0; i < width * height * 3; i++) {
        x = x * 1664525u + 1013904223u;
        rgb[i] = (uint8_t)(x >> 24);
    }
    return rgb;
}

static void test_resize_as_pillow(void **state) {
    static const struct {
        int width, height, to_width, to_height;
        uint64_t hash;
    } rows[] = {RESIZED_ROWS};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pcti_window whole = {rows[i].to_width, rows[i].to_height, 0, 0, rows[i].to_width, rows[i].to_height};
        size_t bytes = (size_t)(rows[i].to_width * rows[i].to_height * 3);
        uint8_t *src = noise_rgb(rows[i].width, rows[i].height), *dst = malloc(bytes);
        assert_non_null(dst);
        assert_int_equal(pcti_resample(src, rows[i].width, rows[i].height, &whole, dst), PCT_OK);
        if (pcti_fnv1a(PCTI_FNV_START, dst, bytes) != rows[i].hash)
            fail_msg("%dx%d to %dx%d: other bytes than Pillow's", rows[i].width, rows[i].height,
                     rows[i].to_width, rows[i].to_height);
        free(src);
        free(dst);
    }
}

/* A window is the same bytes as that part of the whole. */
static void test_window(void **state) {
    enum { W = 83, H = 57, TO_W = 61, TO_H = 40 };
    static uint8_t whole[TO_W * TO_H * 3], part[TO_W * TO_H * 3];
    uint8_t *src = noise_rgb(W, H);
    pcti_window all = {TO_W, TO_H, 0, 0, TO_W, TO_H};
    assert_int_equal(pcti_resample(src, W, H, &all, whole), PCT_OK);
    static const pcti_window windows[] = {{TO_W, TO_H, 10, 4, 32, 32},
                                          {TO_W, TO_H, 60, 39, 1, 1},
                                          {TO_W, TO_H, 0, 7, 61, 1},
                                          {TO_W, TO_H, 17, 0, 5, 40}};
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        const pcti_window *w = &windows[i];
        assert_int_equal(pcti_resample(src, W, H, w, part), PCT_OK);
        for (int32_t y = 0; y < w->height; y++)
            assert_memory_equal(part + y * w->width * 3, whole + ((w->y + y) * TO_W + w->x) * 3,
                                (size_t)w->width * 3);
    }
    free(src);
}

/* Extreme shapes: the whole would be huge, only the window is computed. */
static void test_extreme_shapes(void **state) {
    static const struct { int width, height; } rows[] = {{50000, 1}, {1, 50000}, {1, 1}, {2, 3}};
    const pct_preset *preset;
    assert_int_equal(pct_preset_find("tf", &preset), PCT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum { SIZE = 32 };
        static float chw[3 * SIZE * SIZE];
        pct_picture picture = {.width = rows[i].width, .height = rows[i].height};
        size_t bytes = (size_t)(rows[i].width * rows[i].height * 3);
        picture.rgb = malloc(bytes);
        assert_non_null(picture.rgb);
        memset(picture.rgb, 255, bytes);
        assert_int_equal(pct_picture_preprocess(&picture, preset, SIZE, chw), PCT_OK);
        for (int k = 0; k < 3 * SIZE * SIZE; k++) assert_true(chw[k] == 1.0f);
        free(picture.rgb);
    }
}

static void test_preset_names(void **state) {
    const pct_preset *preset;
    float chw[3];
    pct_picture picture = {.width = 1, .height = 1, .rgb = (uint8_t[]){1, 2, 3}};
    assert_int_equal(pct_preset_find("imagenet", &preset), PCT_ERROR_NOT_FOUND);
    assert_null(preset);
    assert_string_equal(pct_error_message(),
                        "no preset \"imagenet\"; there are: torchvision, lite, caffe, tf");
    assert_int_equal(pct_preset_find(NULL, &preset), PCT_ERROR_NOT_FOUND);
    assert_int_equal(pct_preset_find("caffe", &preset), PCT_OK);
    assert_int_equal(pct_picture_preprocess(&picture, preset, 0, chw), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_picture_preprocess(&picture, preset, 16385, chw), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_picture_preprocess(&picture, NULL, 1, chw), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_picture_preprocess(&picture, preset, 1, chw), PCT_OK);
    assert_true(chw[0] == 3 - 103.939f && chw[1] == 2 - 116.779f && chw[2] == 1 - 123.68f);
}

static pct_picture *open_shared(const char *path) {
    pct_picture *picture;
    pct_status status = pct_picture_open(path, NULL, &picture);
    if (status == PCT_ERROR_NOT_FOUND) {
        print_message("%s is missing: skipped\n", path);
        skip();
    }
    if (status != PCT_OK) fail_msg("%s", pct_error_message());
    return picture;
}

static void test_presets_as_torchvision(void **state) {
    static const struct {
        const char *preset;
        int size;
        uint64_t hash;
        float corner, middle;
    } rows[] = {PREPROCESSED_ROWS};
    pct_picture *picture = open_shared(PCT_SHARED_DIR "/data/cats_dogs/test/cat/cat.4001.jpg");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pct_preset *preset;
        size_t size = (size_t)rows[i].size, floats = 3 * size * size;
        float *chw = malloc(floats * sizeof *chw);
        assert_non_null(chw);
        assert_int_equal(pct_preset_find(rows[i].preset, &preset), PCT_OK);
        assert_int_equal(pct_picture_preprocess(picture, preset, rows[i].size, chw), PCT_OK);
        float middle = chw[(2 * size + size / 2) * size + size / 3];
        if (chw[0] != rows[i].corner || middle != rows[i].middle)
            fail_msg("%s at %zu: %.9g and %.9g, not %.9g and %.9g", rows[i].preset, size, (double)chw[0],
                     (double)middle, (double)rows[i].corner, (double)rows[i].middle);
        if (pcti_fnv1a(PCTI_FNV_START, chw, floats * sizeof *chw) != rows[i].hash)
            fail_msg("%s at %zu: other values than torchvision's", rows[i].preset, size);
        free(chw);
    }
    pct_picture_close(picture);
}

/* The inputs that were stored when EfficientNet-Lite0's expected probabilities were computed. */
static void test_lite_inputs(void **state) {
    enum { SIZE = 224, FLOATS = 3 * SIZE * SIZE };
    pcti_file file, json;
    const pct_preset *preset;
    if (pcti_file_map(PCT_SHARED_DIR "/models/efficientnet_lite0_expected.safetensors", &file) != PCT_OK) {
        print_message("%s: skipped\n", pct_error_message());
        skip();
    }
    assert_int_equal(pcti_file_map(PCT_SHARED_DIR "/models/efficientnet_lite0_expected.json", &json), PCT_OK);
    assert_int_equal(pct_preset_find("lite", &preset), PCT_OK);
    uint64_t header_bytes;
    memcpy(&header_bytes, file.data, sizeof header_bytes);
    char *header = calloc(header_bytes + 1, 1), *text = calloc(json.bytes + 1, 1);
    float *chw = malloc(FLOATS * sizeof *chw), *stored = malloc(FLOATS * sizeof *chw);
    assert_true(header && text && chw && stored);
    memcpy(header, file.data + 8, header_bytes);
    memcpy(text, json.data, json.bytes);
    const char *entry = text;
    for (int number = 0; number < 8; number++) {
        char name[256], path[512], key[16];
        unsigned long start;
        entry = strstr(entry + 1, "\"file\": \"");
        assert_non_null(entry);
        assert_int_equal(sscanf(entry, "\"file\": \"%255[^\"]", name), 1);
        if (number != 0 && number != 7) continue;
        snprintf(path, sizeof path, "%s/%s", PCT_SHARED_DIR, name);
        snprintf(key, sizeof key, "\"input.%d\"", number);
        const char *tensor = strstr(header, key);
        assert_non_null(tensor);
        assert_int_equal(sscanf(strstr(tensor, "\"data_offsets\""), "\"data_offsets\":[%lu", &start), 1);
        memcpy(stored, file.data + 8 + header_bytes + start, FLOATS * sizeof *stored);
        pct_picture *picture = open_shared(path);
        assert_int_equal(pct_picture_preprocess(picture, preset, SIZE, chw), PCT_OK);
        assert_memory_equal(chw, stored, FLOATS * sizeof *chw);
        pct_picture_close(picture);
    }
    free(header);
    free(text);
    free(chw);
    free(stored);
    pcti_file_unmap(&file);
    pcti_file_unmap(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_as_pillow),       cmocka_unit_test(test_window),
        cmocka_unit_test(test_extreme_shapes),         cmocka_unit_test(test_preset_names),
        cmocka_unit_test(test_presets_as_torchvision), cmocka_unit_test(test_lite_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
