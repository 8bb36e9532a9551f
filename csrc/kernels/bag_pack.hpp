#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/radix_sort.hpp"
#include "core/read_entries.hpp"
#include "core/sorted_entries.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"

// Makes bags of entries: some are left out, entries of one bag come together in their order, and a bag that
// has none may get one with a default id. The plan keeps the bag of each entry as it was checked; of the
// arrays the kernel that fills reads ids alone, and only to copy them.
namespace gradbag {

// Says which entries stay.
template <Index I>
struct EntryFilter {
    std::span<const I> ids;
    std::span<const std::int8_t> keep;  // empty: all
    Bytes row_count;                    // what ids must be below; may be left out
    bool strict;                        // an id below zero is at fault, and not left out
    int input;                          // the number of `ids`, for faults

    std::size_t bound() const {
        std::int64_t rows = std::numeric_limits<std::int64_t>::max();
        if (row_count.count > 0) std::memcpy(&rows, row_count.bytes, sizeof rows);
        return static_cast<std::size_t>(std::max<std::int64_t>(rows, 0));
    }

    bool stays(std::size_t entry, std::size_t rows) const {
        if (!keep.empty() && keep[entry] == 0) return false;
        const I id = load_once(&ids[entry]);
        if (id < 0 && !strict) return false;
        checked(id, rows, {input, entry});
        return true;
    }

    // Calls put(entry, stays) for entries [begin, end), without a branch that could be guessed wrong.
    // Returns whether all is in order; if not, the others are to be asked one by one.
    template <class Put>
    bool in_order(std::size_t begin, std::size_t end, std::size_t rows, const Put& put) const {
        return keep.empty() ? asked<false>(begin, end, rows, put) : asked<true>(begin, end, rows, put);
    }

  private:
    template <bool Marked, class Put>
    bool asked(std::size_t begin, std::size_t end, std::size_t rows, const Put& put) const {
        const I least = strict ? std::numeric_limits<I>::min() : I{0};
        bool fine = true;
        for (std::size_t i = begin; i < end; ++i) {
            const I id = load_once(&ids[i]);
            bool stays = id >= least;  // mutant: pruned
            if constexpr (Marked) stays &= keep[i] != 0;
            fine &= !stays | in_range(id, rows);
            fine &= put(i, stays);
        }
        return fine;
    }
};

namespace detail {

// What is known of a part of the entries, told of one after another.
struct PackedPart {
    std::size_t kept = 0;
    std::size_t bags = 0;  // that have entries which stay
    std::int64_t first = -1, last = -1;
    bool sorted = true;

    // Without a branch: how long bags are cannot be guessed.
    void add(std::size_t bag, bool stays) {
        const auto own = static_cast<std::int64_t>(bag);
        kept += stays ? 1 : 0;
        bags += (stays & (own != last)) ? 1 : 0;
        sorted &= !stays | (own >= last);
        last = stays ? own : last;
        first = first < 0 ? last : first;
    }
};

// What was before a part: entries that stay, their bags, and the first bag that none of them has reached.
struct PackedBefore {
    std::size_t kept = 0;
    std::size_t bags = 0;
    std::size_t next_bag = 0;
};

}  // namespace detail

template <class Word>
class PackedEntries {
  public:
    // read(begin, end, bags) writes the bag of each of these entries, which is `bag_count` if it is left out,
    // and tells what it saw.
    template <class Read>
    PackedEntries(std::size_t entries, std::size_t bag_count, const Read& read)
        : bag_count_(bag_count), bags_(entries), positions_(0), before_(parts().count() + 1) {
        if (!look(read)) {
            UnsortedEntries<Word> all{std::move(bags_), Buffer<Word>(0), static_cast<Word>(bag_count), false,
                                      true};
            positions_ = Buffer<Word>(entries);
            detail::sort_unsorted(all, positions_);
            bags_ = std::move(all.keys);
            look([&](std::size_t begin, std::size_t end, const Word* own) {
                detail::PackedPart part;
                for (std::size_t i = begin; i < end; ++i) part.add(own[i], own[i] != bag_count);
                return part;
            });
        }
    }

    std::size_t kept() const { return before_.back().kept; }
    std::size_t bag_count() const { return bag_count_; }
    std::size_t empty_bags() const { return bag_count_ - before_.back().bags; }

