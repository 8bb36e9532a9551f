#include "vocabulary/vocabulary.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bind/lock.hpp"
#include "bind/parts.hpp"
#include "bind/strings.hpp"

namespace gradbag {

namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
Array<T> as_array(std::vector<T> items) {
    auto held = std::make_unique<std::vector<T>>(std::move(items));
    T* const data = held->data();
    const std::size_t size = held->size();
    const nb::capsule owner(held.get(),
                            [](void* list) noexcept { delete static_cast<std::vector<T>*>(list); });
    held.release();
    return Array<T>(data, {size}, owner);
}

// One call at a time. Nobody waits for it who holds the interpreter's lock, since the call may want that to
// look for signals; and a handler of a signal that comes back to a vocabulary in the middle of its own call
// is refused, since it would wait for ever.
class Turns {
  public:
    template <class Work>
    decltype(auto) alone(Work work) {
        const Unlocked unlocked;
        const auto self = std::this_thread::get_id();
        if (owner_ == self) throw std::logic_error("is busy with the call that this one interrupts");
        const std::lock_guard lock(mutex_);
        const Owner owner(owner_, self);
        return work();
    }

  private:
    struct Owner {
        Owner(std::atomic<std::thread::id>& place, std::thread::id self) : place_(place) { place_ = self; }
        ~Owner() { place_ = std::thread::id(); }
        std::atomic<std::thread::id>& place_;
    };

    std::mutex mutex_;
    std::atomic<std::thread::id> owner_;
};

template <class Keys>
struct Shared {
    explicit Shared(const Terms& terms) : vocabulary(terms) {}
    Vocabulary<Keys> vocabulary;
    Turns turns;
};

inline std::size_t size_of(const Numbers& ids) { return ids.shape(0); }
inline std::size_t size_of(const Strings& ids) { return ids.size(); }

template <class Visit>
void with_column(const Numbers& ids, Visit visit) {
    visit(IntegerColumn{ids.data(), ids.shape(0)});
}
template <class Visit>
void with_column(const Strings& ids, Visit visit) {
    ids.visit(visit);
}

// More than may be asked for: MemoryError, whose argument is how many bytes it would have been.
template <class Work>
void within(std::size_t limit, Work work) {
    Budget budget(limit);
    std::size_t needed = 0;
    try {
        work(budget);
        return;
    } catch (const Exhausted& problem) {
        needed = problem.needed;
    }
    PyErr_SetObject(PyExc_MemoryError, nb::make_tuple(needed).ptr());
    throw nb::python_error();
}

inline void check_sizes(bool fit) {
    if (!fit) throw std::invalid_argument("has lists of different lengths");
}

// What a vocabulary holds, copied while nobody else is at it.
template <class Keys>
struct Copy {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> ids;  // of strings, where in the text each ends
    std::vector<std::uint8_t> text;
    std::vector<std::int64_t> steps;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> freed;
    std::vector<std::uint64_t> sightings;

    void add(std::int64_t id) { ids.push_back(id); }
    void add(std::string_view id) {
        text.insert(text.end(), id.begin(), id.end());
        ids.push_back(static_cast<std::int64_t>(text.size()));
    }

    void add_row(const Vocabulary<Keys>& vocabulary, std::size_t row, bool with_ids) {
        rows.push_back(static_cast<std::int64_t>(row));
        if (with_ids) add(vocabulary.id(row));
        if (vocabulary.terms().track) {
            steps.push_back(vocabulary.use(row).step);
            counts.push_back(vocabulary.use(row).count);
        }
    }

    // Of these rows; otherwise the place of one that is not in use.
    std::size_t read(const Vocabulary<Keys>& vocabulary, const Numbers& wanted, bool with_ids) {
        rows.reserve(wanted.shape(0));
        for (std::size_t place = 0; place < wanted.shape(0); ++place) {
            const auto row = static_cast<std::uint64_t>(wanted.data()[place]);
            if (!vocabulary.is_used(row)) return place;
            add_row(vocabulary, row, with_ids);
        }
        return Vocabulary<Keys>::no_place;
    }

    // Of all rows that are in use, and the rest.
    void read(const Vocabulary<Keys>& vocabulary, bool with_ids) {
        rows.reserve(vocabulary.size());
        for (std::size_t row = 0; row < vocabulary.rows(); ++row) {
            if (vocabulary.is_used(row)) add_row(vocabulary, row, with_ids);
        }
        const auto& free = vocabulary.freed();
        freed.assign(free.data(), free.data() + free.size());
        if (with_ids) vocabulary.sightings().each([&](std::uint64_t slot) { sightings.push_back(slot); });
    }

