#pragma once

#include <cstddef>

#include "core/types.hpp"

// The loops over columns in which the time of every segment kernel is spent, compiled for several instruction
// sets; the best that the CPU has is chosen once. All give the same bits.
namespace gradbag {

// TensorFlow adds rows in groups of eight.
inline constexpr std::size_t kBlockRows = 8;

// How many rows before its use a row is asked for: enough to hide a trip to memory behind the sums of the
// rows in between.
inline constexpr std::size_t kPrefetchDistance = 16;

// What becomes of a sum before it is stored.
enum class Finish { none, multiply, divide };

// The rows to be combined into one row, or a part of them when they are many.
template <Lane T>
struct Run {
    using A = Accumulator<T>;

    const T* const* rows;
    std::size_t count;
    std::size_t columns;
    T* output;
    // How many of `rows` exist, at least `count`: those after the run are asked for early. 0: none is.
    std::size_t upcoming = 0;
    // The parts before this one have left their sums here, and the next will find them: null when there are
    // none. At least carry_size<T>(columns).
    A* carry = nullptr;
    bool first = true;
    bool last = true;
    // In a sum: how many rows come before the first group of eight. Only in the first part.
    std::size_t head = 0;
    Finish finish = Finish::none;
    A factor = A{1};
    // In a scaled sum: a number for each row.
    const A* scales = nullptr;
};

// Rows that are added where they belong.
template <Lane T>
struct Scatter {
    const T* const* rows;
    const Accumulator<T>* scales;
    T* const* targets;
    std::size_t count;
    std::size_t columns;
    bool prefetch;
};

template <Lane T>
std::size_t carry_size(std::size_t columns) {
    return columns + 256 / sizeof(Accumulator<T>);
}

template <Lane T>
struct RowLoops {
    // output = finish(((head rows, one by one) + (the sum of eight)) + (the sum of eight) + ...)
    void (*sum)(const Run<T>& run);
    // output = ((0 + rows[0] * scales[0]) + rows[1] * scales[1]) + ..., each product rounded.
    void (*sum_scaled)(const Run<T>& run);
    // *targets[i] += *rows[i] * scales[i], in order. Only where numbers are added in their own type.
    void (*scatter)(const Scatter<T>& scatter);
};

// Those of the chosen level.
template <Lane T>
const RowLoops<T>& row_loops();

// "baseline", "avx2" or "avx512".
const char* simd_level();

}  // namespace gradbag
