#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checked.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "kernels/segment_inputs.hpp"
#include "simd/entry_loops.hpp"

// Runs of equal segment ids.
namespace gradbag {

// Finds the ends of runs, many at a time. Another thread may change the ids while they are read: then ends
// are anywhere, but still in order, and none lies beyond the last entry.
template <Index S>
class RunEnds {
  public:
    // The first run begins at `begin`; most of those that will be asked for end before `soon`.
    RunEnds(std::span<const S> ids, std::size_t begin, std::size_t soon)
        : ids_(ids), loops_(entry_loops<S>()), scanned_(begin + 1), soon_(soon) {}

    // The end of the run that begins where the one before it has ended.
    std::size_t next() {
        while (taken_ == found_) {
            if (scanned_ >= ids_.size()) return ids_.size();
            scan();
        }
        return window_ + edges_[taken_++];
    }

    // The next run begins here.
    void skip_to(std::size_t begin) {
        while (taken_ < found_ && window_ + edges_[taken_] <= begin) ++taken_;  // mutant: passed
        if (taken_ == found_) scanned_ = std::max(scanned_, begin + 1);
    }

  private:
    void scan() {
        const std::size_t wanted = scanned_ < soon_ ? std::min(kScannedIds, soon_ - scanned_ + 1)
                                   : scanned_ - soon_ <= kFewScannedIds ? kFewScannedIds
                                                                        : kScannedIds;
        window_ = scanned_;
        scanned_ = std::min(window_ + wanted, ids_.size());
        found_ = loops_.find_edges(ids_.data(), window_, scanned_, edges_);
        taken_ = 0;
    }

    std::span<const S> ids_;
    const EntryLoops<S>& loops_;
    std::size_t scanned_;  // the first entry that was not looked at
    std::size_t soon_;
    std::size_t window_ = 0;  // from where edges count
    std::size_t taken_ = 0;
    std::size_t found_ = 0;
    std::uint32_t edges_[kScannedIds];
};

// How many of the next `most` entries, which begin a run, are alone in their segments, if these follow each
// other without a gap: as where every bag holds one id.
template <Index S>
std::size_t count_singles(std::span<const S> ids, std::size_t begin, std::size_t most) {
    // None, if another thread changes the first while it is compared with itself.
    const std::size_t count =
        std::max<std::size_t>(entry_loops<S>().count_consecutive(ids.data() + begin, most), 1);
    const std::size_t end = begin + count;  // mutant: alone
    // The last may be the first of several.
    return end < ids.size() && load_once(&ids[end]) == load_once(&ids[end - 1]) ? count - 1 : count;
}

// Reads segment ids, each once, and makes sure that they are good.
template <Index S>
class SegmentIds {
  public:
    SegmentIds(std::span<const S> ids, std::size_t rows) : ids_(ids), rows_(rows) {}

    std::size_t size() const { return ids_.size(); }
    S load(std::size_t entry) const { return load_once(&ids_[entry]); }

    // The first entry of [begin, end) whose id differs from the one before it.
    std::size_t first_edge(std::size_t begin, std::size_t end) const {
        if (begin == 0) return 0;
        const S before = load(begin - 1);
        while (begin < end && load(begin) == before) ++begin;
        return begin;
    }

    // Checks `id` of entry `begin`, a new run, after `finished` rows. `check_indices` judges the indices up
    // to that of the entry, which comes first at the same position.
    template <class CheckIndices>
    std::size_t check(S id, std::size_t begin, std::size_t finished, CheckIndices check_indices) const {
        if (!in_range(id, rows_) || static_cast<std::size_t>(id) < finished) [[unlikely]] {  // mutant: order
            check_indices();                                                                 // mutant: judge
            const Place place{segment_input::segment_ids, begin};
            checked(id, rows_, place);
            throw Fault{FaultKind::order,
                        place.input,
                        static_cast<std::int64_t>(begin),
                        place.column,
                        id,
                        static_cast<std::int64_t>(finished) - 1,
                        0};
        }
        return static_cast<std::size_t>(id);
    }

    // How many output rows are complete once the runs before `entry` are done.
    std::size_t finished_before(std::size_t entry) const {
        if (entry == 0) return 0;
        return checked(load(entry - 1), rows_, {segment_input::segment_ids, entry - 1}) + 1;
    }

  private:
    std::span<const S> ids_;
    std::size_t rows_;
};

}  // namespace gradbag
