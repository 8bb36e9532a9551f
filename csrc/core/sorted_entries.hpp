#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <variant>

#include "core/buffer.hpp"
#include "core/radix_sort.hpp"

namespace gradbag {

// Entries sorted by key, those with equal keys in their first order.
template <class Word>
using SortedEntries = Buffer<KeyedEntry<Word>>;

using AnySortedEntries = std::variant<SortedEntries<std::uint32_t>, SortedEntries<std::uint64_t>>;

// The end of the group of equal keys that starts at `begin`.
template <class Word>
std::size_t group_end(const SortedEntries<Word>& entries, std::size_t begin) {
    std::size_t end = begin + 1;
    while (end < entries.size() && entries[end].key == entries[begin].key) ++end;
    return end;
}

inline std::size_t count_groups(const AnySortedEntries& sorted) {
    return std::visit(
        [](const auto& entries) {
            std::size_t groups = entries.size() > 0 ? 1 : 0;
            for (std::size_t i = 1; i < entries.size(); ++i) {
                groups += entries[i].key != entries[i - 1].key ? 1 : 0;
            }
            return groups;
        },
        sorted);
}

namespace detail {

template <class Word, class Read>
SortedEntries<Word> sort_words(std::size_t count, Read read) {
    SortedEntries<Word> entries(count);
    Word largest = 0;
    bool sorted = true;
    for (std::size_t i = 0; i < count; ++i) {
        const auto [key, payload] = read(i);
        const Word word = static_cast<Word>(key);
        sorted = sorted && word >= largest;
        largest = std::max(largest, word);
        entries[i] = {word, static_cast<Word>(payload)};
    }
    if (!sorted) stable_sort_by_key(entries, largest);
    return entries;
}

}  // namespace detail

// Sorts entries 0 .. count - 1, where read(i) gives the key, below key_bound, and the payload, below
// payload_bound, of entry i. It is called once for each entry, in order.
template <class Read>
AnySortedEntries sort_entries(std::size_t count, std::size_t key_bound, std::size_t payload_bound,
                              Read read) {
    constexpr std::size_t narrow_bound = std::numeric_limits<std::uint32_t>::max();
    if (key_bound <= narrow_bound && payload_bound <= narrow_bound) {
        return detail::sort_words<std::uint32_t>(count, read);
    }
    return detail::sort_words<std::uint64_t>(count, read);
}

}  // namespace gradbag
