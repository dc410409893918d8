/* Status codes and the message of the last failure. Every fallible function of the library returns a pct_status
 * and hands results out through trailing pointers, which are set to NULL (or 0) on failure. */
#ifndef PCT_STATUS_H
#define PCT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PCT_API __attribute__((visibility("default")))
#else
#define PCT_API
#endif

#define PCT_VERSION_MAJOR 0
#define PCT_VERSION_MINOR 1
#define PCT_VERSION_PATCH 0

typedef enum pct_status {
    PCT_OK = 0,
    PCT_ERROR_ARGUMENT,    /* the caller passed something impossible: an option, a name, a NULL */
    PCT_ERROR_SHAPE,       /* operands of an operator do not fit together; names operand and dimension */
    PCT_ERROR_UNSUPPORTED, /* valid, but no implementation here: names op, node and attribute */
    PCT_ERROR_NOT_FOUND,   /* no such file, tensor, device or model; the message lists what there is */
    PCT_ERROR_FORMAT,      /* a file's contents are broken; names file and place */
    PCT_ERROR_IO,          /* the operating system refused to read or write */
    PCT_ERROR_MEMORY,      /* out of host or device memory; gives bytes needed and allowed */
    PCT_ERROR_DEVICE,      /* a driver call failed; gives API name, code name and build log */
    PCT_ERROR_INTERRUPTED  /* the caller asked to stop */
} pct_status;

/* The code's name, such as "PCT_ERROR_SHAPE"; static storage. */
PCT_API const char *pct_status_name(pct_status status);

/* What the last failing call of this thread had to say, in one or more lines without a trailing newline; valid until
 * the thread's next failing call. Empty, never NULL, when nothing has failed yet. */
PCT_API const char *pct_error_message(void);

/* "0.1.0", and the commit it was built from ("unknown" outside a checkout); static storage. */
PCT_API const char *pct_version(void);
PCT_API const char *pct_commit(void);

/* The library never prints. What it wants noticed without failing (a cache that cannot be written, a refused
 * implementation) goes to this callback; NULL, the default, drops it. Process-wide: set it before the first call of another function. It may be called from any thread. */
typedef enum pct_log_level { PCT_LOG_WARNING, PCT_LOG_INFO, PCT_LOG_DEBUG } pct_log_level;
typedef void (*pct_log_fn)(void *cookie, pct_log_level level, const char *message);
PCT_API void pct_log_set(pct_log_fn fn, void *cookie);

#ifdef __cplusplus
}
#endif
#endif
