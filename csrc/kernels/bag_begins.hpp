#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/read_entries.hpp"
#include "core/types.hpp"
#include "simd/entry_loops.hpp"

namespace gradbag {

// Numbers of the inputs as the caller passed them; faults carry them.
struct BagInputs {
    int entries;
    int offsets;
};

// (table or grad, ids, offsets, weights)
inline constexpr BagInputs kPoolInputs{1, 2};

// Bags of entries that follow each other: offsets tell where each begins. They are read once and kept, so
// that nobody who writes to them meanwhile can lead a kernel astray. All are judged before anything else is.
class BagBegins {
  public:
    template <Index O>
    BagBegins(std::span<const O> offsets, std::size_t entries, BagInputs inputs)
        : entries_(entries), begins_(offsets.size() + 1) {
        if (offsets.empty() && entries > 0) throw Fault{FaultKind::homeless, inputs.entries, 0, -1, 0, 0, 0};
        const Pieces parts(offsets.size(), kPartEntries);
        parallel_for(parts.count(), threads_for(offsets.size()), [&](std::size_t part, std::size_t) {
            const std::size_t first = parts.begin(part);
            std::int64_t before = first > 0 ? load_once(&offsets[first - 1]) : 0;
            for (std::size_t bag = first; bag < parts.end(part); ++bag) {
                const std::int64_t begin = load_once(&offsets[bag]);
                checked(begin, bag == 0 ? 1 : entries + 1, {inputs.offsets, bag});  // mutant: begins
                if (begin < before) {                                               // mutant: empty bag
                    throw_out_of_order(inputs.offsets, bag, begin, before);
                }
                begins_[bag] = before = begin;
            }
        });
        // What was before a part may have been another number when that was kept.
        for (std::size_t part = 1; part < parts.count(); ++part) {
            const std::size_t bag = parts.begin(part);
            if (begins_[bag] < begins_[bag - 1]) {
                throw_out_of_order(inputs.offsets, bag, begins_[bag], begins_[bag - 1]);
            }
        }
        begins_[offsets.size()] = static_cast<std::int64_t>(entries);
    }

    std::size_t size() const { return begins_.size() - 1; }
    std::size_t entries() const { return entries_; }
    std::size_t begin(std::size_t bag) const { return static_cast<std::size_t>(begins_[bag]); }
    std::size_t end(std::size_t bag) const { return begin(bag + 1); }

    const std::int64_t* data() const { return begins_.data(); }

    // The bag of an entry.
    std::size_t bag_of(std::size_t entry) const { return first_from(entry + 1) - 1; }

    // How many bags from this one on, at most `most`, have one entry each.
    std::size_t count_singles(std::size_t bag, std::size_t most) const {
        const std::size_t begun =
            entry_loops<std::int64_t>().count_consecutive(begins_.data() + bag, most + 1);
        return begun - 1;  // mutant: single bags
    }

    // Calls body(first, last) for parts of the bags that have about equally many entries, each of which is
    // `work` elements of work. Every bag is in one part, in order.
    template <class Body>
    void in_parts(std::size_t work, const Body& body) const {
        // Bags without entries are somebody's, too.
        parallel_ranges(std::max<std::size_t>(entries_, 1), work,
                        [&](std::size_t begin, std::size_t end, std::size_t) {
                            body(first_from(begin), end < entries_ ? first_from(end) : size());
                        });
    }

  private:
    [[noreturn]] static void throw_out_of_order(int input, std::size_t bag, std::int64_t begin,
                                                std::int64_t before) {
        throw Fault{FaultKind::order, input, static_cast<std::int64_t>(bag), -1, begin, before, 0};
    }

    // The first bag that begins at this entry or later.
    std::size_t first_from(std::size_t entry) const {
        const std::int64_t* const first = begins_.data();
        return static_cast<std::size_t>(
            std::lower_bound(first, first + size(), static_cast<std::int64_t>(entry)) - first);
    }

    std::size_t entries_;
    Buffer<std::int64_t> begins_;  // and at last the number of entries
};

}  // namespace gradbag
