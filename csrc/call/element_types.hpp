#pragma once

#include <complex>
#include <cstdint>
#include <string>

#include "core/types.hpp"

// The element types of the kernels, each listed once.
namespace gradbag {

template <class T>
inline constexpr const char* type_name = nullptr;
template <>
inline constexpr const char* type_name<std::int8_t> = "int8";
template <>
inline constexpr const char* type_name<std::int16_t> = "int16";
template <>
inline constexpr const char* type_name<std::int32_t> = "int32";
template <>
inline constexpr const char* type_name<std::int64_t> = "int64";
template <>
inline constexpr const char* type_name<std::uint8_t> = "uint8";
template <>
inline constexpr const char* type_name<std::uint16_t> = "uint16";
template <>
inline constexpr const char* type_name<std::uint32_t> = "uint32";
template <>
inline constexpr const char* type_name<std::uint64_t> = "uint64";
template <>
inline constexpr const char* type_name<half> = "float16";
template <>
inline constexpr const char* type_name<bfloat16> = "bfloat16";
template <>
inline constexpr const char* type_name<float> = "float32";
template <>
inline constexpr const char* type_name<double> = "float64";
template <>
inline constexpr const char* type_name<std::complex<float>> = "complex64";
template <>
inline constexpr const char* type_name<std::complex<double>> = "complex128";

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

template <class Visit>
void for_float_types(Visit visit) {
    for_types<half, bfloat16, float, double>(visit);
}

// Types that can be scaled.
template <class Visit>
void for_fractional_types(Visit visit) {
    for_float_types(visit);
    for_types<std::complex<float>, std::complex<double>>(visit);  // mutant: complex
}

// "kernel__float32_int64": the name of a kernel for these element types.
template <class First, class... Others>
std::string typed_name(const std::string& kernel) {
    std::string name = kernel + "__" + type_name<First>;
    ((name += std::string("_") + type_name<Others>), ...);
    return name;
}

}  // namespace gradbag
