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

// What is known of a part of the entries, told of one after another.
struct PackedPart {
    std::size_t kept = 0;
    std::size_t bags = 0;  // that have entries which stay
    std::int64_t first = -1, last = -1;
    bool sorted = true;

    // Without a branch: how long bags are cannot be guessed.
    void add(std::int64_t bag, bool stays) {
        kept += stays ? 1 : 0;
        bags += (stays & (bag != last)) ? 1 : 0;
        sorted &= !stays | (bag >= last);
        last = stays ? bag : last;
        first = first < 0 ? last : first;
    }
};

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

    // Writes the bag of each of the entries [begin, end), which bag_of tells, or `bag_count` if it is left
    // out. There is no branch that could be guessed wrong. Returns whether all is in order; if not, they are
    // to be asked one by one.
    template <class Word, class BagOf>
    bool in_order(std::size_t begin, std::size_t end, std::size_t rows, std::size_t bag_count, Word* own,
                  const BagOf& bag_of, PackedPart& part) const {
        return keep.empty() ? asked<false>(begin, end, rows, bag_count, own, bag_of, part)
                            : asked<true>(begin, end, rows, bag_count, own, bag_of, part);
    }

  private:
    template <bool Marked, class Word, class BagOf>
    bool asked(std::size_t begin, std::size_t end, std::size_t rows, std::size_t bag_count,
               Word* __restrict own, BagOf bag_of, PackedPart& told) const {
        const I least = strict ? std::numeric_limits<I>::min() : I{0};
        const I* const from = ids.data();
        const std::int8_t* const marks = keep.data();
        PackedPart part = told;  // in registers
        bool fine = true;
        for (std::size_t i = begin; i < end; ++i) {
            const I id = load_once(from + i);
            bool stays = id >= least;  // mutant: pruned
            if constexpr (Marked) stays &= marks[i] != 0;
            const std::int64_t bag = bag_of(i);
            fine &= (!stays | in_range(id, rows)) & in_range(bag, bag_count);
            own[i] = static_cast<Word>(stays ? static_cast<std::size_t>(bag) : bag_count);
            part.add(bag, stays);
        }
        told = part;
        return fine;
    }
};

namespace detail {

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
                PackedPart part;
                for (std::size_t i = begin; i < end; ++i) {
                    part.add(static_cast<std::int64_t>(own[i]), own[i] != bag_count);
                }
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
            const auto put_all = [&, bag_count = bag_count_, bags = bags_.data(), put](auto position_of) {
                for (std::size_t i = parts().begin(part); i < end;) {
                    const std::size_t own = bags[i];
                    if (own != bag_count && own >= bag) {
                        pass_empty(own);
                        begin_bag(own, place, true);
                        bag = own + 1;
                    }
                    // What follows of the same bag, in a loop that keeps all it needs in registers.
                    std::size_t to = place;
                    for (; i < end && (bags[i] == own || bags[i] == bag_count); ++i) {
                        if (bags[i] == bag_count) continue;
                        put(to++, position_of(i));
                    }
                    place = to;
                }
            };
            if (positions_.size() == 0) {
                put_all([](std::size_t i) { return i; });
            } else {
                put_all([positions = positions_.data()](std::size_t i) {
                    return static_cast<std::size_t>(positions[i]);
                });
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
        std::vector<PackedPart> found(pieces.count());
        parallel_for(pieces.count(), threads_for(bags_.size()), [&](std::size_t part, std::size_t) {
            found[part] = read(pieces.begin(part), pieces.end(part), bags_.data());
        });
        bool sorted = true;
        for (std::size_t part = 0; part < found.size(); ++part) {
            const PackedPart& here = found[part];
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
            PackedPart part;
            std::int64_t before = begin > 0 ? load_once(indices.row(begin - 1)) : 0;
            for (std::size_t i = begin; i < end; ++i) {
                const std::int64_t bag = load_once(indices.row(i));
                checked(bag, bags, {0, i, 0});
                if (filter.strict && bag < before) detail::throw_descending(0, i, bag, before);
                before = bag;
                const bool stays = filter.stays(i, bound);
                own[i] = static_cast<Word>(stays ? static_cast<std::size_t>(bag) : bags);
                part.add(bag, stays);
            }
            return part;
        };
        PackedPart part;
        const auto bag_of = [indices](std::size_t i) { return load_once(indices.row(i)); };
        bool fine = filter.in_order(begin, end, bound, bags, own, bag_of, part);
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
        PackedPart part;
        std::size_t bag = begins.bag_of(begin);
        for (std::size_t i = begin; i < end; ++bag) {
            const std::size_t end_of_bag = std::min(begins.end(bag), end);
            const auto this_bag = [bag](std::size_t) { return static_cast<std::int64_t>(bag); };
            if (!filter.in_order(i, end_of_bag, bound, begins.size(), own, this_bag, part)) {
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
                // Pointers of its own: others would be loaded again after every store.
                [from = ids.data(), to = output.ids.data(), positions = output.positions.data()](
                    std::size_t place, std::size_t position) {
                    to[place] = load_once(from + position);
                    positions[place] = static_cast<std::int64_t>(position);
                });
        },
        plan.work<AnyPacked>());
}

}  // namespace gradbag