    nb::dict told() {
        nb::dict lists;
        lists["rows"] = as_array(std::move(rows));
        lists["ids"] = as_array(std::move(ids));
        lists["text"] = as_array(std::move(text));
        lists["steps"] = as_array(std::move(steps));
        lists["counts"] = as_array(std::move(counts));
        lists["freed"] = as_array(std::move(freed));
        lists["sightings"] = as_array(std::move(sightings));
        return lists;
    }
};

template <class Keys, class Ids>
void bind_kind(nb::module_& m, const char* name) {
    using nb::literals::operator""_a;
    using Self = Shared<Keys>;
    const auto number = [](auto read) {
        return [read](Self& self) { return self.turns.alone([&] { return read(self.vocabulary); }); };
    };
    // A row that is not in use comes back as its place: Python has the words for it.
    constexpr std::size_t no_place = Vocabulary<Keys>::no_place;
    const auto freed_or_place = [](std::size_t place, std::vector<std::int64_t> freed) -> nb::object {
        if (place != no_place) return nb::int_(place);
        return nb::cast(as_array(std::move(freed)));
    };
    nb::class_<Self>(m, name)
        .def(nb::new_([](std::uint64_t first, std::uint64_t second, std::size_t capacity,
                         std::uint64_t admit_after, bool track) {
                 return new Self(Terms{{first, second}, capacity, admit_after, track});
             }),
             "first"_a, "second"_a, "capacity"_a, "admit_after"_a, "track"_a)
        .def("size", number([](const auto& vocabulary) { return vocabulary.size(); }))
        .def("rows", number([](const auto& vocabulary) { return vocabulary.rows(); }))
        .def("sighted", number([](const auto& vocabulary) { return vocabulary.sighted(); }))
        .def("bytes", number([](const auto& vocabulary) { return vocabulary.bytes(); }))
        .def("forget_sightings", number([](auto& vocabulary) { vocabulary.forget_sightings(); }))
        .def(
            "find",
            [](Self& self, const Ids& ids, const Rows& rows) {
                check_sizes(rows.shape(0) == size_of(ids));
                self.turns.alone([&] {
                    with_column(ids, [&](const auto& column) { self.vocabulary.find(column, rows.data()); });
                });
            },
            "ids"_a.noconvert(), "rows"_a.noconvert())
        .def(
            "add",
            [](Self& self, const Ids& ids, const Rows& rows, std::int64_t step, std::size_t limit) {
                check_sizes(rows.shape(0) == size_of(ids));
                within(limit, [&](Budget& budget) {
                    self.turns.alone([&] {
                        with_column(ids, [&](const auto& column) {
                            self.vocabulary.add(column, rows.data(), step, budget);
                        });
                    });
                });
            },
            "ids"_a.noconvert(), "rows"_a.noconvert(), "step"_a, "limit"_a)
        .def(
            "evict",
            [freed_or_place](Self& self, const Numbers& rows) {
                std::vector<std::int64_t> freed;
                const std::size_t place = self.turns.alone(
                    [&] { return self.vocabulary.evict(rows.data(), rows.shape(0), freed); });
                return freed_or_place(place, std::move(freed));
            },
            "rows"_a.noconvert())
        .def(
            "evict_ids",
            [freed_or_place](Self& self, const Ids& ids) {
                std::vector<std::int64_t> freed;
                const std::size_t place = self.turns.alone([&] {
                    Buffer<std::int64_t> rows(size_of(ids));
                    with_column(ids, [&](const auto& column) { self.vocabulary.find(column, rows.data()); });
                    return self.vocabulary.evict(rows.data(), rows.size(), freed);
                });
                return freed_or_place(place, std::move(freed));
            },
            "ids"_a.noconvert())
        .def(
            "read",
            [](Self& self, const std::optional<Numbers>& rows, bool with_ids) -> nb::object {
                Copy<Keys> copy;
                std::size_t place = no_place;
                self.turns.alone([&] {
                    if (rows) {
                        place = copy.read(self.vocabulary, *rows, with_ids);
                    } else {
                        copy.read(self.vocabulary, with_ids);
                    }
                });
                if (place != no_place) return nb::int_(place);
                return copy.told();
            },
            "rows"_a.noconvert().none(), "with_ids"_a)
        .def(
            "restore",
            [](Self& self, const Ids& ids, const Numbers& rows, const Numbers& freed, const Numbers& steps,
               const Numbers& counts, const Words& sightings, std::size_t limit) {
                const std::size_t tracked = self.vocabulary.terms().track ? size_of(ids) : 0;
                check_sizes(rows.shape(0) == size_of(ids) && steps.shape(0) == tracked &&
                            counts.shape(0) == tracked);
                within(limit, [&](Budget& budget) {
                    self.turns.alone([&] {
                        with_column(ids, [&](const auto& column) {
                            self.vocabulary.restore(column, rows.data(), freed.data(), freed.shape(0),
                                                    steps.data(), counts.data(), sightings.data(),
                                                    sightings.shape(0), budget);
                        });
                    });
                });
            },
            "ids"_a.noconvert(), "rows"_a.noconvert(), "freed"_a.noconvert(), "steps"_a.noconvert(),
            "counts"_a.noconvert(), "sightings"_a.noconvert(), "limit"_a);
}

}  // namespace

void bind_vocabulary(nb::module_& m) {
    bind_kind<IntegerKeys, Numbers>(m, "IntegerVocabulary");
    bind_kind<StringKeys, Strings>(m, "StringVocabulary");
    m.attr("most_rows") = Slots::most_rows;
    m.attr("most_sightings") = Sightings::most;
}

}  // namespace gradbag