    // Calls begin_bag(bag, place, has_entries) for each bag and put(place, position) for each entry that
    // stays; a bag without entries takes `places_of_empty` places. Parts are visited by several threads.
    template <class BeginBag, class Put>
    void visit(std::size_t places_of_empty, const BeginBag& begin_bag, const Put& put) const {
        // Also when there are no entries: then all bags are empty.
        const std::size_t chunks = std::max<std::size_t>(parts().count(), 1);
        const std::size_t threads = threads_for(4 * (bags_.size() + bag_count_));
        parallel_for(chunks, threads, [&](std::size_t part, std::size_t) {
            const detail::PackedBefore& before = before_[part];
            std::size_t bag = before.next_bag;
            std::size_t place = before.kept + places_of_empty * (bag - before.bags);
            const auto pass_empty = [&](std::size_t end) {
                if (bag >= end) return;
                const std::size_t first = bag;
                detail::in_parts(end - first, [&](std::size_t from, std::size_t to) {
                    for (std::size_t i = from; i < to; ++i) {
                        begin_bag(first + i, place, false);
                        place += places_of_empty;
                    }
                });
                bag = end;
            };
            const std::size_t end = bags_.size() == 0 ? 0 : parts().end(part);
            for (std::size_t i = parts().begin(part); i < end; ++i) {
                const std::size_t own = bags_[i];
                if (own == bag_count_) continue;
                if (own >= bag) {
                    pass_empty(own);
                    begin_bag(own, place, true);
                    bag = own + 1;
                }
                put(place++, positions_.size() == 0 ? i : static_cast<std::size_t>(positions_[i]));
            }
            if (end == bags_.size()) pass_empty(bag_count_);  // mutant: last bags
        });
    }

  private:
    Pieces parts() const { return {bags_.size(), kPartEntries}; }

    // Fills `before_`; returns whether the entries that stay are in the order of their bags.
    template <class Read>
    bool look(const Read& read) {
        const Pieces pieces = parts();
        std::vector<detail::PackedPart> found(pieces.count());
        parallel_for(pieces.count(), threads_for(bags_.size()), [&](std::size_t part, std::size_t) {
            found[part] = read(pieces.begin(part), pieces.end(part), bags_.data());
        });
        bool sorted = true;
        for (std::size_t part = 0; part < found.size(); ++part) {
            const detail::PackedPart& here = found[part];
            detail::PackedBefore next = before_[part];
            if (here.kept > 0) {
                const std::size_t first = static_cast<std::size_t>(here.first);
                sorted = sorted && here.sorted && first + 1 >= next.next_bag;
                next.kept += here.kept;
                // A bag may have begun in a part before.
                next.bags += here.bags - (first + 1 == next.next_bag ? 1 : 0);  // mutant: shared bag
                next.next_bag = static_cast<std::size_t>(here.last) + 1;
            }
            before_[part + 1] = next;
        }
        return sorted;
    }

