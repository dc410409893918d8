/* The interface between planner and backends: pure, no device is named here.
 *
 * A backend has, for each op, an ordered list of implementations, best first, the plain portable one last. For each node the
 * planner takes the first whose `accept` says yes. Then, once: prepare (pack weights, ask for workspace, build kernels),
 * bind (addresses are known), run any number of times, release. */
#ifndef PCTI_OP_BACKEND_H
#define PCTI_OP_BACKEND_H

#include "op/op.h"
#include "prof/intervals.h"

typedef struct pcti_step pcti_step;
typedef struct pcti_team pcti_team; /* the CPU backend's threads inside a run */

/* ---- constants ---- */

/* Values known at plan time: a parameter, a graph constant or something computed from them. Reference-counted. */
struct pcti_constant {
    uint64_t id;      /* of the values: equal ids hold equal values, whatever graph or plan they belong to */
    char *name;
    pct_shape shape;
    const void *data; /* all elements, row-major, of shape.dtype; NULL: read them */
    pct_source source; /* for data == NULL, float32 */
    int references;
};
pct_status pcti_constant_create(const char *name, const pct_shape *shape, uint64_t id, void *owned_data, pcti_constant **constant);
pct_status pcti_constant_create_source(const char *name, const pct_shape *shape, const pct_source *source, pcti_constant **constant);
void pcti_constant_retain(pcti_constant *constant);
void pcti_constant_release(pcti_constant *constant); /* NULL allowed */
uint64_t pcti_constant_new_id(void);
/* Elements [first, first + count) of a float32 constant; any thread. */
pct_status pcti_constant_read(const pcti_constant *constant, int64_t first, int64_t count, float *dst);
/* Any constant as doubles. */
pct_status pcti_constant_read_double(const pcti_constant *constant, double *dst);
/* Its pages may leave memory. */
void pcti_constant_drop(const pcti_constant *constant, int64_t first, int64_t count);

/* ---- device memory ---- */

struct pcti_buffer {
    size_t bytes;
    void *handle; /* CPU, ref: the address; OpenCL: the cl_mem */
};

/* A constant as a device wants it: packed once per (constant id, packing), shared by all plans, freed with its last user.
 * `packing` is a short text such as "panel32" that names layout and every parameter of it. `fill` writes `bytes` bytes of
 * host-visible memory (zeroed before) and may use OpenMP. */
typedef pct_status (*pcti_pack_fn)(const pcti_constant *constant, const void *cookie, void *dst);
pct_status pcti_pack_get(pct_device *device, const pcti_constant *constant, const char *packing, size_t bytes, pcti_pack_fn fill, const void *cookie, pcti_buffer **buffer);
/* The constant as it is, row-major. */
pct_status pcti_pack_get_plain(pct_device *device, const pcti_constant *constant, pcti_buffer **buffer);
void pcti_pack_release(pct_device *device, pcti_buffer *buffer); /* NULL allowed */
int64_t pcti_pack_bytes(const pct_device *device);

/* ---- implementations ---- */

/* Which layout the picture operands (rank 4, computed by a run) must have for an implementation. The planner reorders. */
typedef enum pcti_layout_rule {
    PCTI_LAYOUT_PLAIN = 0,     /* all plain */
    PCTI_LAYOUT_BLOCKED,       /* all rank-4 computed operands and results blocked */
    PCTI_LAYOUT_PLAIN_BLOCKED, /* operand 0 plain, result (and residual) blocked */
    PCTI_LAYOUT_BLOCKED_PLAIN, /* operand 0 blocked, result plain (reductions to vectors, reorder) */
    PCTI_LAYOUT_SAME           /* all as operand 0 happens to be */
} pcti_layout_rule;

/* How close to the exact sum an implementation comes; tests and benchmarks take their bound from it. */
typedef enum pcti_accuracy {
    PCTI_ACCURACY_EXACT,    /* moves values, or rounds once: bit for bit */
    PCTI_ACCURACY_SUM,      /* float32 sums: a few sqrt(terms) ulps of the largest partial sum */
    PCTI_ACCURACY_HALF,     /* float32 sums over weights rounded to 16 bits: 2^-8 of the largest output */
    PCTI_ACCURACY_WINOGRAD, /* F(4x4,3x3): 2e-5 of the largest output */
    PCTI_ACCURACY_FUNCTION  /* exp, tanh, erf, ...: 1e-5 relative */
} pcti_accuracy;

/* What an implementation can compute beside the op itself (see pcti_fusion); the planner offers nothing else. */
enum {
    PCTI_FUSE_CLIP = 1,         /* post_act clip */
    PCTI_FUSE_UNARY = 2,        /* post_act any unary function */
    PCTI_FUSE_RESIDUAL = 4,
    PCTI_FUSE_PRE = 8,          /* pre_affine with pre_act clip or none */
    PCTI_FUSE_PRE_POOL = 16,    /* pre_average_pool after it */
    PCTI_FUSE_POST_POOL = 32    /* post_max_pool */
};

/* Room for the reason of a refusal. */
typedef struct pcti_why { char text[192]; } pcti_why;
/* Formats the reason and returns false: `return pcti_refuse(why, "stride %d", s)`. */
bool pcti_refuse(pcti_why *why, const char *format, ...) PCTI_PRINTF(2, 3);

