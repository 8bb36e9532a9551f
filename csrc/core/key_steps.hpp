#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/read_entries.hpp"

namespace gradbag {

// Keys in ascending order, near each other: a byte for each says how far it is from the one before. What is
// written here and read again is as much as a quarter of the keys and stays in the cache.
class KeySteps {
  public:
    using Step = std::uint8_t;

    // Nothing if the keys are not in order, or too far apart, or if one is not below `key_bound`: then they
    // are to be read in another way, which finds the first that is not.
    template <class Read>
    static std::optional<KeySteps> of(std::size_t count, std::size_t key_bound, const Read& read) {
        KeySteps all(count);
        if (!all.read_parts(key_bound, read) || !all.count_groups()) return std::nullopt;
        return all;
    }

    std::size_t size() const { return steps_.size(); }
    std::size_t first_key(std::size_t part) const { return ends_[part].first; }
    std::size_t last_key(std::size_t part) const { return ends_[part].last; }
    std::size_t groups_before(std::size_t part) const { return groups_before_[part]; }
    std::size_t groups() const { return groups_before_.back(); }

    // Tells the key of an entry from that of the one before it in its part.
    auto key_after() const {
        return
            [steps = steps_.data()](std::size_t entry, std::size_t before) { return before + steps[entry]; };
    }

  private:
    struct Ends {
        std::size_t first;
        std::size_t last;
    };

    explicit KeySteps(std::size_t count)
        : parts_(count, kPartEntries),
          steps_(count),
          ends_(parts_.count()),
          groups_before_(parts_.count() + 1) {}

    template <class Read>
    bool read_parts(std::size_t key_bound, const Read& read) {
        std::atomic<bool> fit{true};
        parallel_for(parts_.count(), threads_for(size()), [&](std::size_t part, std::size_t) {
            if (!fit.load(std::memory_order_relaxed)) return;
            if (!read_part(part, key_bound, read)) fit = false;
        });
        return fit;
    }

    // A copy of `read`: a byte that is written might change it, so what it holds would be loaded again each
    // time.
    template <class Read>
    bool read_part(std::size_t part, std::size_t bound, const Read read) {
        Step* const __restrict steps = steps_.data();
        const std::size_t begin = parts_.begin(part);
        const std::size_t end = parts_.end(part);
        const std::uint64_t first = read.unchecked(begin);
        std::uint64_t before = first;
        std::uint64_t widest = 0;
        std::size_t changes = 0;
        steps[begin] = 0;
        for (std::size_t i = begin + 1; i < end; ++i) {
            const std::uint64_t key = read.unchecked(i);
            // If the keys are not in order it becomes huge.
            const std::uint64_t step = key - before;
            before = key;
            widest |= step;                // mutant: widest
            changes += step != 0 ? 1 : 0;  // mutant: changes
            steps[i] = static_cast<Step>(step);
        }
        ends_[part] = {static_cast<std::size_t>(first), static_cast<std::size_t>(before)};
        groups_before_[part + 1] = changes;
        // So small are the steps that between two good ends there are only good keys.
        return widest <= std::numeric_limits<Step>::max() && first < bound && before < bound;  // mutant: ends
    }

    // From the changes within parts, those between parts too. Whether the parts are in order.
    bool count_groups() {
        for (std::size_t part = 0; part < parts_.count(); ++part) {
            const bool continues = part > 0 && first_key(part) == last_key(part - 1);
            if (part > 0 && first_key(part) < last_key(part - 1)) return false;  // mutant: parts
            groups_before_[part + 1] += groups_before_[part] + (continues ? 0 : 1);
        }
        return true;
    }

    Pieces parts_;
    Buffer<Step> steps_;
    std::vector<Ends> ends_;
    std::vector<std::size_t> groups_before_;  // each part, and at last how many there are
};

}  // namespace gradbag
