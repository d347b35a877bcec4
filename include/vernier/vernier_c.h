/* Vernier's C interface: what vernier.h offers, for C and for other languages. docs/api.md is the guide.
 *
 * Every function that can fail returns a status; what went wrong is told by vernier_last_error() of the same
 * thread. A handle is freed by its release function, which takes null; handles may be released in any order.
 * Tensors are dense and row-major; strings, sequences and maps are not carried. Pointers that are handed out
 * belong to the handle that they come from. No function throws. */
#ifndef VERNIER_C_H
#define VERNIER_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VERNIER_C_API __attribute__((visibility("default")))

typedef enum vernier_status {
  VERNIER_OK = 0,
  VERNIER_ERROR_USAGE = 2,         /* the interface is used in a way that it does not offer, e.g. null */
  VERNIER_ERROR_BAD_INPUT = 3,     /* a model or tensor is damaged or inconsistent */
  VERNIER_ERROR_UNSUPPORTED = 4,   /* valid, but this build cannot do it */
  VERNIER_ERROR_INTERNAL = 5,      /* a defect of Vernier */
  VERNIER_ERROR_OUT_OF_MEMORY = 6, /* there is no memory */
  VERNIER_ERROR_CANCELLED = 7,     /* vernier_session_cancel() ended the run */
  VERNIER_ERROR_BUSY = 8,          /* the session has a run under way */
  VERNIER_ERROR_NOT_READY = 9      /* outputs are read before they are there */
} vernier_status;

/* The numbers of ONNX's TensorProto.DataType. Types narrower than a byte take one byte per element. */
typedef enum vernier_element_type {
  VERNIER_FLOAT = 1,
  VERNIER_UINT8 = 2,
  VERNIER_INT8 = 3,
  VERNIER_UINT16 = 4,
  VERNIER_INT16 = 5,
  VERNIER_INT32 = 6,
  VERNIER_INT64 = 7,
  VERNIER_STRING = 8,
  VERNIER_BOOL = 9,
  VERNIER_FLOAT16 = 10,
  VERNIER_DOUBLE = 11,
  VERNIER_UINT32 = 12,
  VERNIER_UINT64 = 13,
  VERNIER_COMPLEX64 = 14,
  VERNIER_COMPLEX128 = 15,
  VERNIER_BFLOAT16 = 16,
  VERNIER_FLOAT8E4M3FN = 17,
  VERNIER_FLOAT8E4M3FNUZ = 18,
  VERNIER_FLOAT8E5M2 = 19,
  VERNIER_FLOAT8E5M2FNUZ = 20,
  VERNIER_UINT4 = 21,
  VERNIER_INT4 = 22,
  VERNIER_FLOAT4E2M1 = 23,
  VERNIER_FLOAT8E8M0 = 24,
  VERNIER_UINT2 = 25,
  VERNIER_INT2 = 26
} vernier_element_type;

typedef struct vernier_engine vernier_engine;
typedef struct vernier_session vernier_session;
typedef struct vernier_event vernier_event;

/* What the last failure of this thread was about; "" where nothing is to tell. Valid until the next call of
 * this thread. */
VERNIER_C_API const char* vernier_last_error(void);        /* file, node, what is wrong, what to do next */
VERNIER_C_API const char* vernier_last_error_file(void);   /* the file that it is about */
VERNIER_C_API const char* vernier_last_error_node(void);   /* the ONNX node that it is about */
VERNIER_C_API const char* vernier_last_error_advice(void); /* what to do next alone */

VERNIER_C_API const char* vernier_version(void);

/* From now on all engines of this process work with threads of the application's: `submit` has task(data)
 * called once, in any thread, soon, late, or never; it does not wait for it. NULL: threads of Vernier's own
 * again. No session has a run under way meanwhile. */
VERNIER_C_API vernier_status vernier_use_executor(void (*submit)(void* context, void (*task)(void* data),
                                                                 void* data),
                                                  void* context);

/* From now on the calling thread, and all threads that it and Vernier make, run on these cores alone, by the
 * numbers of the system, and each of Vernier's own threads on one of them; sessions of 0 threads have as
 * many. To be called before the first engine is built or loaded. */
VERNIER_C_API vernier_status vernier_use_cores(const int* cores, size_t count);

/* Builds an engine from an ONNX file. Thread-safe, as is all that takes a const engine. Sessions keep what
 * they need of it alive. */
VERNIER_C_API vernier_status vernier_engine_build(const char* path, vernier_engine** engine);
/* From the bytes of an ONNX file without external data. */
VERNIER_C_API vernier_status vernier_engine_build_from_memory(const void* model, size_t bytes,
                                                              vernier_engine** engine);

