#pragma once

#include <cstddef>
#include <type_traits>

namespace gradbag {

template <std::size_t Value>
using Constant = std::integral_constant<std::size_t, Value>;

// Calls `visit` with the constant that equals `value`, which lies in [First, Last]: a loop of that length is
// then unrolled and a copy of that size is one instruction.
template <std::size_t First, std::size_t Last, class Visit>
void with_constant(std::size_t value, Visit visit) {
    if constexpr (First == Last) {
        visit(Constant<First>{});
    } else if (value == First) {
        visit(Constant<First>{});
    } else {
        with_constant<First + 1, Last>(value, visit);
    }
}

// Calls `visit` with the constant among Values that equals `value`, or else with the number itself.
template <std::size_t... Values, class Visit>
void with_constant_if_any(std::size_t value, Visit visit) {
    const bool found = ((value == Values && (visit(Constant<Values>{}), true)) || ...);
    if (!found) visit(value);  // mutant: rank
}

}  // namespace gradbag
