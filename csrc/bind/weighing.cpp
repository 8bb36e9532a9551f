#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bind/convert.hpp"
#include "bind/lock.hpp"
#include "bind/parts.hpp"

namespace nb = nanobind;

namespace gradbag {

namespace {

constexpr std::size_t kDeepest = 100;       // what lies deeper protobuf refuses
constexpr std::size_t kFields = 32;         // numbers of fields that a table knows
constexpr std::size_t kLongestNumber = 64;  // bits

// What a field of a message weighs.
struct Weight {
    std::int64_t inside = -1;  // the message that it holds
    std::uint64_t each = 0;
    std::uint64_t of_byte = 0;
};

using Table = std::vector<Weight>;  // of all messages, one after the other

struct Level {
    std::size_t message;
    std::size_t at;
    std::size_t end;
};

std::uint64_t varint(const unsigned char* data, std::size_t& at, std::size_t end) {
    std::uint64_t value = 0;
    for (std::size_t shift = 0; at < end && shift < kLongestNumber; shift += 7) {
        const unsigned char byte = data[at++];
        value |= static_cast<std::uint64_t>(byte & 127u) << shift;
        if (byte < 128) return value;
    }
    at = end;
    return 0;
}

// Walks the messages of protobuf in `data`, of which the outermost is number 0, and adds up what they weigh.
std::pair<std::uint64_t, std::uint64_t> weigh(const unsigned char* data, std::size_t size, const Table& table,
                                              std::size_t counted, std::uint64_t most,
                                              std::uint64_t most_counted) {
    std::uint64_t weight = size;
    std::uint64_t count = 0;
    std::vector<Level> levels{{0, 0, size}};
    levels.reserve(kDeepest + 1);
    while (!levels.empty() && weight <= most && count <= most_counted) {
        Level& level = levels.back();
        if (level.at >= level.end) {
            levels.pop_back();
            continue;
        }
        const std::uint64_t tag = varint(data, level.at, level.end);
        const std::uint64_t field = tag >> 3;
        const Weight found = field < kFields ? table[level.message * kFields + field] : Weight{};
        switch (tag & 7) {
            case 2: {
                const std::uint64_t inner = varint(data, level.at, level.end);
                if (inner > level.end - level.at) {  // for the parser to say
                    levels.pop_back();
                    break;
                }
                const std::size_t begin = level.at;
                level.at += inner;
                weight += found.each + inner * found.of_byte;
                if (found.inside >= 0 && levels.size() < kDeepest) {
                    const auto inside = static_cast<std::size_t>(found.inside);
                    count += inside == counted;
                    levels.push_back({inside, begin, begin + inner});
                }
                break;
            }
            case 0:
                varint(data, level.at, level.end);
                weight += found.of_byte;
                break;
            case 1:
            case 5:
                level.at += (tag & 7) == 1 ? 8 : 4;
                weight += found.of_byte;
                break;
            default:
                levels.pop_back();
        }
    }
    return {weight, count};
}

nb::tuple weigh_message(const nb::bytes& data, nb::handle rows, std::size_t counted, std::uint64_t most,
                        std::uint64_t most_counted) {
    Table table;
    for (const nb::handle row : rows) {
        const std::vector<std::int64_t> numbers_of_row = numbers<std::int64_t>(row);
        const auto message = static_cast<std::size_t>(numbers_of_row.at(0));
        const auto field = static_cast<std::size_t>(numbers_of_row.at(1));
        if (field >= kFields) throw std::invalid_argument("a field with too large a number");
        if (table.size() < (message + 1) * kFields) table.resize((message + 1) * kFields);
        table[message * kFields + field] = {numbers_of_row.at(2),
                                            static_cast<std::uint64_t>(numbers_of_row.at(3)),
                                            static_cast<std::uint64_t>(numbers_of_row.at(4))};
    }
    const auto* const begin = reinterpret_cast<const unsigned char*>(data.c_str());
    std::pair<std::uint64_t, std::uint64_t> found;
    {
        const Unlocked unlocked;
        found = weigh(begin, data.size(), table, counted, most, most_counted);
    }
    return nb::make_tuple(found.first, found.second);
}

}  // namespace

void bind_weighing(nb::module_& m) {
    using nb::literals::operator""_a;
    m.def("weigh_message", &weigh_message, "data"_a, "rows"_a, "counted"_a, "most"_a, "most_counted"_a,
          "Bytes that a message of protobuf will take, and how many messages of one kind it holds.");
}

}  // namespace gradbag