/* How an engine is built; fresh options are those of the functions above. */
typedef struct vernier_build_options vernier_build_options;
VERNIER_C_API vernier_status vernier_build_options_create(vernier_build_options** options);
VERNIER_C_API void vernier_build_options_release(vernier_build_options* options);
/* By the name of the field of vernier::BuildOptions or vernier::PrecisionOptions. Flags are "0" or "1":
 * "exact_passes_only", "keep_defaults", "deterministic", "verify" (default: 1), "isolate_trials", "bf16",
 * "fp16", "int8", "int4", "best", "tf32", "no_tf32". Numbers: "workspace" (bytes), "optimization_level".
 * Texts: "layer_precisions", "layer_output_types", "keep_fp32", "plan", "calibration", "timing_cache"
 * (files), "inject_fault", "force_tactic", "constraints" ("obey", "prefer", "none"). Lists, to which each
 * call adds one name: "devices" ("cuda:1"), "disabled_passes", "allowed_tactics", "denied_tactics".
 * VERNIER_ERROR_USAGE for others, and for an option of the command line that is set to an empty text. */
VERNIER_C_API vernier_status vernier_build_options_set(vernier_build_options* options, const char* name,
                                                       const char* value);
/* The sizes of an input of `rank` dimensions in a profile; profiles are counted from 0. `min` and `max` null:
 * as `opt`. */
VERNIER_C_API vernier_status vernier_build_options_add_shapes(vernier_build_options* options, size_t profile,
                                                              const char* input, size_t rank,
                                                              const int64_t* min, const int64_t* opt,
                                                              const int64_t* max);
VERNIER_C_API vernier_status vernier_engine_build_with(const char* path, const vernier_build_options* options,
                                                       vernier_engine** engine);

/* Whether an engine computes what it promises; of a loaded engine as its file says. */
typedef enum vernier_verdict {
  VERNIER_VERDICT_PASS = 0,
  VERNIER_VERDICT_MISTRUSTED = 1,   /* nothing differs, but it proves little */
  VERNIER_VERDICT_NOT_COMPARED = 2, /* the model could not be run on random inputs */
  VERNIER_VERDICT_FAIL = 3,
  VERNIER_VERDICT_NOT_VERIFIED = 4 /* nobody asked for it */
} vernier_verdict;
typedef struct vernier_build_report {
  vernier_verdict verdict;
  const char* const* reasons; /* of the verdict */
  size_t reason_count;
  const char* const* notes; /* what the import and the build found worth telling */
  size_t note_count;
  double build_seconds, verdict_seconds;
} vernier_build_report;

/* From the file that `vernier build` wrote: it is mapped, and nothing is built. A file that is written to or
 * cut off later ends sessions and runs with VERNIER_ERROR_BAD_INPUT; one that is replaced by renaming does
 * not. */
VERNIER_C_API vernier_status vernier_engine_load(const char* path, vernier_engine** engine);
VERNIER_C_API void vernier_engine_release(vernier_engine* engine);

typedef struct vernier_tensor_info {
  const char* name;
  vernier_element_type type;
  int has_default; /* an input that may be left out */
  int has_rank;    /* 0: any shape, and `rank` is 0 */
  size_t rank;
  const int64_t* dims;        /* elements; -1: known only when running */
  const char* const* symbols; /* then its name in the model, e.g. "batch"; else "" */
} vernier_tensor_info;

VERNIER_C_API size_t vernier_engine_input_count(const vernier_engine* engine);
VERNIER_C_API size_t vernier_engine_output_count(const vernier_engine* engine);
VERNIER_C_API vernier_status vernier_engine_input(const vernier_engine* engine, size_t index,
                                                  vernier_tensor_info* info);
VERNIER_C_API vernier_status vernier_engine_output(const vernier_engine* engine, size_t index,
                                                   vernier_tensor_info* info);

/* Valid as long as the engine. */
VERNIER_C_API vernier_status vernier_engine_report(const vernier_engine* engine,
                                                   vernier_build_report* report);

/* `threads` that a run uses, the caller's included; 0: all. A session has one run at a time, and is not to be
 * used by two threads at once, but for vernier_session_cancel. Releasing it waits for its run. */
VERNIER_C_API vernier_status vernier_session_create(const vernier_engine* engine, int threads,
                                                    vernier_session** session);
VERNIER_C_API void vernier_session_release(vernier_session* session);

/* The caller's memory, which must stay valid until it is bound again or the session released. It is not
 * copied. */
VERNIER_C_API vernier_status vernier_session_bind_input(vernier_session* session, const char* name,
                                                        vernier_element_type type, const int64_t* dims,
                                                        size_t rank, const void* data);
VERNIER_C_API vernier_status vernier_session_bind_output(vernier_session* session, const char* name,
                                                         vernier_element_type type, const int64_t* dims,
                                                         size_t rank, void* data);
