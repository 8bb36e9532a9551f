#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "vocabulary/hash_strings.hpp"

#if defined(_MSC_VER) && !defined(__SIZEOF_INT128__)
#include <intrin.h>
#endif

// Where an id stands in a table. Nothing that anybody sees depends on it but the time that a search takes, so
// the seeds are random: nobody can choose ids that all fall into one place.
namespace gradbag {

struct Seeds {
    std::uint64_t first;
    std::uint64_t second;
};

namespace detail {

// Both halves of a product, one laid over the other: every bit of it depends on every bit of the factors.
inline std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
#if defined(_MSC_VER) && !defined(__SIZEOF_INT128__)
    std::uint64_t high;
    const std::uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#else
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#endif
}

}  // namespace detail

// No two numbers have the same: each step can be undone.
inline std::uint64_t mixed(std::int64_t id, const Seeds& seeds) {
    constexpr std::uint64_t factor = 0xd6e8feb86659fd93;
    std::uint64_t word = static_cast<std::uint64_t>(id) ^ seeds.first;
    word = (word ^ (word >> 32)) * factor;
    word = (word ^ (word >> 32)) * factor;
    return word ^ (word >> 32) ^ seeds.second;
}

inline std::uint64_t mixed(std::string_view id, const Seeds& seeds) {
    const char* s = id.data();
    std::size_t left = id.size();
    std::uint64_t state = seeds.second;
    for (; left > 16; left -= 16, s += 16)
        state = detail::folded(detail::fetch64(s) ^ seeds.first, detail::fetch64(s + 8) ^ state);
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    if (left >= 8) {
        a = detail::fetch64(s);
        b = detail::fetch64(s + left - 8);
    } else if (left >= 4) {
        a = detail::fetch32(s);
        b = detail::fetch32(s + left - 4);
    } else if (left > 0) {
        a = detail::fetch8(s) | detail::fetch8(s + left / 2) << 8 | detail::fetch8(s + left - 1) << 16;
    }
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
    return detail::folded(detail::folded(a ^ seeds.first, b ^ state) ^ id.size(), factor);
}

}  // namespace gradbag
