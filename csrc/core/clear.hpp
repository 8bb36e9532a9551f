#pragma once

#include <cstddef>
#include <cstring>

#include "core/parallel.hpp"
#include "core/thresholds.hpp"
#include "core/views.hpp"
#include "simd/row_loops.hpp"

namespace gradbag {

// Zero is all bits clear in every lane type.
template <class T>
void clear_rows(Matrix<T> output, std::size_t begin, std::size_t end) {
    if (begin < end && output.columns > 0) {
        std::memset(static_cast<void*>(output.row(begin)), 0, (end - begin) * output.columns * sizeof(T));
    }
}

// By as many threads as will work on it: while it fits a cache, it had better be their own.
template <class T>
void clear_all(Matrix<T> output, std::size_t threads = num_threads()) {
    if (threads == 1 && output.size() * sizeof(T) <= kOwnZeros) return clear_rows(output, 0, output.rows);
    const Matrix<T> flat{output.data, output.size(), 1};
    const bool streamed = output.size() * sizeof(T) >= kStreamedZeros;
    parallel_ranges(flat.rows, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        if (streamed) {
            stream_zeros(flat.row(begin), (end - begin) * sizeof(T));
        } else {
            clear_rows(flat, begin, end);
        }
    });
}

}  // namespace gradbag
