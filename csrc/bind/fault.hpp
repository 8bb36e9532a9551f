#pragma once

#include <nanobind/nanobind.h>

#include "call/abi.h"

namespace nb = nanobind;

namespace gradbag {

// To Python a fault is a plain tuple: (kind, input, position, column, value, low, high).
inline nb::tuple as_tuple(const gradbag_fault& fault) {
    const char* const kind = fault.kind == GRADBAG_RANGE   ? "range"
                             : fault.kind == GRADBAG_ORDER ? "order"
                                                           : "unmatched";
    return nb::make_tuple(kind, fault.input, fault.position, fault.column, fault.value, fault.low,
                          fault.high);
}

}  // namespace gradbag
