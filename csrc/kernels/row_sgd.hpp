#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/types.hpp"
#include "core/views.hpp"

// table[indices[i]] -= learning_rate * grad[i] for i = 0, 1, ...; every product and difference rounded. All
// indices are checked before a row is written, so a bad one leaves the table as it was.
namespace gradbag {

template <std::floating_point T, Index I>
void row_sgd(Matrix<T> table, std::span<const I> indices, Matrix<const T> grad, const T& learning_rate) {
    constexpr int indices_input = 1;
    Buffer<std::size_t> rows(indices.size());
    parallel_ranges(indices.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            rows[i] = checked(load_once(&indices[i]), table.rows, {indices_input, i});  // mutant: updated row
        }
    });
    const T rate = learning_rate;
    // A row may occur more than once: threads share columns, so that each adds in the order of the entries.
    constexpr std::size_t narrowest = 32;
    const Pieces columns(table.columns, narrowest);
    const std::size_t threads = threads_for(indices.size() * table.columns);
    parallel_for(columns.count(), threads, [&](std::size_t piece, std::size_t) {
        for (std::size_t i = 0; i < indices.size(); ++i) {
            T* const row = table.row(rows[i]);
            const T* const by = grad.row(i);
            for (std::size_t c = columns.begin(piece); c < columns.end(piece); ++c) {
                row[c] -= rate * by[c];  // mutant: rate
            }
        }
    });
}

}  // namespace gradbag
