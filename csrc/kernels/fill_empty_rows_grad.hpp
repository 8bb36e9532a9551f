#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/constants.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "simd/entry_loops.hpp"
#include "simd/row_loops.hpp"

// d_values[i] = grad_values[reverse_index_map[i]], and d_default_value is the sum of the gradients that no
// map entry names. A value is one lane, or two when it is complex.
namespace gradbag {

namespace detail {

// The sum has a fixed shape, so that blocks may be done in any order: positions in blocks, eight interleaved
// lanes in a block, lanes and then blocks added in pairs. Any change here changes the bits of results.
inline constexpr std::size_t kSumBlock = 1024;  // mutant: block
inline constexpr std::size_t kSumLanes = 8;

// Few of the 64 positions of a word are added one by one, many eight at a time. Counted by hand: without an
// instruction for it, which not every CPU has, std::popcount is a call.
inline bool few_bits(std::uint64_t bits) {
    constexpr std::uint64_t ones = ~std::uint64_t{0};
    bits -= (bits >> 1) & (ones / 3);
    bits = (bits & (ones / 5)) + ((bits >> 2) & (ones / 5));
    bits = (bits + (bits >> 4)) & (ones / 17);
    return (bits * (ones / 255)) >> 56 <= kFewBits;
}

template <Lane T>
using DefaultSum = std::conditional_t<std::unsigned_integral<T>, T, double>;

// One bit for each position.
class VisitedSet {
  public:
    explicit VisitedSet(std::size_t positions) : words_(positions / kWordBits + 1) {
        std::memset(words_.data(), 0, words_.size() * sizeof(std::uint64_t));
    }

    // Adds another set of as many positions.
    void merge(const VisitedSet& other) {
        for (std::size_t word = 0; word < words_.size(); ++word) words_[word] |= other.words_[word];
    }

    static constexpr std::size_t kWordBits = 64;
    std::uint64_t* data() { return words_.data(); }
    Matrix<const std::uint64_t> words() const { return {words_.data(), words_.size(), 1}; }

    // Whether each of the positions from `position`, a multiple of 64, was visited.
    std::uint64_t next_word(std::size_t position) const { return words_[position / kWordBits]; }

    // Adds positions. The word in hand is written when another one is needed: a map is mostly ascending, and
    // a store and a load of the same word for every entry would be a long chain.
    class Writer {
      public:
        explicit Writer(VisitedSet& set) : words_(set.words_.data()), word_(words_[0]) {}
        Writer(const Writer&) = delete;
        Writer& operator=(const Writer&) = delete;
        ~Writer() { words_[number_] = word_; }

        void add(std::size_t position) {
            const std::size_t number = position / kWordBits;
            if (number != number_) {
                words_[number_] = word_;  // mutant: word
                number_ = number;
                word_ = words_[number];
            }
            word_ |= std::uint64_t{1} << (position % kWordBits);
        }

      private:
        std::uint64_t* words_;
        std::size_t number_ = 0;
        std::uint64_t word_;
    };

