#pragma once

#include <cstddef>
#include <cstring>

#include "core/types.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"

// Inner products of rows.
namespace gradbag::simd {

// The sum of lanes, one half added to the other until one is left.
template <class A>
[[gnu::always_inline]] inline A folded(A (&lanes)[kDotLanes]) {
#pragma GCC unroll 4
    for (std::size_t half = kDotLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

template <class Level, Lane T, bool Prefetch>
void dot_pairs(const RowDots<T>& all) {
    using A = Accumulator<T>;
    using C = Columns<Level, T, Level::template bytes_for<T>>;
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
        A lanes[kDotLanes];
        std::memcpy(lanes, sum, sizeof(lanes));
        for (std::size_t c = whole; c < columns; ++c) lanes[c - whole] += widen(left[c]) * widen(right[c]);
        all.output[i] = narrow<T>(folded(lanes));
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
