#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/thresholds.hpp"
#include "vocabulary/columns.hpp"
#include "vocabulary/growing.hpp"
#include "vocabulary/keys.hpp"
#include "vocabulary/mixing.hpp"
#include "vocabulary/sightings.hpp"
#include "vocabulary/slots.hpp"

namespace gradbag {

// What a vocabulary is told once.
struct Terms {
    Seeds seeds;
    std::size_t capacity;       // rows at most
    std::uint64_t admit_after;  // sightings, the one that admits included
    bool track;
};

// When a row was used last, and how often.
struct Use {
    std::int64_t step;
    std::int64_t count;
};

// Ids and their rows. Which row an id gets depends on the order of the calls and of the ids in them, never on
// threads or on the hash. A call that fails has changed nothing: it finds out what is new in a table of its
// own, makes room, and only then begins to write.
template <class Keys>
class Vocabulary {
  public:
    using Id = typename Keys::Id;

    static constexpr std::int64_t unknown = -1;
    static constexpr std::size_t no_place = std::numeric_limits<std::size_t>::max();

    explicit Vocabulary(const Terms& terms) : terms_(terms) {}

    const Terms& terms() const { return terms_; }
    std::size_t size() const { return rows_.size() - freed_.size(); }
    // All rows that were ever given, those that are free again included.
    std::size_t rows() const { return rows_.size(); }
    std::size_t sighted() const { return sightings_.size(); }
    std::size_t bytes() const {
        return keys_.bytes() + slots_.bytes() + sightings_.bytes() + rows_.room() +
               uses_.room() * sizeof(Use) + freed_.room() * sizeof(std::uint32_t);
    }
    bool is_used(std::size_t row) const { return row < rows_.size() && rows_[row] != 0; }
    Id id(std::size_t row) const { return keys_[row]; }
    const Use& use(std::size_t row) const { return uses_[row]; }
    const Growing<std::uint32_t>& freed() const { return freed_; }
    const Sightings& sightings() const { return sightings_; }
    void forget_sightings() { sightings_ = {}; }

    // The rows of ids, -1 for one that has none; how many have none.
    template <class Ids>
    std::size_t find(const Ids& ids, std::int64_t* rows) const {
        std::atomic<std::size_t> missing = 0;
        parallel_ranges(ids.size(), id_work, [&](std::size_t begin, std::size_t end, std::size_t) {
            std::size_t found = 0;
            for (std::size_t at = begin; at < end; at += group)
                found += find_group(ids, at, std::min(end, at + group), rows);
            missing += end - begin - found;
        });
        return missing;
    }

    // The same, with rows for new ids where they may have one.
    template <class Ids>
    void add(const Ids& ids, std::int64_t* rows, std::int64_t step, Budget& budget) {
        if (find(ids, rows) > 0) {
            Fresh fresh;
            // In a chunk of its own, so that Ctrl-C is heard.
            parallel_for(1, 1, [&](std::size_t, std::size_t) { collect(ids, rows, fresh, budget); });
            make_room(fresh, budget);
            admit(fresh);
            for (std::size_t place = 0; place < ids.size(); ++place) {
                if (rows[place] < unknown) rows[place] = row_of(first_number - rows[place]);
            }
            drop_freed(fresh.admitted);
        }
        if (terms_.track) use_rows(rows, ids.size(), step);
    }

    // Frees rows, and writes which: each once, in the order in which they were given. Otherwise nothing is
    // changed, and the answer is the place of one that is not in use.
    std::size_t evict(const std::int64_t* rows, std::size_t count, std::vector<std::int64_t>& freed) {
        Buffer<std::uint32_t> checked(count);  // another thread may write to `rows`
        for (std::size_t place = 0; place < count; ++place) {
            const auto row = static_cast<std::uint64_t>(rows[place]);
            if (!is_used(row)) return place;
            checked[place] = static_cast<std::uint32_t>(row);
        }
        Budget unlimited;
        freed_.reserve(std::min(freed_.size() + count, rows_.size()), unlimited);
        freed.reserve(std::min(count, size()));
        for (std::size_t place = 0; place < count; ++place) {
            const std::uint32_t row = checked[place];
            if (rows_[row] == 0) continue;  // listed twice
            slots_.erase(Slots::tag(mixed(keys_[row], terms_.seeds)), row);
            keys_.forget(row);
            rows_[row] = 0;
            freed.push_back(row);
        }
        // The last in the list is taken first: rows come back in the order in which they were freed.
        for (auto row = freed.rbegin(); row != freed.rend(); ++row)
            freed_.push(static_cast<std::uint32_t>(*row));
        keys_.compact(rows_.size());
        return no_place;
    }

