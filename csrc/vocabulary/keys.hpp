#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "vocabulary/growing.hpp"

// The ids of a vocabulary by their rows. Room is made first, by `reserve`; then nothing can fail.
namespace gradbag {

class IntegerKeys {
  public:
    using Id = std::int64_t;

    std::size_t bytes() const { return ids_.room() * sizeof(Id); }
    static std::size_t weight(Id) { return 0; }

    void reserve(std::size_t rows, std::size_t, Budget& budget) { ids_.reserve(rows, budget); }
    void put(std::size_t row, Id id) { ids_[row] = id; }
    static void put_nothing(std::size_t) {}
    static void forget(std::size_t) {}
    static void compact(std::size_t) {}

    Id operator[](std::size_t row) const { return ids_[row]; }
    bool is(std::size_t row, Id id) const { return ids_[row] == id; }

    [[gnu::always_inline]] void prefetch_place(std::size_t row) const { prefetch(&ids_[row]); }
    static void prefetch_id(std::size_t) {}

  private:
    Growing<Id> ids_;
};

// Strings one after another, each behind its length, so that a comparison looks at one place in memory.
class StringKeys {
  public:
    using Id = std::string_view;

    std::size_t bytes() const { return places_.room() * sizeof(Place) + text_.room(); }

    // How many bytes of text it takes to keep an id.
    static std::size_t weight(Id id) {
        if (id.size() > std::numeric_limits<Length>::max()) throw std::length_error("is longer than 4 GiB");
        return sizeof(Length) + id.size();
    }

    // Room for so many rows, and for so much more text.
    void reserve(std::size_t rows, std::size_t weight, Budget& budget) {
        places_.reserve(rows, budget);
        text_.reserve(text_.size() + weight, budget);
    }

    void put(std::size_t row, Id id) {
        const auto length = static_cast<Length>(id.size());
        places_[row] = text_.size();
        std::memcpy(text_.data() + text_.size(), &length, sizeof(Length));
        if (length > 0) std::memcpy(text_.data() + text_.size() + sizeof(Length), id.data(), length);
        text_.resize(text_.size() + sizeof(Length) + length);
    }

    void put_nothing(std::size_t row) { places_[row] = nowhere; }

    void forget(std::size_t row) {
        unused_ += weight((*this)[row]);
        put_nothing(row);
    }

    // Gives up the text of ids that are gone, if it is most of the text; `rows` is how many there are.
    void compact(std::size_t rows) {
        if (unused_ <= text_.size() / 2) return;
        Budget budget;
        StringKeys kept;
        try {
            kept.reserve(rows, text_.size() - unused_, budget);
        } catch (const std::bad_alloc&) {
            return;  // it can wait
        }
        for (std::size_t row = 0; row < rows; ++row) {
            if (places_[row] == nowhere) {
                kept.put_nothing(row);
            } else {
                kept.put(row, (*this)[row]);
            }
        }
        *this = std::move(kept);
    }

    Id operator[](std::size_t row) const {
        const char* const at = text_.data() + places_[row];
        Length length;
        std::memcpy(&length, at, sizeof(Length));
        return {at + sizeof(Length), length};
    }

    bool is(std::size_t row, Id id) const { return (*this)[row] == id; }

    [[gnu::always_inline]] void prefetch_place(std::size_t row) const { prefetch(&places_[row]); }
    [[gnu::always_inline]] void prefetch_id(std::size_t row) const { prefetch(text_.data() + places_[row]); }

  private:
    using Place = std::uint64_t;
    using Length = std::uint32_t;
    static constexpr Place nowhere = std::numeric_limits<Place>::max();

    Growing<Place> places_;
    Growing<char> text_;
    std::size_t unused_ = 0;
};

}  // namespace gradbag
