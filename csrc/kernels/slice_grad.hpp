#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "core/constants.hpp"
#include "core/fault.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/thresholds.hpp"
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
        // Unsigned, because the difference may not fit: what it then matches is found out afterwards.
        std::uint64_t differs = 0;
        for (std::size_t d = 0; d < rank; ++d) {
            const std::uint64_t from_start =
                static_cast<std::uint64_t>(in[d]) - static_cast<std::uint64_t>(start[d]);
            differs |= from_start ^ static_cast<std::uint64_t>(out[d]);
        }
        return differs == 0;
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
            copy_item(backprop_val_grad, matched, val_grad, row, item_size);  // mutant: matched
            ++matched;
        } else {
            clear_item(val_grad, row, item_size);
        }
    }
    for (; row < end; ++row) clear_item(val_grad, row, item_size);  // mutant: rest
    return matched;
}

// Some input rows one after another, and how many output rows have found theirs before the next of them.
struct RowChain {
    std::size_t row;
    std::size_t end;
    std::size_t matched;
};

// Fills rows of all chains in turn, until one of them comes to an end. Which output row is next is known only
// when the last one was compared: that takes several times as long as to begin a comparison, so the chains
// wait together. And whether rows match cannot be guessed, so there is no branch.
template <class Rank, class Size>
[[gnu::noinline]] void match_together(const RowMatch<Rank> match, std::array<RowChain, kChains>& chains,
                                      Bytes backprop_val_grad, MutableBytes val_grad, Size item_size) {
    std::size_t steps = match.input_rows;
    for (const RowChain& chain : chains) {
        steps = std::min({steps, chain.end - chain.row, match.output_rows - chain.matched});
    }
    std::array<RowChain, kChains> now = chains;
    for (std::size_t step = 0; step < steps; ++step) {
        for (RowChain& chain : now) {
            const bool same = match.same(chain.row, chain.matched);
            copy_item_if(same, backprop_val_grad, chain.matched, val_grad, chain.row, item_size);
            chain.matched += same ? 1 : 0;  // mutant: same
            ++chain.row;
        }
    }
    chains = now;
}

// The same again and again with the chains that are left, while there are several.
template <class Rank, class Size>
void match_chains(const RowMatch<Rank>& match, std::span<RowChain> chains, Bytes backprop_val_grad,
                  MutableBytes val_grad, Size item_size) {
    for (;;) {
        std::array<RowChain*, kChains> left{};
        std::size_t count = 0;
        for (RowChain& chain : chains) {
            if (chain.row < chain.end && chain.matched < match.output_rows) left[count++] = &chain;
        }
        if (count < 2) return;
        // If some have come to an end another one takes their place, and is done twice, which changes
        // nothing.
        std::array<RowChain, kChains> together;
        for (std::size_t i = 0; i < kChains; ++i) together[i] = *left[std::min(i, count - 1)];
        match_together(match, together, backprop_val_grad, val_grad, item_size);
        for (std::size_t i = 0; i < count; ++i) *left[i] = together[i];
    }
}

[[noreturn]] inline void throw_unmatched(std::size_t output_row) {
    constexpr int output_indices_input = 3;
    const auto row = static_cast<std::int64_t>(output_row);
    throw Fault{FaultKind::unmatched, output_indices_input, row, -1, row, 0, 0};
}

// Whether sums of two of these numbers may not fit: their bits tell that, almost always. Eight sets of bits,
// which do not wait for each other.
inline bool any_large(const std::int64_t* begin, const std::int64_t* end) {
    std::array<std::uint64_t, 8> bits{};
    for (; end - begin >= std::ssize(bits); begin += bits.size()) {
        for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= static_cast<std::uint64_t>(begin[i]);
    }
    for (; begin < end; ++begin) bits[0] |= static_cast<std::uint64_t>(*begin);
    return std::ranges::any_of(bits, [](std::uint64_t some) { return some >> 62 != 0; });
}

// Refuses a matched output row whose place in the input int64 does not hold: it was found at the other end.
template <class Rank>
void refuse_wrapped(const RowMatch<Rank>& match, std::size_t matched) {
    parallel_ranges(matched, match.rank, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t row = begin; row < end; ++row) {
            for (std::size_t d = 0; d < match.rank; ++d) {
                const std::int64_t from_start = match.output[row * match.rank + d];
                const auto place = static_cast<std::int64_t>(static_cast<std::uint64_t>(from_start) +
                                                             static_cast<std::uint64_t>(match.start[d]));
                if ((place < from_start) != (match.start[d] < 0)) throw_unmatched(row);
            }
        }
    });
}

// Where a block starts depends on all before it. So each starts from a guess, and whoever started from a
// wrong one is done again, in order.
template <class Rank, class Size>
std::size_t match_blocks(const RowMatch<Rank>& match, Bytes backprop_val_grad, MutableBytes val_grad,
                         Size item_size) {
    const Pieces blocks(match.input_rows, std::clamp((match.input_rows + kChains - 1) / kChains,
                                                     kShortestMatch, kLongestMatch));
    const Pieces teams(blocks.count(), kChains);
    struct Block {
        std::size_t begin;
        std::size_t end;
        bool large;  // numbers of output rows from begin to end
    };
    std::vector<Block> matched(blocks.count());
    const auto finish = [&](Block& block, RowChain chain) {
        block.end =
            match_rows(match, chain.row, chain.end, chain.matched, backprop_val_grad, val_grad, item_size);
        block.large =
            any_large(match.output + block.begin * match.rank, match.output + block.end * match.rank);
    };
    parallel_for(teams.count(), threads_for(match.input_rows), [&](std::size_t team, std::size_t) {
        std::array<RowChain, kChains> chains;
        const std::size_t first = teams.begin(team);
        const std::size_t count = teams.end(team) - first;
        for (std::size_t block = first; block < teams.end(team); ++block) {
            const std::size_t row = blocks.begin(block);
            matched[block].begin = block == 0 ? 0 : match.guess(row);
            chains[block - first] = {row, blocks.end(block), matched[block].begin};
        }
        match_chains(match, std::span(chains).first(count), backprop_val_grad, val_grad, item_size);
        for (std::size_t i = 0; i < count; ++i) finish(matched[first + i], chains[i]);
    });
    std::size_t sure = 0;
    bool large = any_large(match.start, match.start + match.rank);
    parallel_for(blocks.count(), 1, [&](std::size_t block, std::size_t) {
        if (matched[block].begin != sure) {  // mutant: guess
            matched[block].begin = sure;
            finish(matched[block], {blocks.begin(block), blocks.end(block), sure});
        }
        sure = matched[block].end;
        large |= matched[block].large;
    });
    if (large) refuse_wrapped(match, sure);
    return sure;
}

}  // namespace detail

inline void slice_grad(Bytes backprop_val_grad, Matrix<const std::int64_t> input_indices,
                       std::span<const std::int64_t> input_start, Matrix<const std::int64_t> output_indices,
                       MutableBytes val_grad) {
    std::size_t matched = 0;
    with_constant_if_any<1, 2, 3>(input_indices.columns, [&](auto rank) {
        with_item_size(val_grad.item_size, [&](auto item_size) {
            const detail::RowMatch<decltype(rank)> match{input_indices.data,  input_indices.rows,
                                                         input_start.data(),  output_indices.data,
                                                         output_indices.rows, rank};
            matched = detail::match_blocks(match, backprop_val_grad, val_grad, item_size);
        });
    });
    if (matched < output_indices.rows) detail::throw_unmatched(matched);  // mutant: unmatched
}

}  // namespace gradbag
