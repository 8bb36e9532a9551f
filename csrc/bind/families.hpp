#pragma once

#include <nanobind/nanobind.h>

namespace gradbag {

void bind_segment_reduce(nanobind::module_& m);
void bind_segment_grad(nanobind::module_& m);
void bind_segment_grad_compact(nanobind::module_& m);
void bind_bags(nanobind::module_& m);
void bind_fill_empty_rows(nanobind::module_& m);
void bind_fill_empty_rows_grad(nanobind::module_& m);
void bind_slice(nanobind::module_& m);
void bind_slice_grad(nanobind::module_& m);
void bind_threads(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_shortcuts(nanobind::module_& m);

}  // namespace gradbag
