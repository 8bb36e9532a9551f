#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <vector>

#include "kernels/combiner.hpp"

namespace gradbag {

// How many entries each segment has. The number of segments may be far larger than the number of entries
// (even 2**40, when the gradient has no columns), so segments with large numbers are kept in a list.
class SegmentCounts {
  public:
    SegmentCounts(std::size_t entries, std::size_t segments)
        : near_(std::min(segments, 4 * entries + 1024)) {}

    void add(std::size_t segment) {
        if (segment < near_.size()) {
            ++near_[segment];
        } else {
            far_.push_back(segment);
        }
    }

    void finish() { std::ranges::sort(far_); }

    const std::vector<std::size_t>& near() const { return near_; }

    std::size_t far(std::size_t segment) const { return std::ranges::equal_range(far_, segment).size(); }

  private:
    std::vector<std::size_t> near_;
    std::vector<std::size_t> far_;
};

// By what the gradient row of a segment is multiplied: computed in double, rounded to the accumulator.
template <class A>
class SegmentScales {
  public:
    SegmentScales(Combiner combiner, const SegmentCounts& counts) : combiner_(combiner), counts_(counts) {
        if constexpr (std::floating_point<A>) {
            if (combiner == Combiner::sum) return;
            near_.reserve(counts.near().size());
            for (const std::size_t count : counts.near()) near_.push_back(scale(count));
        }
    }

    A operator()(std::size_t segment) const {
        if constexpr (std::floating_point<A>) {
            if (segment < near_.size()) return near_[segment];
            if (combiner_ != Combiner::sum) return scale(counts_.far(segment));
        }
        return A{1};
    }

  private:
    // A count of 0 is asked for when another thread has changed an id after it was counted.
    A scale(std::size_t count) const {
        return static_cast<A>(1.0 / divisor(combiner_, std::max<std::size_t>(count, 1)));
    }

    Combiner combiner_;
    const SegmentCounts& counts_;
    std::vector<A> near_;
};

}  // namespace gradbag
