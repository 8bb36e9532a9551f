#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/constants.hpp"
#include "core/items.hpp"
#include "core/plan.hpp"
#include "core/views.hpp"

// Keeps the entries of a sparse tensor that lie in the window [start, start + size) of every dimension, in
// their order, with indices counted from `start`. The end of the window may lie beyond what int64 holds, so
// it is never computed.
namespace gradbag {

struct KeptEntries {
    Buffer<std::size_t> positions;
    std::size_t count;
};

namespace detail {

// Unsigned subtraction is exact once the index is known not to lie before the start.
inline bool in_window(std::int64_t index, std::int64_t start, std::int64_t size) {
    const std::uint64_t offset = static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(start);
    return index >= start && offset < static_cast<std::uint64_t>(size);
}

template <class Rank>
KeptEntries find_kept(Matrix<const std::int64_t> indices, std::span<const std::int64_t> start,
                      std::span<const std::int64_t> size, Rank rank) {
    KeptEntries kept{Buffer<std::size_t>(indices.rows), 0};
    for (std::size_t entry = 0; entry < indices.rows; ++entry) {
        const std::int64_t* index = indices.data + entry * rank;
        bool inside = true;
        for (std::size_t d = 0; d < rank; ++d) inside &= in_window(index[d], start[d], size[d]);
        // Written in any case and overwritten if not kept: no branch to guess wrong.
        kept.positions[kept.count] = entry;
        kept.count += inside ? 1 : 0;
    }
    return kept;
}

// The part of the window that lies in the shape, which can be wider than the shape when the start is
// negative. Where the subtraction happens its result lies in (0, size], so it cannot overflow.
inline std::int64_t sliced_extent(std::int64_t shape, std::int64_t start, std::int64_t size) {
    if (start < shape - size) return size;
    return start < shape ? shape - start : 0;
}

}  // namespace detail

// sizes: the number of entries kept.
inline Plan slice_plan(Matrix<const std::int64_t> indices, std::span<const std::int64_t> start,
                       std::span<const std::int64_t> size) {
    KeptEntries kept{Buffer<std::size_t>(0), 0};
    with_constant_if_any<1, 2, 3>(indices.columns,
                                  [&](auto rank) { kept = detail::find_kept(indices, start, size, rank); });
    const auto count = static_cast<std::int64_t>(kept.count);
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
    for (std::size_t i = 0; i < kept.count; ++i) {
        const std::int64_t* from = indices.row(kept.positions[i]);
        std::int64_t* to = output.indices.row(i);
        for (std::size_t d = 0; d < indices.columns; ++d) {
            // Unsigned, because another thread may have moved the index out of the window since.
            to[d] = static_cast<std::int64_t>(static_cast<std::uint64_t>(from[d]) -
                                              static_cast<std::uint64_t>(start[d]));
        }
    }
    with_item_size(values.item_size, [&](auto item_size) {
        for (std::size_t i = 0; i < kept.count; ++i) {
            copy_item(values, kept.positions[i], output.values, i, item_size);
        }
    });
    for (std::size_t d = 0; d < shape.size(); ++d) {
        output.shape[d] = detail::sliced_extent(shape[d], start[d], size[d]);
    }
}

}  // namespace gradbag
