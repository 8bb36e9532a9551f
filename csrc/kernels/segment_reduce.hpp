#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checked.hpp"
#include "core/constants.hpp"
#include "core/prefetch.hpp"
#include "core/row_sum.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_inputs.hpp"

// output[s] = combined rows data[indices[i]] of all entries i with segment_ids[i] == s; rows without an entry
// are zero. Sums are made in TensorFlow's order, so the bits are TensorFlow's.
namespace gradbag {

namespace detail {

// Looks up rows of a table by the indices of consecutive entries.
template <Lane T, Index I>
class RowLookup {
  public:
    RowLookup(Matrix<const T> table, std::span<const I> indices)
        : table_(table), indices_(indices), prefetch_(table) {}

    const T* row(std::size_t entry) const {
        const std::size_t index =
            checked(load_once(&indices_[entry]), table_.rows, {segment_input::indices, entry});
        return table_.row(index);
    }

    // Addresses of the rows of entries [begin, begin + count), from column `first_column` on.
    void rows(std::size_t begin, std::size_t count, std::size_t first_column, const T** addresses) const {
        for (std::size_t i = 0; i < count; ++i) {
            if (first_column == 0) prefetch_ahead(begin + i);
            addresses[i] = row(begin + i) + first_column;
        }
    }

    std::size_t columns() const { return table_.columns; }

  private:
    void prefetch_ahead(std::size_t entry) const {
        const std::size_t later = entry + kPrefetchDistance;
        if (later < indices_.size()) prefetch_(static_cast<std::uint64_t>(load_once(&indices_[later])));
    }

    Matrix<const T> table_;
    std::span<const I> indices_;
    RowPrefetch prefetch_;
};

// A run of at least two rows starts with a head, and the rest is a whole number of blocks.
inline std::size_t head_rows(std::size_t count) {
    const std::size_t rest = count % kBlockRows;
    return rest < 2 ? rest + kBlockRows : rest;
}

// Runs shorter than this are multiplied by the rounded reciprocal, longer ones divided.
inline constexpr std::size_t kFirstDivided = 10;

template <Lane T>
void store_combined(Combiner combiner, std::size_t count, const Accumulator<T>* sum, std::size_t columns,
                    T* output) {
    using A = Accumulator<T>;
    if constexpr (!std::unsigned_integral<T>) {
        if (combiner != Combiner::sum) {
            const A by = static_cast<A>(divisor(combiner, count));
            if (count < kFirstDivided) return store_product(sum, A{1} / by, columns, output);
            return store_quotient(sum, by, columns, output);
        }
    }
    store_row(sum, columns, output);
}

// Combines entries [begin, end) into one row.
template <Lane T, Index I>
void reduce_run(Combiner combiner, const RowLookup<T, I>& lookup, std::size_t begin, std::size_t end,
                T* output) {
    const std::size_t count = end - begin;
    const std::size_t columns = lookup.columns();
    const T* rows[kBlockRows + 1];
    if (count == 1) {
        // A copy, not a sum of one: it keeps the sign of zero and the payload of a NaN.
        lookup.rows(begin, 1, 0, rows);
        std::copy_n(rows[0], columns, output);
        return;
    }
    const std::size_t head = head_rows(count);
    Accumulator<T> sum[kTileColumns];
    std::size_t first = 0;
    do {  // At least once, so that indices are checked even when there are no columns.
        const std::size_t width = std::min(kTileColumns, columns - first);
        lookup.rows(begin, head, first, rows);
        with_constant<2, kBlockRows + 1>(
            head, [&](auto rows_in_head) { sum_rows<rows_in_head>(rows, width, sum); });
        for (std::size_t entry = begin + head; entry < end; entry += kBlockRows) {
            lookup.rows(entry, kBlockRows, first, rows);
            add_block<kBlockRows>(rows, width, sum);
        }
        store_combined(combiner, count, sum, width, output + first);
        first += width;
    } while (first < columns);
}

template <Lane T>
void clear_rows(Matrix<T> output, std::size_t begin, std::size_t end) {
    std::fill_n(output.row(begin), (end - begin) * output.columns, T{});
}

}  // namespace detail

template <Lane T, Index I, Index S>
void segment_reduce(Combiner combiner, Matrix<const T> data, std::span<const I> indices,
                    std::span<const S> segment_ids, Matrix<T> output) {
    const detail::RowLookup<T, I> lookup(data, indices);
    const std::size_t entries = segment_ids.size();
    std::size_t finished = 0;  // output rows below this one are complete
    std::size_t begin = 0;
    S id = entries > 0 ? load_once(&segment_ids[0]) : S{0};
    while (begin < entries) {
        if (!in_range(id, output.rows) || static_cast<std::size_t>(id) < finished) [[unlikely]] {
            lookup.row(begin);  // At the same position a bad index is reported first.
            const Place place{segment_input::segment_ids, begin};
            checked(id, output.rows, place);
            throw Fault{FaultKind::order,
                        place.input,
                        static_cast<std::int64_t>(begin),
                        place.column,
                        id,
                        static_cast<std::int64_t>(finished) - 1,
                        0};
        }
        const std::size_t segment = static_cast<std::size_t>(id);
        std::size_t end = begin + 1;
        S next = id;
        while (end < entries && (next = load_once(&segment_ids[end])) == id) ++end;

        detail::clear_rows(output, finished, segment);
        detail::reduce_run(combiner, lookup, begin, end, output.row(segment));
        finished = segment + 1;
        begin = end;
        id = next;
    }
    detail::clear_rows(output, finished, output.rows);
}

}  // namespace gradbag