    // A vocabulary as it was: ids with their rows, free rows in the order of the list, what was sighted. It
    // is empty before. Says what does not fit.
    template <class Ids>
    void restore(const Ids& ids, const std::int64_t* rows, const std::int64_t* freed, std::size_t free_count,
                 const std::int64_t* steps, const std::int64_t* counts, const std::uint64_t* sighted,
                 std::size_t sighted_count, Budget& budget) {
        const std::size_t count = ids.size() + free_count;
        if (count > terms_.capacity) throw std::invalid_argument("has more rows than its capacity");
        std::size_t weight = 0;
        for (std::size_t place = 0; place < ids.size(); ++place) weight += Keys::weight(ids[place]);
        reserve_ids(count, ids.size(), weight, budget);
        reserve_rows(count, budget);
        freed_.reserve(free_count, budget);
        sightings_.reserve(sighted_count, budget);
        constexpr std::uint8_t not_listed = 2;
        std::fill_n(rows_.data(), count, not_listed);
        const auto listed = [&](std::int64_t row) {
            if (static_cast<std::uint64_t>(row) >= count ||
                rows_[static_cast<std::size_t>(row)] != not_listed)
                throw std::invalid_argument("lists a row twice, or one that it does not have");
            return static_cast<std::uint32_t>(row);
        };
        for (std::size_t place = 0; place < ids.size(); ++place) {
            const std::uint32_t row = listed(rows[place]);
            const Id id = ids[place];
            const std::uint32_t tag = Slots::tag(mixed(id, terms_.seeds));
            if (slots_.find(tag, [&](std::uint32_t other) { return keys_.is(other, id); }) != Slots::none)
                throw std::invalid_argument("lists an id twice");
            keys_.put(row, id);
            slots_.insert(tag, row);
            rows_[row] = 1;
            if (terms_.track) uses_[row] = {steps[place], counts[place]};
        }
        for (std::size_t place = 0; place < free_count; ++place) {
            const std::uint32_t row = listed(freed[place]);
            rows_[row] = 0;
            keys_.put_nothing(row);
            freed_.push(row);
        }
        for (std::size_t place = 0; place < sighted_count; ++place) {
            const std::uint64_t seen = sighted[place] & Sightings::most;
            if (seen == 0 || seen > terms_.admit_after)
                throw std::invalid_argument("counts sightings wrongly");
            sightings_.set(sighted[place], seen);
        }
        rows_.resize(count);
    }

  private:
    static constexpr std::size_t group = 64;
    // What it takes to find an id, compared with an element of the other kernels.
    static constexpr std::size_t id_work = 8;
    // New ids stand as numbers from -2 downwards among the rows until they have one.
    static constexpr std::int64_t first_number = unknown - 1;

    // What a call has found new.
    struct Fresh {
        Keys keys;
        Slots slots;
        std::size_t count = 0;
        std::size_t weight = 0;
        std::size_t admitted = 0;
        // Only where one sighting does not admit:
        Growing<std::uint32_t> numbers;  // of each, or none
        Growing<std::uint32_t> order;    // the admitted ones by their numbers
        Growing<std::uint16_t> seen;
    };

    bool is_patient() const { return terms_.admit_after > 1; }

