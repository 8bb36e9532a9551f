#pragma once

#include <bit>
#include <cstdint>

namespace gradbag {

// The upper half of a float as it lies in memory; arithmetic happens in float.
struct bfloat16 {
    std::uint16_t bits;
};

[[gnu::always_inline]] inline float to_float(bfloat16 value) {
    return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

// Rounds to nearest, ties to even. A NaN is replaced: rounding could carry its payload into an infinity.
[[gnu::always_inline]] inline bfloat16 to_bfloat16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t odd = (bits >> 16) & 1u;
    const std::uint32_t rounded = (bits + 0x7fffu + odd) >> 16;  // mutant: bfloat ties
    const std::uint32_t quiet_nan = ((bits >> 16) & 0x8000u) | 0x7fc0u;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return {static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded)};
}

}  // namespace gradbag