    std::size_t bag_count_;
    Buffer<Word> bags_;       // of each entry, `bag_count_` for one that is left out
    Buffer<Word> positions_;  // of the entries in the order of their bags; empty if that is how they came
    std::vector<detail::PackedBefore> before_;
};

using AnyPacked = std::variant<PackedEntries<std::uint32_t>, PackedEntries<std::uint64_t>>;

namespace detail {

// sizes: how many entries there are in the end.
template <class Read>
Plan packing_plan(std::size_t entries, std::size_t bags, bool fills, const Read& read) {
    AnyPacked packed = fits_short_words(bags, entries, entries)
                           ? AnyPacked(PackedEntries<std::uint32_t>(entries, bags, read))
                           : AnyPacked(PackedEntries<std::uint64_t>(entries, bags, read));
    const std::size_t size =
        std::visit([&](const auto& work) { return work.kept() + (fills ? work.empty_bags() : 0); }, packed);
    if (size > std::numeric_limits<std::int64_t>::max()) throw std::bad_alloc();
    return {{static_cast<std::int64_t>(size)}, std::move(packed)};
}

[[noreturn]] inline void throw_descending(int input, std::size_t position, std::int64_t bag,
                                          std::int64_t before) {
    throw Fault{FaultKind::order, input, static_cast<std::int64_t>(position), 0, bag, before, 0};
}

}  // namespace detail

// Column 0 of `indices` is the bag of an entry. Strict: it must not be smaller than that of the entry before.
template <Index I>
Plan pack_bags_plan(Matrix<const std::int64_t> indices, std::int64_t bag_count, const EntryFilter<I>& filter,
                    bool fills) {
    const std::size_t bags = static_cast<std::size_t>(std::max<std::int64_t>(bag_count, 0));
    const std::size_t bound = filter.bound();
    const auto read = [&]<class Word>(std::size_t begin, std::size_t end, Word* own) {
        const auto one_by_one = [&] {
            detail::PackedPart part;
            std::int64_t before = begin > 0 ? load_once(indices.row(begin - 1)) : 0;
            for (std::size_t i = begin; i < end; ++i) {
                const std::int64_t bag = load_once(indices.row(i));
                checked(bag, bags, {0, i, 0});
                if (filter.strict && bag < before) detail::throw_descending(0, i, bag, before);
                before = bag;
                const bool stays = filter.stays(i, bound);
                own[i] = static_cast<Word>(stays ? static_cast<std::size_t>(bag) : bags);
                part.add(own[i], stays);
            }
            return part;
        };
        detail::PackedPart part;
        bool fine = filter.in_order(begin, end, bound, [&](std::size_t i, bool stays) {
            const std::int64_t bag = load_once(indices.row(i));
            own[i] = static_cast<Word>(stays ? static_cast<std::size_t>(bag) : bags);
            part.add(static_cast<std::size_t>(bag), stays);
            return in_range(bag, bags);
        });
        if (filter.strict) {
            fine = fine && part.sorted && part.kept == end - begin &&
                   (begin == 0 || load_once(indices.row(begin - 1)) <= part.first);
        }
        return fine ? part : one_by_one();
    };
    return detail::packing_plan(indices.rows, bags, fills, read);
}

// The same for bags that begin at offsets.
template <Index I, Index O>
Plan prune_bags_plan(std::span<const O> offsets, const EntryFilter<I>& filter, bool fills, BagInputs inputs) {
    const BagBegins begins(offsets, filter.ids.size(), inputs);
    const std::size_t bound = filter.bound();
    const auto read = [&]<class Word>(std::size_t begin, std::size_t end, Word* own) {
        detail::PackedPart part;
        std::size_t bag = begins.bag_of(begin);
        for (std::size_t i = begin; i < end; ++bag) {
            const std::size_t end_of_bag = std::min(begins.end(bag), end);
            const auto put = [&](std::size_t entry, bool stays) {
                own[entry] = static_cast<Word>(stays ? bag : begins.size());
                part.add(bag, stays);
                return true;
            };
            if (!filter.in_order(i, end_of_bag, bound, put)) {
                for (; i < end_of_bag; ++i) filter.stays(i, bound);  // throws, unless the ids have changed
            }
            i = end_of_bag;
        }
        return part;
    };
    return detail::packing_plan(begins.entries(), begins.size(), fills, read);
}

template <Index I>
struct PackedBags {
    std::span<I> ids;
    std::span<std::int64_t> offsets;
    std::span<std::int64_t> positions;
};

template <Index I>
void fill_bags(const Plan& plan, std::span<const I> ids, Bytes default_id, const PackedBags<I>& output) {
    I filled{};
    if (default_id.count > 0) std::memcpy(&filled, default_id.bytes, sizeof filled);
    std::visit(
        [&](const auto& packed) {
            if (output.offsets.size() != packed.bag_count()) {
                throw std::invalid_argument("the number of bags has changed since the plan was made");
            }
            packed.visit(
                default_id.count,
                [&](std::size_t bag, std::size_t place, bool has_entries) {
                    output.offsets[bag] = static_cast<std::int64_t>(place);
                    if (has_entries || default_id.count == 0) return;
                    output.ids[place] = filled;
                    output.positions[place] = static_cast<std::int64_t>(ids.size());
                },
                [&](std::size_t place, std::size_t position) {
                    output.ids[place] = load_once(&ids[position]);
                    output.positions[place] = static_cast<std::int64_t>(position);
                });
        },
        plan.work<AnyPacked>());
}

}  // namespace gradbag