typedef struct pcti_impl {
    const char *name; /* the algorithm: "winograd_4x4_3x3"; NULL ends a list */
    pcti_layout_rule layout;
    pcti_accuracy accuracy;
    unsigned fusions; /* PCTI_FUSE_... */
    bool in_place; /* the result may lie exactly over operand 0 when both have the same tensor */
    bool serial;   /* CPU: runs outside the parallel region, threads by itself */
    bool bits_vary_with_threads; /* a library's sums: the same bits for one thread count only */
    bool large_packing; /* packs weights into more bytes than they have: refused with low_memory */
    /* Names of settings that tuning tries beside the default one (schedules, tile sizes); NULL-terminated; NULL: none. The one
     * in force is step->variant: 0 the default, i + 1 variants[i]. All give results of the same accuracy. */
    const char *const *variants;
    /* Looks at shapes, strides, layouts, parameters, fusion, constants and device, never at buffers. Refuses with a reason
     * through pcti_refuse. Anything it accepts must then work. */
    bool (*accept)(const pcti_call *call, const pct_device *device, pcti_why *why);
    /* May set step->workspace_bytes and step->state, and replace constant operands by packed buffers
     * (step->src[i].buffer = ...; the planner releases them). NULL: nothing to do. */
    pct_status (*prepare)(pct_device *device, pcti_step *step);
    /* All buffers and the workspace are known. NULL: nothing to do. */
    pct_status (*bind)(pct_device *device, pcti_step *step);
    void (*release)(pct_device *device, pcti_step *step); /* frees step->state; also after a failed prepare */
    /* Runs; one of the two. CPU: every thread of the team calls it and does its share; barriers through the team. */
    void (*run_share)(const pcti_step *step, pcti_team *team);
    pct_status (*run)(pct_device *device, pcti_step *step);
} pcti_impl;

/* One node of a plan, with its implementation. */
struct pcti_step {
    pcti_call call; /* src and dst point to the arrays below */
    pcti_operand *src, *dst;
    const pcti_impl *impl;
    const char *name; /* the node's */
    int variant;      /* of impl->variants, see there */
    void *state;
    size_t workspace_bytes; /* per step, all threads together; 64-byte aligned */
    pcti_buffer *workspace;
    size_t workspace_offset; /* bytes */
};

/* CPU and ref: address of an operand's first element. */
static inline void *pcti_operand_address(const pcti_operand *operand)
{
    return (char *)operand->buffer->handle + operand->tensor.offset * (int64_t)pct_dtype_size(operand->tensor.dtype);
}
/* Do two operands name the same elements of the same buffer? Then a copy has nothing to do. */
bool pcti_operand_same(const pcti_operand *a, const pcti_operand *b);

/* ---- backends ---- */

typedef struct pcti_transfer {
    void *host;
    const pcti_operand *operand; /* dense */
    size_t bytes;
} pcti_transfer;

/* What happened in a run: device intervals and the host's clock. Storage is the planner's; nothing is allocated in a run
 * when capacity suffices (it is sized by steps * intervals_per_step + transfers). */
typedef struct pcti_timeline {
    pcti_interval *intervals;
    int *interval_steps; /* the step of each interval; -1: a transfer */
    int count, capacity;
    uint64_t host_start_ns, first_enqueue_ns, finish_ns; /* host clock */
} pcti_timeline;
void pcti_timeline_add(pcti_timeline *timeline, int step, pcti_interval interval);

typedef struct pcti_run {
    pcti_step *steps;
    int n_steps;
    const pcti_transfer *uploads, *downloads;
    int n_uploads, n_downloads;
    pcti_timeline *timeline; /* NULL: no profiling */
} pcti_run;

typedef struct pcti_backend {
    const char *name;
    const pcti_impl *(*impls)(const pcti_op *op); /* never NULL; ended by a row without name */
    /* Appends what there is to the list (OpenCL). NULL: the backend is one device that is always there. */
    pct_status (*enumerate)(pct_device_list *list);
    pct_status (*open)(const pct_device_options *options, pct_device **device);
    void (*close)(pct_device *device);
    pct_status (*buffer_create)(pct_device *device, size_t bytes, pcti_buffer **buffer);
    void (*buffer_destroy)(pct_device *device, pcti_buffer *buffer);
    /* Host-visible memory of a whole buffer, for filling it at plan time. */
    pct_status (*buffer_map)(pct_device *device, pcti_buffer *buffer, bool for_write, void **address);
    pct_status (*buffer_unmap)(pct_device *device, pcti_buffer *buffer, void *address);
    /* After every prepare and bind, before the first run; and once after it. NULL: nothing to do. */
    pct_status (*after_first_run)(pct_device *device);
    pct_status (*run)(pct_device *device, const pcti_run *run);
    int64_t max_chunk_bytes; /* no larger arena chunk, whatever the device allows; 0: no limit */
    bool stores_double; /* ref: elements of every type lie in memory as doubles */
} pcti_backend;

/* Every backend's device starts with this. */
struct pct_device {
    const pcti_backend *backend;
    pct_device_info info;
    struct pcti_pack *packs; /* see pcti_pack_get */
    struct pcti_tuning *tuning; /* fastest implementations as measured here; NULL: none known */
    int64_t pack_bytes;
    bool low_memory; /* set by the planner while it plans with low_memory: packings drop their originals */
};

/* Filled by enumerate. */
struct pct_device_list {
    pct_device_info *items;
    size_t count, capacity;
    char *note;
};
pct_status pcti_device_list_add(pct_device_list *list, const pct_device_info *info);

/* The registry, written by CMake from the backends that are built: the only place that knows them all. */
extern const pcti_backend *const pcti_backends[];
extern const int pcti_backend_count;

#endif
