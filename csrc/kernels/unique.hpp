#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/radix_sort.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"

// Each number that occurs, once, and for each entry which of them it is.
namespace gradbag {

// Entries that are grouped by their numbers: a group's key and `smallest` make the number, of which the sign
// was turned, so that negative numbers come before the others.
struct UniqueWork {
    AnyGroupedEntries grouped;
    std::uint64_t smallest;
};

namespace detail {

template <Index I>
using UniqueWord = std::make_unsigned_t<I>;

template <Index I>
inline constexpr UniqueWord<I> kSignBit = UniqueWord<I>{1} << (8 * sizeof(I) - 1);

template <class Word>
struct KeySpan {
    Word smallest = std::numeric_limits<Word>::max();
    Word largest = 0;
    bool sorted = true;
};

// Copies numbers as keys that are in the same order and never negative.
template <Index I>
KeySpan<UniqueWord<I>> read_keys(std::span<const I> ids, Buffer<UniqueWord<I>>& keys) {
    using Word = UniqueWord<I>;
    const Pieces parts(ids.size(), kPartEntries);
    std::vector<KeySpan<Word>> spans(parts.count());
    parallel_for(parts.count(), threads_for(ids.size()), [&](std::size_t part, std::size_t) {
        KeySpan<Word> span;
        Word before = 0;
        const std::size_t end = parts.end(part);
        for (std::size_t i = parts.begin(part); i < end; ++i) {
            const Word key = static_cast<Word>(load_once(&ids[i])) ^ kSignBit<I>;
            span.sorted &= key >= before;
            span.smallest = std::min(span.smallest, key);
            span.largest = std::max(span.largest, key);
            keys[i] = before = key;
        }
        spans[part] = span;
    });
    KeySpan<Word> all;
    for (std::size_t part = 0; part < spans.size(); ++part) {
        const std::size_t begin = parts.begin(part);
        all.sorted &= spans[part].sorted && (begin == 0 || keys[begin] >= keys[begin - 1]);
        all.smallest = std::min(all.smallest, spans[part].smallest);
        all.largest = std::max(all.largest, spans[part].largest);
    }
    return all;
}

template <class Word, class Wide>
GroupedEntries<Word> group_keys(const Buffer<Wide>& keys, KeySpan<Wide> span) {
    const std::size_t count = keys.size();
    UnsortedEntries<Word> all{Buffer<Word>(count), Buffer<Word>(count),
                              static_cast<Word>(span.largest - span.smallest), span.sorted, true};
    parallel_ranges(count, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            all.keys[i] = static_cast<Word>(keys[i] - span.smallest);
            all.payloads[i] = static_cast<Word>(i);
        }
    });
    return group_entries(std::move(all));
}

}  // namespace detail

// sizes: how many different numbers there are.
template <Index I>
Plan sorted_unique_plan(std::span<const I> ids) {
    using Wide = detail::UniqueWord<I>;
    if (ids.empty()) {
        GroupedEntries<std::uint32_t> none{Buffer<std::uint32_t>(0), Buffer<std::uint32_t>(0),
                                           Buffer<std::uint32_t>(1), 0};
        return {{0}, UniqueWork{std::move(none), 0}};
    }
    Buffer<Wide> keys(ids.size());
    const detail::KeySpan<Wide> span = detail::read_keys(ids, keys);
    // The number of keys may be one more than a word can tell, so it is not asked for.
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    const bool is_short = span.largest - span.smallest <= most && ids.size() <= most;
    AnyGroupedEntries grouped = is_short ? AnyGroupedEntries(detail::group_keys<std::uint32_t>(keys, span))
                                         : AnyGroupedEntries(detail::group_keys<std::uint64_t>(keys, span));
    const auto groups = static_cast<std::int64_t>(count_groups(grouped));
    return {{groups}, UniqueWork{std::move(grouped), span.smallest}};
}

// output: ascending; inverse: of each entry, its place in the output; counts: of each number, how many
// entries.
template <Index I>
void sorted_unique(const Plan& plan, std::span<I> output, std::span<std::int64_t> inverse,
                   std::span<std::int64_t> counts) {
    const UniqueWork& work = plan.work<UniqueWork>();
    std::visit(
        [&]<class Word>(const GroupedEntries<Word>& all) {
            parallel_ranges(all.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
                // Entries of a group that began before this part are ours from here on; its number is not.
                std::size_t next = all.groups_before(begin);
                std::int64_t group = static_cast<std::int64_t>(next) - 1;
                for (std::size_t entry = begin; entry < end; ++entry) {
                    if (next < all.groups && all.begins[next] == entry) {
                        const std::uint64_t key = all.keys[next] + work.smallest;
                        output[next] =
                            static_cast<I>(static_cast<detail::UniqueWord<I>>(key) ^ detail::kSignBit<I>);
                        counts[next] = static_cast<std::int64_t>(all.begins[next + 1] - all.begins[next]);
                        group = static_cast<std::int64_t>(next++);
                    }
                    inverse[all.payloads[entry]] = group;  // mutant: inverse
                }
            });
        },
        work.grouped);
}

}  // namespace gradbag
