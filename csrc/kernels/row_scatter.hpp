#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_scales.hpp"
#include "kernels/sorted_scatter.hpp"
#include "simd/row_loops.hpp"

// Adds scaled rows of a gradient where they belong, for types that are added in their own type: the output is
// its own accumulator.
namespace gradbag {

// One thread's work: columns [first_column, last_column) of any entries, in their order. A batch is looked up
// before it is added, so that it is known early which rows will come.
template <Lane T>
class RowScatter {
  public:
    RowScatter(Matrix<const T> grad, Matrix<T> output, std::size_t first_column, std::size_t last_column,
               bool scattered_sources)
        : grad_(grad),
          output_(output),
          first_column_(first_column),
          loops_(row_loops<T>()),
          all_{sources_,
               0,
               targets_,
               0,
               last_column - first_column,
               output.size() * sizeof(T) > kCachedTable,
               scattered_sources && grad.size() * sizeof(T) > kCachedTable} {}

    // Adds one row, scaled as its segment says.
    void add(SegmentEntry entry, const SegmentScales<T>& scale) {
        if (all_.target_count == kScatterBatch) flush();
        if (all_.source_count == 0 || entry.segment != segment_) {
            segment_ = entry.segment;
            sources_[all_.source_count++] = {grad_.row(segment_) + first_column_, scale(segment_), 0};
        }
        ++sources_[all_.source_count - 1].count;
        targets_[all_.target_count++] = output_.row(entry.index) + first_column_;  // mutant: target
    }

    // Once more after the last.
    void flush() {
        loops_.scatter(all_);
        all_.source_count = 0;
        all_.target_count = 0;
    }

  private:
    Matrix<const T> grad_;
    Matrix<T> output_;
    std::size_t first_column_;
    const RowLoops<T>& loops_;
    Scatter<T> all_;
    std::size_t segment_ = 0;
    Source<T> sources_[kScatterBatch];
    T* targets_[kScatterBatch];
};

// The columns of each thread: whole cache lines.
template <Lane T>
struct ColumnBlocks {
    std::size_t columns;
    std::size_t count;

    std::size_t begin(std::size_t block) const {
        constexpr std::size_t line = kLineBytes / sizeof(T);
        const std::size_t lines = (columns + line - 1) / line;
        return std::min(block * lines / count * line, columns);
    }
    std::size_t end(std::size_t block) const { return begin(block + 1); }
};

// How threads share a scatter: each has columns of its own, or rows.
template <Lane T>
struct ScatterShares {
    ScatterShares(std::size_t entries, std::size_t segments, Matrix<T> output)
        : threads(threads_for(entries * output.columns)),
          blocks{output.columns, std::min(threads, most_blocks(output))},
          by_rows(worth_sharing(output) &&
                  (blocks.count < threads || (threads <= kMostFilters && entries / kLongBag >= segments))) {}

    std::size_t threads;
    ColumnBlocks<T> blocks;
    // Whole rows are added faster than parts of them, but where each row of the gradient is read once, it is
    // better read by all threads in step. Where columns would be too narrow there is no choice.
    bool by_rows;
    // Each thread reads all and leaves out what is not its own.
    bool filtered() const { return by_rows && threads <= kMostFilters; }
    // How many parts are worked on at once, if segments are sorted.
    std::size_t parts() const { return filtered() ? std::bit_floor(threads) : blocks.count; }

  private:
    // Where blocks do not meet at the edge of a cache line, two threads write to one line of each row and
    // wait for each other.
    static std::size_t most_blocks(Matrix<T> output) {
        const std::size_t row_bytes = output.columns * sizeof(T);
        const bool whole_lines =
            row_bytes % kLineBytes == 0 && reinterpret_cast<std::uintptr_t>(output.data) % kLineBytes == 0;
        return whole_lines || row_bytes >= kSplitRowBytes
                   ? std::max<std::size_t>(output.columns / kNarrowestBlock, 1)
                   : 1;
    }

    static bool worth_sharing(Matrix<T> output) {
        return output.size() * sizeof(T) > kUnsharedBytes || output.columns * sizeof(T) >= kSharedRowBytes;
    }
};

// Adds all entries to an output of zeros. Returns false, with anything in the output, if segments are not
// sorted or something is out of range.
template <Lane T, Index I, Index S>
bool scatter_sorted(Combiner combiner, Matrix<const T> grad, std::span<const I> indices,
                    std::span<const S> segment_ids, Matrix<T> output, const ScatterShares<T>& shares) {
    const CountScales<T> scale(combiner);
    const ColumnBlocks<T> blocks = shares.blocks;
    const bool filtered = shares.filtered();
    const std::size_t parts = shares.parts();
    std::atomic<bool> sorted = true;
    parallel_for(parts, parts, [&](std::size_t part, std::size_t) {
        const std::size_t begin = filtered ? 0 : blocks.begin(part);
        const std::size_t end = filtered ? output.columns : blocks.end(part);
        SortedScatter<T, I, S> scatter(grad, indices, segment_ids, scale, output, begin, end);
        const bool good =
            filtered ? scatter.add_all(rows_in_turns(parts, part, output)) : scatter.add_all(AllRows{});
        if (!good) sorted = false;
    });
    return sorted;
}

}  // namespace gradbag
