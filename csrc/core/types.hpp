#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/bfloat16.hpp"
#include "core/half.hpp"

namespace gradbag {

template <class I>
concept Index = std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>;

template <class T>
concept Short = std::same_as<T, half> || std::same_as<T, bfloat16>;

// What arithmetic sees in one column of a matrix. A complex number is two lanes, because it is only ever
// added to another or scaled by a real number. A signed integer uses the lane of its unsigned twin: the sums
// have the same bits, and unsigned overflow is defined. So eight lane types serve fourteen element types.
template <class T>
concept Lane = Short<T> || std::same_as<T, float> || std::same_as<T, double> || std::unsigned_integral<T>;

namespace detail {

template <class T>
struct LaneOf {
    using type = T;
};
template <std::signed_integral T>
struct LaneOf<T> {
    using type = std::make_unsigned_t<T>;
};
template <class Real>
struct LaneOf<std::complex<Real>> {
    using type = Real;
};
template <class T>
struct LaneOf<const T> {
    using type = const typename LaneOf<T>::type;
};

}  // namespace detail

template <class T>
using lane_of = typename detail::LaneOf<T>::type;

// The type in which lanes are added: 16-bit numbers in float, with one rounding at the end.
template <Lane T>
using Accumulator = std::conditional_t<Short<T>, float, T>;

// Always inlined, here and below: these are compiled for several instruction sets, and the linker would keep
// one copy for all of them.
template <Lane T>
[[gnu::always_inline]] inline Accumulator<T> widen(T value) {
    if constexpr (Short<T>) {
        return to_float(value);
    } else {
        return value;
    }
}

// Unsigned numbers below the size of int would otherwise come back as int.
template <class A>
[[gnu::always_inline]] inline A add(A left, A right) {
    return static_cast<A>(left + right);
}

// Rounds towards the neighbour whose last bit is odd. Rounding that to a 16-bit type gives what a direct
// rounding of the double would give; rounding to nearest twice would not.
[[gnu::always_inline]] inline float round_to_odd(double value) {
    const float nearest = static_cast<float>(value);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
    const bool inexact = static_cast<double>(nearest) < value || static_cast<double>(nearest) > value;
    if (!inexact || (bits & 1u) != 0) return nearest;
    const bool too_small = std::abs(static_cast<double>(nearest)) < std::abs(value);
    return std::bit_cast<float>(too_small ? bits + 1 : bits - 1);
}

// Rounds once, to nearest, ties to even.
template <Lane T, class A>
[[gnu::always_inline]] inline T narrow(A value) {
    if constexpr (Short<T> && std::same_as<A, double>) {
        return narrow<T>(round_to_odd(value));  // mutant: twice
    } else if constexpr (std::same_as<T, half>) {
        return to_half(value);
    } else if constexpr (std::same_as<T, bfloat16>) {
        return to_bfloat16(value);
    } else {
        return static_cast<T>(value);
    }
}

}  // namespace gradbag
