#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/views.hpp"

namespace gradbag {

// Word is std::uint32_t whenever key and payload fit: half the memory traffic of a 64-bit sort.
template <class Word>
struct KeyedEntry {
    Word key;
    Word payload;
};

namespace detail {

template <class Word>
void insertion_sort(KeyedEntry<Word>* entries, std::size_t count) {
    for (std::size_t next = 1; next < count; ++next) {
        const KeyedEntry<Word> moving = entries[next];
        std::size_t at = next;
        for (; at > 0 && entries[at - 1].key > moving.key; --at) entries[at] = entries[at - 1];  // mutant: eq
        entries[at] = moving;
    }
}

template <class Word>
std::size_t digit_of(Word key, unsigned shift, std::size_t mask) {
    return static_cast<std::size_t>(key >> shift) & mask;
}

// Calls body(begin, end) for parts of [0, count), between which the call may be stopped.
template <class Body>
void in_parts(std::size_t count, Body body) {
    for (std::size_t begin = 0; begin < count; begin += kUninterrupted) {
        if (begin > 0) checkpoint();
        body(begin, std::min(begin + kUninterrupted, count));
    }
}

// Free functions over restricted pointers: as lambdas they would reload their pointers after every store.
template <class Word>
void count_digits(const KeyedEntry<Word>* __restrict entries, std::size_t count, unsigned shift,
                  std::size_t mask, Word* __restrict counts) {
    for (std::size_t i = 0; i < count; ++i) ++counts[digit_of(entries[i].key, shift, mask)];
}

template <class Word>
void scatter_by_digit(const KeyedEntry<Word>* __restrict from, std::size_t count, unsigned shift,
                      std::size_t mask, Word* __restrict next, KeyedEntry<Word>* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) {
        const KeyedEntry<Word> entry = from[i];
        to[next[digit_of(entry.key, shift, mask)]++] = entry;
    }
}

// Counts become where the entries of each digit begin.
template <class Word>
void begins_from_counts(Word* counts, std::size_t size) {
    Word offset = 0;
    for (std::size_t digit = 0; digit < size; ++digit) {
        offset = static_cast<Word>(offset + std::exchange(counts[digit], offset));
    }
}

// Sorts by the lowest `bits` bits, least significant digit first. Both hold `count` entries; returns the one
// in which the sorted ones are.
template <class Word>
KeyedEntry<Word>* sort_low_bits(KeyedEntry<Word>* entries, KeyedEntry<Word>* other, std::size_t count,
                                unsigned bits, std::vector<Word>& counts) {
    if (count <= kInsertionSorted) {
        insertion_sort(entries, count);
        return entries;
    }
    // The digits share the bits evenly: 17 bits are two digits of 9, which scatter into fewer places than 11
    // and 6 would.
    const unsigned widest = count < kManyCounted ? kShortDigitBits : kDigitBits;
    const unsigned passes = (bits + widest - 1) / widest;
    if (passes == 0) return entries;
    const unsigned digit_bits = (bits + passes - 1) / passes;
    const std::size_t mask = (std::size_t{1} << digit_bits) - 1;
    for (unsigned pass = 0; pass < passes; ++pass) {
        const unsigned shift = pass * digit_bits;  // mutant: digit
        counts.assign(mask + 1, 0);
        in_parts(count, [&](std::size_t begin, std::size_t end) {
            count_digits(entries + begin, end - begin, shift, mask, counts.data());
        });
        const bool all_alike = counts[digit_of(entries[0].key, shift, mask)] == count;
        if (all_alike) continue;
        begins_from_counts(counts.data(), mask + 1);
        in_parts(count, [&](std::size_t begin, std::size_t end) {
            scatter_by_digit(entries + begin, end - begin, shift, mask, counts.data(), other);
        });
        std::swap(entries, other);
    }
    return entries;
}

}  // namespace detail

// Keys and payloads as they were read, with what is known about them.
template <class Word>
struct UnsortedEntries {
    Buffer<Word> keys;
    Buffer<Word> payloads;  // empty if the payload of each entry is its position
    Word largest;           // of the keys
    bool sorted;
    bool payloads_sorted;
};