    // Looks up to 64 ids up at once: while memory brings what one of them needs, the others are asked for.
    template <class Ids>
    std::size_t find_group(const Ids& ids, std::size_t begin, std::size_t end, std::int64_t* rows) const {
        std::array<Id, group> held;
        std::array<std::uint32_t, group> tags;
        std::array<std::size_t, group> places;
        const std::size_t count = end - begin;
        for (std::size_t i = 0; i < count; ++i) {
            held[i] = ids[begin + i];
            tags[i] = Slots::tag(mixed(held[i], terms_.seeds));
            slots_.prefetch_home(tags[i]);
        }
        for (std::size_t i = 0; i < count; ++i) {
            places[i] = slots_.first(tags[i]);
            if (slots_.row(places[i]) != Slots::none) keys_.prefetch_place(slots_.row(places[i]));
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (slots_.row(places[i]) != Slots::none) keys_.prefetch_id(slots_.row(places[i]));
        }
        std::size_t found = 0;
        for (std::size_t i = 0; i < count; ++i) {
            std::uint32_t row = slots_.row(places[i]);
            for (std::size_t place = places[i]; row != Slots::none && !keys_.is(row, held[i]);) {
                place = slots_.next(place, tags[i]);
                row = slots_.row(place);
            }
            if (is_null(held[i])) row = Slots::none;
            rows[begin + i] = row == Slots::none ? unknown : std::int64_t{row};
            found += row == Slots::none ? 0 : 1;
        }
        return found;
    }

    template <class Ids>
    void collect(const Ids& ids, std::int64_t* rows, Fresh& fresh, Budget& budget) const {
        const std::size_t room = terms_.capacity - size();
        std::array<std::size_t, group> places;
        std::array<Id, group> held;
        std::array<std::uint64_t, group> hashes;
        for (std::size_t at = 0, turn = 0; at < ids.size(); ++turn) {
            if (turn % 64 == 0) checkpoint();
            std::size_t count = 0;
            for (; at < ids.size() && count < group; ++at) {
                if (rows[at] != unknown) continue;
                held[count] = ids[at];
                if (is_null(held[count])) continue;
                hashes[count] = mixed(held[count], terms_.seeds);
                fresh.slots.prefetch_home(Slots::tag(hashes[count]));
                if (is_patient()) sightings_.prefetch_home(hashes[count]);
                places[count++] = at;
            }
            for (std::size_t i = 0; i < count; ++i)
                rows[places[i]] = sight(held[i], hashes[i], room, fresh, budget);
        }
    }

    // An id that has no row: its number if it is admitted, or else -1.
    std::int64_t sight(Id id, std::uint64_t hash, std::size_t room, Fresh& fresh, Budget& budget) const {
        const std::uint32_t tag = Slots::tag(hash);
        std::uint32_t entry =
            fresh.slots.find(tag, [&](std::uint32_t other) { return fresh.keys.is(other, id); });
        if (entry == Slots::none) {
            if (!is_patient() && fresh.admitted == room) return unknown;
            if (fresh.count == Slots::most_rows) throw std::length_error("has more than 2**31 new ids");
            const std::size_t weight = Keys::weight(id);
            entry = static_cast<std::uint32_t>(fresh.count);
            fresh.keys.reserve(fresh.count + 1, weight, budget);
            fresh.slots.reserve(fresh.count + 1, budget);
            if (is_patient()) {
                fresh.numbers.reserve(fresh.count + 1, budget);
                fresh.order.reserve(fresh.count + 1, budget);
                fresh.seen.reserve(fresh.count + 1, budget);
                fresh.numbers.push(Slots::none);
                fresh.seen.push(static_cast<std::uint16_t>(sightings_.count(hash)));
            } else {
                ++fresh.admitted;
            }
            fresh.keys.put(entry, id);
            fresh.slots.insert(tag, entry);
            fresh.weight += weight;
            ++fresh.count;
        }
        if (!is_patient()) return first_number - std::int64_t{entry};
        std::uint32_t& number = fresh.numbers[entry];
        if (fresh.seen[entry] < terms_.admit_after) ++fresh.seen[entry];
        if (number == Slots::none && fresh.seen[entry] >= terms_.admit_after && fresh.admitted < room) {
            number = static_cast<std::uint32_t>(fresh.admitted++);
            fresh.order.push(entry);
        }
        return number == Slots::none ? unknown : first_number - std::int64_t{number};
    }

