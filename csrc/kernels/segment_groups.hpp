#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/sorted_entries.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_scales.hpp"
#include "simd/row_loops.hpp"

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
    AnySortedEntries sorted = sort_entries(entries.size(), entries.index_bound(), entries.segment_bound(),
                                           entries.reader(counted ? &counts : nullptr));
    counts.finish();
    return {std::move(sorted), std::move(counts)};
}

// Adds up the scaled gradient rows of a group, in the order of the entries and starting from +0, and rounds
// once. One thread's work on consecutive groups.
template <Lane T, class Word>
class GroupSum {
  public:
    using A = Accumulator<T>;

    GroupSum(Matrix<const T> grad, const SortedEntries<Word>& entries, const SegmentScales<A>& scales)
        : grad_(grad),
          entries_(entries),
          scale_(scales),
          loops_(row_loops<T>()),
          far_(grad.size() * sizeof(T) > kCachedBytes) {}

    // Entries [begin, end) are the group.
    void operator()(std::size_t begin, std::size_t end, T* output) {
        Run<T> run{};
        run.columns = grad_.columns;
        run.output = output;
        if (end - begin > kBatch) return sum_long(run, begin, end);
        if (begin < known_begin_ || end > known_end_)
            look_up(begin, std::min(begin + kBatch, entries_.size()));
        sum_known(run, begin, end - begin);
    }

  private:
    static constexpr std::size_t kBatch = 256;
    static constexpr std::size_t kCachedBytes = std::size_t{1} << 20;

    void look_up(std::size_t begin, std::size_t end) {
        for (std::size_t entry = begin; entry < end; ++entry) {
            const std::size_t segment = static_cast<std::size_t>(entries_[entry].payload);
            rows_[entry - begin] = grad_.row(segment);
            scales_[entry - begin] = scale_(segment);
        }
        known_begin_ = begin;
        known_end_ = end;
    }

    void sum_known(Run<T>& run, std::size_t begin, std::size_t count) {
        run.rows = rows_ + (begin - known_begin_);
        run.scales = scales_ + (begin - known_begin_);
        run.count = count;
        run.upcoming = far_ ? known_end_ - begin : 0;
        loops_.sum_scaled(run);
    }

    // More entries than a batch: partial sums are carried from one to the next.
    void sum_long(Run<T> run, std::size_t begin, std::size_t end) {
        Buffer<A> carry(carry_size<T>(run.columns));
        run.carry = carry.data();
        for (std::size_t part = begin; part < end; part += kBatch) {
            checkpoint();
            const std::size_t part_end = std::min(part + kBatch, end);
            look_up(part, part_end);
            run.first = part == begin;
            run.last = part_end == end;
            sum_known(run, part, part_end - part);
        }
    }

    Matrix<const T> grad_;
    const SortedEntries<Word>& entries_;
    const SegmentScales<A>& scale_;
    const RowLoops<T>& loops_;
    bool far_;  // A small gradient stays in the cache by itself.
    std::size_t known_begin_ = 0;
    std::size_t known_end_ = 0;
    const T* rows_[kBatch];
    A scales_[kBatch];
};

// Makes the rows of all groups. `place(group, key)` says where the row of a group belongs.
template <Lane T, class Place>
void sum_groups(Combiner combiner, Matrix<const T> grad, const SegmentGroups& groups, Place place) {
    const SegmentScales<Accumulator<T>> scales(combiner, groups.counts);
    std::visit(
        [&](const auto& grouped) {
            const auto& entries = grouped.entries;
            const Pieces parts(entries.size(), kPartEntries);
            const std::size_t threads = threads_for(entries.size() * std::max<std::size_t>(grad.columns, 1));
            // Threads take the groups that begin in their part of the entries.
            parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
                constexpr std::size_t much = std::size_t{1} << 18;
                GroupSum sum(grad, entries, scales);
                std::size_t group = grouped.groups_before[part];
                std::size_t begin = parts.begin(part);
                while (begin < parts.end(part) && !starts_group(entries, begin)) ++begin;
                std::size_t work = 0;
                while (begin < parts.end(part)) {
                    const std::size_t end = group_end(entries, begin);
                    sum(begin, end, place(group, static_cast<std::size_t>(entries[begin].key)));
                    work += (end - begin) * grad.columns;
                    if (work > much) {
                        checkpoint();
                        work = 0;
                    }
                    begin = end;
                    ++group;
                }
            });
        },
        groups.sorted);
}

}  // namespace gradbag
