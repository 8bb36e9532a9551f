#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"
#include "kernels/segment_reduce.hpp"
#include "simd/row_loops.hpp"

// output[i] = <grad[bag of i], table[ids[i]]>, added as RowLoops::dot tells. A bad id is found when it is its
// turn: others may have been written by then.
namespace gradbag {

namespace detail {

// Entries [begin, end); `grad.row(bag)` is the gradient of a bag.
template <Lane T, Index I, class Grad>
void dot_entries(const Grad& grad, const RowLookup<T, I>& lookup, const BagBegins& bags, std::size_t begin,
                 std::size_t end, T* output) {
    const RowLoops<T>& loops = row_loops<T>();
    const bool worthwhile = RowPrefetch(lookup.table()).worthwhile();
    const T* grads[kBatch];
    const T* rows[kBatch + kPrefetchDistance];
    std::size_t bag = bags.bag_of(begin);
    while (begin < end) {
        const std::size_t stop = std::min(begin + kBatch, end);
        const std::size_t later = worthwhile ? std::min(kPrefetchDistance, lookup.size() - stop) : 0;
        const std::size_t known = lookup.find(begin, stop, later, rows);
        for (std::size_t i = begin; i < stop; ++i) {
            while (bags.end(bag) <= i) ++bag;  // mutant: dot bag
            grads[i - begin] = grad.row(bag);
        }
        loops.dot(
            {grads, rows, stop - begin, worthwhile ? known : 0, lookup.table().columns, output + begin});
        begin = stop;
    }
}

}  // namespace detail

template <Lane T, Index I, Index O>
void bag_dot(Matrix<const T> grad, Matrix<const T> table, std::span<const I> ids, std::span<const O> offsets,
             std::span<T> output) {
    constexpr BagInputs inputs{2, 3};  // mutant: dot inputs
    const BagBegins bags(offsets, ids.size(), inputs);
    const detail::RowLookup<T, I> lookup(table, ids, inputs.entries);
    parallel_ranges(ids.size(), grad.columns, [&](std::size_t begin, std::size_t end, std::size_t) {
        detail::dot_entries(grad, lookup, bags, begin, end, output.data());
    });
}

}  // namespace gradbag
