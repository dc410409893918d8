/* The portable compute toolkit: everything. */
#ifndef PCT_H
#define PCT_H

#include "pct/device.h"
#include "pct/graph.h"
#include "pct/ops.h"
#include "pct/status.h"
#include "pct/tensor.h"

#endif
