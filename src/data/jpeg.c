/* JPEG through libjpeg's API (libjpeg-turbo), with limits against hostile files and a check that every pixel
 * came from the file: libjpeg by itself returns a truncated picture half grey, with no more than a warning.
 */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h wants it first */
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/memory.h"
#include "data/decode.h"

enum { MAX_SCANS = 100, MARKER_EXIF = JPEG_APP0 + 1, ROWS_PER_CALL = 8, CMYK = 4 };

typedef struct jpeg_reader {
    struct jpeg_decompress_struct codec;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    pct_status status;
    bool created;    /* the codec holds memory */
    bool file_ended; /* libjpeg asked for bytes beyond the last one */
} jpeg_reader;

static void stop(jpeg_reader *reader, pct_status status) {
    reader->status = status;
    longjmp(reader->failed, 1);
}

static void on_error(j_common_ptr codec) {
    char text[JMSG_LENGTH_MAX];
    jpeg_reader *reader = codec->client_data;
    codec->err->format_message(codec, text);
    bool memory = codec->err->msg_code == JERR_OUT_OF_MEMORY;
    stop(reader, pcti_fail(memory ? PCT_ERROR_MEMORY : PCT_ERROR_FORMAT, "JPEG: %s", text));
}

static void on_message(j_common_ptr codec, int level) {
    jpeg_reader *reader = codec->client_data;
    if (level >= 0) return;
    codec->err->num_warnings++;
    if (codec->err->msg_code == JWRN_JPEG_EOF) reader->file_ended = true;
    if (codec->err->msg_code == JWRN_HIT_MARKER) /* a scan ended before its last block */
        stop(reader,
             pcti_fail(PCT_ERROR_FORMAT, "JPEG: premature end of the picture's data: cut or damaged"));
}

static void on_progress(j_common_ptr codec) {
    jpeg_reader *reader = codec->client_data;
    if (reader->codec.input_scan_number > MAX_SCANS)
        stop(reader, pcti_fail(PCT_ERROR_FORMAT, "JPEG: more than %d scans", MAX_SCANS));
}

/* A Huffman code takes at least one bit, so at least one bit is there for each block of 64 pixels of each
 * component. A component may be subsampled by 4 in each direction, but then another one is not in that
 * direction. */
static pct_status check_plausible(const jpeg_reader *reader, size_t bytes) {
    const struct jpeg_decompress_struct *codec = &reader->codec;
    uint64_t pixels = (uint64_t)codec->image_width * codec->image_height,
             most = (uint64_t)bytes * 8 * DCTSIZE2 * 4;
    if (codec->arith_code || pixels <= most) return PCT_OK;
    return pcti_fail(PCT_ERROR_FORMAT, "JPEG: %zu bytes cannot hold %ux%u pixels", bytes, codec->image_width,
                     codec->image_height);
}

static int stored_orientation(const struct jpeg_decompress_struct *codec) {
    static const char exif[] = "Exif\0";
    for (jpeg_saved_marker_ptr marker = codec->marker_list; marker; marker = marker->next)
        if (marker->marker == MARKER_EXIF && marker->data_length >= sizeof exif &&
            !memcmp(marker->data, exif, sizeof exif))
            return pcti_exif_orientation(marker->data + sizeof exif, marker->data_length - sizeof exif);
    return 1;
}

static void choose_output(struct jpeg_decompress_struct *codec, int32_t min_short_side) {
    codec->out_color_space = codec->num_components == CMYK ? JCS_CMYK : JCS_RGB;
    codec->dct_method = JDCT_ISLOW;
    codec->do_fancy_upsampling = TRUE;
    if (!min_short_side) return;
    JDIMENSION side = codec->image_width < codec->image_height ? codec->image_width : codec->image_height;
    codec->scale_denom = 8;
    while (codec->scale_denom > 1 &&
           (side + codec->scale_denom - 1) / codec->scale_denom < (JDIMENSION)min_short_side)
        codec->scale_denom /= 2;
    codec->scale_num = 1;
}

/* True if the scans read so far determine every coefficient. Asked once the input is used up (several scans),
 * or after the last row (one scan). */
static bool has_all_scans(const jpeg_reader *reader) {
    const struct jpeg_decompress_struct *codec = &reader->codec;
    if (reader->file_ended && codec->arith_code) return false; /* zeros are legal at its end: cannot tell */
    for (int c = 0; c < codec->num_components; c++) {
        if (!codec->comp_info[c].quant_table) return false; /* no scan of this component */
        if (!codec->progressive_mode) continue;
        if (codec->coef_bits[c][0] < 0) return false;
        /* A whole file may leave out refinements on purpose, a cut one lost them. */
        for (int k = 0; reader->file_ended && k < DCTSIZE2; k++)
            if (codec->coef_bits[c][k]) return false;
    }
    return true;
}

