#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/views.hpp"

namespace gradbag {

// What the entries consist of besides their rows, which were checked and are not read again.
struct RowEntries {
    Matrix<const std::int64_t> indices;
    Bytes values, default_value;  // mutant: fields
};

struct FilledRows {
    Matrix<std::int64_t> indices;
    MutableBytes values;
    std::span<bool> empty_row_indicator;
    std::span<std::int64_t> reverse_index_map;
};

}  // namespace gradbag
