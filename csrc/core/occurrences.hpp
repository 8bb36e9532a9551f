#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/thresholds.hpp"

namespace gradbag {

// Which numbers below a bound occur. Each thread has a set of its own, and they are merged when they are
// read. A number has a byte while they all fit the second-level cache, since many bits share a word, which
// would have to be read after it was written; beyond it a bit.
class Occurrences {
  public:
    Occurrences(std::size_t bound, std::size_t threads)
        : words_(bound / 64 + 1), bytes_(bound <= kOccurrenceBytes) {
        for (std::size_t slot = 0; slot < threads; ++slot) {
            Buffer<std::uint64_t> set(bytes_ ? 8 * words_ : words_);
            std::memset(set.data(), 0, set.size() * sizeof(std::uint64_t));
            sets_.push_back(std::move(set));
        }
    }

    void add(std::size_t slot, const std::uint32_t* numbers, std::size_t count) {
        // A copy of the pointer, which would otherwise be read again after every store.
        std::uint64_t* const words = sets_[slot].data();
        if (bytes_) {
            std::uint8_t* const bytes = reinterpret_cast<std::uint8_t*>(words);
            for (std::size_t i = 0; i < count; ++i) bytes[numbers[i]] = 1;
        } else {
            for (std::size_t i = 0; i < count; ++i) {
                words[numbers[i] / 64] |= std::uint64_t{1} << (numbers[i] % 64);
            }
        }
    }

    // How many words of 64 numbers there are, and which of the numbers of a word occur.
    std::size_t words() const { return words_; }
    std::uint64_t operator[](std::size_t word) const {
        std::uint64_t bits = 0;
        for (const Buffer<std::uint64_t>& set : sets_) {
            if (!bytes_) {
                bits |= set[word];
                continue;
            }
            for (std::size_t eight = 0; eight < 8; ++eight)
                bits |= packed(set[8 * word + eight]) << (8 * eight);
        }
        return bits;
    }

  private:
    // The lowest bits of eight bytes, that of the first byte in memory lowest.
    static std::uint64_t packed(std::uint64_t bytes) {
        if constexpr (std::endian::native == std::endian::little) {
            return (bytes * 0x0102040810204080u) >> 56;
        } else {
            return (bytes * 0x8040201008040201u) >> 56;
        }
    }

    std::size_t words_;
    bool bytes_;
    std::vector<Buffer<std::uint64_t>> sets_;
};

}  // namespace gradbag
