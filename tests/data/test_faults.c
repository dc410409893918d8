/* Broken, hostile and missing picture files: a clear error, never a half grey picture, a crash, a hang or a
 * leak. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "encode.h"
#include "pct/data.h"

enum { SIDE = 256, SOF_BASELINE = 0xC0, SOF_PROGRESSIVE = 0xC2, SOS = 0xDA };

static void refused(const blob *b, const char *reason) {
    pct_picture *picture;
    pct_status status = pct_picture_decode(b->data, b->bytes, NULL, &picture);
    assert_int_equal(status, PCT_ERROR_FORMAT);
    assert_null(picture);
    if (!strstr(pct_error_message(), reason)) fail_msg("\"%s\" lacks \"%s\"", pct_error_message(), reason);
}

static blob noise_jpeg(int width, int height, const jpeg_kind *kind) {
    size_t bytes = (size_t)(width * height * kind->components);
    uint8_t *pixels = malloc(bytes);
    assert_non_null(pixels);
    noise(pixels, bytes);
    blob b = encode_jpeg(pixels, width, height, kind);
    free(pixels);
    return b;
}

static blob noise_png(int width, int height) {
    uint8_t *rgb = malloc((size_t)(width * height * 3));
    assert_non_null(rgb);
    noise(rgb, (size_t)(width * height * 3));
    blob b = encode_png(rgb, width, height);
    free(rgb);
    return b;
}

static const jpeg_kind kinds[] = {
    {.components = 3},
    {.components = 3, .progressive = 1},
    {.components = 3, .restart_rows = 1},
    {.components = 3, .separate = 1},
    {.components = 1, .progressive = 1, .restart_rows = 1},
    {.components = 4, .ycck = 1},
    {.components = 3, .arithmetic = 1},
    {.components = 3, .arithmetic = 1, .progressive = 1},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void test_cut_in_half(void **state) {
    for (int progressive = 0; progressive < 2; progressive++) {
        blob b = noise_jpeg(SIDE, SIDE, &(jpeg_kind){.components = 3, .progressive = progressive});
        size_t whole = b.bytes, scan = blob_find_marker(&b, SOS);
        b.bytes = whole / 2;
        refused(&b, "premature end");
        b.bytes = scan;
        refused(&b, "missing SOS");
        b.bytes = whole - 2;
        pct_picture *picture;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, NULL, &picture), PCT_OK);
        assert_int_equal(picture->warnings, 1);
        pct_picture_close(picture);
        blob_free(&b);
    }
}

/* Cut anywhere, a file is refused, or all its pixels are there. */
static void test_cut_anywhere(void **state) {
    for (int k = 0; k <= KINDS; k++) {
        blob b = k < KINDS ? noise_jpeg(33, 40, &kinds[k]) : noise_png(33, 40);
        size_t whole = b.bytes, accepted = 0;
        pct_picture *base, *picture;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, NULL, &base), PCT_OK);
        for (b.bytes = 0; b.bytes < whole; b.bytes++) {
            /* At its own length, so that a read beyond the end is seen by the sanitizer. */
            blob cut = blob_copy(&b);
            if (pct_picture_decode(cut.data, cut.bytes, NULL, &picture) == PCT_OK) {
                accepted++;
                assert_true(picture->warnings >= 1);
                if (memcmp(picture->rgb, base->rgb, 33 * 40 * 3)) fail_msg("kind %d cut at %zu", k, b.bytes);
                pct_picture_close(picture);
            }
            blob_free(&cut);
        }
        assert_true(accepted <= 16);
        pct_picture_close(base);
        b.bytes = whole;
        blob_free(&b);
    }
}

static void test_flipped_bytes(void **state) {
    static const uint8_t flips[] = {0x01, 0x80, 0xFF};
    pct_picture_options options = {.struct_bytes = sizeof options, .max_pixels = 1 << 20};
    for (int k = 0; k <= KINDS; k++) {
        blob b = k < KINDS ? noise_jpeg(17, 9, &kinds[k]) : noise_png(17, 9);
        for (size_t i = 0; i < b.bytes; i++)
            for (size_t f = 0; f < sizeof flips; f++) {
                pct_picture *picture;
                b.data[i] ^= flips[f];
                if (pct_picture_decode(b.data, b.bytes, &options, &picture) == PCT_OK)
                    assert_true(picture->width > 0 && picture->height > 0);
                pct_picture_close(picture);
                b.data[i] ^= flips[f];
            }
        blob_free(&b);
    }
}

static void patch_size(blob *jpeg, int marker, int height, int width) {
    uint8_t *frame = jpeg->data + blob_find_marker(jpeg, marker);
    frame[5] = (uint8_t)(height >> 8), frame[6] = (uint8_t)height;
    frame[7] = (uint8_t)(width >> 8), frame[8] = (uint8_t)width;
}

static void test_huge_claims(void **state) {
    uint64_t start = pcti_clock_ns();
    for (int progressive = 0; progressive < 2; progressive++) {
        int marker = progressive ? SOF_PROGRESSIVE : SOF_BASELINE;
        blob b = noise_jpeg(16, 16, &(jpeg_kind){.components = 3, .progressive = progressive});
        patch_size(&b, marker, 65284, 62994);
        refused(&b, "62994x65284 = 4112500296 pixels exceed the limit of 178956970");
        patch_size(&b, marker, 13000, 13000); /* within the limit, but not in this file */
        refused(&b, "cannot hold 13000x13000 pixels");
        patch_size(&b, marker, 65535, 65535);
        refused(&b, "");
        patch_size(&b, marker, 0, 16);
        refused(&b, "");
        blob_free(&b);
    }
    blob b = noise_png(16, 16);
    static const uint8_t size[] = {0, 1, 0, 0, 0, 1, 0, 0}; /* 65536x65536; the CRC is wrong then, too */
    memcpy(b.data + 16, size, sizeof size);
    refused(&b, "");
    blob_free(&b);
    assert_true(pcti_clock_ns() - start < 1000000000u);
}

