#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "kernels/combiner.hpp"

namespace gradbag {

// How many entries each segment has. The number of segments may be far larger than the number of entries
// (even 2**40, when the gradient has no columns), so segments with large numbers are kept in a list.
class SegmentCounts {
  public:
    SegmentCounts(std::size_t entries, std::size_t segments)
        : near_(std::min(segments, 4 * entries + 1024)) {}

    // Counts for one thread: it collects what comes in a row, since sorted segments are the rule.
    class Writer {
      public:
        explicit Writer(SegmentCounts& counts) : counts_(counts) {}
        Writer(const Writer&) = delete;
        Writer& operator=(const Writer&) = delete;

        void add(std::size_t segment) {
            if (segment != segment_) {
                flush();
                segment_ = segment;
                count_ = 0;
            }
            ++count_;
        }

        // Once, after the last.
        void flush() {
            if (count_ > 0) counts_.add(segment_, count_);
        }

      private:
        SegmentCounts& counts_;
        std::size_t segment_ = 0;
        std::size_t count_ = 0;
    };

    void finish() { std::ranges::sort(far_); }

    const std::vector<std::size_t>& near() const { return near_; }

    std::size_t far(std::size_t segment) const { return std::ranges::equal_range(far_, segment).size(); }

  private:
    void add(std::size_t segment, std::size_t count) {
        if (segment < near_.size()) {
            std::atomic_ref(near_[segment]).fetch_add(count, std::memory_order_relaxed);
        } else {
            const std::lock_guard lock(*far_mutex_);
            far_.insert(far_.end(), count, segment);
        }
    }

    std::vector<std::size_t> near_;
    std::vector<std::size_t> far_;
    std::unique_ptr<std::mutex> far_mutex_ = std::make_unique<std::mutex>();  // so that counts can be moved
};

// By what the gradient row of a segment is multiplied: computed in double, rounded to the accumulator.
template <class A>
class SegmentScales {
  public:
    SegmentScales(Combiner combiner, const SegmentCounts& counts)
        : combiner_(combiner), counts_(counts), near_(scaled(combiner) ? counts.near().size() : 0) {
        parallel_ranges(near_.size(), 4, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t segment = begin; segment < end; ++segment) {
                near_[segment] = scale(counts.near()[segment]);
            }
        });
    }

    A operator()(std::size_t segment) const {
        if constexpr (std::floating_point<A>) {
            if (segment < near_.size()) return near_[segment];
            if (combiner_ != Combiner::sum) return scale(counts_.far(segment));
        }
        return A{1};
    }

  private:
    static bool scaled(Combiner combiner) { return std::floating_point<A> && combiner != Combiner::sum; }

    // A count of 0 is asked for when another thread has changed an id after it was counted.
    A scale(std::size_t count) const {
        return static_cast<A>(1.0 / divisor(combiner_, std::max<std::size_t>(count, 1)));
    }

    Combiner combiner_;
    const SegmentCounts& counts_;
    Buffer<A> near_;
};

}  // namespace gradbag
