#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/bucketed_entries.hpp"
#include "core/buffer.hpp"
#include "core/counting_sort.hpp"
#include "core/key_steps.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"

namespace gradbag {

// Positions sorted by key, those with equal keys in ascending order.
template <class Word>
class SortedEntries {
  public:
    SortedEntries(Buffer<Word> keys, Buffer<Word> positions)
        : keys_(std::move(keys)), positions_(std::move(positions)) {
        count_groups();
    }

    std::size_t size() const { return keys_.size(); }
    // Whether the keys were sorted before: then the positions are 0, 1, ... and not kept.
    bool in_order() const { return positions_.size() == 0; }
    const Word* keys() const { return keys_.data(); }
    const Word* positions() const { return positions_.data(); }

    // The entries are in parts of kPartEntries.
    std::size_t first_key(std::size_t part) const { return keys_[parts().begin(part)]; }
    std::size_t last_key(std::size_t part) const { return keys_[parts().end(part) - 1]; }
    // How many groups of equal keys start before a part, and how many there are.
    std::size_t groups_before(std::size_t part) const { return groups_before_[part]; }
    std::size_t groups() const { return groups_before_.back(); }

    // Tells the key of an entry; that of the one before it is not needed.
    auto key_after() const {
        return [keys = keys_.data()](std::size_t entry, std::size_t) {
            return static_cast<std::size_t>(keys[entry]);
        };
    }

  private:
    Pieces parts() const { return {size(), kPartEntries}; }

    void count_groups() {
        groups_before_.resize(parts().count() + 1);
        parallel_for(parts().count(), threads_for(size()), [&](std::size_t part, std::size_t) {
            const std::size_t begin = parts().begin(part);
            const std::size_t first = begin == 0 ? 1 : 0;
            groups_before_[part + 1] = first + count_changes(keys_.data(), begin + first, parts().end(part));
        });
        std::partial_sum(groups_before_.begin(), groups_before_.end(), groups_before_.begin());
    }

    static std::size_t count_changes(const Word* keys, std::size_t begin, std::size_t end) {
        std::size_t changes = 0;
        for (std::size_t i = begin; i < end; ++i) changes += keys[i] != keys[i - 1] ? 1 : 0;
        return changes;
    }

    Buffer<Word> keys_;
    Buffer<Word> positions_;
    std::vector<std::size_t> groups_before_;
};

using AnyEntries =
    std::variant<KeySteps, SortedEntries<std::uint32_t>, SortedEntries<std::uint64_t>, BucketedEntries>;

inline std::size_t count_groups(const AnyEntries& any) {
    return std::visit([](const auto& entries) { return entries.groups(); }, any);
}

namespace detail {

template <class Word>
void sort_unsorted(UnsortedEntries<Word>& all, Buffer<Word>& positions) {
    const std::size_t count = all.keys.size();
    const BucketBits bits(count, all.largest);
    Buffer<KeyedEntry<Word>> parted(count);
    const BucketBegins begins = partition_by_key(all, bits.lower, parted);
    for_sortable_buckets<Word>(
        begins, bits, threads_for(count), [&](std::size_t bucket, BucketSort<Word>& sort) {
            const std::size_t begin = begins[bucket];
            const std::size_t size = begins[bucket + 1] - begin;
            KeyedEntry<Word>* const entries = parted.data() + begin;
            if (sort.span > 0) {
                const Word first = static_cast<Word>(static_cast<Word>(bucket) << bits.lower);
                sort.counting.count(entries, size, first, sort.span);
                sort.counting.begin_at(begin, sort.span);
                sort.counting.place(entries, size, first, positions.data(), all.keys.data());
                return;
            }
            const KeyedEntry<Word>* const sorted = sort.by_radix(entries, size);
            for (std::size_t i = 0; i < size; ++i) {
                all.keys[begin + i] = sorted[i].key;
                positions[begin + i] = sorted[i].payload;
            }
        });
}

template <class Word>
SortedEntries<Word> sort_entries(UnsortedEntries<Word> all) {
    Buffer<Word> positions(all.sorted ? 0 : all.keys.size());
    if (!all.sorted) sort_unsorted(all, positions);  // mutant: unsorted
    return {std::move(all.keys), std::move(positions)};
}

template <class Word, class Read>
AnyEntries arrange_words(std::size_t count, std::size_t key_bound, const Read& read) {
    UnsortedEntries<Word> all = read_entries<Word, false>(count, read);
    if constexpr (std::is_same_v<Word, BucketedEntries::Word>) {
        if (!all.sorted && worth_buckets(count, key_bound)) {
            return bucket_entries(std::move(all.keys), key_bound);
        }
    }
    return sort_entries(std::move(all));
}

}  // namespace detail

// Groups entries 0 .. count - 1 by their keys, which are below key_bound: into buckets, or sorted if they are
// in order already, or if the keys lie too far apart for buckets.
template <class Read>
AnyEntries arrange_entries(std::size_t count, std::size_t key_bound, const Read& read) {
    if (key_bound / kNearKeys <= count) {
        if (std::optional<KeySteps> steps = KeySteps::of(count, key_bound, read)) return std::move(*steps);
    }
    if (fits_short_words(key_bound, count, count)) {
        return detail::arrange_words<std::uint32_t>(count, key_bound, read);
    }
    return detail::arrange_words<std::uint64_t>(count, key_bound, read);
}

}  // namespace gradbag