/* Lets the output `present` lie in the memory of the input `past`: `dims` are [..., capacity, size], of which
 * the first `rows` of each [...] are the past of the next run; see Session::bind_cache of vernier.h. */
VERNIER_C_API vernier_status vernier_session_bind_cache(vernier_session* session, const char* past,
                                                        const char* present, vernier_element_type type,
                                                        const int64_t* dims, size_t rank, void* data,
                                                        int64_t rows);
/* The same for memory of a device of the engine, as "devices" of the build options names it ("cuda:0"),
 * whoever of the process allocated it; it is aligned to 16 bytes. */
VERNIER_C_API vernier_status vernier_session_bind_input_on(vernier_session* session, const char* device,
                                                           const char* name, vernier_element_type type,
                                                           const int64_t* dims, size_t rank,
                                                           const void* data);
VERNIER_C_API vernier_status vernier_session_bind_output_on(vernier_session* session, const char* device,
                                                            const char* name, vernier_element_type type,
                                                            const int64_t* dims, size_t rank, void* data);
VERNIER_C_API vernier_status vernier_session_bind_cache_on(vernier_session* session, const char* device,
                                                           const char* past, const char* present,
                                                           vernier_element_type type, const int64_t* dims,
                                                           size_t rank, void* data, int64_t rows);
/* A cache in memory of the session's, which lies where the engine computes; and its rows, dense, as exactly
 * so many bytes. See Session::keep_cache and read_cache of vernier.h. */
VERNIER_C_API vernier_status vernier_session_keep_cache(vernier_session* session, const char* past,
                                                        const char* present, vernier_element_type type,
                                                        const int64_t* dims, size_t rank);
VERNIER_C_API vernier_status vernier_session_read_cache(const vernier_session* session, const char* past,
                                                        void* data, size_t bytes);
VERNIER_C_API vernier_status vernier_session_cache_rows(const vernier_session* session, const char* past,
                                                        int64_t* rows);
VERNIER_C_API vernier_status vernier_session_set_cache_rows(vernier_session* session, const char* past,
                                                            int64_t rows);
VERNIER_C_API vernier_status vernier_session_unbind(vernier_session* session, const char* name);

/* Runs are in the order of a CUstream from now on; see Session::use_stream of vernier.h. What they write is
 * there in that order, and vernier_session_synchronize tells what went wrong. */
VERNIER_C_API vernier_status vernier_session_use_stream(vernier_session* session, const char* device,
                                                        void* stream);
VERNIER_C_API vernier_status vernier_session_leave_stream(vernier_session* session);
VERNIER_C_API vernier_status vernier_session_synchronize(vernier_session* session);

VERNIER_C_API vernier_status vernier_session_run(vernier_session* session);
/* Until the event was waited for or released, the session is busy and what is bound to it must be left
 * alone. */
VERNIER_C_API vernier_status vernier_session_run_async(vernier_session* session, vernier_event** event);
/* Ends the run under way before its next step; from any thread. */
VERNIER_C_API void vernier_session_cancel(vernier_session* session);

/* Whether waiting would not block. */
VERNIER_C_API int vernier_event_ready(const vernier_event* event);
/* Once; gives the status of the run. An event that outlives its session loses its outputs. */
VERNIER_C_API vernier_status vernier_event_wait(vernier_event* event);
/* Waits if nobody did, and drops the outputs. */
VERNIER_C_API void vernier_event_release(vernier_event* event);

typedef struct vernier_tensor {
  vernier_element_type type;
  size_t rank;
  const int64_t* dims;
  const void* data;
  const char* device; /* whose memory it is: "cpu", "cuda:0" */
} vernier_tensor;

/* An output of the last run, valid until the session runs again or is released. VERNIER_ERROR_NOT_READY
 * before a run has ended well: after run_async, before its event was waited for. */
VERNIER_C_API vernier_status vernier_session_output(const vernier_session* session, const char* name,
                                                    vernier_tensor* tensor);

typedef struct vernier_layer_time {
  const char* kernel;       /* "onednn:brgconv:avx512_core"; "reference: ..." with the reason */
  const char* const* nodes; /* the ONNX nodes that it computes */
  size_t node_count;
  double milliseconds;
  int is_fallback; /* computed by the reference, slowly */
} vernier_layer_time;

/* Runs `runs` times with the clock read at every step, then calls back for each step in order. */
VERNIER_C_API vernier_status vernier_session_profile(vernier_session* session, int runs,
                                                     void (*layer)(const vernier_layer_time*, void* user),
                                                     void* user);
/* Working memory of the session in bytes, without the engine's weights; 0 while a run is under way. */
VERNIER_C_API size_t vernier_session_memory_bytes(const vernier_session* session);

#ifdef __cplusplus
}
#endif

#endif
