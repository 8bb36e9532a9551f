#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/constants.hpp"
#include "core/fault.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/views.hpp"

// Sends each gradient of a slice back to the entry that it came from: output row j belongs to the first input
// row, after that of output row j - 1, with the same indices counted from `input_start`. Input rows that were
// not in the slice get zero bytes.
namespace gradbag {

namespace detail {

// The rows of both tensors, and how the one is compared with the other.
template <class Rank>
struct RowMatch {
    const std::int64_t* input;
    std::size_t input_rows;
    const std::int64_t* start;
    const std::int64_t* output;
    std::size_t output_rows;
    Rank rank;

    bool same(std::size_t input_row, std::size_t output_row) const {
        const std::int64_t* const in = input + input_row * rank;
        const std::int64_t* const out = output + output_row * rank;
        bool equal = true;
        for (std::size_t d = 0; d < rank; ++d) {
            // Unsigned, because the difference may not fit.
            equal &= static_cast<std::uint64_t>(in[d]) - static_cast<std::uint64_t>(start[d]) ==
                     static_cast<std::uint64_t>(out[d]);
        }
        return equal;
    }

    // Whether the output row comes before the input row, if both tensors are sorted.
    bool before(std::size_t output_row, std::size_t input_row) const {
        for (std::size_t d = 0; d < rank; ++d) {
            const std::int64_t in = input[input_row * rank + d];
            const std::int64_t out =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(output[output_row * rank + d]) +
                                          static_cast<std::uint64_t>(start[d]));
            if (in != out) return out < in;
        }
        return false;
    }

    // How many output rows belong to input rows before this one: right if both tensors are sorted.
    std::size_t guess(std::size_t input_row) const {
        std::size_t low = 0;
        std::size_t high = output_rows;
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (before(middle, input_row)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

// Fills input rows [row, end), when output rows below `matched` have found theirs. Returns how many have
// then.
template <class Rank, class Size>
std::size_t match_rows(RowMatch<Rank> match, std::size_t row, std::size_t end, std::size_t matched,
                       Bytes backprop_val_grad, MutableBytes val_grad, Size item_size) {
    for (; row < end && matched < match.output_rows; ++row) {
        if (match.same(row, matched)) {
            copy_item(backprop_val_grad, matched, val_grad, row, item_size);
            ++matched;
        } else {
            clear_item(val_grad, row, item_size);
        }
    }
    for (; row < end; ++row) clear_item(val_grad, row, item_size);
    return matched;
}

// Where a block starts depends on all before it. So each starts from a guess, and whoever started from a
// wrong one is done again, in order.
template <class Rank, class Size>
std::size_t match_blocks(const RowMatch<Rank>& match, Bytes backprop_val_grad, MutableBytes val_grad,
                         Size item_size) {
    const Pieces blocks(match.input_rows, std::size_t{1} << 14);
    struct Block {
        std::size_t begin;
        std::size_t end;
    };
    std::vector<Block> matched(blocks.count());
    const auto match_block = [&](std::size_t block, std::size_t from) {
        return match_rows(match, blocks.begin(block), blocks.end(block), from, backprop_val_grad, val_grad,
                          item_size);
    };
    parallel_for(blocks.count(), threads_for(match.input_rows), [&](std::size_t block, std::size_t) {
        const std::size_t row = blocks.begin(block);
        const std::size_t guess = block == 0 ? 0 : match.guess(row);
        matched[block] = {guess, match_block(block, guess)};
    });
    std::size_t sure = 0;
    parallel_for(blocks.count(), 1, [&](std::size_t block, std::size_t) {
        if (matched[block].begin != sure) matched[block].end = match_block(block, sure);
        sure = matched[block].end;
    });
    return sure;
}

}  // namespace detail

inline void slice_grad(Bytes backprop_val_grad, Matrix<const std::int64_t> input_indices,
                       std::span<const std::int64_t> input_start, Matrix<const std::int64_t> output_indices,
                       MutableBytes val_grad) {
    constexpr int output_indices_input = 3;
    std::size_t matched = 0;
    with_constant_if_any<1, 2, 3>(input_indices.columns, [&](auto rank) {
        with_item_size(val_grad.item_size, [&](auto item_size) {
            const detail::RowMatch<decltype(rank)> match{input_indices.data,  input_indices.rows,
                                                         input_start.data(),  output_indices.data,
                                                         output_indices.rows, rank};
            matched = detail::match_blocks(match, backprop_val_grad, val_grad, item_size);
        });
    });
    if (matched < output_indices.rows) {
        const auto row = static_cast<std::int64_t>(matched);
        throw Fault{FaultKind::unmatched, output_indices_input, row, -1, row, 0, 0};
    }
}

}  // namespace gradbag
