/* Pictures that decode: values of Pillow, odd but whole files, orientation, colour spaces, folders. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "encode.h"
#include "expected.h"
#include "pct/data.h"

#define FILES PCT_SOURCE_DIR "/tests/data/files/"

static size_t rgb_bytes(const pct_picture *picture) {
    return 3 * (size_t)picture->width * (size_t)picture->height;
}

static pct_picture *decode(const blob *b) {
    pct_picture *picture;
    if (pct_picture_decode(b->data, b->bytes, NULL, &picture) != PCT_OK) fail_msg("%s", pct_error_message());
    return picture;
}

static pct_picture *open_file(const char *name) {
    char path[512];
    pct_picture *picture;
    snprintf(path, sizeof path, "%s%s", FILES, name);
    if (pct_picture_open(path, NULL, &picture) != PCT_OK) fail_msg("%s", pct_error_message());
    return picture;
}

static blob read_file(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", FILES, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    blob b = {malloc(1 << 16), 0};
    assert_non_null(b.data);
    b.bytes = fread(b.data, 1, 1 << 16, file);
    fclose(file);
    return b;
}

static void same_pixels(const pct_picture *a, const pct_picture *b) {
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_memory_equal(a->rgb, b->rgb, rgb_bytes(a));
}

static void test_as_pillow(void **state) {
    static const struct {
        const char *name;
        int width, height;
        uint64_t hash;
    } rows[] = {DECODED_ROWS};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pct_picture *picture = open_file(rows[i].name);
        assert_int_equal(picture->width, rows[i].width);
        assert_int_equal(picture->height, rows[i].height);
        if (pcti_fnv1a(PCTI_FNV_START, picture->rgb, rgb_bytes(picture)) != rows[i].hash)
            fail_msg("%s: other pixels than Pillow's", rows[i].name);
        assert_int_equal(picture->warnings, 0);
        pct_picture_close(picture);
    }
}

/* Kaggle's cats and dogs: no JFIF segment, stray bytes before the end, JFIF revision 0.0. */
static void test_odd_but_whole(void **state) {
    pct_picture *base = open_file("ramp.jpg");
    uint8_t stray[65];
    memset(stray, 0x12, sizeof stray);
    for (int i = 0; i < 4; i++) {
        blob b = read_file("ramp.jpg");
        if (i == 0) blob_insert(&b, 2, NULL, 18);
        if (i == 1) blob_insert(&b, b.bytes - 2, stray, sizeof stray);
        if (i == 2) b.data[11] = b.data[12] = 0;
        if (i == 3) b.bytes -= 2; /* no end marker, but all pixels */
        pct_picture *picture = decode(&b);
        same_pixels(picture, base);
        assert_int_equal(picture->warnings, i < 2 ? 0 : 1);
        pct_picture_close(picture);
        blob_free(&b);
    }
    pct_picture_close(base);
}

static void test_png_without_end(void **state) {
    pct_picture *base = open_file("rgb.png");
    blob b = read_file("rgb.png");
    b.bytes -= 12;
    pct_picture *picture = decode(&b);
    same_pixels(picture, base);
    assert_int_equal(picture->warnings, 1);
    pct_picture_close(picture);
    pct_picture_close(base);
    blob_free(&b);
}

static void check_rgb(const pct_picture *picture, int x, int y, int r, int g, int b) {
    const uint8_t *p = picture->rgb + 3 * ((size_t)y * (size_t)picture->width + (size_t)x);
    if (abs(p[0] - r) > 2 || abs(p[1] - g) > 2 || abs(p[2] - b) > 2)
        fail_msg("(%d,%d) is %d %d %d, not %d %d %d", x, y, p[0], p[1], p[2], r, g, b);
}

