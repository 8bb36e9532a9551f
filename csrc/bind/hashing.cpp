#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "bind/lock.hpp"
#include "bind/parts.hpp"
#include "bind/strings.hpp"
#include "core/parallel.hpp"
#include "vocabulary/hash_strings.hpp"

namespace gradbag {

namespace {

using Buckets = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What it takes to hash a string, compared with an element of the other kernels.
constexpr std::size_t kStringWork = 8;

// Writes the bucket of each string; -1, or the place of a string that is null.
template <class Hash>
std::int64_t fill(const Strings& strings, std::uint64_t count, const Buckets& buckets, Hash hash) {
    if (buckets.shape(0) != strings.size() || count == 0)
        throw std::invalid_argument("sizes that do not fit");
    const Unlocked unlocked;
    constexpr std::int64_t nowhere = -1;
    std::atomic<std::int64_t> null = nowhere;
    strings.visit([&](const auto& column) {
        parallel_ranges(column.size(), kStringWork, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t place = begin; place < end; ++place) {
                const std::string_view text = column[place];
                if (is_null(text)) {
                    // The first of all, whoever finds one first.
                    const auto found = static_cast<std::int64_t>(place);
                    std::int64_t before = null;
                    while ((before == nowhere || found < before) &&
                           !null.compare_exchange_weak(before, found)) {
                    }
                    return;
                }
                buckets.data()[place] = static_cast<std::int64_t>(hash(text) % count);
            }
        });
    });
    return null;
}

void fill_of_numbers(const Numbers& ids, std::uint64_t count, const Buckets& buckets) {
    if (buckets.shape(0) != ids.shape(0) || count == 0) throw std::invalid_argument("sizes that do not fit");
    const Unlocked unlocked;
    parallel_ranges(ids.shape(0), kStringWork, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t place = begin; place < end; ++place) {
            char text[24];
            const auto written = std::to_chars(text, text + sizeof(text), ids.data()[place]);
            const std::string_view digits(text, static_cast<std::size_t>(written.ptr - text));
            buckets.data()[place] = static_cast<std::int64_t>(FarmHash::of_at_most_32(digits) % count);
        }
    });
}

}  // namespace

void bind_hashing(nb::module_& m) {
    using nb::literals::operator""_a;
    m.def(
        "hash_farm",
        [](const Strings& strings, std::uint64_t count, const Buckets& buckets) {
            return fill(strings, count, buckets, &FarmHash::fingerprint);
        },
        "strings"_a, "count"_a, "buckets"_a.noconvert());
    m.def(
        "hash_sip",
        [](const Strings& strings, std::uint64_t count, const Buckets& buckets, std::uint64_t first,
           std::uint64_t second) {
            return fill(strings, count, buckets,
                        [&](std::string_view text) { return SipHash::hash(text, {first, second}); });
        },
        "strings"_a, "count"_a, "buckets"_a.noconvert(), "first"_a, "second"_a);
    m.def(
        "hash_murmur",
        [](const Strings& strings, std::uint64_t count, const Buckets& buckets) {
            return fill(strings, count, buckets, &murmur_hash);
        },
        "strings"_a, "count"_a, "buckets"_a.noconvert());
    m.def("hash_digits", &fill_of_numbers, "ids"_a.noconvert(), "count"_a, "buckets"_a.noconvert());
}

}  // namespace gradbag
