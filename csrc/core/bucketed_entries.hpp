#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/occurrences.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/thresholds.hpp"

namespace gradbag {

// Entries whose keys are in no order: where a partition by the upper bits of the keys would put them, and how
// many different keys there are. Nothing was moved yet, so whoever knows what belongs to the entries moves
// that, in one pass over it.
struct BucketedEntries {
    using Word = std::uint32_t;

    Buffer<Word> keys;  // of each entry, as they came
    std::size_t key_bound;
    unsigned shift;  // entries go into bucket key >> shift
    Pieces parts;
    // For each part, where its entries go in each bucket. Those of a bucket keep their order.
    std::vector<Word> places;
    BucketBegins begins;
    std::vector<std::size_t> groups_before;  // how many different keys lie below each bucket, and at last all

    std::size_t size() const { return keys.size(); }
    std::size_t groups() const { return groups_before.back(); }
    std::size_t buckets() const { return begins.size() - 1; }
    std::size_t bucket_keys() const { return std::size_t{1} << shift; }

    // Calls body(entry, place in the partition) for the entries of a part, in order.
    template <class Body>
    void for_places(std::size_t part, Body body) const {
        const Word* const first = places.data() + part * buckets();
        std::vector<Word> next(first, first + buckets());
        Word* const next_places = next.data();
        const Word* const keys_of = keys.data();
        const unsigned bits = shift;
        const std::size_t end = parts.end(part);  // which would be computed again after every store
        for (std::size_t entry = parts.begin(part); entry < end; ++entry) {
            body(entry, static_cast<std::size_t>(next_places[keys_of[entry] >> bits]++));
        }
    }
};

namespace detail {

inline unsigned bucket_shift(std::size_t count, std::size_t key_bound) {
    const unsigned wanted = static_cast<unsigned>(std::bit_width((count + key_bound) / kCachedBucket));
    const unsigned bits = static_cast<unsigned>(std::bit_width(key_bound));
    const unsigned upper = std::min(wanted, kDigitBits);
    // A bucket is at least one word of occurrences.
    constexpr unsigned least = 6;
    return std::max(bits > upper ? bits - upper : 0, least);
}

}  // namespace detail

// Whether these entries can be bucketed: places and keys together fit a word, and a set of keys takes no more
// memory than the entries themselves.
inline bool worth_buckets(std::size_t count, std::size_t key_bound) {
    return count + key_bound < std::numeric_limits<std::uint32_t>::max() &&
           key_bound / kBucketedKeys <= count;
}

inline BucketedEntries bucket_entries(Buffer<std::uint32_t> keys, std::size_t key_bound) {
    const std::size_t count = keys.size();
    const unsigned shift = detail::bucket_shift(count, key_bound);
    const std::size_t buckets = ((key_bound - 1) >> shift) + 1;
    const std::size_t threads = std::min(threads_for(count), kMostSets);
    const Pieces parts(count, std::clamp<std::size_t>(count / (kPartsOfThread * threads) + 1,
                                                      8 * buckets + kPartEntries, kUninterrupted));
    std::vector<std::uint32_t> places(parts.count() * buckets);
    Occurrences occurrences(key_bound, threads);
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t slot) {
        const std::uint32_t* const first = keys.data() + parts.begin(part);
        const std::size_t size = parts.end(part) - parts.begin(part);
        detail::count_buckets(first, size, shift, places.data() + part * buckets);
        occurrences.add(slot, first, size);
    });
    BucketBegins begins(buckets + 1);
    std::size_t offset = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        begins[bucket] = offset;
        for (std::size_t part = 0; part < parts.count(); ++part) {
            offset += std::exchange(places[part * buckets + bucket], static_cast<std::uint32_t>(offset));
        }
    }
    begins[buckets] = offset;
    std::vector<std::size_t> groups_before(buckets + 1);
    const std::size_t bucket_words = std::size_t{1} << (shift - 6);
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        std::size_t groups = 0;
        const std::size_t end = std::min((bucket + 1) * bucket_words, occurrences.words());
        for (std::size_t number = bucket * bucket_words; number < end; ++number) {
            groups += static_cast<std::size_t>(std::popcount(occurrences[number]));
        }
        groups_before[bucket + 1] = groups_before[bucket] + groups;
    }
    return {std::move(keys),         key_bound, shift, parts, std::move(places), std::move(begins),
            std::move(groups_before)};
}

}  // namespace gradbag
