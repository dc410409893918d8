/* PNG through libpng. */
#include <setjmp.h>
#include <string.h>

#include <png.h>

#include "base/memory.h"
#include "data/decode.h"

typedef struct png_reader {
    png_structp codec;
    png_infop info;
    png_bytepp rows;
    const uint8_t *next;
    size_t bytes_left;
    pct_status status;
    int32_t warnings;
    bool complete; /* every pixel is there: what fails from now on is a warning */
} png_reader;

static void on_error(png_structp codec, png_const_charp text) {
    png_reader *reader = png_get_error_ptr(codec);
    reader->status = pcti_fail(PCT_ERROR_FORMAT, "PNG: %s", text);
    png_longjmp(codec, 1);
}

static void on_warning(png_structp codec, png_const_charp text) {
    png_reader *reader = png_get_error_ptr(codec);
    reader->warnings++;
}

static void stop(png_reader *reader, pct_status status) {
    reader->status = status;
    png_longjmp(reader->codec, 1);
}

static void read_bytes(png_structp codec, png_bytep to, png_size_t bytes) {
    png_reader *reader = png_get_io_ptr(codec);
    if (bytes > reader->bytes_left) png_error(codec, "premature end, the file is cut");
    memcpy(to, reader->next, bytes);
    reader->next += bytes;
    reader->bytes_left -= bytes;
}

/* Any PNG becomes rows of 8-bit RGB, as Pillow's convert("RGB") does it: alpha and transparency dropped. */
static void choose_output(png_reader *reader) {
    png_set_palette_to_rgb(reader->codec);
    png_set_expand_gray_1_2_4_to_8(reader->codec);
    png_set_strip_16(reader->codec);
    png_set_gray_to_rgb(reader->codec);
    png_set_strip_alpha(reader->codec);
    png_set_interlace_handling(reader->codec);
    png_read_update_info(reader->codec, reader->info);
}

static void read_picture(png_reader *reader, const pct_picture_options *options, pct_picture *picture) {
    /* Compressed text and colour profiles are not used: no work, no memory for them. */
    static const png_byte unused[] = "iCCP\0iTXt\0zTXt\0tEXt\0sPLT";
    pct_status status;
    png_set_read_fn(reader->codec, reader, read_bytes);
    png_set_keep_unknown_chunks(reader->codec, PNG_HANDLE_CHUNK_NEVER, unused, sizeof unused / 5);
    png_read_info(reader->codec, reader->info);
    uint32_t width = png_get_image_width(reader->codec, reader->info);
    uint32_t height = png_get_image_height(reader->codec, reader->info);
    if ((status = pcti_picture_check_size(width, height, options)) != PCT_OK) stop(reader, status);
    choose_output(reader);
    size_t row_bytes = (size_t)width * 3;
    if (png_get_rowbytes(reader->codec, reader->info) != row_bytes)
        stop(reader, pcti_fail(PCT_ERROR_FORMAT, "PNG: rows of %zu bytes for %u pixels",
                               (size_t)png_get_rowbytes(reader->codec, reader->info), width));
    if ((status = pcti_picture_allocate(picture, width, height)) != PCT_OK) stop(reader, status);
    if (!(reader->rows = pcti_calloc(height, sizeof *reader->rows))) stop(reader, PCT_ERROR_MEMORY);
    for (uint32_t y = 0; y < height; y++) reader->rows[y] = picture->rgb + y * row_bytes;
    png_read_image(reader->codec, reader->rows);
    reader->complete = true;
    png_read_end(reader->codec, reader->info); /* an eXIf chunk may follow the pixels */
}

/* A frame of its own for setjmp: nothing here changes after it. */
static void read_guarded(png_reader *reader, const pct_picture_options *options, pct_picture *picture) {
    if (!setjmp(png_jmpbuf(reader->codec))) read_picture(reader, options, picture);
}

static int stored_orientation(png_reader *reader) {
#ifdef PNG_eXIf_SUPPORTED
    png_uint_32 bytes;
    png_bytep exif;
    if (png_get_eXIf_1(reader->codec, reader->info, &bytes, &exif)) return pcti_exif_orientation(exif, bytes);
#endif
    return 1;
}

pct_status pcti_png_decode(const uint8_t *data, size_t bytes, const pct_picture_options *options,
                           pct_picture *picture) {
    png_reader reader = {.next = data, .bytes_left = bytes};
    reader.codec = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
    if (reader.codec) reader.info = png_create_info_struct(reader.codec);
    if (!reader.info) {
        png_destroy_read_struct(&reader.codec, NULL, NULL);
        return pcti_fail(PCT_ERROR_MEMORY, "PNG: libpng could not start");
    }
    read_guarded(&reader, options, picture);
    if (reader.complete && reader.status != PCT_OK) {
        reader.warnings++;
        reader.status = PCT_OK;
    }
    picture->warnings = reader.warnings;
    picture->orientation = stored_orientation(&reader);
    png_destroy_read_struct(&reader.codec, &reader.info, NULL);
    pcti_free(reader.rows);
    return reader.status;
}
