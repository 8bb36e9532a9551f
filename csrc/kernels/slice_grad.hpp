#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/constants.hpp"
#include "core/fault.hpp"
#include "core/items.hpp"
#include "core/views.hpp"

// Sends each gradient of a slice back to the entry that it came from: output row j belongs to the first input
// row, after that of output row j - 1, with the same indices counted from `input_start`. Input rows that were
// not in the slice get zero bytes.
namespace gradbag {

namespace detail {

// Returns the number of output rows that found their input row.
template <class Rank, class Size>
std::size_t match_rows(Bytes backprop_val_grad, Matrix<const std::int64_t> input_indices,
                       std::span<const std::int64_t> input_start, Matrix<const std::int64_t> output_indices,
                       MutableBytes val_grad, Rank rank, Size item_size) {
    std::size_t matched = 0;
    std::size_t row = 0;
    for (; row < input_indices.rows && matched < output_indices.rows; ++row) {
        const std::int64_t* input = input_indices.data + row * rank;
        const std::int64_t* output = output_indices.data + matched * rank;
        bool same = true;
        for (std::size_t d = 0; d < rank; ++d) {
            // Unsigned, because the difference may not fit.
            same &= static_cast<std::uint64_t>(input[d]) - static_cast<std::uint64_t>(input_start[d]) ==
                    static_cast<std::uint64_t>(output[d]);
        }
        if (same) {
            copy_item(backprop_val_grad, matched, val_grad, row, item_size);
            ++matched;
        } else {
            clear_item(val_grad, row, item_size);
        }
    }
    for (; row < input_indices.rows; ++row) clear_item(val_grad, row, item_size);
    return matched;
}

}  // namespace detail

inline void slice_grad(Bytes backprop_val_grad, Matrix<const std::int64_t> input_indices,
                       std::span<const std::int64_t> input_start, Matrix<const std::int64_t> output_indices,
                       MutableBytes val_grad) {
    constexpr int output_indices_input = 3;
    std::size_t matched = 0;
    with_constant_if_any<1, 2, 3>(input_indices.columns, [&](auto rank) {
        with_item_size(val_grad.item_size, [&](auto item_size) {
            matched = detail::match_rows(backprop_val_grad, input_indices, input_start, output_indices,
                                         val_grad, rank, item_size);
        });
    });
    if (matched < output_indices.rows) {
        const auto row = static_cast<std::int64_t>(matched);
        throw Fault{FaultKind::unmatched, output_indices_input, row, -1, row, 0, 0};
    }
}

}  // namespace gradbag
