#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/counting_sort.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"

// Brings entries with equal keys together.
namespace gradbag {

// Groups in ascending order of their keys; within a group, the payloads in their first order.
template <class Word>
struct GroupedEntries {
    Buffer<Word> payloads;
    Buffer<Word> keys;    // of each group
    Buffer<Word> begins;  // where each group begins among the payloads, and at last where the last one ends
    std::size_t groups;

    std::size_t size() const { return payloads.size(); }

    // How many groups begin before this entry.
    std::size_t groups_before(std::size_t entry) const {
        const Word* const first = begins.data();
        return static_cast<std::size_t>(std::lower_bound(first, first + groups, entry) - first);
    }
};

using AnyGroupedEntries = std::variant<GroupedEntries<std::uint32_t>, GroupedEntries<std::uint64_t>>;

inline std::size_t count_groups(const AnyGroupedEntries& grouped) {
    return std::visit([](const auto& entries) { return entries.groups; }, grouped);
}

namespace detail {

// One thread, which shares no work, makes each possible key a bucket of its own if there are fewer than
// entries and their counts stay in the second-level cache.
inline constexpr std::size_t kMostLoneKeys = std::size_t{1} << 17;

// Lists the groups of sorted keys, of which the first stands at `place` among all entries.
template <class Word, class KeyAt>
std::size_t list_groups(KeyAt key_at, std::size_t count, std::size_t place, Word* __restrict keys,
                        Word* __restrict begins) {
    std::size_t groups = 0;
    for (std::size_t i = 0; i < count;) {
        const Word key = key_at(i);
        keys[groups] = key;
        begins[groups] = static_cast<Word>(place + i);
        ++groups;
        do ++i;
        while (i < count && key_at(i) == key);
    }
    return groups;
}

// Lists of groups that were made apart, and that belong one after another: list k begins at begins[k] of the
// buffers and has groups[k] of them.
template <class Word>
struct GroupLists {
    Buffer<Word> keys;
    Buffer<Word> group_begins;
    std::vector<std::size_t> begins;
    std::vector<std::size_t> groups;
};

template <class Word>
GroupedEntries<Word> joined(GroupLists<Word> lists, Buffer<Word> payloads) {
    std::size_t total = 0;
    for (std::size_t& groups : lists.groups) total += std::exchange(groups, total);
    lists.groups.push_back(total);
    GroupedEntries<Word> all{std::move(payloads), Buffer<Word>(total), Buffer<Word>(total + 1), total};
    const Pieces pieces(lists.groups.size() - 1, kJoinedLists);
    parallel_for(pieces.count(), threads_for(total), [&](std::size_t piece, std::size_t) {
        for (std::size_t list = pieces.begin(piece); list < pieces.end(piece); ++list) {
            const std::size_t to = lists.groups[list];
            const std::size_t groups = lists.groups[list + 1] - to;
            std::copy_n(lists.keys.data() + lists.begins[list], groups, all.keys.data() + to);
            std::copy_n(lists.group_begins.data() + lists.begins[list], groups, all.begins.data() + to);
        }
    });
    all.begins[total] = static_cast<Word>(all.payloads.size());
    return all;
}

// The keys are in order already.
template <class Word>
GroupedEntries<Word> group_sorted(UnsortedEntries<Word> all) {
    const std::size_t count = all.keys.size();
    const Pieces parts(count, kPartEntries);
    GroupLists<Word> lists{Buffer<Word>(count), Buffer<Word>(count), std::vector<std::size_t>(parts.count()),
                           std::vector<std::size_t>(parts.count())};
    const Word* const keys = all.keys.data();
    parallel_for(parts.count(), threads_for(count), [&](std::size_t part, std::size_t) {
        // A group belongs to the part in which it begins.
        std::size_t begin = parts.begin(part);
        const std::size_t end = parts.end(part);
        lists.begins[part] = begin;
        while (begin > 0 && begin < end && keys[begin] == keys[begin - 1]) ++begin;
        const std::size_t to = lists.begins[part];
        lists.groups[part] =
            list_groups([keys, begin](std::size_t i) { return keys[begin + i]; }, end - begin, begin,
                        lists.keys.data() + to, lists.group_begins.data() + to);
    });
    return joined(std::move(lists), std::move(all.payloads));
}

// Entries that are not worth cutting into buckets.
template <class Word>
GroupedEntries<Word> group_few(UnsortedEntries<Word> all) {
    const std::size_t count = all.keys.size();
    Buffer<KeyedEntry<Word>> entries(count);
    Buffer<KeyedEntry<Word>> other(count);
    for (std::size_t i = 0; i < count; ++i) entries[i] = {all.keys[i], all.payloads[i]};
    std::vector<Word> counts;
    const KeyedEntry<Word>* const sorted = sort_low_bits(
        entries.data(), other.data(), count, static_cast<unsigned>(std::bit_width(all.largest)), counts);
    GroupedEntries<Word> grouped{std::move(all.payloads), std::move(all.keys), Buffer<Word>(count + 1), 0};
    for (std::size_t i = 0; i < count; ++i) grouped.payloads[i] = sorted[i].payload;
    grouped.groups = list_groups([sorted](std::size_t i) { return sorted[i].key; }, count, 0,
                                 grouped.keys.data(), grouped.begins.data());
    grouped.begins[grouped.groups] = static_cast<Word>(count);
    return grouped;
}

// Few possible keys: each is a bucket of its own.
template <class Word>
GroupedEntries<Word> group_each_key(UnsortedEntries<Word> all) {
    GroupedEntries<Word> grouped{Buffer<Word>(all.keys.size()), Buffer<Word>(all.largest + 1),
                                 Buffer<Word>(all.largest + 2), 0};
    const BucketBegins begins = partition_by_key(all, 0, grouped.payloads);
    for (std::size_t key = 0; key <= all.largest; ++key) {
        grouped.keys[grouped.groups] = static_cast<Word>(key);
        grouped.begins[grouped.groups] = static_cast<Word>(begins[key]);
        grouped.groups += begins[key] < begins[key + 1] ? 1 : 0;
    }
    grouped.begins[grouped.groups] = static_cast<Word>(all.keys.size());
    return grouped;
}

template <class Word>
GroupedEntries<Word> group_many(UnsortedEntries<Word> all) {
    const std::size_t count = all.keys.size();
    const BucketBits bits(count, all.largest);
    Buffer<KeyedEntry<Word>> parted(count);
    BucketBegins begins = partition_by_key(all, bits.lower, parted);
    Buffer<Word> payloads(count);
    std::vector<std::size_t> groups(begins.size() - 1);
    // What was read is no longer needed: the groups of a bucket are listed where its entries were.
    for_sortable_buckets<Word>(
        begins, bits, threads_for(count), [&](std::size_t bucket, BucketSort<Word>& sort) {
            const std::size_t begin = begins[bucket];
            const std::size_t size = begins[bucket + 1] - begin;
            KeyedEntry<Word>* const entries = parted.data() + begin;
            Word* const keys = all.keys.data() + begin;
            Word* const group_begins = all.payloads.data() + begin;
            if (sort.span > 0) {
                const Word first = static_cast<Word>(static_cast<Word>(bucket) << bits.lower);
                sort.counting.count(entries, size, first, sort.span);
                groups[bucket] = sort.counting.list(first, size, begin, keys, group_begins);
                sort.counting.place(entries, size, first, payloads.data(), nullptr);
                return;
            }
            const KeyedEntry<Word>* const sorted = sort.by_radix(entries, size);
            for (std::size_t i = 0; i < size; ++i) payloads[begin + i] = sorted[i].payload;
            groups[bucket] = list_groups([sorted](std::size_t i) { return sorted[i].key; }, size, begin, keys,
                                         group_begins);
        });
    begins.pop_back();
    return joined(
        GroupLists<Word>{std::move(all.keys), std::move(all.payloads), std::move(begins), std::move(groups)},
        std::move(payloads));
}

}  // namespace detail

template <class Word>
GroupedEntries<Word> group_entries(UnsortedEntries<Word> all) {
    const std::size_t count = all.keys.size();
    if (all.sorted) return detail::group_sorted(std::move(all));  // mutant: grouped
    const bool alone = threads_for(count) == 1;
    // Where buckets would be too sparse to be counted, one thread does better without them.
    const bool sparse = count <= kUninterrupted && all.largest / kCountedKeys > count;
    if (count <= kFewGrouped || (alone && sparse)) {
        return detail::group_few(std::move(all));
    }
    if ((all.largest < kMostSingleKeys && all.largest < count / kSingleKeyEntries) ||
        (alone && all.largest < std::min(count, detail::kMostLoneKeys))) {
        return detail::group_each_key(std::move(all));
    }
    return detail::group_many(std::move(all));
}

}  // namespace gradbag
