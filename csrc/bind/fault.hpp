#pragma once

#include <nanobind/nanobind.h>

#include <array>

#include "call/abi.h"

namespace nb = nanobind;

namespace gradbag {

// To Python a fault is a plain tuple: (kind, input, position, column, value, low, high).
inline nb::tuple as_tuple(const gradbag_fault& fault) {
    constexpr std::array kinds{"range", "order", "unmatched", "homeless"};
    return nb::make_tuple(kinds.at(fault.kind), fault.input, fault.position, fault.column, fault.value,
                          fault.low, fault.high);
}

}  // namespace gradbag
