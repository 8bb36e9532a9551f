#pragma once

#include <nanobind/nanobind.h>

#include "core/fault.hpp"

namespace nb = nanobind;

namespace gradbag {

inline const char* name_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::range:
            return "range";
        case FaultKind::order:
            return "order";
        case FaultKind::unmatched:
            break;
    }
    return "unmatched";
}

}  // namespace gradbag

// To Python a fault is a plain tuple: (kind, input, position, column, value, low, high).
template <>
struct nb::detail::type_caster<gradbag::Fault> {
    NB_TYPE_CASTER(gradbag::Fault, const_name("tuple[str, int, int, int, int, int, int]"))

    static handle from_cpp(const gradbag::Fault& fault, rv_policy, cleanup_list*) {
        return make_tuple(gradbag::name_of(fault.kind), fault.input, fault.position, fault.column,
                          fault.value, fault.low, fault.high)
            .release();
    }
};