  private:
    Buffer<std::uint64_t> words_;
};

template <bool Prefetch, std::size_t Components, Lane T>
void copy_visited(std::span<const std::int64_t> reverse_index_map, std::size_t begin, std::size_t end,
                  Matrix<const T> grad_values, T* __restrict d_values, VisitedSet& visited) {
    VisitedSet::Writer writer(visited);
    const RowPrefetch prefetch(grad_values);
    const RowPrefetch prefetch_word(visited.words());
    for (std::size_t i = begin; i < end; ++i) {
        if constexpr (Prefetch) {
            const std::size_t later = i + kNumberPrefetchDistance;
            if (later < end) {
                const auto position = static_cast<std::uint64_t>(load_once(&reverse_index_map[later]));
                prefetch.line(position);
                prefetch_word.line(position / VisitedSet::kWordBits);
            }
        }
        const auto from = checked(load_once(&reverse_index_map[i]), grad_values.rows, {0, i});  // mutant: at
        std::copy_n(grad_values.data + from * Components, Components, d_values + i * Components);
        writer.add(from);
    }
}

// The same for a map that is mostly in order: many at a time where they lie near each other, and where they
// do not some one by one before that is tried again.
template <std::size_t Components, Lane T>
void copy_visited_near(std::span<const std::int64_t> reverse_index_map, std::size_t begin, std::size_t end,
                       Matrix<const T> grad_values, T* __restrict d_values, VisitedSet& visited) {
    std::size_t i = begin;
    if constexpr (Components * sizeof(T) == sizeof(std::uint32_t)) {
        const NearItems items{reinterpret_cast<const std::uint32_t*>(grad_values.data), grad_values.rows};
        const bool stream = reverse_index_map.size() * sizeof(std::uint32_t) >= kStreamedBytes;
        while (i < end) {
            const NearCopies copies{reinterpret_cast<std::uint32_t*>(d_values) + i, stream};
            i += copy_near_items(reverse_index_map.data() + i, end - i, items, copies, visited.data());
            const std::size_t next = std::min(end, i + kCopiedOneByOne);
            copy_visited<false, Components>(reverse_index_map, i, next, grad_values, d_values, visited);
            i = next;
        }
    } else {
        copy_visited<false, Components>(reverse_index_map, i, end, grad_values, d_values, visited);
    }
}

// The bits of an accumulator.
template <class A>
using BitsOf =
    std::conditional_t<std::unsigned_integral<A>, A,
                       std::conditional_t<sizeof(A) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>>;

// Adds to each lane the value at its position, or +0 if that was visited. The value is masked, not multiplied
// (it may be a NaN) and not branched around (who is visited cannot be guessed).
template <std::size_t Components, Lane T>
void add_unvisited(const T* values, unsigned visited, std::size_t count, DefaultSum<T>* lanes) {
    using A = Accumulator<T>;
    using Bits = BitsOf<A>;
    for (std::size_t lane = 0; lane < count; ++lane) {
        const Bits bit = static_cast<Bits>(visited & (1u << lane));
        const Bits keep = static_cast<Bits>(Bits{0} - static_cast<Bits>(bit == 0));  // mutant: keep
        const Bits kept = static_cast<Bits>(std::bit_cast<Bits>(widen(values[lane * Components])) & keep);
        lanes[lane] = add(lanes[lane], static_cast<DefaultSum<T>>(std::bit_cast<A>(kept)));
    }
}

// The same for the positions of a word that were not visited, one by one. To leave out those that were gives
// the same bits: +0 changes no lane, since lanes start from +0 and so never become -0.
template <std::size_t Components, Lane T>
void add_few(const T* values, std::uint64_t unvisited, DefaultSum<T>* lanes) {
    for (; unvisited != 0; unvisited &= unvisited - 1) {
        const std::size_t position = static_cast<std::size_t>(std::countr_zero(unvisited));
        DefaultSum<T>& lane = lanes[position % kSumLanes];
        lane = add(lane, static_cast<DefaultSum<T>>(widen(values[position * Components])));
    }
}

// `values` points at the component to be summed.
template <std::size_t Components, Lane T>
DefaultSum<T> sum_block(const T* values, const VisitedSet& visited, std::size_t begin, std::size_t end) {
    DefaultSum<T> lanes[kSumLanes] = {};
    for (std::size_t word_begin = begin; word_begin < end; word_begin += 64) {
        std::uint64_t gone = visited.next_word(word_begin);
        // Adding +0 to lanes that started from +0 would change nothing.
        if (gone == ~std::uint64_t{0}) continue;
        const std::size_t word_end = std::min<std::size_t>(word_begin + 64, end);
        if (word_end - word_begin == 64 && few_bits(~gone)) {
            add_few<Components>(values + word_begin * Components, ~gone, lanes);
            continue;
        }
        for (std::size_t position = word_begin; position < word_end; position += kSumLanes, gone >>= 8) {
            const unsigned eight = static_cast<unsigned>(gone & 0xffu);
            const T* const from = values + position * Components;
            if (position + kSumLanes <= word_end) {
                if (eight != 0xffu) add_unvisited<Components>(from, eight, kSumLanes, lanes);
            } else {
                add_unvisited<Components>(from, eight, word_end - position, lanes);
            }
        }
    }
    return add(add(add(lanes[0], lanes[1]), add(lanes[2], lanes[3])),
               add(add(lanes[4], lanes[5]), add(lanes[6], lanes[7])));
}

// Neighbours are added until one sum is left; an odd last one waits for the next round.
template <class Sum>
Sum add_in_pairs(std::vector<Sum>& sums) {
    if (sums.empty()) return Sum{0};
    for (std::size_t count = sums.size(); count > 1; count = (count + 1) / 2) {
        for (std::size_t pair = 0; pair < count / 2; ++pair) {
            sums[pair] = add(sums[2 * pair], sums[2 * pair + 1]);
        }
        if (count % 2 != 0) sums[count / 2] = sums[count - 1];  // mutant: odd
    }
    return sums[0];
}

template <std::size_t Components, Lane T>
DefaultSum<T> sum_unvisited(const T* values, const VisitedSet& visited, std::size_t count) {
    std::vector<DefaultSum<T>> sums((count + kSumBlock - 1) / kSumBlock);
    parallel_ranges(sums.size(), kSumBlock, [&](std::size_t first, std::size_t last, std::size_t) {
        for (std::size_t block = first; block < last; ++block) {
            const std::size_t begin = block * kSumBlock;
            sums[block] = sum_block<Components>(values, visited, begin, std::min(begin + kSumBlock, count));
        }
    });
    return add_in_pairs(sums);
}

}  // namespace detail

template <Lane T>
void fill_empty_rows_grad(std::span<const std::int64_t> reverse_index_map, Matrix<const T> grad_values,
                          Matrix<T> d_values, Matrix<T> d_default_value) {
    // A set for each thread, which would otherwise wait for each other's words.
    const std::size_t entries = reverse_index_map.size();
    const Pieces parts(entries, kSmallestPiece);
    const std::size_t threads =
        std::min({threads_for(entries), kMostSets, std::max<std::size_t>(parts.count(), 1)});
    std::vector<detail::VisitedSet> sets;
    for (std::size_t slot = 0; slot < threads; ++slot) sets.emplace_back(grad_values.rows);
    with_constant<1, 2>(grad_values.columns, [&](auto components) {
        parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t slot) {
            const std::size_t begin = parts.begin(part);
            const std::size_t end = parts.end(part);
            // A map in order needs no prefetch, which would take a third of the time: the hardware sees where
            // it goes. Its ends tell, and a wrong guess is only slower.
            const std::uint64_t width = static_cast<std::uint64_t>(load_once(&reverse_index_map[end - 1])) -
                                        static_cast<std::uint64_t>(load_once(&reverse_index_map[begin]));
            if (width < kNearPlaces * (end - begin)) {
                detail::copy_visited_near<components>(reverse_index_map, begin, end, grad_values,
                                                      d_values.data, sets[slot]);
            } else {
                detail::copy_visited<true, components>(reverse_index_map, begin, end, grad_values,
                                                       d_values.data, sets[slot]);
            }
        });
        detail::VisitedSet& visited = sets[0];
        for (std::size_t other = 1; other < threads; ++other) visited.merge(sets[other]);
        for (std::size_t component = 0; component < components; ++component) {
            const auto sum =
                detail::sum_unvisited<components>(grad_values.data + component, visited, grad_values.rows);
            d_default_value.data[component] = narrow<T>(sum);  // mutant: part
        }
    });
}

}  // namespace gradbag
