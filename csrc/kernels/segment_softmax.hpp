#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/segment_fold.hpp"

// Exponentials of the rows of each segment, below the largest of them, and their sums.
namespace gradbag {

namespace detail {

template <class T>
struct Exponential;

template <>
struct Exponential<float> {
    using Word = std::uint32_t;
    static constexpr float least = -104.0f;  // below it is nothing left
    static constexpr float per_step = 0x1.715476p+0f;
    static constexpr float step_high = 0x1.62e4p-1f;
    static constexpr float step_low = 0x1.7f7d1cp-20f;
    static constexpr float rounding = 0x1.8p+23f;
    static constexpr int bits = 23;
    static constexpr Word bias = 127;
    static constexpr float terms[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24,
                                      1.0f / 6,    0.5f,       1.0f,       1.0f};
};

template <>
struct Exponential<double> {
    using Word = std::uint64_t;
    static constexpr double least = -746.0;
    static constexpr double per_step = 0x1.71547652b82fep+0;
    static constexpr double step_high = 0x1.62e42feep-1;
    static constexpr double step_low = 0x1.a39ef35793c76p-33;
    static constexpr double rounding = 0x1.8p+52;
    static constexpr int bits = 52;
    static constexpr Word bias = 1023;
    static constexpr double terms[] = {1.0 / 6227020800,
                                       1.0 / 479001600,
                                       1.0 / 39916800,
                                       1.0 / 3628800,
                                       1.0 / 362880,
                                       1.0 / 40320,
                                       1.0 / 5040,
                                       1.0 / 720,
                                       1.0 / 120,
                                       1.0 / 24,
                                       1.0 / 6,
                                       0.5,
                                       1.0,
                                       1.0};
};

// The exponential of a number that is not positive, by operations of which each is rounded: the body does the
// same, so the bits are its own. No branch, so that it is done for several numbers at once.
template <class T>
[[gnu::always_inline]] inline T exponential(T x) {
    using E = Exponential<T>;
    using Word = typename E::Word;
    const T held = x < E::least ? E::least : x;
    const T shifted = held * E::per_step + E::rounding;
    const T steps = shifted - E::rounding;
    const T rest = (held - steps * E::step_high) - steps * E::step_low;
    T sum = E::terms[0];
    for (std::size_t term = 1; term < std::size(E::terms); ++term) sum = sum * rest + E::terms[term];
    // 2**steps in two factors, for the smallest numbers there are take more than one.
    const Word whole = std::bit_cast<Word>(shifted) - std::bit_cast<Word>(E::rounding);
    using Signed = std::make_signed_t<Word>;
    const Word half = static_cast<Word>(static_cast<Signed>(whole) >> 1);
    const T first = std::bit_cast<T>(static_cast<Word>((half + E::bias) << E::bits));
    const T second = std::bit_cast<T>(static_cast<Word>((whole - half + E::bias) << E::bits));
    const T power = sum * first * second;
    return x < E::least ? T{0} : power;
}

// x - largest, or minus infinity where x is that, whatever the largest.
template <class T>
[[gnu::always_inline]] inline T below(T x, T largest) {
    constexpr T nothing = -std::numeric_limits<T>::infinity();
    const T difference = x - largest;            // in any case, or there would be a branch
    return x == nothing ? nothing : difference;  // mutant: nothing left
}

template <class T>
void powers_of_row(const T* __restrict from, const T* __restrict largest, T* __restrict to,
                   std::size_t columns) {
    for (std::size_t c = 0; c < columns; ++c) to[c] = exponential(below(from[c], largest[c]));
}

template <class T>
void add_row(const T* __restrict from, double* __restrict total, std::size_t columns) {
    for (std::size_t c = 0; c < columns; ++c) total[c] += static_cast<double>(from[c]);
}

template <class T>
void scale_row(T* __restrict row, const T* __restrict factors, std::size_t columns) {
    for (std::size_t c = 0; c < columns; ++c) row[c] *= factors[c];
}

// The largest of each segment, minus infinity where it has no rows.
template <class T, Index I>
void find_largest(Matrix<const T> data, const SegmentTurns<I>& turns, Matrix<T> largest) {
    std::fill_n(largest.data, largest.size(), -std::numeric_limits<T>::infinity());
    const RowPrefetch prefetch(largest);
    turns.run([&](std::size_t row, std::size_t segment) {
        turns.ask(prefetch, row);
        fold_row<Fold::largest>(data.row(row), largest.row(segment), data.columns);
    });
}

// Rows in parts, with the segment of each that is not dropped.
template <Index I, class Visit>
void for_rows(std::span<const I> ids, std::size_t segments, std::size_t columns, Visit visit) {
    parallel_ranges(ids.size(), columns, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t row = begin; row < end; ++row) {
            const I id = load_once(&ids[row]);
            visit(row, id < 0 ? segments : checked(id, segments, {1, row}));
        }
    });
}

}  // namespace detail

// largest, total: of each segment; total: the sum of the exponentials below it, in the order of the rows.
template <class T, Index I>
void segment_powers(Matrix<const T> data, std::span<const I> ids, Matrix<T> largest, Matrix<double> total) {
    if (ids.size() != data.rows) throw std::invalid_argument("a segment for each row");
    const std::size_t columns = data.columns;
    const SegmentTurns<I> turns(ids, largest.rows, 8 * columns, sizeof(T));
    detail::find_largest(data, turns, largest);
    std::fill_n(total.data, total.size(), 0.0);
    turns.run([&](std::size_t row, std::size_t segment) {
        constexpr std::size_t most = 64;
        T powers[most];
        for (std::size_t begin = 0; begin < columns; begin += most) {
            const std::size_t width = std::min(most, columns - begin);
            detail::powers_of_row(data.row(row) + begin, largest.row(segment) + begin, powers, width);
            detail::add_row(powers, total.row(segment) + begin, width);
        }
    });
}

// output: the exponentials divided by the sums of their segments; zero in rows that are dropped. The others
// are working memory.
template <class T, Index I>
void segment_softmax(Matrix<const T> data, std::span<const I> ids, Matrix<T> output, Matrix<T> largest,
                     Matrix<double> total) {
    if (ids.size() != data.rows) throw std::invalid_argument("a segment for each row");
    const std::size_t columns = data.columns;
    const std::size_t segments = largest.rows;
    const SegmentTurns<I> turns(ids, segments, columns, sizeof(T));
    detail::find_largest(data, turns, largest);
    detail::for_rows(ids, segments, 8 * columns, [&](std::size_t row, std::size_t segment) {
        if (segment == segments) {
            std::fill_n(output.row(row), columns, T{0});
        } else {
            detail::powers_of_row(data.row(row), largest.row(segment), output.row(row), columns);
        }
    });
    std::fill_n(total.data, total.size(), 0.0);
    const RowPrefetch prefetch(total);
    turns.run([&](std::size_t row, std::size_t segment) {
        turns.ask(prefetch, row);
        detail::add_row(output.row(row), total.row(segment), columns);
    });
    parallel_ranges(total.size(), 4, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t cell = begin; cell < end; ++cell) {
            largest.data[cell] = static_cast<T>(1.0 / total.data[cell]);
        }
    });
    detail::for_rows(ids, segments, columns, [&](std::size_t row, std::size_t segment) {
        if (segment < segments) detail::scale_row(output.row(row), largest.row(segment), columns);
    });
}

}  // namespace gradbag
