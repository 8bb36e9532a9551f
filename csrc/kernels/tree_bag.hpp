#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"

// Bags whose rows are added up piece by piece, and the sums of pieces pairwise, as the leaves of a tree: a
// part of the tree that was computed elsewhere stands for its first leaf, and the sum has the same bits.
namespace gradbag {

namespace detail {

// The sums of the pieces of one bag at a time.
template <class T>
class PieceSums {
  public:
    PieceSums(std::size_t pieces, std::size_t columns)
        : columns_(columns), sums_(pieces * columns), present_(pieces) {}

    void begin() { std::ranges::fill(present_, std::uint8_t{0}); }

    void add(std::size_t piece, const T* row, T weight) {
        add_each(piece, [=](std::size_t c) { return row[c] * weight; });
    }

    void add(std::size_t piece, const T* row) {
        add_each(piece, [=](std::size_t c) { return row[c]; });
    }

    // What is not there is left out, never added.
    void finish(T* out) {
        const std::size_t pieces = present_.size();
        for (std::size_t width = 1; width < pieces; width *= 2) {
            for (std::size_t left = 0; left + width < pieces; left += 2 * width) {
                if (present_[left + width] == 0) continue;
                T* const to = sums_.data() + left * columns_;
                const T* const from = to + width * columns_;
                if (present_[left] != 0) {
                    for (std::size_t c = 0; c < columns_; ++c) to[c] += from[c];  // mutant: tree
                } else {
                    present_[left] = 1;
                    std::copy_n(from, columns_, to);
                }
            }
        }
        if (pieces > 0 && present_[0] != 0) {
            std::copy_n(sums_.data(), columns_, out);
        } else {
            std::fill_n(out, columns_, T{0});
        }
    }

  private:
    // Every sum begins at zero, so that none is a negative zero that another order would not have.
    template <class Value>
    void add_each(std::size_t piece, const Value& value) {
        T* const sum = sums_.data() + piece * columns_;
        if (std::exchange(present_[piece], std::uint8_t{1}) == 0) {
            for (std::size_t c = 0; c < columns_; ++c) sum[c] = T{0} + value(c);
        } else {
            for (std::size_t c = 0; c < columns_; ++c) sum[c] += value(c);
        }
    }

    std::size_t columns_;
    Buffer<T> sums_;
    std::vector<std::uint8_t> present_;
};

}  // namespace detail

template <class T, Index I, Index O>
void tree_bag(std::int64_t num_pieces, Matrix<const T> table, std::span<const I> ids,
              std::span<const O> offsets, std::span<const std::int64_t> pieces, std::span<const T> weights,
              Matrix<T> output) {
    const BagBegins bags(offsets, ids.size(), {1, 2});
    const auto piece_bound = static_cast<std::size_t>(num_pieces);
    const RowPrefetch prefetch(table);
    bags.in_parts(table.columns + 8, [&](std::size_t first, std::size_t last) {
        detail::PieceSums<T> sums(piece_bound, table.columns);
        for (std::size_t bag = first; bag < last; ++bag) {
            sums.begin();
            const std::size_t end = bags.end(bag);
            for (std::size_t entry = bags.begin(bag); entry < end; ++entry) {
                const std::size_t later = entry + kPrefetchDistance;
                if (later < ids.size()) prefetch(static_cast<std::uint64_t>(load_once(&ids[later])));
                const std::size_t row = checked(load_once(&ids[entry]), table.rows, {1, entry});
                const std::size_t piece = checked(load_once(&pieces[entry]), piece_bound, {3, entry});
                const T* const from = table.data + row * table.columns;
                if (weights.empty()) {
                    sums.add(piece, from);
                } else {
                    sums.add(piece, from, weights[entry]);
                }
            }
            sums.finish(output.data + bag * output.columns);
        }
    });
}

}  // namespace gradbag
