/* Bilinear resizing with antialiasing, byte for byte as Pillow's Image.resize(size, BILINEAR) where both
 * directions shrink or both grow. (Pillow 13 swaps the passes where only the height shrinks; none of our
 * presets does.) */
#ifndef PCTI_DATA_RESAMPLE_H
#define PCTI_DATA_RESAMPLE_H

#include <stdint.h>

#include "base/status.h"

/* A part of a resized picture: the whole would have full_width x full_height pixels, wanted are those from
 * (x, y) on. */
typedef struct pcti_window {
    int64_t full_width, full_height; /* at least 1 */
    int64_t x, y;                    /* the window lies inside the whole */
    int32_t width, height;           /* at least 1 */
} pcti_window;

/* src: height rows of width RGB pixels, dst: window->height rows of window->width RGB pixels, both without
 * gaps. */
pct_status pcti_resample(const uint8_t *src, int32_t width, int32_t height, const pcti_window *window,
                         uint8_t *dst);

#endif
