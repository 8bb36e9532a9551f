#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "core/constants.hpp"
#include "core/prefetch.hpp"
#include "core/row_sum.hpp"
#include "core/sorted_entries.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_scales.hpp"

namespace gradbag {

// The entries of a segment gradient, sorted by the output row that they go to; the payload is the segment.
struct SegmentGroups {
    AnySortedEntries sorted;
    SegmentCounts counts;
};

template <Index I, Index S>
SegmentGroups group_by_index(Combiner combiner, const SegmentEntries<I, S>& entries) {
    const bool counted = combiner != Combiner::sum;
    SegmentCounts counts(entries.size(), counted ? entries.segment_bound() : 0);
    const auto read = [&](std::size_t position) {
        const SegmentEntry entry = entries.read(position);
        if (counted) counts.add(entry.segment);
        return std::pair(entry.index, entry.segment);
    };
    AnySortedEntries sorted =
        sort_entries(entries.size(), entries.index_bound(), entries.segment_bound(), read);
    counts.finish();
    return {std::move(sorted), std::move(counts)};
}

// Adds up the scaled gradient rows of a group, in the order of the entries and starting from +0, and rounds
// once.
template <Lane T, class Word>
class GroupSum {
  public:
    using A = Accumulator<T>;

    GroupSum(Matrix<const T> grad, const SortedEntries<Word>& entries, const SegmentScales<A>& scales)
        : grad_(grad), entries_(entries), scales_(scales), prefetch_(grad) {}

    // Entries [begin, end) are the group.
    void operator()(std::size_t begin, std::size_t end, T* output) const {
        A sum[kTileColumns];
        for (std::size_t first = 0; first < grad_.columns; first += kTileColumns) {
            const std::size_t width = std::min(kTileColumns, grad_.columns - first);
            std::fill_n(sum, width, A{0});
            for (std::size_t block = begin; block < end; block += kBlockRows) {
                add_rows(block, std::min(block + kBlockRows, end), first, width, sum);
            }
            store_row(sum, width, output + first);
        }
    }

  private:
    void add_rows(std::size_t begin, std::size_t end, std::size_t first, std::size_t width, A* sum) const {
        const T* rows[kBlockRows];
        A scales[kBlockRows];
        for (std::size_t entry = begin; entry < end; ++entry) {
            const std::size_t later = entry + kPrefetchDistance;
            if (first == 0 && later < entries_.size()) prefetch_(entries_[later].payload);
            const std::size_t segment = static_cast<std::size_t>(entries_[entry].payload);
            rows[entry - begin] = grad_.row(segment) + first;
            scales[entry - begin] = scales_(segment);
        }
        with_constant<1, kBlockRows>(end - begin,
                                     [&](auto count) { add_scaled_rows<count>(rows, scales, width, sum); });
    }

    Matrix<const T> grad_;
    const SortedEntries<Word>& entries_;
    const SegmentScales<A>& scales_;
    RowPrefetch prefetch_;
};

// Makes the rows of all groups. `place(group, key)` says where the row of a group belongs.
template <Lane T, class Place>
void sum_groups(Combiner combiner, Matrix<const T> grad, const SegmentGroups& groups, Place place) {
    const SegmentScales<Accumulator<T>> scales(combiner, groups.counts);
    std::visit(
        [&](const auto& entries) {
            const GroupSum sum(grad, entries, scales);
            std::size_t group = 0;
            std::size_t end = 0;
            for (std::size_t begin = 0; begin < entries.size(); begin = end, ++group) {
                end = group_end(entries, begin);
                sum(begin, end, place(group, static_cast<std::size_t>(entries[begin].key)));
            }
        },
        groups.sorted);
}

}  // namespace gradbag
