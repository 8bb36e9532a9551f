#pragma once

#include <stddef.h>
#include <stdint.h>

// How to run a kernel on plain arrays, in C: what Python's binding, XLA's handler and whoever else calls
// kernels stand on. A caller names a kernel ("segment_reduce__float32_int64_int64"), tells where its arrays
// lie and how large they are, and gives its settings in the kernel's order. Kernels only fill: shapes, dtypes
// and memory are the caller's business, and so are the words for what went wrong.
#ifdef __cplusplus
extern "C" {
#endif

typedef struct gradbag_array {
    void* data;
    const ptrdiff_t* shape;
    size_t axes;
    size_t item_size;
} gradbag_array;

// A setting is one of these, whichever the kernel asks for; bools are integers.
typedef struct gradbag_setting {
    int64_t integer;
    double real;
    const char* text;
    size_t text_size;
} gradbag_setting;

typedef struct gradbag_arguments {
    // Inputs and then outputs, in the kernel's order, the members of a list side by side.
    const gradbag_array* arrays;
    // How many arrays each input or output is: 1, the length of a list, 0 for an optional one that is left
    // out. Null if every one is 1.
    const size_t* counts;
    const gradbag_setting* settings;
} gradbag_arguments;

typedef enum gradbag_status {
    GRADBAG_OK = 0,
    GRADBAG_FAULT,  // a value that was given is wrong: `fault` tells which
    GRADBAG_NO_MEMORY,
    GRADBAG_INTERRUPTED,  // by what the caller's own check for signals has thrown
    GRADBAG_ERROR,        // anything else: gradbag_last_error() has words
} gradbag_status;

typedef enum gradbag_fault_kind {
    GRADBAG_RANGE = 0,  // `value` lies outside [low, high)
    GRADBAG_ORDER,      // `value` is smaller than the value before it, which is `low`
    GRADBAG_UNMATCHED,  // row `position` of the input has no counterpart
    GRADBAG_HOMELESS,   // entry `position` belongs to no bag, for there are none
} gradbag_fault_kind;

typedef struct gradbag_fault {
    gradbag_fault_kind kind;
    int input;         // number of the input, counted from 0
    int64_t position;  // along the first axis
    int64_t column;    // along the second axis, -1 for a vector
    int64_t value;
    int64_t low;
    int64_t high;
} gradbag_fault;

typedef struct gradbag_kernel gradbag_kernel;
typedef struct gradbag_plan gradbag_plan;

// Null if there is none of that name.
const gradbag_kernel* gradbag_find_kernel(const char* name);

// Runs a kernel that counts; its inputs alone are given. What it found out goes to the kernel that fills.
gradbag_status gradbag_count(const gradbag_kernel* kernel, const gradbag_arguments* arguments,
                             gradbag_plan** plan, gradbag_fault* fault);
// The sizes that were counted, in the order in which the outputs name them.
const int64_t* gradbag_plan_sizes(const gradbag_plan* plan, size_t* count);
void gradbag_free_plan(gradbag_plan* plan);

// Runs a kernel that fills its outputs. The plan is null where none is taken.
gradbag_status gradbag_fill(const gradbag_kernel* kernel, const gradbag_plan* plan,
                            const gradbag_arguments* arguments, gradbag_fault* fault);

// Of this thread; valid until its next call.
const char* gradbag_last_error(void);

#ifdef __cplusplus
}
#endif
