#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_grad.hpp"
#include "kernels/bag_scales.hpp"
#include "kernels/bag_weights.hpp"
#include "kernels/combiner.hpp"
#include "kernels/grouped_bags.hpp"
#include "kernels/segment_groups.hpp"

// Gradients of look-ups in many tables. The entries of each table are grouped by row, all tables side by
// side, and then the groups of all tables are summed in one run of all threads. Nothing is written before all
// ids of all tables were judged.
namespace gradbag {

// The rows and columns of the tables, in turn, as settings tell them.
struct TableShapes {
    std::vector<std::size_t> rows;
    std::vector<std::size_t> columns;

    explicit TableShapes(const IntegerList& in_turn) {
        for (std::size_t place = 0; place + 1 < in_turn.numbers.size(); place += 2) {
            rows.push_back(in_turn.numbers[place]);
            columns.push_back(in_turn.numbers[place + 1]);
        }
    }
};

template <class Word>
using TableGroups = std::vector<GroupedEntries<Word>>;
using AnyTableGroups = std::variant<TableGroups<std::uint32_t>, TableGroups<std::uint64_t>>;

namespace detail {

// Calls put(place, key, payload) for entries [begin, end) of those of a table's features, one feature after
// another. The payload is the bag among those of all features, or with weights the entry.
template <Index I, class Put>
void read_table(const GroupedBags& bags, std::size_t table, std::size_t rows, std::span<const I> ids,
                bool weighted, std::size_t begin, std::size_t end, const Put& put) {
    std::size_t place = 0;  // of the first entry of the feature
    for (const std::size_t feature : bags.features_of_table[table]) {
        const std::size_t first = bags.begin(feature);
        const std::size_t count = bags.end(feature) - first;
        std::size_t entry = first + std::max(begin, place) - place;
        const std::size_t stop = first + std::min(std::max(end, place) - place, count);
        const auto key = [&](std::size_t i) { return checked(load_once(&ids[i]), rows, {bags.input, i}); };
        bags.named(feature, [&] {
            if (weighted) {
                for (; entry < stop; ++entry) put(place + entry - first, key(entry), entry);
                return;
            }
            if (entry >= stop) return;
            for (std::size_t bag = bags.all.bag_of(entry); entry < stop; ++bag) {
                for (const std::size_t last = std::min(bags.all.end(bag), stop); entry < last; ++entry) {
                    put(place + entry - first, key(entry), bag);
                }
            }
        });
        place += count;
    }
}

template <class Word, Index I>
TableGroups<Word> group_tables(const GroupedBags& bags, const std::vector<std::size_t>& rows,
                               std::span<const I> ids, bool weighted) {
    TableGroups<Word> groups;
    for (std::size_t table = 0; table < rows.size(); ++table)
        groups.push_back({Buffer<Word>(0), Buffer<Word>(0), Buffer<Word>(1), 0});
    parallel_for(rows.size(), threads_for(ids.size()), [&](std::size_t table, std::size_t) {
        std::size_t count = 0;
        for (const std::size_t feature : bags.features_of_table[table]) {
            count += bags.end(feature) - bags.begin(feature);
        }
        const auto read = [&](std::size_t begin, std::size_t end, auto put) {
            read_table(bags, table, rows[table], ids, weighted, begin, end, put);
        };
        groups[table] = group_entries(read_entries<Word>(count, read));
    });
    return groups;
}

// Rows of the gradient by their bag, for the columns of one table.
template <class T, class Word>
struct FeatureRows {
    const T* data;
    const Word* begins;  // of the row of each bag
    std::size_t columns;
    std::size_t bags;

    const T* row(std::size_t bag) const { return data + begins[bag]; }
};

template <class T, class Word>
Matrix<const T> as_matrix(const FeatureRows<T, Word>& rows) {
    return {rows.data, rows.bags, rows.columns};
}

template <class T, class Word>
Buffer<Word> row_begins(const GroupedBags& bags, Matrix<const T> grad) {
    Buffer<Word> begins(bags.all.size());
    parallel_ranges(begins.size(), 1, [&](std::size_t bag, std::size_t end, std::size_t) {
        for (; bag < end; ++bag) {
            const Feature& feature = bags.features[bag / bags.bags_of_feature];  // mutant: grad feature
            begins[bag] = static_cast<Word>(bag % bags.bags_of_feature * grad.columns + feature.first_column);
        }
    });
    return begins;
}

// Sums the groups of all tables; `make_rows(table)` gives what GroupSums wants to know.
template <Lane T, class Word, class Scales, class MakeRows>
void sum_tables(const GroupedBags& bags, const std::vector<std::size_t>& columns, Matrix<const T> grad,
                const TableGroups<Word>& groups, const Scales& scales, const MakeRows& make_rows) {
    struct Part {
        std::size_t table;
        std::size_t first;
        std::size_t last;
    };
    std::vector<Part> parts;
    for (std::size_t table = 0; table < groups.size(); ++table) {
        const Pieces pieces(groups[table].size(), kPartEntries);
        for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
            parts.push_back({table, pieces.begin(piece), pieces.end(piece)});
        }
    }
    const Buffer<Word> begins = row_begins<T, Word>(bags, grad);
    const std::size_t threads = threads_for(bags.all.entries() * bags.work());
    parallel_for(parts.size(), threads, [&](std::size_t number, std::size_t) {
        const Part& part = parts[number];
        const GroupedEntries<Word>& grouped = groups[part.table];
        const std::size_t first = grouped.groups_before(part.first);
        const std::size_t last = grouped.groups_before(part.last);
        if (first == last) return;
        const FeatureRows<T, Word> of_table{grad.data, begins.data(), columns[part.table],
                                            bags.bags_of_feature};
        GroupSums<T, Word, Scales, FeatureRows<T, Word>> sums(of_table, grouped, scales, false);
        auto rows = make_rows(part.table);
        sums(first, last, rows);
    });
}

// The same with the scales that combiner and weights ask for.
template <Lane T, class Word, class MakeRows>
void sum_scaled_tables(Combiner combiner, const GroupedBags& bags, const std::vector<std::size_t>& columns,
                       Matrix<const T> grad, std::span<const T> weights, const TableGroups<Word>& groups,
                       const MakeRows& make_rows) {
    using A = Accumulator<T>;
    if (weights.empty()) {
        return sum_tables(bags, columns, grad, groups, BagScales<A>(combiner, bags.all), make_rows);
    }
    Buffer<A> scales(bags.all.entries());
    normalize_weights(combiner, weights, bags.all, scales.data());
    const Buffer<Word> of_entries = bags_of_entries<Word>(bags.all);
    sum_tables(bags, columns, grad, groups, EntryScales<A, Word>(scales, of_entries), make_rows);
}

// Rows of a table's gradient: all of them, or with a list of their numbers those that were picked.
template <class T, class I>
struct TableRows {
    T* data;
    std::size_t columns;
    I* picked;

