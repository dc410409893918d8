#include <string.h>

#include "data/decode.h"

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TIFF_HEADER_BYTES = 8, ENTRY_BYTES = 12 };

typedef struct tiff_block {
    const uint8_t *data;
    bool big_endian;
} tiff_block;

static uint32_t read_u16(const tiff_block *tiff, size_t at) {
    const uint8_t *p = tiff->data + at;
    return tiff->big_endian ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t read_u32(const tiff_block *tiff, size_t at) {
    uint32_t first = read_u16(tiff, at), second = read_u16(tiff, at + 2);
    return tiff->big_endian ? first << 16 | second : second << 16 | first;
}

int pcti_exif_orientation(const uint8_t *data, size_t bytes) {
    if (bytes < TIFF_HEADER_BYTES) return 1;
    tiff_block tiff = {data, data[0] == 'M'};
    if (memcmp(data, tiff.big_endian ? "MM\0*" : "II*\0", 4)) return 1;
    size_t directory = read_u32(&tiff, 4);
    if (directory > bytes - 2) return 1;
    size_t entries = read_u16(&tiff, directory);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + i * ENTRY_BYTES;
        if (entry + ENTRY_BYTES > bytes) return 1;
        if (read_u16(&tiff, entry) != TAG_ORIENTATION) continue;
        if (read_u16(&tiff, entry + 2) != TYPE_SHORT || read_u32(&tiff, entry + 4) != 1) return 1;
        uint32_t value = read_u16(&tiff, entry + 8);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

void pcti_orient(const uint8_t *stored, int32_t width, int32_t height, int orientation, uint8_t *upright) {
    /* Where the first stored pixel goes, and the steps in `upright` of one stored column and one stored row.
     */
    bool swapped = orientation >= 5;
    bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    ptrdiff_t column_step = swapped ? 3 * (ptrdiff_t)height : 3,
              row_step = swapped ? 3 : 3 * (ptrdiff_t)width;
    uint8_t *start = upright;
    if (mirror_x) start += (width - 1) * column_step, column_step = -column_step;
    if (mirror_y) start += (height - 1) * row_step, row_step = -row_step;
    for (ptrdiff_t y = 0; y < height; y++)
        for (ptrdiff_t x = 0; x < width; x++, stored += 3)
            memcpy(start + y * row_step + x * column_step, stored, 3);
}
