#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/buffer.hpp"
#include "vocabulary/growing.hpp"

namespace gradbag {

// A table by open addressing: the row of an id stands at the first free place from its home on. Beside it
// stands half of the id's hash, which tells nearly always whether it is worth looking at the id itself, and
// tells its home whatever the size of the table: to grow or to take something out needs no id.
class Slots {
  public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    // Rows beyond it would not fit the table when it is as full as it may be.
    static constexpr std::size_t most_rows = std::size_t{1} << 31;

    static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    Slots() : slots_(std::size_t{1} << least_bits) { clear(); }

    std::size_t bytes() const { return slots_.size() * sizeof(Slot); }

    // Makes room for `count` rows.
    void reserve(std::size_t count, Budget& budget) {
        unsigned bits = bits_;
        while (!is_enough(bits, count)) ++bits;
        if (bits == bits_) return;
        Slots grown(bits, budget);
        for (std::size_t place = 0; place < slots_.size(); ++place) {
            if (slots_[place].row != none) grown.put(slots_[place]);
        }
        budget.give(bytes());
        *this = std::move(grown);
    }

    [[gnu::always_inline]] void prefetch_home(std::uint32_t tag) const { prefetch(&slots_[home(tag)]); }

    // A place to look at, from which `next` goes on: it has the tag, or nothing.
    std::size_t first(std::uint32_t tag) const { return from(home(tag), tag); }
    std::size_t next(std::size_t place, std::uint32_t tag) const { return from(after(place), tag); }
    std::uint32_t row(std::size_t place) const { return slots_[place].row; }

    // The row with this tag that `is_it` knows, or none.
    template <class IsIt>
    std::uint32_t find(std::uint32_t tag, IsIt is_it) const {
        for (std::size_t place = first(tag);; place = next(place, tag)) {
            const std::uint32_t found = row(place);
            if (found == none || is_it(found)) return found;
        }
    }

    // There is room for it, and it is not there yet.
    void insert(std::uint32_t tag, std::uint32_t row) { put({tag, row}); }

    void erase(std::uint32_t tag, std::uint32_t row) {
        std::size_t hole = home(tag);
        while (slots_[hole].row != row) {
            if (slots_[hole].row == none) return;
            hole = after(hole);
        }
        // What follows moves up, unless it would come to stand before its home.
        for (std::size_t place = after(hole); slots_[place].row != none; place = after(place)) {
            const std::size_t wanted = home(slots_[place].tag);
            if (((place - wanted) & mask()) >= ((place - hole) & mask())) {
                slots_[hole] = slots_[place];
                hole = place;
            }
        }
        slots_[hole].row = none;
    }

  private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t row;
    };

    static constexpr unsigned least_bits = 4;

    // At most five eighths of the places are taken: then a search ends in the line where it begins, mostly.
    static bool is_enough(unsigned bits, std::size_t count) {
        return (std::size_t{1} << bits) / 8 * 5 >= count;
    }

    Slots(unsigned bits, Budget& budget)
        : bits_((budget.take((std::size_t{1} << bits) * sizeof(Slot)), bits)),
          slots_(std::size_t{1} << bits) {
        clear();
    }

    void clear() { std::memset(slots_.data(), 0xff, bytes()); }

    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t home(std::uint32_t tag) const { return tag >> (32 - bits_); }
    std::size_t after(std::size_t place) const { return (place + 1) & mask(); }

    std::size_t from(std::size_t place, std::uint32_t tag) const {
        while (slots_[place].tag != tag && slots_[place].row != none) place = after(place);
        return place;
    }

    void put(Slot slot) {
        std::size_t place = home(slot.tag);
        while (slots_[place].row != none) place = after(place);
        slots_[place] = slot;
    }

    unsigned bits_ = least_bits;
    Buffer<Slot> slots_;
};

}  // namespace gradbag
