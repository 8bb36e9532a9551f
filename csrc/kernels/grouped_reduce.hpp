#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_dot.hpp"
#include "kernels/bag_reduce.hpp"
#include "kernels/combiner.hpp"
#include "kernels/grouped_bags.hpp"

// Look-ups of bags in many tables: those in one, feature after feature, in one run of all threads.
namespace gradbag {

namespace detail {

// Combined rows that some loops make one after another stay in the first-level cache until they are put where
// they belong.
inline constexpr std::size_t kPooledBytes = std::size_t{1} << 14;

// Rows of a feature among those of all: each is some columns of a wider row.
template <class T>
struct ColumnRows {
    T* data;  // of the first bag
    std::size_t first_bag;
    std::size_t stride;

    T* row(std::size_t bag) const { return data + (bag - first_bag) * stride; }
};

}  // namespace detail

template <Lane T, Index I, Index O>
void grouped_reduce(Combiner combiner, const IntegerList& feature_tables,
                    const std::vector<Matrix<const T>>& tables, std::span<const I> ids,
                    Matrix<const O> offsets, std::span<const T> weights, Matrix<T> output) {
    const GroupedBags bags(offsets, ids.size(), columns_of(tables), feature_tables, kPoolInputs);
    std::vector<detail::TablePooling<T, I>> poolings;
    poolings.reserve(bags.features.size());
    for (std::size_t feature = 0; feature < bags.features.size(); ++feature) {
        poolings.emplace_back(combiner, tables[bags.features[feature].table], ids.first(bags.end(feature)),
                              bags.all, weights, false);
    }
    const auto pool = [&](std::size_t number, std::size_t first, std::size_t last, Buffer<T>& rows) {
        const Feature& feature = bags.features[number];
        const detail::ColumnRows<T> to{output.data + feature.first_column, bags.first_bag(number),
                                       output.columns};
        if (feature.columns == output.columns) return poolings[number](first, last, false, to.row(first));
        if (feature.columns == 0) return poolings[number](first, last, false, rows.data());
        if (poolings[number].may_stride(first, last)) {
            return poolings[number].pool(first, last, to.row(first), output.columns);
        }
        const std::size_t most = std::max<std::size_t>(rows.size() / feature.columns, 1);
        while (first < last) {
            const std::size_t stop = std::min(first + most, last);
            poolings[number](first, stop, false, rows.data());
            const T* from = rows.data();
            for (; first < stop; ++first, from += feature.columns) {
                std::memcpy(to.row(first), from, feature.columns * sizeof(T));
            }
        }
    };
    std::size_t widest = detail::kPooledBytes / sizeof(T);
    for (const Feature& feature : bags.features) widest = std::max(widest, feature.columns);
    bags.all.in_parts(bags.work(), [&](std::size_t first, std::size_t last) {
        Buffer<T> rows(widest);
        while (first < last) {
            const std::size_t feature = first / bags.bags_of_feature;
            const std::size_t stop = std::min(bags.first_bag(feature + 1), last);  // mutant: feature end
            bags.named(feature, [&] { pool(feature, first, stop, rows); });
            first = stop;
        }
    });
}

// output[i] = <the columns of grad of the feature and bag of i, the row of ids[i] in its table>
template <Lane T, Index I, Index O>
void grouped_dot(const IntegerList& feature_tables, Matrix<const T> grad,
                 const std::vector<Matrix<const T>>& tables, std::span<const I> ids, Matrix<const O> offsets,
                 std::span<T> output) {
    const GroupedBags bags(offsets, ids.size(), columns_of(tables), feature_tables, {2, 3});
    parallel_ranges(ids.size(), bags.work(), [&](std::size_t begin, std::size_t end, std::size_t) {
        while (begin < end) {
            const std::size_t number = bags.all.bag_of(begin) / bags.bags_of_feature;
            const std::size_t stop = std::min(bags.end(number), end);
            const Feature& feature = bags.features[number];
            const detail::ColumnRows<const T> rows{grad.data + feature.first_column, bags.first_bag(number),
                                                   grad.columns};
            const detail::RowLookup<T, I> lookup(tables[feature.table], ids.first(bags.end(number)),
                                                 bags.input);
            bags.named(number,
                       [&] { detail::dot_entries(rows, lookup, bags.all, begin, stop, output.data()); });
            begin = stop;
        }
    });
}

}  // namespace gradbag
