#pragma once

#include <nanobind/nanobind.h>

namespace gradbag {

// Only compiled where XLA's headers are found, which JAX brings along.
void bind_xla(nanobind::module_& m);

}  // namespace gradbag
