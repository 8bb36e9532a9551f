#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/read_entries.hpp"
#include "simd/entry_loops.hpp"

namespace gradbag {

// The entries of a segment gradient as they came, each with the number that its index has among the indices
// that occur. Rows are then added where they belong, as in the dense gradient, which takes no sort.
struct RankedEntries {
    Buffer<std::uint32_t> ranks;     // of each entry
    Buffer<std::uint32_t> segments;  // of each entry, in ascending order
    Buffer<std::uint32_t> indices;   // of each rank
    std::size_t count;               // of ranks

    // As a scatter reads them; all are below 2**31.
    std::span<const std::int32_t> ranks_to_scatter() const { return as_signed(ranks); }
    std::span<const std::int32_t> segments_to_scatter() const { return as_signed(segments); }

  private:
    static std::span<const std::int32_t> as_signed(const Buffer<std::uint32_t>& words) {
        return {reinterpret_cast<const std::int32_t*>(words.data()), words.size()};
    }
};

namespace detail {

// Which numbers below a bound occur: a byte for each while they fit the second-level cache, since many bits
// share a word, which then has to be read after it was written; beyond it a bit.
class Occurrences {
  public:
    explicit Occurrences(std::size_t bound) : words_(bound / 64 + 1), bytes_(bound <= kMostBytes) {
        if (bytes_) words_ = Buffer<std::uint64_t>(8 * words_.size());
        std::memset(words_.data(), 0, words_.size() * sizeof(std::uint64_t));
    }

    void add(const std::uint32_t* numbers, std::size_t count) {
        // Copies of the pointers, which would otherwise be read again after every store.
        if (bytes_) {
            std::uint8_t* const bytes = reinterpret_cast<std::uint8_t*>(words_.data());
            for (std::size_t i = 0; i < count; ++i) bytes[numbers[i]] = 1;
        } else {
            std::uint64_t* const words = words_.data();
            for (std::size_t i = 0; i < count; ++i) {
                words[numbers[i] / 64] |= std::uint64_t{1} << (numbers[i] % 64);
            }
        }
    }

    // How many words of 64 numbers there are, and which of the numbers of a word occur.
    std::size_t size() const { return bytes_ ? words_.size() / 8 : words_.size(); }
    std::uint64_t operator[](std::size_t word) const {
        if (!bytes_) return words_[word];
        std::uint64_t bits = 0;
        for (std::size_t eight = 0; eight < 8; ++eight)
            bits |= packed(words_[8 * word + eight]) << (8 * eight);
        return bits;
    }

  private:
    static constexpr std::size_t kMostBytes = std::size_t{1} << 18;

    // The lowest bits of eight bytes, that of the first byte in memory lowest.
    static std::uint64_t packed(std::uint64_t bytes) {
        if constexpr (std::endian::native == std::endian::little) {
            return (bytes * 0x0102040810204080u) >> 56;
        } else {
            return (bytes * 0x8040201008040201u) >> 56;
        }
    }

    Buffer<std::uint64_t> words_;
    bool bytes_;
};

// The numbers that occur in a word, in ascending order.
inline void list_numbers(const RankWord& word, std::uint32_t first, std::uint32_t* numbers) {
    numbers += word.before;
    for (std::uint64_t left = word.occurs; left != 0; left &= left - 1) {
        *numbers++ = first + static_cast<std::uint32_t>(std::countr_zero(left));
    }
}

}  // namespace detail

// The numbers that occur among the keys of entries, in ascending order.
class KeyRanks {
  public:
    explicit KeyRanks(const UnsortedEntries<std::uint32_t>& all) {
        constexpr std::size_t most_sets = 4;  // each thread has its own, which are merged
        const std::size_t threads = std::min(threads_for(all.keys.size()), most_sets);
        std::vector<detail::Occurrences> sets;
        for (std::size_t slot = 0; slot < threads; ++slot) sets.emplace_back(std::size_t{all.largest} + 1);
        in_parts(all.keys.size(), threads, [&](std::size_t begin, std::size_t end, std::size_t slot) {
            sets[slot].add(all.keys.data() + begin, end - begin);
        });
        words_ = Buffer<RankWord>(sets[0].size());
        for (std::size_t word = 0; word < words_.size(); ++word) {
            std::uint64_t occurs = 0;
            for (const detail::Occurrences& set : sets) occurs |= set[word];
            words_[word] = {occurs, count_};
            count_ += static_cast<std::uint32_t>(std::popcount(occurs));
        }
    }

    // How many there are.
    std::size_t count() const { return count_; }

    // The entries with ranks, whose segments are sorted.
    RankedEntries rank(UnsortedEntries<std::uint32_t> all) const {
        const std::size_t size = all.keys.size();
        in_parts(size, threads_for(size), [&](std::size_t begin, std::size_t end, std::size_t) {
            rank_numbers(all.keys.data() + begin, end - begin, words_.data());
        });
        Buffer<std::uint32_t> indices(count_);
        parallel_ranges(words_.size(), 8, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t word = begin; word < end; ++word) {
                detail::list_numbers(words_[word], static_cast<std::uint32_t>(64 * word), indices.data());
            }
        });
        return {std::move(all.keys), std::move(all.payloads), std::move(indices), count_};
    }

  private:
    template <class Body>
    static void in_parts(std::size_t size, std::size_t threads, const Body& body) {
        const Pieces parts(size, std::size_t{1} << 14);
        parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t slot) {
            body(parts.begin(part), parts.end(part), slot);
        });
    }

    Buffer<RankWord> words_{0};
    std::uint32_t count_ = 0;
};

}  // namespace gradbag
