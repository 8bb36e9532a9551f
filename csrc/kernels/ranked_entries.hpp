#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/read_entries.hpp"

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

// Free functions over restricted pointers: otherwise they would reload their pointers after every store.
inline void mark_keys(const std::uint32_t* __restrict keys, std::size_t count,
                      std::uint8_t* __restrict marks) {
    for (std::size_t i = 0; i < count; ++i) marks[keys[i]] = 1;
}

inline void replace_keys(std::uint32_t* __restrict keys, std::size_t count,
                         const std::uint32_t* __restrict by) {
    for (std::size_t i = 0; i < count; ++i) keys[i] = by[keys[i]];
}

}  // namespace detail

// The segments are sorted, the keys are indices, and there is a table of all possible ones.
inline RankedEntries rank_entries(UnsortedEntries<std::uint32_t> all) {
    const std::size_t size = all.keys.size();
    const std::size_t keys = std::size_t{all.largest} + 1;
    constexpr std::size_t most_marks = 4;  // each thread has its own, which are merged
    const std::size_t threads = std::min(threads_for(size), most_marks);
    Buffer<std::uint8_t> marks(threads * keys);
    std::memset(marks.data(), 0, marks.size());
    const Pieces parts(size, std::size_t{1} << 14);
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t slot) {
        const std::size_t begin = parts.begin(part);
        detail::mark_keys(all.keys.data() + begin, parts.end(part) - begin, marks.data() + slot * keys);
    });
    Buffer<std::uint32_t> indices(keys);
    Buffer<std::uint32_t> rank_of(keys);
    std::uint32_t count = 0;
    for (std::size_t key = 0; key < keys; ++key) {
        unsigned marked = 0;
        for (std::size_t slot = 0; slot < threads; ++slot) marked |= marks[slot * keys + key];
        // No branch: what does not occur is overwritten by the next one, and the last key does.
        indices[count] = static_cast<std::uint32_t>(key);
        rank_of[key] = count;
        count += marked;
    }
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::size_t begin = parts.begin(part);
        detail::replace_keys(all.keys.data() + begin, parts.end(part) - begin, rank_of.data());
    });
    return {std::move(all.keys), std::move(all.payloads), std::move(indices), count};
}

}  // namespace gradbag
