#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/checked.hpp"
#include "core/grouped_entries.hpp"
#include "core/plan.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_groups.hpp"
#include "simd/row_loops.hpp"

// The rows of the segment gradient that any index names, in ascending order of index: row k is, bit for bit,
// row sorted_unique_indices[k] of the dense gradient.
namespace gradbag {

// sizes: the number of distinct indices. Independent of the type of the gradient, of which only the number
// of rows matters.
template <Index I, Index S>
Plan segment_grad_compact_plan(Combiner combiner, std::size_t grad_rows, std::span<const I> indices,
                               std::span<const S> segment_ids, const std::int32_t& dense_output_dim0) {
    const std::int32_t rows = std::max(load_once(&dense_output_dim0), 0);
    const SegmentEntries<I, S> entries(indices, static_cast<std::size_t>(rows), segment_ids, grad_rows);
    SegmentGroups groups = group_by_index(combiner, entries);
    return {{static_cast<std::int64_t>(count_groups(groups.grouped))}, std::move(groups)};
}

template <Lane T, Index I>
void segment_grad_compact(const Plan& plan, Combiner combiner, Matrix<const T> grad, Matrix<T> output,
                          std::span<I> sorted_unique_indices) {
    const bool stream = may_stream(output.data, output.rows, output.columns);
    sum_groups(combiner, grad, plan.work<SegmentGroups>(), stream, [&](std::size_t group, std::size_t index) {
        sorted_unique_indices[group] = static_cast<I>(index);
        return output.row(group);
    });
}

}  // namespace gradbag
