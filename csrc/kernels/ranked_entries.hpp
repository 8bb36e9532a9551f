#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/occurrences.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"
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
        const std::size_t threads = std::min(threads_for(all.keys.size()), kMostRankedSets);
        Occurrences occurrences(std::size_t{all.largest} + 1, threads);
        in_parts(all.keys.size(), threads, [&](std::size_t begin, std::size_t end, std::size_t slot) {
            occurrences.add(slot, all.keys.data() + begin, end - begin);
        });
        words_ = Buffer<RankWord>(occurrences.words());
        for (std::size_t word = 0; word < words_.size(); ++word) {
            const std::uint64_t occurs = occurrences[word];
            words_[word] = {occurs, count_};
            count_ += static_cast<std::uint32_t>(std::popcount(occurs));  // mutant: popcount
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
        const Pieces parts(size, kSmallestPiece);
        parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t slot) {
            body(parts.begin(part), parts.end(part), slot);
        });
    }

    Buffer<RankWord> words_{0};
    std::uint32_t count_ = 0;
};

}  // namespace gradbag
