#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/thresholds.hpp"

namespace gradbag {

// What is known of some keys and payloads.
template <class Word>
struct EntryOrder {
    Word largest;  // of the keys
    bool sorted;
    bool payloads_sorted;
};

// Whether all entries of a part can be copied at once, which a reader may offer: copy(begin, end, keys,
// payloads) does it and returns what it saw, or nothing if one is at fault.
template <class Read, class Word>
concept CopiesEntries = requires(const Read& read, Word* words) {
    {
        read.copy(std::size_t{}, std::size_t{}, words, words)
    } -> std::same_as<std::optional<EntryOrder<Word>>>;
};

// Reads entries 0 .. count - 1: read(begin, end, put) calls put(i, key, payload) for each entry of a part, in
// order, or put(i, key) if the payload of each entry is its position. Several threads do it, each entry is
// read once, and the lowest that is at fault is found.
template <class Word, bool HasPayloads = true, class Read>
UnsortedEntries<Word> read_entries(std::size_t count, const Read& read) {
    UnsortedEntries<Word> all{Buffer<Word>(count), Buffer<Word>(HasPayloads ? count : 0), 0, true, true};
    const Pieces parts(count, kPartEntries);
    std::vector<EntryOrder<Word>> found(parts.count());
    parallel_for(parts.count(), threads_for(count), [&](std::size_t part, std::size_t) {
        Word* const keys = all.keys.data();
        Word* const payloads = all.payloads.data();
        if constexpr (CopiesEntries<Read, Word>) {
            if (const auto seen = read.copy(parts.begin(part), parts.end(part), keys, payloads)) {
                found[part] = *seen;
                return;
            }
        }
        Word largest = 0;
        Word before = 0;
        bool sorted = true;
        [[maybe_unused]] Word payload_before = 0;
        bool payloads_sorted = true;
        read(parts.begin(part), parts.end(part), [&](std::size_t i, std::size_t key, auto... payload) {
            const Word word = static_cast<Word>(key);
            sorted &= word >= before;
            before = word;
            largest = std::max(largest, word);
            keys[i] = word;
            [[maybe_unused]] const auto put_payload = [&](Word other) {
                payloads_sorted &= other >= payload_before;
                payload_before = other;
                payloads[i] = other;
            };
            (put_payload(static_cast<Word>(payload)), ...);
        });
        found[part] = {largest, sorted, payloads_sorted};
    });
    for (std::size_t part = 0; part < found.size(); ++part) {
        const std::size_t begin = parts.begin(part);
        all.largest = std::max(all.largest, found[part].largest);
        all.sorted =
            all.sorted && found[part].sorted && (begin == 0 || all.keys[begin] >= all.keys[begin - 1]);
        if constexpr (HasPayloads) {
            all.payloads_sorted = all.payloads_sorted && found[part].payloads_sorted &&
                                  (begin == 0 || all.payloads[begin] >= all.payloads[begin - 1]);
        }
    }
    return all;
}

// Whether these keys and payloads fit the shorter word, and the number of entries too.
inline bool fits_short_words(std::size_t key_bound, std::size_t payload_bound, std::size_t count) {
    constexpr std::size_t narrow_bound = std::numeric_limits<std::uint32_t>::max();
    return key_bound <= narrow_bound && payload_bound <= narrow_bound && count <= narrow_bound;
}

}  // namespace gradbag
