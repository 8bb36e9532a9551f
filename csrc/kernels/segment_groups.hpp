#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "core/buffer.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_scales.hpp"
#include "simd/row_loops.hpp"

namespace gradbag {

// The entries of a segment gradient, grouped by the output row that they go to; the payload is the segment.
struct SegmentGroups {
    AnyGroupedEntries grouped;
    SegmentCounts counts;
};

template <class Word>
SegmentGroups group_by_index(Combiner combiner, UnsortedEntries<Word> all, std::size_t segment_bound) {
    SegmentCounts counts = count_segments(combiner, all, segment_bound);
    return {group_entries(std::move(all)), std::move(counts)};
}

template <class T>
Matrix<T> as_matrix(Matrix<T> grad) {
    return grad;
}

// Adds up the scaled gradient rows of groups, in the order of the entries and starting from +0, and rounds
// once. One thread's work on consecutive groups, a batch at a time. The scales tell which row of the gradient
// a payload means, too. `Grad` has `row(number)` and `columns`, and `as_matrix` tells how much of it there
// is.
template <Lane T, class Word, class Scales, class Grad = Matrix<const T>>
class GroupSums {
  public:
    using A = Accumulator<T>;

    GroupSums(Grad grad, const GroupedEntries<Word>& entries, const Scales& scales, bool stream)
        : grad_(grad),
          entries_(entries),
          scale_(scales),
          loops_(row_loops<T>()),
          prefetch_(as_matrix(grad)),
          all_{rows_, scales_, grad.columns, 0, stream} {}

    // Groups [group, last); `rows.place(group, key)` says where the row of each belongs, and when those that
    // have a place, at most `rows.most()`, are there, `rows.flush(entries, group)` tells which group is next.
    template <class Rows>
    void operator()(std::size_t group, std::size_t last, Rows& rows) {
        while (group < last) {
            const std::size_t begin = begin_of(group);
            std::size_t end = begin;
            std::size_t count = 0;
            for (; group < last && count < rows.most() && begin_of(group + 1) - begin <= kBatch;
                 ++group, ++count) {
                const std::size_t next = begin_of(group + 1);
                T* const output = rows.place(group, static_cast<std::size_t>(entries_.keys[group]));
                std::construct_at(&runs_[count], Run<T>{output, static_cast<std::uint32_t>(next - end)});
                end = next;
            }
            checkpoint_after((end - begin) * grad_.columns);
            if (count > 0) {
                look_up(begin, end);
                loops_.sum_scaled(all_, runs_, count);
            } else {
                T* const output = rows.place(group, static_cast<std::size_t>(entries_.keys[group]));
                sum_long(begin, begin_of(group + 1), output);
                ++group;
            }
            rows.flush(entries_, group);
        }
    }

  private:
    static constexpr std::size_t kBatch = kSumBatch;

    std::size_t begin_of(std::size_t group) const { return static_cast<std::size_t>(entries_.begins[group]); }

    void checkpoint_after(std::size_t work) {
        work_ += work;
        if (work_ < kLargestPiece) return;
        checkpoint();
        work_ = 0;
    }

    // Lists the rows of entries [begin, end) with their scales, and the first rows after them, which nobody
    // in the next batch could ask for in time.
    void look_up(std::size_t begin, std::size_t end) {
        const Grad grad = grad_;
        const Word* const payloads = entries_.payloads.data() + begin;
        const std::size_t count = end - begin;
        const bool worthwhile = prefetch_.worthwhile();
        const std::size_t later = worthwhile ? std::min(kPrefetchDistance, entries_.size() - end) : 0;
        const auto list = [&](const auto& scale_of) {
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t payload = static_cast<std::size_t>(payloads[i]);
                rows_[i] = grad.row(scale_.segment(payload));  // mutant: each row
                scales_[i] = scale_of(payload);                // mutant: each scale
            }
        };
        if (const A* const scales = scale_.listed()) {
            list([scales](std::size_t payload) { return scales[payload]; });
        } else {
            list(scale_);
        }
        for (std::size_t i = count; i < count + later; ++i) {
            rows_[i] = grad.row(scale_.segment(static_cast<std::size_t>(payloads[i])));
        }
        all_.upcoming = worthwhile ? count + later : 0;
        for (; asked_ < std::min(all_.upcoming, kPrefetchDistance); ++asked_) prefetch_.row(rows_[asked_]);
        asked_ = later;
    }

    // More entries than a batch: partial sums are carried from one to the next.
    void sum_long(std::size_t begin, std::size_t end, T* output) {
        Buffer<A> carry(carry_size<T>(grad_.columns));
        for (std::size_t part = begin; part < end; part += kBatch) {
            checkpoint();
            const std::size_t part_end = std::min(part + kBatch, end);
            Run<T> run{output, static_cast<std::uint32_t>(part_end - part)};
            run.carry = carry.data();
            run.first = part == begin;
            run.last = part_end == end;
            look_up(part, part_end);
            loops_.sum_scaled(all_, &run, 1);
        }
    }

    Grad grad_;
    const GroupedEntries<Word>& entries_;
    const Scales& scale_;
    const RowLoops<T>& loops_;
    RowPrefetch prefetch_;
    RunRows<T> all_;
    std::size_t work_ = 0;
    std::size_t asked_ = 0;  // of the rows that come next
    const T* rows_[kBatch + kPrefetchDistance];
    A scales_[kBatch];
    union {
        Run<T> runs_[kBatch];  // made when one is known: to make all took an eighth of a small call
    };
};

// Makes the rows of all groups. Every part of the work calls `make_rows()` for what GroupSums wants to know.
template <Lane T, class Word, class Scales, class MakeRows>
void sum_groups_into(Matrix<const T> grad, const GroupedEntries<Word>& grouped, const Scales& scales,
                     bool stream, const MakeRows& make_rows) {
    const Pieces parts(grouped.size(), kPartEntries);
    const std::size_t threads = threads_for(grouped.size() * std::max<std::size_t>(grad.columns, 1));
    // Threads take the groups that begin in their part of the entries.
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::size_t first = grouped.groups_before(parts.begin(part));
        const std::size_t last = grouped.groups_before(parts.end(part));
        if (first == last) return;
        GroupSums<T, Word, Scales> sums(grad, grouped, scales, stream);
        auto rows = make_rows();
        sums(first, last, rows);
    });
}

// Rows that stay where they are put.
template <class Place>
struct PlacedRows {
    const Place& place;

    static constexpr std::size_t most() { return kSumBatch; }
    static constexpr void flush(const auto&, std::size_t) {}
};

// The same where `place(group, key)` says where the row of a group belongs.
template <Lane T, class Word, class Scales, class Place>
void sum_groups(Matrix<const T> grad, const GroupedEntries<Word>& grouped, const Scales& scales, bool stream,
                Place place) {
    sum_groups_into(grad, grouped, scales, stream, [&] { return PlacedRows<Place>{place}; });
}

template <Lane T, class Place>
void sum_groups(Combiner combiner, Matrix<const T> grad, const SegmentGroups& groups, bool stream,
                Place place) {
    const SegmentScales<Accumulator<T>> scales(combiner, groups.counts);
    std::visit([&](const auto& grouped) { sum_groups(grad, grouped, scales, stream, place); },
               groups.grouped);
}

}  // namespace gradbag