/* Adobe's inverted CMYK, 0 = full ink; a file without Adobe's marker is read alike, as Pillow does. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint8_t *rgb, size_t pixels) {
    for (size_t i = 0; i < pixels; i++, cmyk += CMYK, rgb += 3)
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((cmyk[c] * cmyk[3] + 127) / 255);
}

static void read_rows(struct jpeg_decompress_struct *codec, pct_picture *picture) {
    size_t row_bytes = (size_t)picture->width * 3;
    JSAMPARRAY inks = NULL;
    if (codec->out_color_space == JCS_CMYK)
        inks = codec->mem->alloc_sarray((j_common_ptr)codec, JPOOL_IMAGE, codec->output_width * CMYK, 1);
    while (codec->output_scanline < codec->output_height) {
        uint8_t *next = picture->rgb + codec->output_scanline * row_bytes;
        if (inks) {
            jpeg_read_scanlines(codec, inks, 1);
            cmyk_to_rgb(inks[0], next, codec->output_width);
            continue;
        }
        JSAMPROW rows[ROWS_PER_CALL];
        JDIMENSION left = codec->output_height - codec->output_scanline;
        JDIMENSION count = left < ROWS_PER_CALL ? left : ROWS_PER_CALL;
        for (JDIMENSION i = 0; i < count; i++) rows[i] = next + i * row_bytes;
        jpeg_read_scanlines(codec, rows, count);
    }
}

static void read_picture(jpeg_reader *reader, const uint8_t *data, size_t bytes,
                         const pct_picture_options *options, pct_picture *picture) {
    struct jpeg_decompress_struct *codec = &reader->codec;
    static const char missing[] = "JPEG: scans are missing, the file is cut";
    pct_status status;
    jpeg_create_decompress(codec); /* clears the structure but for err and client_data */
    reader->created = true;
    reader->progress.progress_monitor = on_progress;
    codec->progress = &reader->progress;
    jpeg_mem_src(codec, data, (unsigned long)bytes);
    jpeg_save_markers(codec, MARKER_EXIF, 0xFFFF);
    jpeg_read_header(codec, TRUE);
    if ((status = pcti_picture_check_size(codec->image_width, codec->image_height, options)) != PCT_OK ||
        (status = check_plausible(reader, bytes)) != PCT_OK)
        stop(reader, status);
    if (codec->num_components != 1 && codec->num_components != 3 && codec->num_components != CMYK)
        stop(reader,
             pcti_fail(PCT_ERROR_FORMAT, "JPEG: %d components, not 1, 3 or 4", codec->num_components));
    picture->orientation = stored_orientation(codec);
    choose_output(codec, options->min_short_side);
    jpeg_start_decompress(codec); /* reads all scans if there are several */
    if (jpeg_has_multiple_scans(codec) && !has_all_scans(reader))
        stop(reader, pcti_fail(PCT_ERROR_FORMAT, missing));
    if ((status = pcti_picture_allocate(picture, codec->output_width, codec->output_height)) != PCT_OK)
        stop(reader, status);
    read_rows(codec, picture);
    if (!has_all_scans(reader)) stop(reader, pcti_fail(PCT_ERROR_FORMAT, missing));
    /* No jpeg_finish_decompress: stray bytes and trailers behind the last pixel are nobody's business. */
}

/* A frame of its own for setjmp: nothing here changes after it. */
static void read_guarded(jpeg_reader *reader, const uint8_t *data, size_t bytes,
                         const pct_picture_options *options, pct_picture *picture) {
    if (!setjmp(reader->failed)) read_picture(reader, data, bytes, options, picture);
}

pct_status pcti_jpeg_decode(const uint8_t *data, size_t bytes, const pct_picture_options *options,
                            pct_picture *picture) {
    jpeg_reader reader = {.status = PCT_OK};
    reader.codec.err = jpeg_std_error(&reader.errors);
    reader.errors.error_exit = on_error;
    reader.errors.emit_message = on_message;
    reader.codec.client_data = &reader;
    read_guarded(&reader, data, bytes, options, picture);
    picture->warnings = (int32_t)reader.errors.num_warnings;
    if (reader.created) jpeg_destroy_decompress(&reader.codec);
    return reader.status;
}
