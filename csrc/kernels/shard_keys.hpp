#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/types.hpp"

// Where the row of an id stands when the rows of all pieces of a table follow each other.
namespace gradbag {

enum class Strategy { div, mod, hash };

inline Strategy from_text(std::type_identity<Strategy>, std::string_view name) {
    if (name == "div") return Strategy::div;
    if (name == "mod") return Strategy::mod;
    if (name == "hash") return Strategy::hash;
    throw std::invalid_argument("no such strategy");
}

namespace detail {

// The same numbers in another order: an affine step and a shift that both can be undone, three times over, on
// as many bits as the numbers have. What leaves their range goes round again, and so comes back into it.
class Shuffled {
  public:
    explicit Shuffled(std::uint64_t count)
        : count_(count),
          bits_(static_cast<unsigned>(std::bit_width(count > 0 ? count - 1 : 0))),
          mask_(bits_ < 64 ? (std::uint64_t{1} << bits_) - 1 : ~std::uint64_t{0}),
          shift_((bits_ + 1) / 2) {}

    std::uint64_t operator()(std::uint64_t number) const {
        if (bits_ == 0) return number;
        do {
            for (const Round& round : kRounds) {
                number = ((number + round.added) * round.factor) & mask_;
                number ^= number >> shift_;  // mutant: shuffled
            }
        } while (number >= count_);
        return number;
    }

  private:
    struct Round {
        std::uint64_t added;
        std::uint64_t factor;
    };
    // Odd, as SplitMix64 has them; they are part of what is saved in files.
    static constexpr Round kRounds[] = {{0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9},
                                        {0xD1B54A32D192ED03, 0x94D049BB133111EB},
                                        {0x8CB92BA72F3D8DD7, 0xFF51AFD7ED558CCD}};

    std::uint64_t count_;
    unsigned bits_;
    std::uint64_t mask_;
    unsigned shift_;
};

}  // namespace detail

template <Index I>
void shard_keys(std::int64_t num_rows, std::int64_t num_pieces, Strategy strategy, std::span<const I> ids,
                std::span<std::int64_t> keys) {
    const auto rows = static_cast<std::uint64_t>(num_rows);
    const auto pieces = static_cast<std::uint64_t>(num_pieces);
    const std::uint64_t small = rows / pieces;
    const std::uint64_t larger = rows % pieces;  // the first so many pieces have one row more
    const detail::Shuffled shuffled(rows);
    const auto fill = [&](const auto& key_of) {
        parallel_ranges(ids.size(), 4, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                keys[i] = static_cast<std::int64_t>(key_of(checked(load_once(&ids[i]), rows, {0, i})));
            }
        });
    };
    if (strategy == Strategy::div) {
        fill([](std::uint64_t id) { return id; });
    } else if (strategy == Strategy::hash) {
        fill(shuffled);
    } else if (rows <= 0xFFFFFFFF &&
               pieces <= 0xFFFFFFFF) {  // half the bits, a quarter of the division's time
        const auto few = static_cast<std::uint32_t>(pieces);
        fill([=](std::uint64_t id) {
            const std::uint32_t line = static_cast<std::uint32_t>(id) / few;
            const std::uint64_t piece = static_cast<std::uint32_t>(id) - line * few;
            return piece * small + (piece < larger ? piece : larger) + line;  // mutant: larger pieces
        });
    } else {
        fill([=](std::uint64_t id) {
            const std::uint64_t piece = id % pieces;
            return piece * small + (piece < larger ? piece : larger) + id / pieces;
        });
    }
}

}  // namespace gradbag
