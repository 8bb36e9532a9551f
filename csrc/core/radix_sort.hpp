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
        std::size_t hole = next;
        for (; hole > 0 && entries[hole - 1].key > moving.key; --hole) entries[hole] = entries[hole - 1];
        entries[hole] = moving;
    }
}

template <class Word>
std::size_t digit_of(Word key, unsigned shift, std::size_t mask) {
    return static_cast<std::size_t>(key >> shift) & mask;
}

template <class Word>
void count_digits(const KeyedEntry<Word>* __restrict entries, std::size_t count, unsigned shift,
                  std::size_t mask, std::size_t* __restrict counts) {
    std::fill_n(counts, mask + 1, std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) ++counts[digit_of(entries[i].key, shift, mask)];
}

// A free function over restricted pointers: as a lambda it would reload its pointers after every store.
template <class Word>
void scatter_by_digit(const KeyedEntry<Word>* __restrict from, std::size_t count, unsigned shift,
                      std::size_t mask, std::size_t* __restrict next, KeyedEntry<Word>* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) {
        const KeyedEntry<Word> entry = from[i];
        to[next[digit_of(entry.key, shift, mask)]++] = entry;
    }
}

// Sorts by the lowest `bits` bits, least significant digit first. Both hold `count` entries; the sorted ones
// end up in `entries`.
template <class Word>
void sort_low_bits(KeyedEntry<Word>* entries, KeyedEntry<Word>* other, std::size_t count, unsigned bits,
                   std::vector<std::size_t>& counts) {
    constexpr std::size_t few = 64;
    if (count <= few) return insertion_sort(entries, count);
    // The digits share the bits evenly: 17 bits are two digits of 9, which scatter into fewer places than 11
    // and 6 would. A short list does not repay a large table of counts.
    const unsigned widest = count < 4096 ? 8 : 11;
    const unsigned passes = (bits + widest - 1) / widest;
    if (passes == 0) return;
    const unsigned digit_bits = (bits + passes - 1) / passes;
    const std::size_t mask = (std::size_t{1} << digit_bits) - 1;
    counts.resize(std::max(counts.size(), mask + 1));
    KeyedEntry<Word>* from = entries;
    KeyedEntry<Word>* to = other;
    for (unsigned pass = 0; pass < passes; ++pass) {
        const unsigned shift = pass * digit_bits;
        count_digits(from, count, shift, mask, counts.data());
        const bool all_alike = counts[digit_of(from[0].key, shift, mask)] == count;
        if (all_alike) continue;
        std::size_t offset = 0;
        for (std::size_t digit = 0; digit <= mask; ++digit) offset += std::exchange(counts[digit], offset);
        scatter_by_digit(from, count, shift, mask, counts.data(), to);
        std::swap(from, to);
    }
    if (from != entries) std::memcpy(entries, from, count * sizeof(*entries));
}

}  // namespace detail

// Where each bucket of a partition begins, and at last where the last one ends.
using BucketBegins = std::vector<std::size_t>;

// Puts entries into buckets by key >> shift, in their order. No key exceeds `largest`.
template <class Word>
BucketBegins partition_by_key(const Buffer<KeyedEntry<Word>>& from, Word largest, unsigned shift,
                              Buffer<KeyedEntry<Word>>& to) {
    const std::size_t count = from.size();
    const std::size_t buckets = static_cast<std::size_t>(largest >> shift) + 1;
    const std::size_t mask = std::bit_ceil(buckets) - 1;
    // Each part counts for itself; then it knows where its entries go, after those of the parts before it.
    const std::size_t threads = threads_for(count);
    const std::size_t longest = std::size_t{1} << 20;
    const std::size_t shortest = std::max<std::size_t>(4 * buckets, 4096);
    const Pieces parts(count, std::clamp(count / (4 * threads) + 1, std::min(shortest, longest), longest));
    const std::size_t stride = mask + 1;
    Buffer<std::size_t> next(parts.count() * stride);
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::size_t begin = parts.begin(part);
        detail::count_digits(from.data() + begin, parts.end(part) - begin, shift, mask,
                             next.data() + part * stride);
    });
    BucketBegins begins(buckets + 1);
    std::size_t offset = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        begins[bucket] = offset;
        for (std::size_t part = 0; part < parts.count(); ++part) {
            offset += std::exchange(next[part * stride + bucket], offset);
        }
    }
    begins[buckets] = offset;
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::size_t begin = parts.begin(part);
        detail::scatter_by_digit(from.data() + begin, parts.end(part) - begin, shift, mask,
                                 next.data() + part * stride, to.data());
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

// Stable: entries with equal keys keep their order. No key exceeds `largest`.
template <class Word>
void stable_sort_by_key(Buffer<KeyedEntry<Word>>& entries, Word largest) {
    const std::size_t count = entries.size();
    const unsigned bits = static_cast<unsigned>(std::bit_width(largest));
    constexpr std::size_t one_bucket = 4096;
    if (count <= one_bucket || bits == 0) {
        Buffer<KeyedEntry<Word>> other(count);
        std::vector<std::size_t> counts;
        detail::sort_low_bits(entries.data(), other.data(), count, bits, counts);
        return;
    }
    // First by the upper bits, which makes buckets that threads can sort on their own, and that fit into
    // their caches; then each by the lower bits.
    const unsigned upper =
        std::min({(bits + 1) / 2, 11u, static_cast<unsigned>(std::bit_width(count / 512))});
    const unsigned lower = bits - upper;
    Buffer<KeyedEntry<Word>> other(count);
    const BucketBegins begins = partition_by_key(entries, largest, lower, other);
    std::swap(entries, other);
    const std::size_t threads = threads_for(count);
    std::vector<std::vector<std::size_t>> counts(threads);
    for_bucket_groups(begins, std::size_t{1} << 14, threads,
                      [&](std::size_t first, std::size_t last, std::size_t slot) {
                          for (std::size_t bucket = first; bucket < last; ++bucket) {
                              const std::size_t begin = begins[bucket];
                              detail::sort_low_bits(entries.data() + begin, other.data() + begin,
                                                    begins[bucket + 1] - begin, lower, counts[slot]);
                          }
                      });
}

}  // namespace gradbag
