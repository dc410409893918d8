/* The portable compute toolkit: everything. */
#ifndef PCT_H
#define PCT_H

#include "pct/data.h"
#include "pct/device.h"
#include "pct/graph.h"
#include "pct/model.h"
#include "pct/ops.h"
#include "pct/prof.h"
#include "pct/status.h"
#include "pct/tensor.h"
#include "pct/tune.h"
#include "pct/weights.h"

#endif
