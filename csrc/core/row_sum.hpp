#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

#include "core/types.hpp"

// The loops over columns in which the time of every segment kernel is spent. A handful of rows is added at
// once, so that a partial sum is read and written once for all of them; the order of additions in a column
// is part of the contract, since it decides the bits. Plain pointers, so that compilers vectorise; what
// stands in a loop is always inlined, or they would not; the loops themselves never are: one copy serves all
// callers.
namespace gradbag {

// Accumulated columns are kept in a tile on the stack; wider rows are done in several tiles.
inline constexpr std::size_t kTileColumns = 1024;

// TensorFlow adds rows in groups of eight.
inline constexpr std::size_t kBlockRows = 8;

namespace detail {

template <Lane T, std::size_t Count, std::size_t... Next>
[[gnu::always_inline]] inline Accumulator<T> left_to_right(const std::array<const T*, Count>& rows,
                                                           std::size_t column, std::index_sequence<Next...>) {
    Accumulator<T> sum = widen(rows[0][column]);
    ((sum = add(sum, widen(rows[Next + 1][column]))), ...);
    return sum;
}

// A local copy of known length, whose elements a compiler keeps in registers.
template <class Element, std::size_t... Position>
std::array<Element, sizeof...(Position)> in_registers(const Element* elements,
                                                      std::index_sequence<Position...>) {
    return {elements[Position]...};
}

}  // namespace detail

// sum = ((rows[0] + rows[1]) + rows[2]) + ...
template <std::size_t Count, Lane T>
[[gnu::noinline]] void sum_rows(const T* const* rows, std::size_t columns, Accumulator<T>* __restrict sum) {
    const auto row = detail::in_registers(rows, std::make_index_sequence<Count>{});
    for (std::size_t c = 0; c < columns; ++c) {
        sum[c] = detail::left_to_right(row, c, std::make_index_sequence<Count - 1>{});
    }
}

// sum = sum + (((rows[0] + rows[1]) + rows[2]) + ...): the rows are added up before they meet the sum.
template <std::size_t Count, Lane T>
[[gnu::noinline]] void add_block(const T* const* rows, std::size_t columns, Accumulator<T>* __restrict sum) {
    const auto row = detail::in_registers(rows, std::make_index_sequence<Count>{});
    for (std::size_t c = 0; c < columns; ++c) {
        sum[c] = add(sum[c], detail::left_to_right(row, c, std::make_index_sequence<Count - 1>{}));
    }
}

namespace detail {

// Integers are never scaled. Multiplying a float by 1 changes no bit, so the unscaled sum needs no loop of
// its own.
template <Lane T>
[[gnu::always_inline]] inline Accumulator<T> scaled(T value, Accumulator<T> scale) {
    if constexpr (std::unsigned_integral<T>) {
        return value;
    } else {
        return widen(value) * scale;
    }
}

template <Lane T, std::size_t Count, std::size_t... Row>
[[gnu::always_inline]] inline Accumulator<T> add_scaled(Accumulator<T> sum,
                                                        const std::array<const T*, Count>& rows,
                                                        const std::array<Accumulator<T>, Count>& scales,
                                                        std::size_t column, std::index_sequence<Row...>) {
    ((sum = add(sum, scaled(rows[Row][column], scales[Row]))), ...);
    return sum;
}

}  // namespace detail

// sum = ((sum + rows[0] * scales[0]) + rows[1] * scales[1]) + ..., each product rounded before it is added.
template <std::size_t Count, Lane T>
[[gnu::noinline]] void add_scaled_rows(const T* const* rows, const Accumulator<T>* scales,
                                       std::size_t columns, Accumulator<T>* __restrict sum) {
    constexpr auto all = std::make_index_sequence<Count>{};
    const auto row = detail::in_registers(rows, all);
    const auto scale = detail::in_registers(scales, all);
    for (std::size_t c = 0; c < columns; ++c) {
        sum[c] = detail::add_scaled<T>(sum[c], row, scale, c, all);
    }
}

// output = sum, or a multiple or a quotient of it, rounded to the storage type.
template <Lane T>
[[gnu::noinline]] void store_row(const Accumulator<T>* __restrict sum, std::size_t columns,
                                 T* __restrict output) {
    for (std::size_t c = 0; c < columns; ++c) output[c] = narrow<T>(sum[c]);
}

template <Lane T>
[[gnu::noinline]] void store_product(const Accumulator<T>* __restrict sum, Accumulator<T> factor,
                                     std::size_t columns, T* __restrict output) {
    for (std::size_t c = 0; c < columns; ++c) output[c] = narrow<T>(sum[c] * factor);
}

template <Lane T>
[[gnu::noinline]] void store_quotient(const Accumulator<T>* __restrict sum, Accumulator<T> divisor,
                                      std::size_t columns, T* __restrict output) {
    for (std::size_t c = 0; c < columns; ++c) output[c] = narrow<T>(sum[c] / divisor);
}

}  // namespace gradbag
