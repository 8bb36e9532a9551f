#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/thresholds.hpp"
#include "kernels/bag_begins.hpp"

// Entries of bags, brought to the shards that their keys belong to. A pair is a bag and a shard that has
// entries of it; entries of a pair stay in order, pairs of a shard are in the order of their bags.
namespace gradbag {

// Where the entries and the pairs of a part of the bags go, shard by shard.
struct RoutePlaces {
    std::size_t entries;
    std::size_t pairs;
};

struct RouteWork {
    BagBegins bags;
    Buffer<std::int64_t> keys;     // within their shards
    Buffer<std::uint32_t> shards;  // of each entry
    Pieces parts;                  // of the bags
    std::size_t shard_count;
    std::vector<RoutePlaces>
        places;  // for each part and shard where it begins; at last the ends of all shards
};

namespace detail {

// The shard of a key: the last that begins at it or before.
class ShardSearch {
  public:
    ShardSearch(std::span<const std::int64_t> starts, std::size_t num_rows) : starts_(starts.size()) {
        for (std::size_t shard = 0; shard < starts.size(); ++shard) {
            const std::int64_t start = load_once(&starts[shard]);
            checked(start, shard == 0 ? 1 : num_rows + 1, {2, shard});
            if (shard > 0 && start < starts_[shard - 1]) {
                throw Fault{FaultKind::order,   2, static_cast<std::int64_t>(shard), -1, start,
                            starts_[shard - 1], 0};
            }
            starts_[shard] = start;
        }
        // Shards are about equally large, so a product finds the one or its neighbour.
        scale_ = num_rows > 0 ? static_cast<double>(starts.size()) / static_cast<double>(num_rows) : 0;
    }

    std::size_t operator()(std::int64_t key) const {
        const std::size_t last = starts_.size() - 1;
        std::size_t shard = std::min(static_cast<std::size_t>(static_cast<double>(key) * scale_), last);
        while (starts_[shard] > key) --shard;  // mutant: guessed
        while (shard < last && starts_[shard + 1] <= key) ++shard;
        return shard;
    }

    std::int64_t start(std::size_t shard) const { return starts_[shard]; }
    std::size_t size() const { return starts_.size(); }

  private:
    std::vector<std::int64_t> starts_;
    double scale_;
};

inline constexpr std::size_t kNoBag = ~std::size_t{0};

}  // namespace detail

// sizes: the number of pairs.
template <Index O>
Plan route_bags_plan(std::int64_t num_rows, std::span<const std::int64_t> keys, std::span<const O> offsets,
                     std::span<const std::int64_t> starts) {
    const auto rows = static_cast<std::size_t>(num_rows);
    const detail::ShardSearch shard_of(starts, rows);
    BagBegins bags(offsets, keys.size(), {0, 1});
    const std::size_t shards = shard_of.size();
    const std::size_t mean = bags.size() > 0 ? keys.size() / bags.size() + 1 : 1;
    const Pieces parts(bags.size(), std::max<std::size_t>(kPartEntries / mean, 1));
    RouteWork work{std::move(bags),
                   Buffer<std::int64_t>(keys.size()),
                   Buffer<std::uint32_t>(keys.size()),
                   parts,
                   shards,
                   std::vector<RoutePlaces>((parts.count() + 1) * shards)};
    parallel_for(parts.count(), threads_for(keys.size()), [&](std::size_t part, std::size_t) {
        RoutePlaces* const counts = work.places.data() + part * shards;
        std::vector<std::size_t> last_bag(shards, detail::kNoBag);
        for (std::size_t bag = parts.begin(part); bag < parts.end(part); ++bag) {
            const std::size_t end = work.bags.end(bag);
            for (std::size_t entry = work.bags.begin(bag); entry < end; ++entry) {
                const auto key =
                    static_cast<std::int64_t>(checked(load_once(&keys[entry]), rows, {0, entry}));
                const std::size_t shard = shard_of(key);
                work.keys[entry] = key - shard_of.start(shard);
                work.shards[entry] = static_cast<std::uint32_t>(shard);
                ++counts[shard].entries;
                counts[shard].pairs += std::exchange(last_bag[shard], bag) != bag ? 1 : 0;
            }
        }
    });
    RoutePlaces place{0, 0};
    for (std::size_t shard = 0; shard < shards; ++shard) {
        for (std::size_t part = 0; part < parts.count(); ++part) {
            RoutePlaces& counted = work.places[part * shards + shard];
            place.entries += std::exchange(counted.entries, place.entries);
            place.pairs += std::exchange(counted.pairs, place.pairs);
        }
        work.places[parts.count() * shards + shard] = place;
    }
    return {{static_cast<std::int64_t>(place.pairs)}, std::move(work)};
}

// What travels, shard after shard.
struct RoutedBags {
    std::span<std::int64_t> rows;     // of each entry, within its shard
    std::span<std::int64_t> order;    // which entry it was
    std::span<std::int64_t> splits;   // entries of each shard
    std::span<std::int64_t> bags;     // of each pair
    std::span<std::int64_t> lengths;  // entries of each pair
    std::span<std::int64_t> pairs;    // of each shard
};

inline void route_bags(const Plan& plan, const RoutedBags& out) {
    const RouteWork& work = plan.work<RouteWork>();
    const std::size_t shards = work.shard_count;
    const RoutePlaces* const ends = work.places.data() + work.parts.count() * shards;
    for (std::size_t shard = 0; shard < shards; ++shard) {
        const RoutePlaces before = shard > 0 ? ends[shard - 1] : RoutePlaces{0, 0};
        out.splits[shard] = static_cast<std::int64_t>(ends[shard].entries - before.entries);
        out.pairs[shard] = static_cast<std::int64_t>(ends[shard].pairs - before.pairs);
    }
    parallel_for(work.parts.count(), threads_for(work.keys.size()), [&](std::size_t part, std::size_t) {
        const RoutePlaces* const first = work.places.data() + part * shards;
        std::vector<RoutePlaces> next(first, first + shards);
        std::vector<std::size_t> last_bag(shards, detail::kNoBag);
        for (std::size_t bag = work.parts.begin(part); bag < work.parts.end(part); ++bag) {
            const std::size_t end = work.bags.end(bag);
            for (std::size_t entry = work.bags.begin(bag); entry < end; ++entry) {
                const std::size_t shard = work.shards[entry];
                RoutePlaces& place = next[shard];
                if (std::exchange(last_bag[shard], bag) != bag) {
                    out.bags[place.pairs] = static_cast<std::int64_t>(bag);
                    out.lengths[place.pairs++] = 0;
                }
                ++out.lengths[place.pairs - 1];
                out.rows[place.entries] = work.keys[entry];  // mutant: routed
                out.order[place.entries++] = static_cast<std::int64_t>(entry);
            }
        }
    });
}

}  // namespace gradbag
