#pragma once

#include <nanobind/nanobind.h>

// The parts of the module, each in a file of its own.
namespace gradbag {

void bind_kernels(nanobind::module_& m);
void bind_threads(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_spans(nanobind::module_& m);
void bind_shortcuts(nanobind::module_& m);
void bind_strings(nanobind::module_& m);
void bind_hashing(nanobind::module_& m);
void bind_vocabulary(nanobind::module_& m);
void bind_records(nanobind::module_& m);
void bind_weighing(nanobind::module_& m);
void bind_torch(nanobind::module_& m);
void bind_tensorflow(nanobind::module_& m);

}  // namespace gradbag
