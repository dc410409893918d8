#!/usr/bin/env python3
"""Makes files/*.jpg and *.png and expected.h: what Pillow and torchvision make of them.

Usage: make_pictures.py SHARED     (needs pillow, numpy, torchvision; SHARED holds data/cats_dogs)
The tests need neither Python nor this script: its results are committed.
"""
import io
import pathlib
import struct
import sys
import zlib

import numpy as np
from PIL import Image
from torchvision import transforms

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE / "files"


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in bytes(data):
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def noise(width, height):
    """The same bytes as noise() in the tests."""
    x, out = 1, bytearray()
    for _ in range(width * height * 3):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(x >> 24)
    return np.frombuffer(bytes(out), np.uint8).reshape(height, width, 3)


def smooth(width, height):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 255 // (width - 1), y * 255 // (height - 1), (x * 7 + y * 13) % 256], -1).astype(np.uint8)


def save(name, image, **options):
    image.save(FILES / name, **options)


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(width, height, depth, colour, rows, extra=()):
    """For the kinds that Pillow does not write. rows: bytes of each row, unfiltered."""
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)), *extra, (b"IDAT", body), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


def interlaced_png(pixels):
    """8-bit RGB, Adam7."""
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    body = b""
    for x0, y0, dx, dy in passes:
        part = pixels[y0::dy, x0::dx]
        if part.size:
            body += b"".join(b"\0" + row.tobytes() for row in part)
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(body, 9)) + png_chunk(b"IEND", b"")


def make_files():
    FILES.mkdir(exist_ok=True)
    colour = Image.fromarray(smooth(37, 29))
    save("ramp.jpg", Image.fromarray(smooth(64, 48)), quality=90)
    save("odd_420.jpg", colour, quality=85, subsampling=2)
    save("odd_422.jpg", colour, quality=85, subsampling=1)
    save("odd_444.jpg", colour, quality=85, subsampling=0)
    save("progressive.jpg", colour, quality=85, progressive=True)
    save("gray.jpg", colour.convert("L"), quality=85)
    save("cmyk_red.jpg", Image.new("CMYK", (16, 16), (0, 255, 255, 0)))
    save("cmyk_mixed.jpg", Image.new("CMYK", (16, 16), (51, 0, 204, 26)))
    save("rgb.png", colour)
    save("gray.png", colour.convert("L"))
    save("palette.png", colour.quantize(16))
    save("palette_clear.png", colour.quantize(16), transparency=3)
    save("one_bit.png", colour.convert("1"))
    rgba = np.dstack([smooth(37, 29), smooth(37, 29)[..., 2]])
    save("rgba.png", Image.fromarray(rgba))
    save("gray_alpha.png", Image.fromarray(rgba).convert("LA"))
    save("rgb_clear.png", colour, transparency=(0, 0, 0))
    (FILES / "interlaced.png").write_bytes(interlaced_png(smooth(37, 29)))
    deep = smooth(37, 29).astype(">u2") * 256 + 200
    (FILES / "rgb16.png").write_bytes(raw_png(37, 29, 16, 2, [row.tobytes() for row in deep]))
    (FILES / "gray2.png").write_bytes(raw_png(16, 2, 2, 0, [bytes([0x1B] * 4), bytes([0xE4] * 4)]))
    return ["ramp.jpg", "odd_420.jpg", "odd_422.jpg", "odd_444.jpg", "progressive.jpg", "gray.jpg", "cmyk_red.jpg",
            "cmyk_mixed.jpg", "rgb.png", "gray.png", "palette.png", "palette_clear.png", "one_bit.png", "rgba.png",
            "gray_alpha.png", "rgb_clear.png", "interlaced.png", "rgb16.png", "gray2.png"]


def decoded_rows(names):
    for name in names:
        pixels = np.asarray(Image.open(FILES / name).convert("RGB"))
        yield f'    {{"{name}", {pixels.shape[1]}, {pixels.shape[0]}, {fnv1a(pixels.tobytes()):#x}}},'


def resize_rows():
    # No case shrinks the height alone: there Pillow 13 swaps the passes, older ones and pct do not.
    for width, height, to_width, to_height in [(97, 61, 43, 29), (17, 13, 5, 3), (5, 7, 31, 64), (1, 1, 9, 4),
                                               (64, 48, 64, 48), (64, 48, 32, 48), (64, 48, 64, 23), (60, 40, 7, 1),
                                               (3, 200, 3, 10), (500, 3, 16, 2), (33, 31, 32, 30), (16, 16, 100, 100),
                                               (15, 1, 16, 17), (100, 100, 99, 101)]:
        pixels = np.asarray(Image.fromarray(noise(width, height)).resize((to_width, to_height), Image.BILINEAR))
        yield f"    {{{width}, {height}, {to_width}, {to_height}, {fnv1a(pixels.tobytes()):#x}}},"


def preset_rows(shared):
    path = "data/cats_dogs/test/cat/cat.4001.jpg"
    picture = Image.open(shared / path).convert("RGB")
    for size in (224, 160, 299):
        side = size * 256 // 224
        cropped = transforms.Compose([transforms.Resize(side), transforms.CenterCrop(size)])(picture)
        normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        x = np.asarray(cropped).astype(np.float32).transpose(2, 0, 1)
        values = {
            "torchvision": normalize(transforms.ToTensor()(cropped)).numpy(),
            "lite": (x - 127) / 128,
            "caffe": x[::-1] - np.array([103.939, 116.779, 123.68], np.float32).reshape(3, 1, 1),
            "tf": x / np.float32(127.5) - 1,
        }
        for name, chw in values.items():
            corner, middle = chw[0, 0, 0], chw[2, size // 2, size // 3]
            yield (f'    {{"{name}", {size}, {fnv1a(chw.astype("<f4").tobytes()):#x}, {float(corner):.9g}, '
                   f"{float(middle):.9g}}},")


def main():
    shared = pathlib.Path(sys.argv[1])
    names = make_files()
    sections = [
        ("decoded pictures: file, width, height, FNV-1a of the RGB bytes", "DECODED", decoded_rows(names)),
        ("noise resized: from, to, FNV-1a of the RGB bytes", "RESIZED", resize_rows()),
        ("cat.4001.jpg preprocessed: preset, size, FNV-1a of the floats, value (0, 0, 0), value (2, size/2, size/3)",
         "PREPROCESSED", preset_rows(shared)),
    ]
    out = io.StringIO()
    out.write("/* Written by make_pictures.py: what Pillow and torchvision give. */\n")
    for title, macro, rows in sections:
        out.write(f"\n/* {title} */\n#define {macro}_ROWS" + "".join(f" \\\n{row}" for row in rows) + "\n")
    (HERE / "expected.h").write_text(out.getvalue())


main()
