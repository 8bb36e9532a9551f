#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"
#include "kernels/combiner.hpp"

namespace gradbag {

// How many entries each segment has. The number of segments may be far larger than the number of entries
// (even 2**40, when the gradient has no columns), so segments with large numbers are kept in a list.
class SegmentCounts {
  public:
    SegmentCounts(std::size_t entries, std::size_t segments)
        : near_(entries <= std::numeric_limits<std::uint32_t>::max()
                    ? std::min(segments, kCountedSegments * entries + kMoreCountedSegments)
                    : 0),
          few_(near_.size() <= entries / kListedEntries) {
        parallel_ranges(near_.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::fill(near_.data() + begin, near_.data() + end, 0u);
        });
    }

    // Counts, once, the segments of entries 0 .. entries - 1; each is asked for once.
    template <class SegmentAt>
    void count(std::size_t entries, const SegmentAt& segment_at) {
        parallel_ranges(entries, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t segment = segment_at(i);
                if (segment < near_.size()) {
                    std::atomic_ref(near_[segment]).fetch_add(1, std::memory_order_relaxed);
                } else {
                    add_far(segment, 1);
                }
            }
        });
        std::ranges::sort(far_);
    }

    // The same for sorted segments, which may be asked for more than once. Those of one number are a run, and
    // belong to the thread in whose part it begins: so none is written by two.
    template <class SegmentAt>
    void count_runs(std::size_t entries, const SegmentAt& segment_at) {
        parallel_ranges(entries, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            while (begin > 0 && begin < end && segment_at(begin) == segment_at(begin - 1)) ++begin;
            while (begin < end) {
                const std::size_t segment = segment_at(begin);
                std::size_t run_end = begin + 1;
                while (run_end < entries && segment_at(run_end) == segment) {
                    if (++run_end % kPartEntries == 0) checkpoint();
                }
                if (segment < near_.size()) {
                    near_[segment] = static_cast<std::uint32_t>(run_end - begin);
                } else {
                    add_far(segment, run_end - begin);
                }
                begin = run_end;
            }
        });
        std::ranges::sort(far_);
    }

    std::size_t operator()(std::size_t segment) const {
        return segment < near_.size() ? near_[segment] : std::ranges::equal_range(far_, segment).size();
    }

    // How many segments there are, if they were counted and are much fewer than the entries; otherwise 0.
    std::size_t few_segments() const { return few_ ? near_.size() : 0; }

  private:
    void add_far(std::size_t segment, std::size_t count) {
        const std::lock_guard lock(*far_mutex_);
        far_.insert(far_.end(), count, segment);  // mutant: far
    }

    Buffer<std::uint32_t> near_;
    bool few_;
    std::vector<std::size_t> far_;
    std::unique_ptr<std::mutex> far_mutex_ = std::make_unique<std::mutex>();  // so that counts can be moved
};

// The counts of segments that were read as payloads; none are needed for a sum.
template <class Word>
SegmentCounts count_segments(Combiner combiner, const UnsortedEntries<Word>& all, std::size_t segment_bound) {
    const bool counted = combiner != Combiner::sum;  // mutant: counts
    const std::size_t size = all.payloads.size();
    SegmentCounts counts(size, counted ? segment_bound : 0);
    if (!counted) return counts;
    const auto segment_at = [payloads = all.payloads.data()](std::size_t i) {
        return static_cast<std::size_t>(payloads[i]);
    };
    if (all.payloads_sorted) {
        counts.count_runs(size, segment_at);
    } else {
        counts.count(size, segment_at);
    }
    return counts;
}

// By what a gradient row is multiplied if its segment has so many entries: computed in double, rounded to the
// accumulator.
template <class A>
class CountScales {
  public:
    explicit CountScales(Combiner combiner) : combiner_(combiner) {
        for (std::size_t count = 0; count < usual_.size(); ++count) usual_[count] = scale(count);
    }

    A operator()(std::size_t count) const { return count < usual_.size() ? usual_[count] : scale(count); }

  private:
    // A count of 0 is asked for when another thread has changed an id after it was counted.
    A scale(std::size_t count) const {
        return static_cast<A>(1.0 / divisor(combiner_, std::max<std::size_t>(count, 1)));  // mutant: share
    }

    Combiner combiner_;
    std::array<A, kUsualCounts> usual_;
};

// The same for a segment.
template <class A>
class SegmentScales {
  public:
    SegmentScales(Combiner combiner, const SegmentCounts& counts)
        : combiner_(combiner), counts_(counts), of_count_(combiner), listed_(counts.few_segments()) {
        parallel_ranges(listed_.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t k = begin; k < end; ++k) listed_[k] = computed(k);  // mutant: listed
        });
    }

    A operator()(std::size_t segment) const { return listed() ? listed_[segment] : computed(segment); }

    // The segment is the payload.
    static std::size_t segment(std::size_t payload) { return payload; }

    // The scales of all segments, if each is asked for so often that they were computed beforehand.
    const A* listed() const { return listed_.size() > 0 ? listed_.data() : nullptr; }

  private:
    A computed(std::size_t segment) const {
        if constexpr (std::floating_point<A>) {
            if (combiner_ != Combiner::sum) return of_count_(counts_(segment));
        }
        return A{1};
    }

    Combiner combiner_;
    const SegmentCounts& counts_;
    CountScales<A> of_count_;
    Buffer<A> listed_;
};

}  // namespace gradbag
