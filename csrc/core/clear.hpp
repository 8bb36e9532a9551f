#pragma once

#include <cstddef>
#include <cstring>

#include "core/parallel.hpp"
#include "core/views.hpp"

namespace gradbag {

// Zero is all bits clear in every lane type.
template <class T>
void clear_rows(Matrix<T> output, std::size_t begin, std::size_t end) {
    if (begin < end && output.columns > 0) {
        std::memset(static_cast<void*>(output.row(begin)), 0, (end - begin) * output.columns * sizeof(T));
    }
}

template <class T>
void clear_all(Matrix<T> output) {
    const Matrix<T> flat{output.data, output.size(), 1};
    parallel_ranges(flat.rows, 1,
                    [&](std::size_t begin, std::size_t end, std::size_t) { clear_rows(flat, begin, end); });
}

}  // namespace gradbag