static void test_four_components(void **state) {
    static const uint8_t inks[2][4] = {{0, 255, 255, 0}, {51, 0, 204, 26}};
    static const int rgb[2][3] = {{255, 0, 0}, {183, 229, 46}};
    static const char *const names[2] = {"cmyk_red.jpg", "cmyk_mixed.jpg"};
    for (int i = 0; i < 2; i++) {
        pct_picture *picture = open_file(names[i]);
        check_rgb(picture, 7, 7, rgb[i][0], rgb[i][1], rgb[i][2]);
        pct_picture_close(picture);
        for (int ycck = 0; ycck < 2; ycck++) {
            uint8_t pixels[16 * 16 * 4];
            for (int k = 0; k < 16 * 16 * 4; k++) pixels[k] = (uint8_t)(255 - inks[i][k % 4]);
            blob b = encode_jpeg(pixels, 16, 16, &(jpeg_kind){.components = 4, .ycck = ycck});
            picture = decode(&b);
            check_rgb(picture, 7, 7, rgb[i][0], rgb[i][1], rgb[i][2]);
            pct_picture_close(picture);
            blob_free(&b);
        }
    }
}

/* 3x2 blocks of 8x8 pixels. */
static blob blocks_jpeg(void) {
    static const uint8_t values[2][3] = {{0, 40, 80}, {120, 160, 200}};
    uint8_t gray[16 * 24];
    for (int y = 0; y < 16; y++)
        for (int x = 0; x < 24; x++) gray[y * 24 + x] = values[y / 8][x / 8];
    return encode_jpeg(gray, 24, 16, &(jpeg_kind){.components = 1});
}

static void check_blocks(const pct_picture *picture, int columns, const int *values) {
    assert_int_equal(picture->width, columns * 8);
    assert_int_equal(picture->height, 6 / columns * 8);
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < picture->width; x++) {
            int value = values[y / 8 * columns + x / 8];
            check_rgb(picture, x, y, value, value, value);
        }
}

static const struct {
    int columns, values[6];
} upright[9] = {
    {3, {0, 40, 80, 120, 160, 200}}, {3, {0, 40, 80, 120, 160, 200}}, {3, {80, 40, 0, 200, 160, 120}},
    {3, {200, 160, 120, 80, 40, 0}}, {3, {120, 160, 200, 0, 40, 80}}, {2, {0, 120, 40, 160, 80, 200}},
    {2, {120, 0, 160, 40, 200, 80}}, {2, {200, 80, 160, 40, 120, 0}}, {2, {80, 200, 40, 160, 0, 120}},
};

static void test_orientation(void **state) {
    enum { TAG = 0x112, SHORT = 3 };
    for (int big_endian = 0; big_endian < 2; big_endian++)
        for (int value = 0; value < 10; value++) {
            int applied = value >= 1 && value <= 8 ? value : 1;
            blob b = blocks_jpeg();
            blob_add_exif(&b, big_endian, TAG, SHORT, value);
            pct_picture *picture = decode(&b);
            check_blocks(picture, upright[applied].columns, upright[applied].values);
            assert_int_equal(picture->orientation, applied);
            pct_picture_close(picture);
            blob_free(&b);
        }
}

static void test_broken_exif(void **state) {
    enum { TAG = 0x112, SHORT = 3, SEGMENT = 2, TIFF = SEGMENT + 10 };
    static const struct {
        size_t at;
        uint8_t byte;
    } damage[] = {
        {TIFF, 'X'},       {TIFF + 2, 7},  {TIFF + 4, 0xFF},   {TIFF + 7, 0xFF},
        {TIFF + 4, 24},    {TIFF + 11, 9}, {TIFF + 12, 2},     {TIFF + 14, 2},
        {TIFF + 17, 0x80}, {TIFF + 19, 1}, {SEGMENT + 4, 'e'},
    };
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        blob b = blocks_jpeg();
        blob_add_exif(&b, 0, TAG, SHORT, 6);
        b.data[damage[i].at] = damage[i].byte;
        pct_picture *picture = decode(&b);
        check_blocks(picture, 3, upright[1].values);
        pct_picture_close(picture);
        blob_free(&b);
    }
    /* More entries claimed than there are, the tag not among them; and an empty segment. */
    for (int i = 0; i < 2; i++) {
        static const uint8_t empty[] = {0xFF, 0xE1, 0, 8, 'E', 'x', 'i', 'f', 0, 0};
        blob b = blocks_jpeg();
        blob_add_exif(&b, 0, 0x110, SHORT, 6);
        memset(b.data + TIFF + 8, 0xFF, 2);
        if (i) blob_insert(&b, 2, empty, sizeof empty);
        pct_picture *picture = decode(&b);
        check_blocks(picture, 3, upright[1].values);
        pct_picture_close(picture);
        blob_free(&b);
    }
}

