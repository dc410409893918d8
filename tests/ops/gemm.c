#include "harness.h"

static const ops_case cases[] = {
    {"dense src=1x1 wei=1x1"},
    {"dense src=1x100 wei=10x100 bias=10", OPS_RELU},
    {"dense src=7x37 wei=33x37 bias=33", OPS_RELU6},
    {"dense src=14x513 wei=65x513"},
    {"dense src=15x64 wei=31x64 bias=31", OPS_RELU},
    {"dense src=40x129 wei=257x129"},
    {"dense src=1x5000 wei=1000x5000 bias=1000"},
    {"dense src=3x32 wei=48x32 bias=48", OPS_RANGE},
    {"dense src=2x16 wei=3x16 bias=3", .constants_from = -1},
    {"dense src=0x16 wei=3x16"},
    {"dense src=3x0 wei=4x0 bias=4"},
    {"dense src=2x16 wei=3x15", .must_fail = true},
    {"dense src=2x16 wei=3x16 bias=4", .must_fail = true},
    {"dense src=2x16x1 wei=3x16", .must_fail = true},
    {"matmul a=1x1 b=1x1", .constants_from = -1},
    {"matmul a=7x5 b=5x9", .constants_from = -1},
    {"matmul a=5x7 b=5x9 transpose_a=1", .constants_from = -1},
    {"matmul a=7x5 b=9x5 transpose_b=1"},
    {"matmul a=5x7 b=9x5 transpose_a=1 transpose_b=1"},
    {"matmul a=3x7x5 b=3x5x9", .constants_from = -1},
    {"matmul a=2x1x7x5 b=3x5x9", .constants_from = -1},
    {"matmul a=7x5 b=2x3x5x4", .constants_from = -1},
    {"matmul a=130x257 b=257x66", .constants_from = -1},
    {"matmul a=2x3x0 b=2x0x4", .constants_from = -1},
    {"matmul a=0x3x5 b=0x5x4", .constants_from = -1},
    {"matmul a=7x5 b=4x9", .must_fail = true},
    {"matmul a=2x7x5 b=3x5x9", .must_fail = true},
};

int main(void)
{
    return ops_run("gemm", cases, sizeof cases / sizeof *cases,
                   "dense:panels_16bit dense:panels dense:sgemm dense:plain matmul:sgemm matmul:sgemm_batches matmul:plain");
}
