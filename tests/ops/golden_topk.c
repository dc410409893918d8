#include "golden.h"

#include <math.h>

/* By PyTorch 2: values, then indices. */
static const float top[] = {2, 2.25f, 1.5f,  1.75f, 1,      1.25f, 2.25f, 2, 1.75f, 1.5f, 1.25f, 1,
                            2, 2.25f, 0.25f, 1.75f, -0.25f, 0,     1,     0, 2,     1,    3,     2,
                            3, 3,     4,     4,     5,      5,     6,     5, 0,     6,    1,     0};
static const float top_nan[] = {NAN, 7, 5, 2, NAN, INFINITY, 9, 1, 2, 4, 1, 0, 1, 4, 2, 0};
static const float ties[] = {5, 5, 2, 1, 1, 2, 0, 3}; /* PyTorch leaves the order of equals open */

static const float with_nan[] = {2, 5, NAN, 1, 7, 1, NAN, 9, -INFINITY, INFINITY};
static const float with_ties[] = {2, 5, 5, 1};

static const golden_case cases[] = {
    {"topk k=3 axis=1 src=3x7x2", {0}, top, 36, 0},
    {"topk k=4 src=2x5", {with_nan}, top_nan, 16, 0},
    {"topk k=4 src=4", {with_ties}, ties, 8, 0},
};

int main(void)
{
    return golden_run("golden topk", cases, sizeof cases / sizeof *cases);
}
