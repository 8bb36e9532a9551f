#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"

namespace gradbag {

// Entries in parts of this many are looked at by different threads.
inline constexpr std::size_t kPartEntries = 4096;

// Entries sorted by key, those with equal keys in their first order.
template <class Word>
using SortedEntries = Buffer<KeyedEntry<Word>>;

// The end of the group of equal keys that starts at `begin`.
template <class Word>
std::size_t group_end(const SortedEntries<Word>& entries, std::size_t begin) {
    std::size_t end = begin + 1;
    while (end < entries.size() && entries[end].key == entries[begin].key) ++end;
    return end;
}

template <class Word>
bool starts_group(const SortedEntries<Word>& entries, std::size_t position) {
    return position == 0 || entries[position].key != entries[position - 1].key;
}

// How many groups start before each part of the entries, and at last how many there are.
using GroupsBefore = std::vector<std::size_t>;

template <class Word>
GroupsBefore groups_before_parts(const SortedEntries<Word>& entries) {
    const Pieces parts(entries.size(), kPartEntries);
    GroupsBefore before(parts.count() + 1);
    parallel_for(parts.count(), threads_for(entries.size()), [&](std::size_t part, std::size_t) {
        const std::size_t end = parts.end(part);
        std::size_t groups = 0;
        std::size_t i = parts.begin(part);
        if (i == 0) {
            groups = 1;
            ++i;
        }
        for (; i < end; ++i) groups += entries[i].key != entries[i - 1].key ? 1 : 0;
        before[part + 1] = groups;
    });
    for (std::size_t part = 0; part < parts.count(); ++part) before[part + 1] += before[part];
    return before;
}

// The sorted entries and how they fall into groups.
template <class Word>
struct GroupedEntries {
    explicit GroupedEntries(SortedEntries<Word> sorted)
        : entries(std::move(sorted)), groups_before(groups_before_parts(entries)) {}

    std::size_t groups() const { return groups_before.back(); }

    SortedEntries<Word> entries;
    GroupsBefore groups_before;
};

using AnySortedEntries = std::variant<GroupedEntries<std::uint32_t>, GroupedEntries<std::uint64_t>>;

inline std::size_t count_groups(const AnySortedEntries& sorted) {
    return std::visit([](const auto& grouped) { return grouped.groups(); }, sorted);
}

// Entries as they were read, with what is known about their keys.
template <class Word>
struct UnsortedEntries {
    SortedEntries<Word> entries;
    Word largest;
    bool sorted;
};

// Reads entries 0 .. count - 1: read(begin, end, put) calls put(i, key, payload) for each entry of a part, in
// order. Several threads do it, each entry is read once, and the lowest that is at fault is found.
template <class Word, class Read>
UnsortedEntries<Word> read_entries(std::size_t count, const Read& read) {
    UnsortedEntries<Word> all{SortedEntries<Word>(count), 0, true};
    const Pieces parts(count, kPartEntries);
    struct Part {
        Word largest;
        bool sorted;
    };
    std::vector<Part> found(parts.count());
    parallel_for(parts.count(), threads_for(count), [&](std::size_t part, std::size_t) {
        KeyedEntry<Word>* const entries = all.entries.data();
        Word largest = 0;
        Word before = 0;
        bool sorted = true;
        read(parts.begin(part), parts.end(part), [&](std::size_t i, std::size_t key, std::size_t payload) {
            const Word word = static_cast<Word>(key);
            sorted &= word >= before;
            before = word;
            largest = std::max(largest, word);
            entries[i] = {word, static_cast<Word>(payload)};
        });
        found[part] = {largest, sorted};
    });
    for (std::size_t part = 0; part < found.size(); ++part) {
        const std::size_t begin = parts.begin(part);
        all.largest = std::max(all.largest, found[part].largest);
        all.sorted = all.sorted && found[part].sorted &&
                     (begin == 0 || all.entries[begin].key >= all.entries[begin - 1].key);
    }
    return all;
}

// Whether keys and payloads below these bounds fit the shorter word.
inline bool fits_short_words(std::size_t key_bound, std::size_t payload_bound) {
    constexpr std::size_t narrow_bound = std::numeric_limits<std::uint32_t>::max();
    return key_bound <= narrow_bound && payload_bound <= narrow_bound;
}

namespace detail {

template <class Word, class Read>
GroupedEntries<Word> sort_words(std::size_t count, const Read& read) {
    UnsortedEntries<Word> all = read_entries<Word>(count, read);
    if (!all.sorted) stable_sort_by_key(all.entries, all.largest);
    return GroupedEntries<Word>(std::move(all.entries));
}

}  // namespace detail

// Sorts entries 0 .. count - 1, with keys below key_bound and payloads below payload_bound.
template <class Read>
AnySortedEntries sort_entries(std::size_t count, std::size_t key_bound, std::size_t payload_bound,
                              const Read& read) {
    if (fits_short_words(key_bound, payload_bound)) return detail::sort_words<std::uint32_t>(count, read);
    return detail::sort_words<std::uint64_t>(count, read);
}

}  // namespace gradbag
