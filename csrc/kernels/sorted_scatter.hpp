#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/segment_runs.hpp"
#include "kernels/segment_scales.hpp"
#include "simd/entry_loops.hpp"
#include "simd/row_loops.hpp"

// Adds scaled rows of a gradient where they belong if segments are sorted, as is the rule: the entries of a
// segment are one run then, whose length is their number, and one pass does all.
namespace gradbag {

// Which rows a thread adds to.
struct AllRows {};

// Those of one of several threads.
template <class T>
RowTurns rows_in_turns(std::size_t threads, std::size_t mine, Matrix<T> output) {
    const std::size_t row_bytes = std::max<std::size_t>(output.columns * sizeof(T), 1);
    const std::size_t fair = output.rows / (kTurnsOfThread * threads) * row_bytes;
    RowTurns turns{static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(mine), 0};
    while ((row_bytes << turns.shift) < std::clamp(fair, kShortestTurn, kLongestTurn)) ++turns.shift;
    return turns;
}

// One thread's work: columns from `first_column` to `last_column` of the rows that it adds to.
template <Lane T, Index I, Index S>
class SortedScatter {
  public:
    SortedScatter(Matrix<const T> grad, std::span<const I> indices, std::span<const S> segment_ids,
                  const CountScales<T>& scale, Matrix<T> output, std::size_t first_column,
                  std::size_t last_column)
        : grad_(grad),
          indices_(indices),
          segment_ids_(segment_ids),
          scale_(scale),
          output_(output),
          first_column_(first_column),
          columns_(last_column - first_column),
          row_loops_(row_loops<T>()),
          entry_loops_(entry_loops<I>()),
          prefetched_(output.size() * sizeof(T) > kCachedTable),
          ends_(segment_ids, 0, segment_ids.size()) {}

    // Returns false if something is out of order or out of range; what was added by then is of no use.
    template <class Rows>
    bool add_all(Rows rows) {
        const std::size_t size = indices_.size();
        std::size_t pause = kPartEntries;  // when the next checkpoint is due
        for (std::size_t begin = 0; begin < size;) {
            const std::size_t end = std::min(begin + kScatterBatch, size);
            if (!add_batch(begin, end, rows)) return false;
            begin = end;
            if (begin >= pause) {
                checkpoint();
                pause = begin + kPartEntries;
            }
        }
        return true;
    }

  private:
    template <class Rows>
    bool add_batch(std::size_t begin, std::size_t end, Rows rows) {
        constexpr bool all = std::same_as<Rows, AllRows>;
        if constexpr (all) {
            // Of the next batch some are asked for early, too. If one of them is bad it is not yet its turn.
            const std::size_t later = prefetched_ ? std::min(kPrefetchDistance, indices_.size() - end) : 0;
            known_ = end - begin + later;
            if (!find_targets(begin, end + later)) {
                known_ = end - begin;
                if (later == 0 || !find_targets(begin, end)) return false;
            }
        } else if (!find_own_targets(begin, end, rows)) {
            return false;
        }
        // The place of an entry, or of the first own one after it, among the targets.
        const auto place = [&](std::size_t i) { return all ? i - begin : std::size_t{before_[i - begin]}; };
        for (std::size_t i = begin; i < end;) {
            if (i == run_end_ && !begin_run(i)) return false;
            const std::size_t first = i;
            if (singles_ > 0) {
                i = std::min(i + singles_, end);
                singles_ -= i - first;
                const std::size_t count = all ? list_singles(i - first) : list_own_singles(begin, first, i);
                row_loops_.add(
                    {rows_, targets_ + place(first), count, known_ - place(first), columns_, prefetched_});
                continue;
            }
            source_count_ = 0;
            do {
                if (i == run_end_ && !begin_run(i)) return false;
                if (singles_ > 0) break;
                const std::size_t run_begin = i;
                i = std::min(run_end_, end);
                const std::size_t count = place(i) - place(run_begin);
                source_.count = static_cast<std::uint32_t>(count);
                sources_[source_count_] = source_;
                source_count_ += count > 0 ? 1 : 0;
            } while (i < end);
            row_loops_.scatter({sources_, source_count_, targets_ + place(first), known_ - place(first),
                                columns_, prefetched_, false});
        }
        return true;
    }

    // The first entry of a segment.
    bool begin_run(std::size_t i) {
        const S id = load_once(&segment_ids_[i]);
        if (id < id_ || !in_range(id, grad_.rows)) [[unlikely]] {  // mutant: sorted
            return false;
        }
        id_ = id;
        run_end_ = ends_.next();
        const std::size_t segment = static_cast<std::size_t>(id);
        source_ = {grad_.row(segment) + first_column_, scale_(run_end_ - i), 0};  // mutant: scale
        if (run_end_ == i + 1) {
            const std::size_t most = std::min({kScatterBatch, indices_.size() - i, grad_.rows - segment});
            const std::size_t count = count_singles(segment_ids_, i, most);
            singles_ = count < kFewSingles ? 0 : count;
            if (singles_ > 0) {
                // The segment of the last, from which the next must not go back.
                id_ = static_cast<S>(id + static_cast<S>(count - 1));
                run_end_ = i + count;
                ends_.skip_to(run_end_);
            }
        }
        return true;
    }

    RowPlaces places() const {
        return {reinterpret_cast<std::uintptr_t>(output_.data + first_column_), output_.columns * sizeof(T),
                output_.rows};  // mutant: output rows
    }

    bool find_targets(std::size_t begin, std::size_t end) {
        return entry_loops_.find_rows(indices_.data() + begin, end - begin, places(), targets_);
    }

    bool find_own_targets(std::size_t begin, std::size_t end, const RowTurns& own) {
        const bool good = entry_loops_.find_own_rows(indices_.data() + begin, end - begin, places(), own,
                                                     targets_, before_);
        known_ = before_[end - begin];
        return good;
    }

    // Segments of one entry each, which are added as they are: their scale is 1. Returns how many.
    std::size_t list_singles(std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) rows_[k] = source_.row + k * grad_.columns;  // mutant: single
        source_.row += count * grad_.columns;
        return count;
    }

    std::size_t list_own_singles(std::size_t batch, std::size_t begin, std::size_t end) {
        const std::size_t first = before_[begin - batch];
        for (std::size_t i = begin; i < end; ++i, source_.row += grad_.columns) {
            rows_[before_[i - batch] - first] = source_.row;
        }
        return before_[end - batch] - first;
    }

    Matrix<const T> grad_;
    std::span<const I> indices_;
    std::span<const S> segment_ids_;
    const CountScales<T>& scale_;
    Matrix<T> output_;
    std::size_t first_column_;
    std::size_t columns_;
    const RowLoops<T>& row_loops_;
    const EntryLoops<I>& entry_loops_;
    bool prefetched_;  // the targets
    RunEnds<S> ends_;
    S id_ = 0;
    std::size_t run_end_ = 0;  // of the run in hand, or of those of one entry
    std::size_t singles_ = 0;  // those of one entry that are still to be added
    Source<T> source_{};       // of the run in hand, or of the first of these
    std::size_t source_count_ = 0;
    std::size_t known_ = 0;                    // targets that were looked up
    std::uint16_t before_[kScatterBatch + 1];  // each entry of a batch: own targets
    Source<T> sources_[kScatterBatch];
    const T* rows_[kScatterBatch];
    T* targets_[kScatterBatch + kPrefetchDistance];
};

}  // namespace gradbag
