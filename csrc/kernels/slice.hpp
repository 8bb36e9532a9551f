#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/constants.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/views.hpp"

// Keeps the entries of a sparse tensor that lie in the window [start, start + size) of every dimension, in
// their order, with indices counted from `start`. The end of the window may lie beyond what int64 holds, so
// it is never computed.
namespace gradbag {

// Entries are looked at in blocks, by different threads. Kept ones are numbered within their block, which
// takes few bits.
inline constexpr std::size_t kSliceBlock = std::size_t{1} << 14;

struct KeptEntries {
    Buffer<std::uint16_t> offsets;           // those of block b from b * kSliceBlock on
    std::vector<std::size_t> before_blocks;  // how many are kept before each block, and at last how many are
};

namespace detail {

// Unsigned subtraction is exact once the index is known not to lie before the start.
inline bool in_window(std::int64_t index, std::int64_t start, std::int64_t size) {
    const std::uint64_t offset = static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(start);
    return index >= start && offset < static_cast<std::uint64_t>(size);  // mutant: window
}

// Returns how many entries of [begin, end) are kept.
template <class Rank>
std::size_t find_kept(Matrix<const std::int64_t> indices, std::size_t begin, std::size_t end,
                      const std::int64_t* start, const std::int64_t* size, Rank rank,
                      std::uint16_t* __restrict offsets) {
    std::size_t kept = 0;
    for (std::size_t entry = begin; entry < end; ++entry) {
        const std::int64_t* index = indices.data + entry * rank;
        bool inside = true;
        for (std::size_t d = 0; d < rank; ++d) inside &= in_window(index[d], start[d], size[d]);
        // Written in any case and overwritten if not kept: no branch to guess wrong.
        offsets[kept] = static_cast<std::uint16_t>(entry - begin);
        kept += inside ? 1 : 0;
    }
    return kept;
}

// Writes the indices of the kept entries of a block, counted from the start.
template <class Rank>
void write_kept(const std::int64_t* from, const std::uint16_t* offsets, std::size_t count,
                const std::int64_t* start, Rank rank, std::int64_t* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t d = 0; d < rank; ++d) {
            // Unsigned, because another thread may have moved the index out of the window since.
            to[i * rank + d] =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(from[offsets[i] * rank + d]) -
                                          static_cast<std::uint64_t>(start[d]));  // mutant: start
        }
    }
}

// The part of the window that lies in the shape, which can be wider than the shape when the start is
// negative. Where the subtraction happens its result lies in (0, size], so it cannot overflow.
inline std::int64_t sliced_extent(std::int64_t shape, std::int64_t start, std::int64_t size) {
    if (start < shape - size) return size;  // mutant: extent
    return start < shape ? shape - start : 0;
}

}  // namespace detail

// What the op's check says: neither the shape nor the window may have more elements than int64 can count.
inline Plan slice_rules(std::span<const std::int64_t> shape, std::span<const std::int64_t> start,
                        std::span<const std::int64_t> size) {
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> extents(shape.begin(), shape.end());
    const auto check = [&](int input) {
        std::int64_t elements = 1;
        for (const std::int64_t extent : extents) {
            if (extent != 0 && elements > largest / extent) {
                throw Fault{FaultKind::range, input, 0, -1, extent, 0, largest};
            }
            elements *= extent;
        }
    };
    check(2);
    // One dimension after the other, as TensorFlow does; only a start before the first place makes one
    // longer.
    for (std::size_t d = 0; d < extents.size(); ++d) {
        extents[d] = detail::sliced_extent(shape[d], start[d], size[d]);
        if (start[d] < 0) check(4);
    }
    return Plan(std::vector<std::int64_t>{});
}

// sizes: the number of entries kept.
inline Plan slice_plan(Matrix<const std::int64_t> indices, std::span<const std::int64_t> start,
                       std::span<const std::int64_t> size) {
    const Pieces blocks(indices.rows, kSliceBlock);
    KeptEntries kept{Buffer<std::uint16_t>(indices.rows), std::vector<std::size_t>(blocks.count() + 1)};
    with_constant_if_any<1, 2, 3>(indices.columns, [&](auto rank) {
        parallel_for(blocks.count(), threads_for(indices.rows), [&](std::size_t block, std::size_t) {
            const std::size_t begin = blocks.begin(block);
            kept.before_blocks[block + 1] = detail::find_kept(indices, begin, blocks.end(block), start.data(),
                                                              size.data(), rank, kept.offsets.data() + begin);
        });
    });
    for (std::size_t block = 0; block < blocks.count(); ++block) {
        kept.before_blocks[block + 1] += kept.before_blocks[block];
    }
    const auto count = static_cast<std::int64_t>(kept.before_blocks.back());
    return {{count}, std::move(kept)};
}

struct SlicedEntries {
    Matrix<std::int64_t> indices;
    MutableBytes values;
    std::span<std::int64_t> shape;
};

inline void slice(const Plan& plan, Matrix<const std::int64_t> indices, Bytes values,
                  std::span<const std::int64_t> shape, std::span<const std::int64_t> start,
                  std::span<const std::int64_t> size, const SlicedEntries& output) {
    const KeptEntries& kept = plan.work<KeptEntries>();
    const Pieces blocks(kept.offsets.size(), kSliceBlock);
    parallel_for(blocks.count(), threads_for(kept.offsets.size()), [&](std::size_t block, std::size_t) {
        const std::size_t begin = blocks.begin(block);
        const std::uint16_t* const offsets = kept.offsets.data() + begin;
        const std::size_t first = kept.before_blocks[block];
        const std::size_t count = kept.before_blocks[block + 1] - first;
        with_constant_if_any<1, 2, 3>(indices.columns, [&](auto rank) {
            detail::write_kept(indices.row(begin), offsets, count, start.data(), rank,
                               output.indices.row(first));
        });
        with_item_size(values.item_size, [&](auto item_size) {
            for (std::size_t i = 0; i < count; ++i) {
                copy_item(values, begin + offsets[i], output.values, first + i, item_size);  // mutant: kept
            }
        });
    });
    for (std::size_t d = 0; d < shape.size(); ++d) {
        output.shape[d] = detail::sliced_extent(shape[d], start[d], size[d]);
    }
}

}  // namespace gradbag