    void make_room(const Fresh& fresh, Budget& budget) {
        const std::size_t anew = fresh.admitted - std::min(fresh.admitted, freed_.size());
        if (!takes_over(fresh))
            reserve_ids(rows_.size() + anew, size() + fresh.admitted, fresh.weight, budget);
        reserve_rows(rows_.size() + anew, budget);
        if (is_patient()) sightings_.reserve(sightings_.size() + fresh.count - fresh.admitted, budget);
    }

    void reserve_ids(std::size_t rows, std::size_t used, std::size_t weight, Budget& budget) {
        keys_.reserve(rows, weight, budget);
        slots_.reserve(used, budget);
    }

    void reserve_rows(std::size_t rows, Budget& budget) {
        rows_.reserve(rows, budget);
        if (terms_.track) uses_.reserve(rows, budget);
    }

    // To an empty vocabulary the table of what is new is the table.
    bool takes_over(const Fresh& fresh) const {
        return rows_.size() == 0 && fresh.count == fresh.admitted && !is_patient();
    }

    // The row of the one with this number: first those that are free, then new ones.
    std::int64_t row_of(std::int64_t number) const {
        const auto free_count = static_cast<std::int64_t>(freed_.size());
        if (number < free_count) return freed_[static_cast<std::size_t>(free_count - 1 - number)];
        return first_new_ + number - free_count;
    }

    void admit(Fresh& fresh) {
        first_new_ = static_cast<std::int64_t>(rows_.size());
        const bool is_whole = takes_over(fresh);
        if (is_whole) {
            keys_ = std::move(fresh.keys);
            slots_ = std::move(fresh.slots);
        }
        for (std::size_t number = 0; number < fresh.admitted; ++number) {
            const auto row = static_cast<std::size_t>(row_of(static_cast<std::int64_t>(number)));
            if (row == rows_.size()) rows_.resize(row + 1);
            rows_[row] = 1;
            if (terms_.track) uses_[row] = {};
        }
        if (!is_whole) put(fresh);
        if (!is_patient()) return;
        for (std::size_t entry = 0; entry < fresh.count; ++entry) {
            const std::uint64_t hash = mixed(fresh.keys[entry], terms_.seeds);
            if (fresh.numbers[entry] == Slots::none) {
                sightings_.set(hash, fresh.seen[entry]);
            } else {
                sightings_.erase(hash);
            }
        }
    }

    // Copies the new ids, and puts them into the table some time after their places were asked for.
    void put(const Fresh& fresh) {
        std::array<std::uint32_t, group> tags;
        for (std::size_t begin = 0; begin < fresh.admitted; begin += group) {
            const std::size_t count = std::min(group, fresh.admitted - begin);
            for (std::size_t i = 0; i < count; ++i) {
                const Id id = fresh.keys[is_patient() ? fresh.order[begin + i] : begin + i];
                keys_.put(static_cast<std::size_t>(row_of(static_cast<std::int64_t>(begin + i))), id);
                tags[i] = Slots::tag(mixed(id, terms_.seeds));
                slots_.prefetch_home(tags[i]);
            }
            for (std::size_t i = 0; i < count; ++i)
                slots_.insert(tags[i],
                              static_cast<std::uint32_t>(row_of(static_cast<std::int64_t>(begin + i))));
        }
    }

    // Once all rows are told: those that were free are so no more.
    void drop_freed(std::size_t admitted) {
        freed_.resize(freed_.size() - std::min(admitted, freed_.size()));
    }

    void use_rows(const std::int64_t* rows, std::size_t count, std::int64_t step) {
        constexpr std::size_t ahead = kNumberPrefetchDistance;
        for (std::size_t place = 0; place < count; ++place) {
            if (place + ahead < count && rows[place + ahead] >= 0)
                prefetch(&uses_[static_cast<std::size_t>(rows[place + ahead])]);
            if (rows[place] < 0) continue;
            Use& use = uses_[static_cast<std::size_t>(rows[place])];
            use.step = std::max(use.step, step);
            ++use.count;
        }
    }

    Terms terms_;
    Keys keys_;
    Slots slots_;
    Sightings sightings_;
    Growing<std::uint8_t> rows_;  // 1 for a row that is in use
    Growing<Use> uses_;
    Growing<std::uint32_t> freed_;
    std::int64_t first_new_ = 0;
};

}  // namespace gradbag
