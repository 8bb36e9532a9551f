#pragma once

#include <complex>
#include <cstdint>

#include "core/types.hpp"

// The element types of the kernels, each listed once.
namespace gradbag {

// Calls visit.operator()<T>() for each type.
template <class... Types, class Visit>
void for_types(Visit visit) {
    (visit.template operator()<Types>(), ...);
}

template <class Visit>
void for_index_types(Visit visit) {
    for_types<std::int32_t, std::int64_t>(visit);
}

template <class Visit>
void for_integer_types(Visit visit) {
    for_types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(visit);      // mutant: signed
    for_types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(visit);  // mutant: unsigned
}

// Types that can be scaled.
template <class Visit>
void for_fractional_types(Visit visit) {
    for_types<half, bfloat16, float, double>(visit);
    for_types<std::complex<float>, std::complex<double>>(visit);  // mutant: complex
}

}  // namespace gradbag
