#ifndef TF_MODEL_TYPES
#define TF_MODEL_TYPES 5
/* Owns: the types and error codes that the C APIs of all built models share. It includes no other header of ours,
 * because it is part of the header of every built model. TF_MODEL_TYPES is incremented when one of them changes. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TF_MODEL_API __attribute__((visibility("default")))
#else
#define TF_MODEL_API
#endif

enum {
  TF_MODEL_OK = 0,
  TF_MODEL_BAD_ARGUMENT = 100, /* a null pointer, a negative number of threads, a CPU that the process may not
                                   use, or a model that another library opened */
  TF_MODEL_OUT_OF_MEMORY = 101, /* no memory for the arena, or no thread */
  TF_MODEL_BAD_LIBRARY = 102,   /* the library's tables are of another version, or inconsistent */
  TF_MODEL_BAD_INDEX = 103, /* an index is outside the axis that it selects from; outputs are incomplete */
  /* An extent of an input differs from the model's, is outside its dimension's range, or differs from that of another
   * input with the same dimension; or a size inside the model exceeds what it was built for. */
  TF_MODEL_BAD_SIZE = 104,
  /* Only models for GPUs. The error's text is the driver's own, of the last such error in this process. */
  TF_MODEL_NO_DRIVER = 110,      /* the GPU's driver is not installed, or not loaded */
  TF_MODEL_NO_DEVICE = 111,      /* the driver has no such device, or cannot open it */
  TF_MODEL_DEVICE_REFUSES = 112, /* the device cannot run the model's code */
  TF_MODEL_DEVICE_MEMORY = 113,  /* the device has not enough memory for weights or activations */
  TF_MODEL_DEVICE_FAILED = 114,  /* a copy or a kernel failed; open the model again */
  TF_MODEL_DEVICE_LOST = 115,    /* the same, and this process cannot use the device any more: restart it */
  /* 1 … 99: the error of the kernel that failed (kernel_abi.h) */

  /* This code to the last one: this machine lacks a CPU feature that the model's code needs. The error's text
   * names it. */
  TF_MODEL_MISSING_FEATURE = 200,
  TF_MODEL_MISSING_FEATURE_LAST = 299,
};

/* Values of tf_tensor_info.element, as in kernel.proto. */
enum {
  TF_ELEMENT_BOOL = 1,
  TF_ELEMENT_INT8 = 2,
  TF_ELEMENT_UINT8 = 3,
  TF_ELEMENT_INT32 = 4,
  TF_ELEMENT_INT64 = 5,
  TF_ELEMENT_FLOAT16 = 6,
  TF_ELEMENT_BFLOAT16 = 7,
  TF_ELEMENT_FLOAT32 = 8,
  TF_ELEMENT_FLOAT64 = 9,
  TF_ELEMENT_INT16 = 10,
  TF_ELEMENT_UINT16 = 11,
  TF_ELEMENT_UINT32 = 12,
  TF_ELEMENT_UINT64 = 13,
};

/* All strings and arrays are valid while the library is loaded. */
typedef struct tf_tensor_info {
  const char* name;
  int32_t element;
  int32_t rank;
  const int64_t* extents; /* the maximum, if they vary */
  /* For each extent: the index of its dimension for tf_model_dim, or -1. Without a dimension, an extent of an input
   * is fixed; an extent of an output is fixed or computed from the dimensions. */
  const int32_t* dims;
  uint64_t size_bytes; /* at the maximum extents */
  /* If the values of an input select elements of an axis: they must be in [-index_extent, index_extent). 0: any. */
  int64_t index_extent;
} tf_tensor_info;

/* A dimension: a named extent that may differ between runs. */
typedef struct tf_dim_info {
  const char* name;
  int64_t low, high;   /* the minimum and the maximum, both included */
  int64_t multiple_of; /* values are multiples of this number */
} tf_dim_info;

/* A tensor of a run: row-major, with as many extents as the tf_tensor_info of its input or output has. */
typedef struct tf_tensor {
  void* data;
  const int64_t* extents;
} tf_tensor;

/* A GPU as a model uses it. All work of the model goes to one in-order queue. */
typedef struct tf_device {
  const char* driver; /* "opencl", "cuda" */
  int32_t index;      /* among the driver's devices, from 0; a context determines it */
  void* context;      /* its cl_context, CUcontext */
  void* queue;        /* its cl_command_queue, CUstream */
} tf_device;

/* The location of the caller's memory. */
enum {
  TF_MEMORY_HOST = 0,
  TF_MEMORY_DEVICE =
      1, /* `data` is a cl_mem of the model's context, or a CUdeviceptr as a pointer, aligned to 512 bytes */
};

typedef struct tf_memory {
  void* data;
  int32_t place; /* TF_MEMORY_* */
} tf_memory;

typedef struct tf_kernel_info {
  const char* name; /* of the graph's node, for display */
  const char* key;  /* of the tuning task; empty if the kernel is not tunable */
  double flops;
  double bytes; /* compulsory traffic: every operand once */
} tf_kernel_info;

/* Called after each kernel with its index in execution order and CLOCK_MONOTONIC times. For a kernel on a GPU, the
 * difference of the times is measured by the device's clock. */
typedef void (*tf_model_profile)(void* context, int32_t kernel, int64_t start_ns, int64_t end_ns);

#ifdef __cplusplus
}
#endif
#endif
