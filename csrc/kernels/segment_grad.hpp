#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/clear.hpp"
#include "core/parallel.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/row_scatter.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_groups.hpp"
#include "kernels/segment_scales.hpp"

// output[indices[i]] += grad[segment_ids[i]] * scale(segment_ids[i]) for i = 0, 1, ..., starting from zeros.
namespace gradbag {

namespace detail {

// Entry by entry, each thread for columns of its own, whatever the order of the segments.
template <Lane T, Index I, Index S>
void scatter_unsorted(Combiner combiner, Matrix<const T> grad, const SegmentEntries<I, S>& entries,
                      Matrix<T> output, const ColumnBlocks<T>& blocks) {
    const bool counted = combiner != Combiner::sum;  // mutant: counted
    SegmentCounts counts(entries.size(), counted ? entries.segment_bound() : 0);
    if (counted) counts.count(entries.size(), [&](std::size_t i) { return entries.read(i).segment; });
    const SegmentScales<T> scales(combiner, counts);
    parallel_for(blocks.count, blocks.count, [&](std::size_t block, std::size_t) {
        const Pieces parts(entries.size(), kPartEntries);
        RowScatter<T> scatter(grad, output, blocks.begin(block), blocks.end(block), false);
        for (std::size_t part = 0; part < parts.count(); ++part) {
            checkpoint();
            for (std::size_t i = parts.begin(part); i < parts.end(part); ++i) {
                scatter.add(entries.read(i), scales);
            }
        }
        scatter.flush();
    });
}

// Entries sorted by ranges of rows, each thread for rows of its own.
template <class Word, Lane T>
void scatter_ranges(Combiner combiner, Matrix<const T> grad, UnsortedEntries<Word> all, Matrix<T> output) {
    const SegmentCounts counts = count_segments(combiner, all, grad.rows);
    const SegmentScales<T> scales(combiner, counts);
    const unsigned bits = static_cast<unsigned>(std::bit_width(all.largest));
    Buffer<KeyedEntry<Word>> parted(all.keys.size());
    const BucketBegins begins = partition_by_key(all, bits > kRangeBits ? bits - kRangeBits : 0, parted);
    for_bucket_groups(
        begins, kPartEntries, num_threads(), [&](std::size_t first, std::size_t last, std::size_t) {
            RowScatter<T> scatter(grad, output, 0, output.columns, true);
            for (std::size_t i = begins[first]; i < begins[last]; ++i) {
                scatter.add(
                    {static_cast<std::size_t>(parted[i].key), static_cast<std::size_t>(parted[i].payload)},
                    scales);
            }
            scatter.flush();
        });
}

template <Lane T, Index I, Index S>
void scatter_rows(Combiner combiner, Matrix<const T> grad, const SegmentEntries<I, S>& entries,
                  Matrix<T> output) {
    const ScatterShares<T> shares(entries.size(), grad.rows, output);
    clear_all(output, shares.parts());  // mutant: zeros
    if (shares.by_rows && !shares.filtered()) {
        entries.read_all([&](auto all) { scatter_ranges(combiner, grad, std::move(all), output); });
    } else if (!scatter_sorted(combiner, grad, entries.indices(), entries.segment_ids(), output, shares)) {
        clear_all(output);  // mutant: anew
        scatter_unsorted(combiner, grad, entries, output, shares.blocks);
    }
}

}  // namespace detail

template <Lane T, Index I, Index S>
void segment_grad(Combiner combiner, Matrix<const T> grad, std::span<const I> indices,
                  std::span<const S> segment_ids, Matrix<T> output) {
    const SegmentEntries<I, S> entries(indices, output.rows, segment_ids, grad.rows);
    if constexpr (std::same_as<T, Accumulator<T>>) {
        detail::scatter_rows(combiner, grad, entries, output);
    } else {
        clear_all(output);
        // A float copy of the output would take twice its memory, so each row is summed at one go.
        const SegmentGroups groups =
            entries.read_all([&](auto all) { return group_by_index(combiner, std::move(all), grad.rows); });
        sum_groups(combiner, grad, groups, false,
                   [&](std::size_t, std::size_t index) { return output.row(index); });  // mutant: half rows
    }
}

}  // namespace gradbag
