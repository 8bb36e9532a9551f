#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/radix_sort.hpp"
#include "core/thresholds.hpp"

namespace gradbag {

// Sorts a bucket in one pass that counts and one that places: the best if most of its possible keys occur.
template <class Word>
class CountingSort {
  public:
    explicit CountingSort(std::size_t most_keys) : next_(most_keys) {}

    // Entries of a bucket whose keys are `first` .. first + span - 1.
    void count(const KeyedEntry<Word>* entries, std::size_t size, Word first, std::size_t span) {
        std::fill_n(next_.data(), span, Word{0});
        detail::in_parts(size, [&](std::size_t begin, std::size_t end) {
            count_keys(entries + begin, end - begin, first, next_.data());
        });
    }

    // Lists the keys that occur, and where their entries begin if those of the bucket begin at `place`. Which
    // keys occur cannot be guessed, so there is no branch: what is no group is overwritten by the next one,
    // and the last key is one that occurs. Returns how many there are.
    std::size_t list(Word first, std::size_t size, std::size_t place, Word* __restrict keys,
                     Word* __restrict begins) {
        Word* __restrict const next = next_.data();
        std::size_t groups = 0;
        Word offset = static_cast<Word>(place);
        const Word end = static_cast<Word>(place + size);
        for (Word key = first; offset != end; ++key) {
            const Word here = std::exchange(next[static_cast<Word>(key - first)], offset);
            keys[groups] = key;
            begins[groups] = offset;
            groups += here != 0 ? 1 : 0;
            offset = static_cast<Word>(offset + here);
        }
        return groups;
    }

    // The same without a list.
    void begin_at(std::size_t place, std::size_t span) {
        Word offset = static_cast<Word>(place);
        for (std::size_t key = 0; key < span; ++key) {
            offset = static_cast<Word>(offset + std::exchange(next_[key], offset));
        }
    }

    // Puts the payloads of the counted entries where they belong, and their keys too unless `keys` is null.
    void place(const KeyedEntry<Word>* entries, std::size_t size, Word first, Word* payloads, Word* keys) {
        detail::in_parts(size, [&](std::size_t begin, std::size_t end) {
            if (keys != nullptr) {
                place_entries(entries + begin, end - begin, first, next_.data(), payloads, keys);
            } else {
                place_payloads(entries + begin, end - begin, first, next_.data(), payloads);
            }
        });
    }

  private:
    static void count_keys(const KeyedEntry<Word>* __restrict entries, std::size_t size, Word first,
                           Word* __restrict next) {
        for (std::size_t i = 0; i < size; ++i) ++next[static_cast<Word>(entries[i].key - first)];
    }

    static void place_payloads(const KeyedEntry<Word>* __restrict entries, std::size_t size, Word first,
                               Word* __restrict next, Word* __restrict payloads) {
        for (std::size_t i = 0; i < size; ++i) {
            payloads[next[static_cast<Word>(entries[i].key - first)]++] = entries[i].payload;
        }
    }

    static void place_entries(const KeyedEntry<Word>* __restrict entries, std::size_t size, Word first,
                              Word* __restrict next, Word* __restrict payloads, Word* __restrict keys) {
        for (std::size_t i = 0; i < size; ++i) {
            const Word to = next[static_cast<Word>(entries[i].key - first)]++;
            payloads[to] = entries[i].payload;
            keys[to] = entries[i].key;
        }
    }

    Buffer<Word> next_;
};

// How a sort of many entries is cut: first by the upper bits of the keys, which makes buckets that threads
// can sort on their own, and that fit into their caches; then each by the lower bits.
struct BucketBits {
    unsigned upper;
    unsigned lower;

    // The largest key is not zero.
    template <class Word>
    BucketBits(std::size_t count, Word largest) {
        const unsigned bits = static_cast<unsigned>(std::bit_width(largest));
        const unsigned worthwhile = static_cast<unsigned>(std::bit_width(count / kBucketEntries));
        // At least one, or the lower bits might be as many as a word has, by which none can be shifted.
        upper = std::clamp(worthwhile, 1u, std::min((bits + 1) / 2, kDigitBits));
        lower = bits - upper;
    }

    // How many keys a bucket may have, if counting them is the best for buckets of this size; otherwise 0.
    std::size_t counted_span(std::size_t bucket_size) const {
        const std::size_t span = lower < 32 ? std::size_t{1} << lower : 0;
        return span <= kCountedKeys * bucket_size ? span : 0;
    }
};

// What one thread needs to sort some buckets.
template <class Word>
struct BucketSort {
    BucketSort(std::size_t counted_span, unsigned low_bits, std::size_t most_entries)
        : span(counted_span),
          counting(counted_span),
          lower(low_bits),
          other(counted_span > 0 ? 0 : most_entries) {}

    // For buckets that are not counted: returns where the sorted entries are.
    const KeyedEntry<Word>* by_radix(KeyedEntry<Word>* entries, std::size_t size) {
        return detail::sort_low_bits(entries, other.data(), size, lower, counts);
    }

    std::size_t span;  // 0: counting does not pay
    CountingSort<Word> counting;
    unsigned lower;
    Buffer<KeyedEntry<Word>> other;
    std::vector<Word> counts;
};

// Calls body(bucket, sort) for each bucket that has entries.
template <class Word, class Body>
void for_sortable_buckets(const BucketBegins& begins, BucketBits bits, std::size_t threads, Body&& body) {
    for_bucket_groups(begins, kSmallestPiece, threads, [&](std::size_t first, std::size_t last, std::size_t) {
        std::size_t most = 0;
        for (std::size_t b = first; b < last; ++b) most = std::max(most, begins[b + 1] - begins[b]);
        const std::size_t mean = (begins[last] - begins[first]) / (last - first);
        BucketSort<Word> sort(bits.counted_span(mean), bits.lower, most);
        for (std::size_t bucket = first; bucket < last; ++bucket) {
            if (begins[bucket] < begins[bucket + 1]) body(bucket, sort);
        }
    });
}

}  // namespace gradbag
