#pragma once

#include <bit>
#include <cstdint>

namespace gradbag {

// IEEE binary16 as it lies in memory. Arithmetic happens in float, so only the conversions live here. They
// choose with masks: given a conditional expression, compilers put the floating-point operation of one side
// behind a branch, and the loop over columns is no longer vectorised. No subnormal float takes part in a
// result, so a thread that flushes those gets the right answer, too.
struct half {
    std::uint16_t bits;
};

namespace detail {

// Signed, because that is the comparison of integers that every vector unit has.
inline std::uint32_t mask_if_less(std::uint32_t left, std::uint32_t right) {
    return 0u -
           static_cast<std::uint32_t>(static_cast<std::int32_t>(left) < static_cast<std::int32_t>(right));
}

}  // namespace detail

[[gnu::always_inline]] inline float to_float(half value) {
    constexpr std::uint32_t rebase = 112u << 23;  // the difference of the two exponent biases
    constexpr std::uint32_t one = 1u << 23;       // of the exponent
    constexpr std::uint32_t largest_finite = 0x7bffu << 13;
    const std::uint32_t bits = value.bits;
    const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
    const std::uint32_t subnormal = detail::mask_if_less(magnitude, one);
    const std::uint32_t infinite = detail::mask_if_less(largest_finite, magnitude);  // mutant: infinite
    // A subnormal is read as if it had the implicit leading bit, which is then subtracted.
    const std::uint32_t extended = magnitude + rebase + (subnormal & one) + (infinite & rebase);
    const std::uint32_t leading_bit = subnormal & (rebase + one);
    const float result = std::bit_cast<float>(extended) - std::bit_cast<float>(leading_bit);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) | ((bits & 0x8000u) << 16));
}

// Rounds to nearest, ties to even.
[[gnu::always_inline]] inline half to_half(float value) {
    constexpr std::uint32_t infinity = 0x7f800000u;
    constexpr std::uint32_t largest_finite = (143u << 23) - 1;
    constexpr std::uint32_t smallest_normal = 113u << 23;  // mutant: subnormal
    constexpr std::uint32_t one_half = 126u << 23;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;  // mutant: half ties
    // One half has its last bit where a subnormal result has it, so this addition rounds.
    const float rounded = std::bit_cast<float>(magnitude) + std::bit_cast<float>(one_half);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(rounded) - one_half;
    const std::uint32_t overflow = 0x7c00u | (detail::mask_if_less(infinity, magnitude) & 0x0200u);
    const std::uint32_t is_subnormal = detail::mask_if_less(magnitude, smallest_normal);
    const std::uint32_t is_overflow = detail::mask_if_less(largest_finite, magnitude);
    const std::uint32_t finite = (subnormal & is_subnormal) | (normal & ~is_subnormal);
    const std::uint32_t result = (overflow & is_overflow) | (finite & ~is_overflow);
    return {static_cast<std::uint16_t>(result | ((bits & 0x80000000u) >> 16))};
}

}  // namespace gradbag
