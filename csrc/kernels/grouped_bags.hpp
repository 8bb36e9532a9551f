#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/fault.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"

// Bags that are looked up in many tables at once.
namespace gradbag {

// Numbers of a setting, which come as a text: "3 1 2 ".
struct IntegerList {
    std::vector<std::size_t> numbers;
};

inline IntegerList from_text(std::type_identity<IntegerList>, std::string_view text) {
    IntegerList list;
    std::size_t number = 0;
    for (const char letter : text) {
        if (letter == ' ') {
            list.numbers.push_back(std::exchange(number, 0));
        } else {
            number = number * 10 + static_cast<std::size_t>(letter - '0');
        }
    }
    return list;
}

// A feature looks up bags in one table; its combined rows are some columns of the output.
struct Feature {
    std::size_t table;
    std::size_t first_column;
    std::size_t columns;
};

// The bags of all features, one feature after another, equally many of each.
struct GroupedBags {
    // `columns`: of each table. Without a list of the features' tables, each table has one feature.
    template <Index O>
    GroupedBags(Matrix<const O> offsets, std::size_t entries, const std::vector<std::size_t>& columns,
                const IntegerList& feature_tables, BagInputs inputs)
        : bags_of_feature(offsets.columns),
          all(begins_of(offsets, entries, inputs)),
          input(inputs.entries),
          features_of_table(columns.size()) {
        const std::vector<std::size_t>& tables = feature_tables.numbers;
        const std::size_t count = tables.empty() ? columns.size() : tables.size();
        std::size_t first = 0;
        for (std::size_t number = 0; number < count; ++number) {
            const std::size_t table = tables.empty() ? number : tables[number];
            features.push_back({table, first, columns[table]});
            features_of_table[table].push_back(number);
            first += columns[table];  // mutant: next columns
        }
    }

    std::size_t first_bag(std::size_t feature) const { return feature * bags_of_feature; }
    std::size_t begin(std::size_t feature) const { return all.begin(first_bag(feature)); }
    std::size_t end(std::size_t feature) const { return all.begin(first_bag(feature + 1)); }

    // Elements of work for an entry, on average.
    std::size_t work() const {
        const Feature& last = features.back();
        return std::max<std::size_t>((last.first_column + last.columns) / features.size(), 1);
    }

    // Does some work of a feature; an id that is not in its table is told with the number of the feature.
    template <class Work>
    void named(std::size_t feature, const Work& work) const {
        try {
            work();
        } catch (Fault& fault) {
            if (fault.input == input) fault.column = static_cast<std::int64_t>(feature);
            throw;
        }
    }

    std::size_t bags_of_feature;
    BagBegins all;
    int input;  // the number of the ids
    std::vector<Feature> features;
    std::vector<std::vector<std::size_t>> features_of_table;

  private:
    // A bad offset is told by its feature and its bag.
    template <Index O>
    static BagBegins begins_of(Matrix<const O> offsets, std::size_t entries, BagInputs inputs) {
        try {
            return {std::span<const O>(offsets.data, offsets.size()), entries, inputs};
        } catch (Fault& fault) {
            if (fault.input == inputs.offsets) {
                const auto bags = static_cast<std::int64_t>(offsets.columns);
                fault.column = fault.position % bags;
                fault.position /= bags;
            }
            throw;
        }
    }
};

template <class T>
std::vector<std::size_t> columns_of(const std::vector<Matrix<T>>& tables) {
    std::vector<std::size_t> columns;
    for (const Matrix<T>& table : tables) columns.push_back(table.columns);
    return columns;
}

}  // namespace gradbag
