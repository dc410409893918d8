/* Written by make_pictures.py: what Pillow and torchvision give. */

/* decoded pictures: file, width, height, FNV-1a of the RGB bytes */
#define DECODED_ROWS \
    {"ramp.jpg", 64, 48, 0x2d59045e06bfcf27}, \
    {"odd_420.jpg", 37, 29, 0x8acecbc4d56bb255}, \
    {"odd_422.jpg", 37, 29, 0x470278c6fc8acb27}, \
    {"odd_444.jpg", 37, 29, 0x64b9fd6ea09ac6f}, \
    {"progressive.jpg", 37, 29, 0x8acecbc4d56bb255}, \
    {"gray.jpg", 37, 29, 0x9f8ff8b4cfd91ff7}, \
    {"cmyk_red.jpg", 16, 16, 0xf4b94ff5aba3b425}, \
    {"cmyk_mixed.jpg", 16, 16, 0x7e4b0ddbdbaa2325}, \
    {"rgb.png", 37, 29, 0x4d4e68bd612bdbda}, \
    {"gray.png", 37, 29, 0x22a6528d77cb664e}, \
    {"palette.png", 37, 29, 0x106916f1d13ad58}, \
    {"palette_clear.png", 37, 29, 0x106916f1d13ad58}, \
    {"one_bit.png", 37, 29, 0x1cddd2e7da37e644}, \
    {"rgba.png", 37, 29, 0x4d4e68bd612bdbda}, \
    {"gray_alpha.png", 37, 29, 0x22a6528d77cb664e}, \
    {"rgb_clear.png", 37, 29, 0x4d4e68bd612bdbda}, \
    {"interlaced.png", 37, 29, 0x4d4e68bd612bdbda}, \
    {"rgb16.png", 37, 29, 0x63bbdbf3f4cdcfbf}, \
    {"gray2.png", 16, 2, 0x8b7c1bcda8a630a5},

/* noise resized: from, to, FNV-1a of the RGB bytes */
#define RESIZED_ROWS \
    {97, 61, 43, 29, 0xe7dc5fb7c116c1a7}, \
    {17, 13, 5, 3, 0x82964dfa464ac1cd}, \
    {5, 7, 31, 64, 0x789b1252cfb8ee0f}, \
    {1, 1, 9, 4, 0x644046466817fa71}, \
    {64, 48, 64, 48, 0x53dece1f901d4179}, \
    {64, 48, 32, 48, 0x9cfa623d1611bd62}, \
    {64, 48, 64, 23, 0x936f785408733eb6}, \
    {60, 40, 7, 1, 0xb269abff7d0f0d6e}, \
    {3, 200, 3, 10, 0x9718a9e573000c89}, \
    {500, 3, 16, 2, 0x7618514c984efaae}, \
    {33, 31, 32, 30, 0xea492ada4669623}, \
    {16, 16, 100, 100, 0xe129087b655fe2bb}, \
    {15, 1, 16, 17, 0x47a3d501604033}, \
    {100, 100, 99, 101, 0x3c8cecaabf57eba4},

/* cat.4001.jpg preprocessed: preset, size, FNV-1a of the floats, value (0, 0, 0), value (2, size/2, size/3) */
#define PREPROCESSED_ROWS \
    {"torchvision", 224, 0x8039315e3bc06212, -0.0971830264, -0.148670942}, \
    {"lite", 224, 0x768faaade8137d7, -0.0703125, -0.25}, \
    {"caffe", 224, 0x6f8213b1c495af2b, 94.060997, -39.6800003}, \
    {"tf", 224, 0xa26299cd38c8a417, -0.0745097995, -0.254901946}, \
    {"torchvision", 160, 0x711db5aa402ab9c5, -0.131432533, -0.20095852}, \
    {"lite", 160, 0x3691f3c0fb7980fa, -0.0859375, -0.2734375}, \
    {"caffe", 160, 0x6e99018b1773be3a, 92.060997, -42.6800003}, \
    {"tf", 160, 0xa2bac4d22810f3c8, -0.0901960731, -0.278431356}, \
    {"torchvision", 299, 0x463c1f1c9d2df272, -0.18280679, -0.148670942}, \
    {"lite", 299, 0x6ebb0bd181d290ac, -0.109375, -0.25}, \
    {"caffe", 299, 0x5ea22490f7ede503, 89.060997, -41.6800003}, \
    {"tf", 299, 0xa48335d8b201d1f6, -0.113725483, -0.254901946},
