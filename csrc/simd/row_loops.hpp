#pragma once

#include <cstddef>
#include <cstdint>

#include "core/thresholds.hpp"
#include "core/types.hpp"

// The loops over columns in which the time of every segment kernel is spent, compiled for several instruction
// sets; the best that the CPU has is chosen once. All give the same bits.
namespace gradbag {

// TensorFlow adds rows in groups of eight.
inline constexpr std::size_t kBlockRows = 8;

// What becomes of a sum before it is stored.
enum class Finish : std::uint8_t { none, multiply, divide };

// Rows that are combined into one row, or a part of them when they are many.
template <Lane T>
struct Run {
    using A = Accumulator<T>;

    T* output = nullptr;
    std::uint32_t count = 0;
    Finish finish = Finish::none;
    // The parts before this one have left their sums in `carry`, and the next will find them: null when there
    // are none. At least carry_size<T>(columns).
    bool first = true;
    bool last = true;
    A factor = A{1};
    A* carry = nullptr;
};

// The rows of several runs, one run after another.
template <Lane T>
struct RunRows {
    const T* const* rows;
    // In a scaled sum: a number for each row.
    const Accumulator<T>* scales;
    std::size_t columns;
    // How many rows there are: those to come are asked for early. 0: none is.
    std::size_t upcoming;
    // Whether the output is too large for the caches and so aligned that it may pass them by.
    bool stream;
};

// A row that is added to the next `count` targets.
template <Lane T>
struct Source {
    const T* row;
    Accumulator<T> scale;
    std::uint32_t count;
};

// Rows that are added where they belong.
template <Lane T>
struct Scatter {
    const Source<T>* sources;
    std::size_t source_count;
    T* const* targets;
    // At least as many as the sources have; the others will come later.
    std::size_t target_count;
    std::size_t columns;
    bool prefetch_targets;
    bool prefetch_sources;
};

// Rows, each of which is added to the target beside it.
template <Lane T>
struct RowPairs {
    const T* const* rows;
    T* const* targets;
    std::size_t count;
    // Targets to come, at least as many: they are asked for early.
    std::size_t target_count;
    std::size_t columns;
    bool prefetch_targets;
};

// Inner products are added up in so many lanes.
inline constexpr std::size_t kDotLanes = 16;

// Pairs of rows whose inner products are wanted.
template <Lane T>
struct RowDots {
    const T* const* left;
    const T* const* right;
    std::size_t count;
    // How many right rows there are: those to come are asked for early. 0: none is.
    std::size_t upcoming;
    std::size_t columns;
    T* output;
};

// Bags of ids, one after another, whose rows of a table are combined into one row each.
template <Lane T, Index I>
struct BagRows {
    using A = Accumulator<T>;

    const T* table;
    std::size_t rows;
    std::size_t columns;
    const I* ids;
    std::size_t entries;  // of all bags: those to come are asked for early
    const T* weights;     // of the entries; null: they have none
    // Where each bag begins, and at last where the last one ends.
    const std::int64_t* begins;
    std::size_t bags;
    // What sums without weights are multiplied by, up to nine rows, or divided by; null: they stay as they
    // are. For more rows than the list has, `long_factor` tells.
    const A* factors;
    A (*long_factor)(std::size_t count);
    // Weighted sums are divided by the sum of the weights, or by the root of that of their squares.
    bool divided;
    bool squares;
    bool prefetch;
    bool stream;
    T* output;
    std::size_t stride;  // from one combined row to the next
};

// Runs shorter than this are multiplied by the rounded reciprocal, longer ones divided.
inline constexpr std::size_t kFirstDivided = 10;  // mutant: nine

template <Lane T>
std::size_t carry_size(std::size_t columns) {
    return columns + 256 / sizeof(Accumulator<T>);
}

template <Lane T>
struct RowLoops {
    // output = finish(((head rows, one by one) + (the sum of eight)) + (the sum of eight) + ...), where the
    // head is what is left of eight, and at least two. A single row is copied.
    void (*sum)(const RunRows<T>& rows, const Run<T>* runs, std::size_t count);
    // output = ((0 + rows[0] * scales[0]) + rows[1] * scales[1]) + ..., each product rounded.
    void (*sum_scaled)(const RunRows<T>& rows, const Run<T>* runs, std::size_t count);
    // Copies the rows of each run, bit for bit, one after another from its output on.
    void (*copy)(const RunRows<T>& rows, const Run<T>* runs, std::size_t count);
    // *target += row * scale, in order. Only where numbers are added in their own type.
    void (*scatter)(const Scatter<T>& scatter);
    // The same where each row has one target and its scale is 1.
    void (*add)(const RowPairs<T>& pairs);
    // The inner product of each pair, of fractions only: lane k adds the products of columns k, k + 16,
    // k + 32, ... to zero, in this order and each rounded; then lanes 8 to 15 are added to lanes 0 to 7, of
    // these 4 to 7 to 0 to 3, and so on. A last rounding makes the number of its type.
    void (*dot)(const RowDots<T>& dots);
    // Like `sum` or `sum_scaled` of the rows of each bag; an empty one, and one whose weights cancel, gives
    // zeros. Returns the first entry with an id that is not in the table, before whose bag everything is
    // done, or the number of entries. Only of fractions, and null where the CPU has too few registers.
    std::size_t (*pool_short)(const BagRows<T, std::int32_t>& bags);
    std::size_t (*pool_long)(const BagRows<T, std::int64_t>& bags);
};

// Those of the chosen level.
template <Lane T>
const RowLoops<T>& row_loops();

// Fills memory with zeros past the caches: for what is larger than they are.
void stream_zeros(void* to, std::size_t bytes);

// Whether rows of an output may be written past the caches: only whole cache lines are worth it.
template <Lane T>
bool may_stream(const T* data, std::size_t rows, std::size_t columns) {
    const std::size_t row_bytes = columns * sizeof(T);
    return rows * row_bytes >= kStreamedBytes && row_bytes % kLineBytes == 0 &&
           reinterpret_cast<std::uintptr_t>(data) % kLineBytes == 0;
}

// "baseline", "avx2" or "avx512".
const char* simd_level();

}  // namespace gradbag
