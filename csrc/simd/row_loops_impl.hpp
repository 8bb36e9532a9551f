#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/types.hpp"
#include "simd/bag_sums_impl.hpp"
#include "simd/row_dots_impl.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"
#include "simd/row_scatter_impl.hpp"
#include "simd/row_sums_impl.hpp"

namespace gradbag::simd {

template <class Level, Lane T>
RowLoops<T> loops_of() {
    RowLoops<T> loops{};
    loops.sum = all_columns<Level, PlainSum<Level, T>, T>;
    loops.sum_scaled = all_columns<Level, ScaledSum<Level, T>, T>;
    loops.copy = all_columns<Level, RowCopy<Level, T>, T>;
    if constexpr (std::same_as<T, Accumulator<T>>) {
        loops.scatter = add_rows<Level, T, Scattered<Level, T>, Scatter<T>>;
        loops.add = add_rows<Level, T, Added<Level, T>, RowPairs<T>>;
    }
    if constexpr (!std::unsigned_integral<T>) {
        loops.dot = dot_rows<Level, T>;
        if constexpr (Level::template bytes_for<T> > 16) {
            loops.pool_short = pool_bags<Level, T, std::int32_t>;
            loops.pool_long = pool_bags<Level, T, std::int64_t>;
        }
    }
    return loops;
}

// At addresses that are multiples of 64, and in whole cache lines.
template <class Level>
void zeros_past_caches(std::uint8_t* to, std::size_t bytes) {
    constexpr std::size_t pack_bytes = Level::template bytes_for<std::uint8_t>;
    using P = Pack<std::uint8_t, pack_bytes>;
    for (std::size_t at = 0; at < bytes; at += pack_bytes) {
        Columns<Level, std::uint8_t, pack_bytes>::store_output(P{}, to + at, true);
    }
    Level::fence();
}

}  // namespace gradbag::simd