static void test_pixel_limit(void **state) {
    pct_picture_options options = {.struct_bytes = sizeof options, .max_pixels = 99};
    pct_picture *picture;
    for (int png = 0; png < 2; png++) {
        blob b = png ? noise_png(10, 10) : noise_jpeg(10, 10, &(jpeg_kind){.components = 3});
        options.max_pixels = 99;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, &options, &picture), PCT_ERROR_FORMAT);
        assert_non_null(strstr(pct_error_message(), "10x10 = 100 pixels exceed the limit of 99"));
        options.max_pixels = 100;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, &options, &picture), PCT_OK);
        pct_picture_close(picture);
        options.struct_bytes = sizeof options + 8;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, &options, &picture), PCT_ERROR_ARGUMENT);
        options.struct_bytes = sizeof options;
        options.max_pixels = -1;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, &options, &picture), PCT_ERROR_ARGUMENT);
        blob_free(&b);
    }
}

/* The last scan repeated a thousand times. */
static void test_many_scans(void **state) {
    blob b = noise_jpeg(32, 32, &(jpeg_kind){.components = 1, .progressive = 1});
    size_t last = b.bytes - 2;
    while (b.data[last] != 0xFF || b.data[last + 1] != SOS) last--;
    size_t scan_bytes = b.bytes - 2 - last;
    uint8_t *scan = malloc(scan_bytes);
    assert_non_null(scan);
    memcpy(scan, b.data + last, scan_bytes);
    pct_picture *picture;
    for (int i = 0; i < 50; i++) blob_insert(&b, last, scan, scan_bytes);
    assert_int_equal(pct_picture_decode(b.data, b.bytes, NULL, &picture), PCT_OK);
    pct_picture_close(picture);
    for (int i = 0; i < 950; i++) blob_insert(&b, last, scan, scan_bytes);
    refused(&b, "more than 100 scans");
    free(scan);
    blob_free(&b);
}

static void test_not_pictures(void **state) {
    static const struct {
        const char *text, *reason;
    } rows[] = {{"", "0 bytes"},           {"hello", "neither JPEG nor PNG"},
                {"\xFF\xD8", "neither"},   {"GIF89a", "neither"},
                {"\xFF\xD8\xFF", "JPEG:"}, {"\x89PNG\r\n\x1a\n", "PNG: premature end"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        blob b = {(uint8_t *)(uintptr_t)rows[i].text, strlen(rows[i].text)};
        refused(&b, rows[i].reason);
    }
}

static void open_fails(const char *path, pct_status expected, const char *reason) {
    pct_picture *picture;
    assert_int_equal(pct_picture_open(path, NULL, &picture), expected);
    assert_null(picture);
    if (!strstr(pct_error_message(), path) || !strstr(pct_error_message(), reason))
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", pct_error_message(), path, reason);
}

static void test_paths(void **state) {
    char folder[] = "/tmp/pct-faults-XXXXXX", path[64], below[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/picture.jpg", folder);
    snprintf(below, sizeof below, "%s/below", path);
    open_fails(folder, PCT_ERROR_IO, "not a regular file");
    open_fails(path, PCT_ERROR_NOT_FOUND, "No such file");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    open_fails(path, PCT_ERROR_FORMAT, "0 bytes");
    open_fails(below, PCT_ERROR_IO, "Not a directory");
    fputs("some text in place of a picture", file);
    fclose(file);
    open_fails(path, PCT_ERROR_FORMAT, "neither JPEG nor PNG");
    if (geteuid()) { /* root reads everything */
        chmod(path, 0);
        open_fails(path, PCT_ERROR_IO, "Permission denied");
    }
    unlink(path);
    rmdir(folder);
}

/* Each allocation of ours fails once. */
static void test_out_of_memory(void **state) {
    static const jpeg_kind kind = {.components = 3};
    const pct_preset *preset;
    assert_int_equal(pct_preset_find("lite", &preset), PCT_OK);
    for (int png = 0; png < 2; png++) {
        blob b = png ? noise_png(20, 10) : noise_jpeg(20, 10, &kind);
        if (!png) blob_add_exif(&b, 0, 0x112, 3, 6);
        float *chw = malloc(3 * 8 * 8 * sizeof *chw);
        assert_non_null(chw);
        int failures = 0;
        for (uint64_t nth = 1;; nth++) {
            pct_picture *picture = NULL;
            pct_picture_paths *list = NULL;
            pcti_memory_fail_at(nth);
            pct_status status = pct_picture_decode(b.data, b.bytes, NULL, &picture);
            if (status == PCT_OK) status = pct_picture_preprocess(picture, preset, 8, chw);
            if (status == PCT_OK) status = pct_picture_list(PCT_SOURCE_DIR "/tests/data/files", &list);
            pcti_memory_fail_at(0);
            pct_picture_close(picture);
            pct_picture_paths_free(list);
            if (status == PCT_OK) break;
            assert_int_equal(status, PCT_ERROR_MEMORY);
            failures++;
        }
        assert_true(failures >= 10);
        free(chw);
        blob_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_in_half),   cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_flipped_bytes), cmocka_unit_test(test_huge_claims),
        cmocka_unit_test(test_pixel_limit),   cmocka_unit_test(test_many_scans),
        cmocka_unit_test(test_not_pictures),  cmocka_unit_test(test_paths),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