/* An eXIf chunk with orientation 6, before or after the pixels. */
static void test_png_orientation(void **state) {
    static const uint8_t chunk[] = {0, 0, 0, 26, 'e', 'X', 'I',  'f', 'M',  'M',  0,    42,  0,
                                    0, 0, 8, 0,  1,   1,   0x12, 0,   3,    0,    0,    0,   1,
                                    0, 6, 0, 0,  0,   0,   0,    0,   0xd6, 0x67, 0x4b, 0x69};
    for (int after = 0; after < 2; after++) {
        uint8_t rgb[4 * 2 * 3];
        noise(rgb, sizeof rgb);
        blob b = encode_png(rgb, 4, 2);
        blob_insert(&b, after ? b.bytes - 12 : 33, chunk, sizeof chunk);
        pct_picture *picture = decode(&b);
        assert_int_equal(picture->width, 2);
        assert_int_equal(picture->height, 4);
        assert_int_equal(picture->orientation, 6);
        assert_memory_equal(picture->rgb, rgb + 4 * 3, 3); /* upper left was lower left */
        assert_memory_equal(picture->rgb + 3, rgb, 3);
        assert_memory_equal(picture->rgb + 21, rgb + 9, 3); /* lower right was upper right */
        pct_picture_close(picture);
        blob_free(&b);
    }
}

static void test_min_short_side(void **state) {
    static const struct {
        int min, width, height;
    } rows[] = {{0, 100, 77}, {77, 100, 77}, {39, 50, 39}, {40, 100, 77},
                {20, 25, 20}, {10, 13, 10},  {1, 13, 10}};
    uint8_t *gray = malloc(100 * 77);
    assert_non_null(gray);
    memset(gray, 90, 100 * 77);
    blob b = encode_jpeg(gray, 100, 77, &(jpeg_kind){.components = 1});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pct_picture_options options = {.struct_bytes = sizeof options, .min_short_side = rows[i].min};
        pct_picture *picture;
        assert_int_equal(pct_picture_decode(b.data, b.bytes, &options, &picture), PCT_OK);
        assert_int_equal(picture->width, rows[i].width);
        assert_int_equal(picture->height, rows[i].height);
        check_rgb(picture, picture->width - 1, picture->height - 1, 90, 90, 90);
        pct_picture_close(picture);
    }
    blob_free(&b);
    free(gray);
}

static void test_list(void **state) {
    static const char *const files[] = {"b.jpg", "10", "2", "B", "1.png", ".hidden"};
    static const char *const sorted[] = {"1.png", "10", "2", "B", "b.jpg", "link"};
    char folder[] = "/tmp/pct-list-XXXXXX", path[256], inner[256], link_path[256];
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fclose(file);
    }
    snprintf(inner, sizeof inner, "%s/folder", folder);
    assert_int_equal(mkdir(inner, 0777), 0);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    assert_int_equal(symlink("2", link_path), 0);

    for (int slash = 0; slash < 2; slash++) {
        pct_picture_paths *list;
        snprintf(path, sizeof path, "%s%s", folder, slash ? "/" : "");
        assert_int_equal(pct_picture_list(path, &list), PCT_OK);
        assert_int_equal(list->count, 6);
        for (size_t i = 0; i < 6; i++) {
            snprintf(path, sizeof path, "%s/%s", folder, sorted[i]);
            assert_string_equal(list->paths[i], path);
        }
        pct_picture_paths_free(list);
    }
    pct_picture_paths *list;
    assert_int_equal(pct_picture_list(inner, &list), PCT_OK);
    assert_int_equal(list->count, 0);
    pct_picture_paths_free(list);
    assert_int_equal(pct_picture_list("no/such/picture.jpg", &list), PCT_OK);
    assert_int_equal(list->count, 1);
    assert_string_equal(list->paths[0], "no/such/picture.jpg");
    pct_picture_paths_free(list);

    for (size_t i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    unlink(link_path);
    rmdir(inner);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_pillow),
        cmocka_unit_test(test_odd_but_whole),
        cmocka_unit_test(test_png_without_end),
        cmocka_unit_test(test_four_components),
        cmocka_unit_test(test_orientation),
        cmocka_unit_test(test_broken_exif),
        cmocka_unit_test(test_png_orientation),
        cmocka_unit_test(test_min_short_side),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