// Where each bucket of a partition begins, and at last where the last one ends.
using BucketBegins = std::vector<std::size_t>;

namespace detail {

template <class Word>
void count_buckets(const Word* __restrict keys, std::size_t count, unsigned shift, Word* __restrict counts) {
    for (std::size_t i = 0; i < count; ++i) ++counts[keys[i] >> shift];
}

template <class Word, class PayloadAt>
void scatter_to_buckets(const Word* __restrict keys, std::size_t begin, std::size_t end, PayloadAt payload_at,
                        unsigned shift, Word* __restrict next, KeyedEntry<Word>* __restrict to) {
    const RowPrefetch ahead(Matrix<KeyedEntry<Word>>{to, 0, 1});
    for (std::size_t i = begin; i < end; ++i) {
        const Word key = keys[i];
        const Word place = next[key >> shift]++;
        ahead.line(place + kNextLine<KeyedEntry<Word>>);
        to[place] = {key, payload_at(i)};
    }
}

// The payloads alone.
template <class Word, class PayloadAt>
void scatter_to_buckets(const Word* __restrict keys, std::size_t begin, std::size_t end, PayloadAt payload_at,
                        unsigned shift, Word* __restrict next, Word* __restrict to) {
    for (std::size_t i = begin; i < end; ++i) to[next[keys[i] >> shift]++] = payload_at(i);
}

}  // namespace detail

// Puts entries, or their payloads alone, into buckets by key >> shift, in their order.
template <class Word, class To>
BucketBegins partition_by_key(const UnsortedEntries<Word>& from, unsigned shift, Buffer<To>& to) {
    const std::size_t count = from.keys.size();
    const std::size_t buckets = static_cast<std::size_t>(from.largest >> shift) + 1;
    // Each part counts for itself; then it knows where its entries go, after those of the parts before it.
    const std::size_t threads = threads_for(count);
    const std::size_t shortest = std::max<std::size_t>(4 * buckets, kPartEntries);
    const Pieces parts(count, std::clamp(count / (kPartsOfThread * threads) + 1,
                                         std::min(shortest, kUninterrupted), kUninterrupted));
    std::vector<Word> next(parts.count() * buckets);
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::size_t begin = parts.begin(part);
        detail::count_buckets(from.keys.data() + begin, parts.end(part) - begin, shift,
                              next.data() + part * buckets);
    });
    BucketBegins begins(buckets + 1);
    std::size_t offset = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        begins[bucket] = offset;
        for (std::size_t part = 0; part < parts.count(); ++part) {
            offset += std::exchange(next[part * buckets + bucket], static_cast<Word>(offset));
        }
    }
    begins[buckets] = offset;
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        const auto scatter = [&](auto payload_at) {
            detail::scatter_to_buckets(from.keys.data(), parts.begin(part), parts.end(part), payload_at,
                                       shift, next.data() + part * buckets, to.data());
        };
        if (from.payloads.size() > 0) {
            scatter([payloads = from.payloads.data()](std::size_t i) { return payloads[i]; });
        } else {
            scatter([](std::size_t i) { return static_cast<Word>(i); });
        }
    });
    return begins;
}

// Cuts buckets into groups of neighbours with about `most` entries each, and calls body(first, last, slot).
template <class Body>
void for_bucket_groups(const BucketBegins& begins, std::size_t most, std::size_t threads, Body&& body) {
    std::vector<std::size_t> cuts{0};
    for (std::size_t bucket = 1; bucket + 1 < begins.size(); ++bucket) {
        if (begins[bucket] - begins[cuts.back()] >= most) cuts.push_back(bucket);
    }
    cuts.push_back(begins.size() - 1);
    parallel_for(cuts.size() - 1, threads,
                 [&](std::size_t group, std::size_t slot) { body(cuts[group], cuts[group + 1], slot); });
}

}  // namespace gradbag
