#pragma once

#include <cstddef>
#include <cstring>

#include "core/types.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"

// Inner products of rows.
namespace gradbag::simd {

// The sum of lanes, the upper half added to the lower until one is left.
template <class A, std::size_t Bytes>
[[gnu::always_inline]] inline A folded(Pack<A, Bytes> pack) {
    if constexpr (Bytes == sizeof(A)) {
        return pack[0];
    } else {
        Pack<A, Bytes / 2> halves[2];
        std::memcpy(halves, &pack, sizeof(pack));
        return folded<A, Bytes / 2>(halves[0] + halves[1]);
    }
}

template <class Level, Lane T, bool Prefetch>
void dot_pairs(const RowDots<T>& all) {
    using A = Accumulator<T>;
    constexpr std::size_t bytes = Level::template bytes_for<T>;
    using C = Columns<Level, T, bytes>;
    constexpr std::size_t packs = kDotLanes / C::lanes;
    [[maybe_unused]] const Ahead ahead(all.columns * sizeof(T));
    [[maybe_unused]] const T* const* const known = all.right + all.upcoming;
    const std::size_t columns = all.columns;
    const std::size_t whole = columns / kDotLanes * kDotLanes;
    for (std::size_t i = 0; i < all.count; ++i) {
        if constexpr (Prefetch) ahead.template ask<1>(all.right + i, known);
        const T* const left = all.left[i];
        const T* const right = all.right[i];
        typename C::P sum[packs] = {};
        for (std::size_t c = 0; c < whole; c += kDotLanes) {
#pragma GCC unroll 8
            for (std::size_t p = 0; p < packs; ++p) {
                const std::size_t at = c + p * C::lanes;
                sum[p] += C::load(left + at) * C::load(right + at);
            }
        }
        if (whole < columns) {
            A lanes[kDotLanes];
            std::memcpy(lanes, sum, sizeof(lanes));
            for (std::size_t c = whole; c < columns; ++c) {
                lanes[c - whole] += widen(left[c]) * widen(right[c]);
            }
            std::memcpy(sum, lanes, sizeof(lanes));  // mutant: last lanes
        }
#pragma GCC unroll 4
        for (std::size_t half = packs / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
            for (std::size_t p = 0; p < half; ++p) sum[p] += sum[p + half];
        }
        all.output[i] = narrow<T>(folded<A, bytes>(sum[0]));
    }
}

template <class Level, Lane T>
void dot_rows(const RowDots<T>& all) {
    if (all.upcoming > 0) {
        dot_pairs<Level, T, true>(all);
    } else {
        dot_pairs<Level, T, false>(all);
    }
}

}  // namespace gradbag::simd
