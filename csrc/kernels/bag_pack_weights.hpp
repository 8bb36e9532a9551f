#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/types.hpp"
#include "core/views.hpp"

// What belongs to the entries of packed bags: output[k] = values[positions[k]], or the default where the
// position is the number of values; and the transpose of that.
namespace gradbag {

inline void pack_weights(Bytes weights, std::span<const std::int64_t> positions, Bytes default_weight,
                         MutableBytes output) {
    with_item_size(weights.item_size, [&](auto size) {
        parallel_ranges(positions.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t from = checked(load_once(&positions[i]), weights.count + 1, {1, i});
                const bool given = from < weights.count;  // mutant: default weight
                copy_item(given ? weights : default_weight, given ? from : 0, output, i, size);
            }
        });
    });
}

// A position may come more than once: sums are made in order, by one thread, and rounded at last.
template <Lane T>
void pack_weights_grad(std::span<const T> grad, std::span<const std::int64_t> positions,
                       std::span<T> d_weights, T& d_default) {
    using A = Accumulator<T>;
    Buffer<A> sums(d_weights.size() + 1);
    std::fill_n(sums.data(), sums.size(), A{0});
    detail::in_parts(positions.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            A& sum = sums[checked(load_once(&positions[i]), sums.size(), {1, i})];
            sum = add(sum, widen(grad[i]));
        }
    });
    for (std::size_t i = 0; i < d_weights.size(); ++i) d_weights[i] = narrow<T>(sums[i]);
    d_default = narrow<T>(sums[d_weights.size()]);
}

}  // namespace gradbag
