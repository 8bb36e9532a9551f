#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/clear.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_groups.hpp"
#include "kernels/segment_scales.hpp"
#include "simd/row_loops.hpp"

// output[indices[i]] += grad[segment_ids[i]] * scale(segment_ids[i]) for i = 0, 1, ..., starting from zeros.
namespace gradbag {

namespace detail {

template <Index I, Index S>
SegmentCounts count_segments(Combiner combiner, const SegmentEntries<I, S>& entries) {
    if (combiner == Combiner::sum) return {0, 0};
    SegmentCounts counts(entries.size(), entries.segment_bound());
    const Pieces parts(entries.size(), kPartEntries);
    parallel_for(parts.count(), threads_for(entries.size()), [&](std::size_t part, std::size_t) {
        const auto read = entries.reader(&counts);
        read(parts.begin(part), parts.end(part), [](std::size_t, std::size_t, std::size_t) {});
    });
    counts.finish(entries.size(), [&](std::size_t i) { return entries.segment(i); });
    return counts;
}

// The output is its own accumulator, so rows are added where they belong. One thread's work: columns
// [first_column, last_column) of any entries, in their order.
template <Lane T>
class RowScatter {
  public:
    RowScatter(Matrix<const T> grad, const SegmentScales<T>& scales, Matrix<T> output,
               std::size_t first_column, std::size_t last_column, bool scattered_sources)
        : grad_(grad),
          scale_(scales),
          output_(output),
          first_column_(first_column),
          loops_(row_loops<T>()),
          all_{sources_,
               0,
               targets_,
               0,
               last_column - first_column,
               output.size() * sizeof(T) > kCachedBytes,
               scattered_sources && grad.size() * sizeof(T) > kCachedBytes} {}

    // A batch is looked up before it is added, so that it is known early which rows will come.
    void add(SegmentEntry entry) {
        if (all_.target_count == kBatch) flush();
        if (all_.source_count == 0 || entry.segment != segment_) {
            segment_ = entry.segment;
            sources_[all_.source_count++] = {grad_.row(segment_) + first_column_, scale_(segment_), 0};
        }
        ++sources_[all_.source_count - 1].count;
        targets_[all_.target_count++] = output_.row(entry.index) + first_column_;
    }

    // Once more after the last.
    void flush() {
        loops_.scatter(all_);
        all_.source_count = 0;
        all_.target_count = 0;
    }

  private:
    static constexpr std::size_t kBatch = 512;
    static constexpr std::size_t kCachedBytes = std::size_t{1} << 20;

    Matrix<const T> grad_;
    const SegmentScales<T>& scale_;
    Matrix<T> output_;
    std::size_t first_column_;
    const RowLoops<T>& loops_;
    Scatter<T> all_;
    std::size_t segment_ = 0;
    Source<T> sources_[kBatch];
    T* targets_[kBatch];
};

// Entry by entry, each thread for columns of its own.
template <Lane T, Index I, Index S>
void scatter_columns(Matrix<const T> grad, const SegmentEntries<I, S>& entries,
                     const SegmentScales<T>& scales, Matrix<T> output, std::size_t blocks) {
    constexpr std::size_t line = 64 / sizeof(T);
    const std::size_t lines = (output.columns + line - 1) / line;
    parallel_for(blocks, blocks, [&](std::size_t block, std::size_t) {
        const std::size_t first = std::min(block * lines / blocks * line, output.columns);
        const std::size_t last = std::min((block + 1) * lines / blocks * line, output.columns);
        const Pieces parts(entries.size(), kPartEntries);
        RowScatter<T> scatter(grad, scales, output, first, last, false);
        for (std::size_t part = 0; part < parts.count(); ++part) {
            checkpoint();
            for (std::size_t i = parts.begin(part); i < parts.end(part); ++i) scatter.add(entries.read(i));
        }
        scatter.flush();
    });
}

// Entries sorted by ranges of rows, each thread for rows of its own.
template <class Word, Lane T, Index I, Index S>
void scatter_ranges(Combiner combiner, Matrix<const T> grad, const SegmentEntries<I, S>& entries,
                    Matrix<T> output) {
    const bool counted = combiner != Combiner::sum;
    SegmentCounts counts(entries.size(), counted ? entries.segment_bound() : 0);
    UnsortedEntries<Word> all =
        read_entries<Word>(entries.size(), entries.reader(counted ? &counts : nullptr));
    if (counted) {
        counts.finish(entries.size(),
                      [&](std::size_t i) { return static_cast<std::size_t>(all.payloads[i]); });
    }
    const SegmentScales<T> scales(combiner, counts);
    constexpr unsigned most_bits = 8;
    const unsigned bits = static_cast<unsigned>(std::bit_width(all.largest));
    Buffer<KeyedEntry<Word>> parted(entries.size());
    const BucketBegins begins = partition_by_key(all, bits > most_bits ? bits - most_bits : 0, parted);
    for_bucket_groups(
        begins, kPartEntries, num_threads(), [&](std::size_t first, std::size_t last, std::size_t) {
            RowScatter<T> scatter(grad, scales, output, 0, output.columns, true);
            for (std::size_t i = begins[first]; i < begins[last]; ++i) {
                scatter.add(
                    {static_cast<std::size_t>(parted[i].key), static_cast<std::size_t>(parted[i].payload)});
            }
            scatter.flush();
        });
}

template <Lane T, Index I, Index S>
void scatter_rows(Combiner combiner, Matrix<const T> grad, const SegmentEntries<I, S>& entries,
                  Matrix<T> output) {
    constexpr std::size_t narrowest = 16;  // columns of a thread
    constexpr std::size_t cached_bytes = std::size_t{4} << 20;
    const std::size_t threads = threads_for(entries.size() * output.columns);
    const std::size_t blocks = std::min(threads, std::max<std::size_t>(output.columns / narrowest, 1));
    const bool by_ranges = blocks < threads && output.size() * sizeof(T) > cached_bytes;
    if (by_ranges && fits_short_words(entries.index_bound(), entries.segment_bound(), entries.size())) {
        return scatter_ranges<std::uint32_t>(combiner, grad, entries, output);
    }
    if (by_ranges) return scatter_ranges<std::uint64_t>(combiner, grad, entries, output);
    const SegmentCounts counts = count_segments(combiner, entries);
    scatter_columns(grad, entries, SegmentScales<T>(combiner, counts), output, blocks);
}

}  // namespace detail

template <Lane T, Index I, Index S>
void segment_grad(Combiner combiner, Matrix<const T> grad, std::span<const I> indices,
                  std::span<const S> segment_ids, Matrix<T> output) {
    const SegmentEntries<I, S> entries(indices, output.rows, segment_ids, grad.rows);
    clear_all(output);
    if constexpr (std::same_as<T, Accumulator<T>>) {
        detail::scatter_rows(combiner, grad, entries, output);
    } else {
        // A float copy of the output would take twice its memory, so each row is summed at one go.
        const SegmentGroups groups = group_by_index(combiner, entries);
        sum_groups(combiner, grad, groups, false,
                   [&](std::size_t, std::size_t index) { return output.row(index); });
    }
}

}  // namespace gradbag