    T* place(std::size_t group, std::size_t row) const {
        if (picked == nullptr) return data + row * columns;
        picked[group] = static_cast<I>(row);
        return data + group * columns;
    }

    static constexpr std::size_t most() { return kSumBatch; }
    static constexpr void flush(const auto&, std::size_t) {}
};

}  // namespace detail

// `grad_bound`: at least the number of elements of the gradient.
template <Index I>
AnyTableGroups group_tables(const GroupedBags& bags, const std::vector<std::size_t>& rows,
                            std::span<const I> ids, bool weighted, std::size_t grad_bound) {
    const std::size_t most_rows = *std::max_element(rows.begin(), rows.end());
    const std::size_t payloads = std::max({weighted ? ids.size() : bags.all.size(), grad_bound});
    if (fits_short_words(most_rows, payloads, ids.size())) {
        return detail::group_tables<std::uint32_t>(bags, rows, ids, weighted);
    }
    return detail::group_tables<std::uint64_t>(bags, rows, ids, weighted);
}

template <Lane T, Index I, Index O>
void grouped_grad(const IntegerList& table_shapes, Combiner combiner, const IntegerList& feature_tables,
                  Matrix<const T> grad, std::span<const I> ids, Matrix<const O> offsets,
                  std::span<const T> weights, std::span<T> output) {
    const TableShapes shapes(table_shapes);
    const GroupedBags bags(offsets, ids.size(), shapes.columns, feature_tables, kPoolInputs);
    const AnyTableGroups any = group_tables(bags, shapes.rows, ids, !weights.empty(), grad.size());
    std::vector<T*> begins{output.data()};
    for (std::size_t table = 0; table < shapes.rows.size(); ++table) {
        begins.push_back(begins.back() + shapes.rows[table] * shapes.columns[table]);
    }
    clear_all(Matrix<T>{output.data(), output.size(), 1});
    std::visit(
        [&](const auto& groups) {
            detail::sum_scaled_tables(
                combiner, bags, shapes.columns, grad, weights, groups, [&](std::size_t table) {
                    return detail::TableRows<T, I>{begins[table], shapes.columns[table], nullptr};
                });
        },
        any);
}

struct GroupedWork {
    GroupedBags bags;
    AnyTableGroups groups;
};

// sizes: elements of the picked rows, their number, the number of tables.
template <Index I, Index O>
Plan grouped_grad_compact_plan(const IntegerList& table_shapes, const IntegerList& feature_tables,
                               std::span<const I> ids, Matrix<const O> offsets, bool weighted,
                               std::size_t grad_bound) {
    const TableShapes shapes(table_shapes);
    GroupedBags bags(offsets, ids.size(), shapes.columns, feature_tables, kPoolInputs);
    AnyTableGroups any = group_tables(bags, shapes.rows, ids, weighted, grad_bound);
    std::size_t elements = 0;
    std::size_t picked = 0;
    std::visit(
        [&](const auto& groups) {
            for (std::size_t table = 0; table < groups.size(); ++table) {
                elements += groups[table].groups * shapes.columns[table];
                picked += groups[table].groups;
            }
        },
        any);
    return {{static_cast<std::int64_t>(elements), static_cast<std::int64_t>(picked),
             static_cast<std::int64_t>(shapes.rows.size())},
            GroupedWork{std::move(bags), std::move(any)}};
}

template <Lane T, Index I>
void grouped_grad_compact(const Plan& plan, const IntegerList& table_shapes, Combiner combiner,
                          Matrix<const T> grad, std::span<const T> weights, std::span<T> output,
                          std::span<I> sorted_unique_ids, std::span<std::int64_t> counts) {
    const auto& work = plan.work<GroupedWork>();
    const TableShapes shapes(table_shapes);
    std::visit(
        [&](const auto& groups) {
            std::vector<detail::TableRows<T, I>> rows;
            T* to = output.data();
            I* picked = sorted_unique_ids.data();
            for (std::size_t table = 0; table < groups.size(); ++table) {
                const std::size_t count = groups[table].groups;
                rows.push_back({to, shapes.columns[table], picked});
                counts[table] = static_cast<std::int64_t>(count);
                to += count * shapes.columns[table];
                picked += count;
            }
            detail::sum_scaled_tables(combiner, work.bags, shapes.columns, grad, weights, groups,
                                      [&](std::size_t table) { return rows[table]; });
        },
        work.groups);
}

}  // namespace gradbag
