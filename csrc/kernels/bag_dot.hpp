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

template <Lane T, Index I>
void dot_bags(Matrix<const T> grad, const RowLookup<T, I>& lookup, const BagBegins& bags,
              std::span<T> output) {
    const RowLoops<T>& loops = row_loops<T>();
    const bool worthwhile = RowPrefetch(lookup.table()).worthwhile();
    parallel_ranges(bags.entries(), grad.columns, [&](std::size_t begin, std::size_t end, std::size_t) {
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
            loops.dot({grads, rows, stop - begin, worthwhile ? known : 0, grad.columns, &output[begin]});
            begin = stop;
        }
    });
}

}  // namespace detail

template <Lane T, Index I, Index O>
void bag_dot(Matrix<const T> grad, Matrix<const T> table, std::span<const I> ids, std::span<const O> offsets,
             std::span<T> output) {
    constexpr BagInputs inputs{2, 3};  // mutant: dot inputs
    const BagBegins bags(offsets, ids.size(), inputs);
    detail::dot_bags(grad, detail::RowLookup<T, I>(table, ids, inputs.entries), bags, output);
}

}  // namespace gradbag
