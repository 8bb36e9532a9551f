#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/buffer.hpp"
#include "vocabulary/growing.hpp"

namespace gradbag {

// How often ids that have no row yet were seen, in eight bytes an id, be it a number or a long string: 48
// bits of its hash and 16 bits of the count. Two ids with the same 48 bits are counted together.
class Sightings {
  public:
    static constexpr std::uint64_t most = 0xffff;

    Sightings() : slots_(std::size_t{1} << least_bits) { clear(); }

    std::size_t size() const { return size_; }
    std::size_t bytes() const { return slots_.size() * sizeof(std::uint64_t); }

    void reserve(std::size_t count, Budget& budget) {
        unsigned bits = bits_;
        while ((std::size_t{1} << bits) / 8 * 5 < count) ++bits;
        if (bits == bits_) return;
        budget.take((std::size_t{1} << bits) * sizeof(std::uint64_t));
        Sightings grown(bits);
        each([&](std::uint64_t slot) { grown.set(slot, slot & most); });
        budget.give(bytes());
        *this = std::move(grown);
    }

    [[gnu::always_inline]] void prefetch_home(std::uint64_t hash) const { prefetch(&slots_[home(hash)]); }

    std::uint64_t count(std::uint64_t hash) const { return slots_[find(hash)] & most; }

    // There is room for it.
    void set(std::uint64_t hash, std::uint64_t count) {
        std::uint64_t& slot = slots_[find(hash)];
        size_ += slot == 0 ? 1 : 0;
        slot = (hash & ~most) | count;
    }

    void erase(std::uint64_t hash) {
        std::size_t hole = find(hash);
        if (slots_[hole] == 0) return;
        // What follows moves up, unless it would come to stand before its home.
        for (std::size_t place = after(hole); slots_[place] != 0; place = after(place)) {
            if (((place - home(slots_[place])) & mask()) >= ((place - hole) & mask())) {
                slots_[hole] = slots_[place];
                hole = place;
            }
        }
        slots_[hole] = 0;
        --size_;
    }

    // Calls visit(slot): a hash whose last 16 bits are the count.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t place = 0; place < slots_.size(); ++place) {
            if (slots_[place] != 0) visit(slots_[place]);
        }
    }

  private:
    static constexpr unsigned least_bits = 4;

    explicit Sightings(unsigned bits) : bits_(bits), slots_(std::size_t{1} << bits) { clear(); }

    void clear() { std::memset(slots_.data(), 0, bytes()); }

    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t home(std::uint64_t hash) const { return hash >> (64 - bits_); }
    std::size_t after(std::size_t place) const { return (place + 1) & mask(); }
    std::size_t find(std::uint64_t hash) const {
        std::size_t place = home(hash);
        while (slots_[place] != 0 && ((slots_[place] ^ hash) & ~most) != 0) place = after(place);
        return place;
    }

    unsigned bits_ = least_bits;
    std::size_t size_ = 0;
    Buffer<std::uint64_t> slots_;  // 0: free, since nothing was seen 0 times
};

}  // namespace gradbag
