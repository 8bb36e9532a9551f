#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

// Ids side by side in memory that belongs to somebody else. A column tells its size and each id; a string
// that is null has no address.
namespace gradbag {

struct IntegerColumn {
    const std::int64_t* ids;
    std::size_t count;

    std::size_t size() const { return count; }
    std::int64_t operator[](std::size_t place) const { return ids[place]; }
};

inline bool is_null(std::int64_t) { return false; }
inline bool is_null(std::string_view id) { return id.data() == nullptr; }

// Bits that say which strings are there, as Arrow has them; without an address all are.
struct Validity {
    const std::uint8_t* bits;
    std::size_t first;

    bool operator()(std::size_t place) const {
        const std::size_t bit = first + place;
        return bits == nullptr || ((bits[bit / 8] >> (bit % 8)) & 1) != 0;
    }
};

// Strings one after another, and where each begins.
template <class Offset>
struct OffsetColumn {
    const Offset* offsets;
    const char* bytes;
    Validity validity;
    std::size_t count;

    std::size_t size() const { return count; }
    std::string_view operator[](std::size_t place) const {
        if (!validity(place)) return {};
        const Offset begin = offsets[place];
        const Offset end = offsets[place + 1];
        if (begin < 0 || end < begin) throw std::invalid_argument("has offsets that decrease");
        // An address even if there is nothing: the string is there, and empty.
        return {bytes == nullptr ? "" : bytes + begin, static_cast<std::size_t>(end - begin)};
    }
};

// Strings of a fixed width, filled up with zeros, as NumPy has them.
struct FixedColumn {
    const char* bytes;
    std::size_t width;
    std::size_t count;

    std::size_t size() const { return count; }
    std::string_view operator[](std::size_t place) const {
        const char* const begin = width == 0 ? "" : bytes + place * width;
        std::size_t length = width;
        while (length > 0 && begin[length - 1] == 0) --length;
        return {begin, length};
    }
};

}  // namespace gradbag
