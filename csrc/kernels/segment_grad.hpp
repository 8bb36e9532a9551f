#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

#include "core/prefetch.hpp"
#include "core/row_sum.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_groups.hpp"
#include "kernels/segment_scales.hpp"

// output[indices[i]] += grad[segment_ids[i]] * scale(segment_ids[i]) for i = 0, 1, ..., starting from zeros.
namespace gradbag {

namespace detail {

template <Index I, Index S>
SegmentCounts count_segments(Combiner combiner, const SegmentEntries<I, S>& entries) {
    if (combiner == Combiner::sum) return {0, 0};
    SegmentCounts counts(entries.size(), entries.segment_bound());
    for (std::size_t i = 0; i < entries.size(); ++i) counts.add(entries.read(i).segment);
    counts.finish();
    return counts;
}

// The output is its own accumulator, so rows are added where they belong.
template <Lane T, Index I, Index S>
void scatter_rows(Matrix<const T> grad, const SegmentEntries<I, S>& entries, const SegmentScales<T>& scales,
                  Matrix<T> output) {
    const RowPrefetch prefetch(output);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::size_t later = i + kPrefetchDistance;
        if (later < entries.size()) prefetch(entries.unchecked_index(later));
        const SegmentEntry entry = entries.read(i);
        const T* row = grad.row(entry.segment);
        const T scale = scales(entry.segment);
        add_scaled_rows<1>(&row, &scale, output.columns, output.row(entry.index));
    }
}

}  // namespace detail

template <Lane T, Index I, Index S>
void segment_grad(Combiner combiner, Matrix<const T> grad, std::span<const I> indices,
                  std::span<const S> segment_ids, Matrix<T> output) {
    const SegmentEntries<I, S> entries(indices, output.rows, segment_ids, grad.rows);
    std::fill_n(output.data, output.size(), T{});
    if constexpr (std::same_as<T, Accumulator<T>>) {
        const SegmentCounts counts = detail::count_segments(combiner, entries);
        detail::scatter_rows(grad, entries, SegmentScales<T>(combiner, counts), output);
    } else {
        // A float copy of the output would take twice its memory, so each row is summed at one go.
        const SegmentGroups groups = group_by_index(combiner, entries);
        sum_groups(combiner, grad, groups, [&](std::size_t, std::size_t index) { return output.row(index); });
    }
}

}  // namespace gradbag
