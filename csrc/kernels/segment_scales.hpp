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
#include "kernels/combiner.hpp"

namespace gradbag {

// How many entries each segment has. The number of segments may be far larger than the number of entries
// (even 2**40, when the gradient has no columns), so segments with large numbers are kept in a list.
//
// Sorted segments are the rule. Then of those in a part only the first and the last are in other parts too,
// and if each part keeps the count of its first apart, none is written by two threads: no atomic addition is
// needed. So the parts are counted as if they were sorted, and `finish` counts anew if they were not.
class SegmentCounts {
    struct Count {
        std::size_t segment = 0;
        std::size_t count = 0;
    };
    struct Part {
        Count first;
        std::size_t last = 0;
        bool sorted = true;
    };

  public:
    SegmentCounts(std::size_t entries, std::size_t segments)
        : near_(entries <= std::numeric_limits<std::uint32_t>::max() ? std::min(segments, 4 * entries + 1024)
                                                                     : 0),
          parts_(segments > 0 ? Pieces(entries, kPartEntries).count() : 0) {
        clear_near();
    }

    // Counts the segments of one part of kPartEntries, without a branch that could be guessed wrong.
    class Writer {
      public:
        Writer(SegmentCounts& counts, std::size_t begin)
            : counts_(counts),
              near_(counts.near_.data()),
              near_size_(counts.near_.size()),
              part_(counts.parts_[begin / kPartEntries]) {}
        Writer(const Writer&) = delete;
        Writer& operator=(const Writer&) = delete;

        void add(std::size_t segment) {
            if (!begun_) {
                begun_ = true;
                first_ = last_ = segment;
            }
            sorted_ &= segment >= last_;
            last_ = segment;
            const bool is_first = segment == first_;
            first_count_ += is_first ? 1 : 0;
            if (segment >= near_size_) [[unlikely]] {
                if (!is_first) counts_.add_far({segment, 1});
                return;
            }
            const std::atomic_ref<std::uint32_t> count(is_first ? ignored_ : near_[segment]);
            count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }

        // Once, after the last.
        void end() { part_ = {{first_, first_count_}, last_, sorted_}; }

      private:
        SegmentCounts& counts_;
        std::uint32_t* near_;
        std::size_t near_size_;
        Part& part_;
        std::size_t first_ = 0;
        std::size_t last_ = 0;
        std::size_t first_count_ = 0;
        std::uint32_t ignored_ = 0;
        bool sorted_ = true;
        bool begun_ = false;
    };

    // After all parts. `segment_at(entry)` are the segments once more, in any order.
    template <class SegmentAt>
    void finish(std::size_t entries, const SegmentAt& segment_at) {
        if (sorted()) {
            for (const Part& part : parts_) add(part.first);
        } else {
            far_.clear();
            clear_near();
            parallel_ranges(entries, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
                for (std::size_t i = begin; i < end; ++i) add({segment_at(i), 1});
            });
        }
        std::ranges::sort(far_);
    }

    std::size_t operator()(std::size_t segment) const {
        return segment < near_.size() ? near_[segment] : std::ranges::equal_range(far_, segment).size();
    }

  private:
    void clear_near() {
        parallel_ranges(near_.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::fill(near_.data() + begin, near_.data() + end, 0u);
        });
    }

    bool sorted() const {
        std::size_t before = 0;
        for (const Part& part : parts_) {
            if (!part.sorted || part.first.segment < before) return false;
            before = part.last;
        }
        return true;
    }

    void add(Count more) {
        if (more.count == 0) return;
        if (more.segment < near_.size()) {
            std::atomic_ref(near_[more.segment])
                .fetch_add(static_cast<std::uint32_t>(more.count), std::memory_order_relaxed);
        } else {
            add_far(more);
        }
    }

    void add_far(Count more) {
        const std::lock_guard lock(*far_mutex_);
        far_.insert(far_.end(), more.count, more.segment);
    }

    Buffer<std::uint32_t> near_;
    std::vector<std::size_t> far_;
    std::vector<Part> parts_;
    std::unique_ptr<std::mutex> far_mutex_ = std::make_unique<std::mutex>();  // so that counts can be moved
};

// By what the gradient row of a segment is multiplied: computed in double, rounded to the accumulator.
template <class A>
class SegmentScales {
  public:
    SegmentScales(Combiner combiner, const SegmentCounts& counts) : combiner_(combiner), counts_(counts) {
        for (std::size_t count = 0; count < usual_.size(); ++count) usual_[count] = scale(count);
    }

    A operator()(std::size_t segment) const {
        if constexpr (std::floating_point<A>) {
            if (combiner_ != Combiner::sum) {
                const std::size_t count = counts_(segment);
                return count < usual_.size() ? usual_[count] : scale(count);
            }
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
    std::array<A, 64> usual_;  // a division for each segment would take longer than to look it up
};

}  // namespace gradbag
