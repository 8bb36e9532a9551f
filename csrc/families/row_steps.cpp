#include "kernels/row_steps.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "call/define.hpp"
#include "kernels/grouped_steps.hpp"

namespace gradbag {

namespace {

// What the inputs of a rule are: how many states and numbers, and whether it decays.
template <RowRule kRule, std::size_t kNumbers, bool kDecays, std::size_t kStates>
struct RuleInputs {
    static constexpr RowRule rule = kRule;
    static constexpr std::size_t numbers = kNumbers;
    static constexpr bool decays = kDecays;
    static constexpr std::size_t states = kStates;
};

template <class T, std::size_t>
using Number = Scalar<const T>;

// A number that may be left out, as a view of none or of one.
template <class T>
struct OneNumber {
    static constexpr ArgumentForm form = Scalar<const T>::form;

    static std::span<const T> view(const gradbag_array& array) {
        return {static_cast<const T*>(array.data), 1};
    }
};

template <class T>
T or_zero(std::span<const T> number) {
    return number.empty() ? T{0} : number[0];
}

template <class T>
T* data_of(Matrix<T> rows) {
    return rows.data;
}
template <class T>
T* data_of(std::span<T> numbers) {
    return numbers.data();
}

template <class T>
std::size_t width_of(Matrix<T> rows) {
    return rows.columns;
}
template <class T>
std::size_t width_of(std::span<T>) {
    return 1;
}

// A step on a table with its states; the numbers are the last of all views.
template <class Inputs, class T, class Views, class... States>
RowStep<T> step_of(bool nesterov, const Views& views, Matrix<T> table, const States&... states) {
    RowStep<T> step{Inputs::rule, table, {}, {}};
    step.rows.table = table.data;
    step.rows.columns = table.columns;
    step.rows.nesterov = nesterov;
    [[maybe_unused]] std::size_t place = 0;
    ((step.widths[place] = width_of(states), step.rows.states[place++] = data_of(states)), ...);
    constexpr std::size_t first = std::tuple_size_v<Views> - Inputs::numbers - (Inputs::decays ? 2 : 0);
    [&]<std::size_t... n>(std::index_sequence<n...>) {
        ((step.rows.numbers[n] = std::get<first + n>(views)), ...);
    }(std::make_index_sequence<Inputs::numbers>{});
    if constexpr (Inputs::decays) {
        step.rows.l2 = or_zero(std::get<first + Inputs::numbers>(views));
        step.rows.decay = or_zero(std::get<first + Inputs::numbers + 1>(views));
    }
    return step;
}

// Of the updated arguments, which come first.
template <class Inputs, class T, class Views>
RowStep<T> step_of(bool nesterov, const Views& views) {
    return [&]<std::size_t... s>(std::index_sequence<s...>) {
        return step_of<Inputs, T>(nesterov, views, std::get<0>(views), std::get<s + 1>(views)...);
    }(std::make_index_sequence<Inputs::states>{});
}

// The same where they are lists.
template <class Inputs, class T, class Views>
std::vector<RowStep<T>> steps_of(bool nesterov, const Views& views) {
    std::vector<RowStep<T>> steps;
    for (std::size_t table = 0; table < std::get<0>(views).size(); ++table) {
        [&]<std::size_t... s>(std::index_sequence<s...>) {
            steps.push_back(step_of<Inputs, T>(nesterov, views, std::get<0>(views)[table],
                                               std::get<s + 1>(views)[table]...));
        }(std::make_index_sequence<Inputs::states>{});
    }
    return steps;
}

// Settings, updated arguments, entries and numbers, as one list.
template <class SettingList, class UpdatedList, class EntryList, class NumberList>
struct Definition;

template <class... Settings, class... Updated, class... Entries, class... Numbers>
struct Definition<std::tuple<Settings...>, std::tuple<Updated...>, std::tuple<Entries...>,
                  std::tuple<Numbers...>> {
    template <class Function>
    static void add(const std::string& name, Function function) {
        define<Settings..., Updated..., Entries..., Numbers...>(name, function);
    }
};

template <class T, class Inputs, std::size_t... n>
auto number_list(std::index_sequence<n...>) {
    if constexpr (Inputs::decays) {
        return std::tuple<Number<T, n>..., Optional<OneNumber<T>>, Optional<OneNumber<T>>>{};
    } else {
        return std::tuple<Number<T, n>...>{};
    }
}

template <RowRule rule, std::size_t numbers, bool decays, bool nesterov, bool... per_row>
void define_rule(const std::string& name) {
    using Inputs = RuleInputs<rule, numbers, decays, sizeof...(per_row)>;
    // Of the settings of the step on bags, the combiner comes first.
    using Own = std::conditional_t<nesterov, std::tuple<Setting<bool>>, std::tuple<>>;
    using OfBags = std::conditional_t<nesterov, std::tuple<Setting<Combiner>, Setting<bool>>,
                                      std::tuple<Setting<Combiner>>>;
    using OfTables = decltype(std::tuple_cat(OfBags{}, std::tuple<Setting<IntegerList>>{}));
    constexpr std::size_t entries = sizeof...(per_row) + 1;  // where they begin among the inputs
    for_types<float, double>([&]<class T>() {
        using Updated = std::tuple<Rows<T>, std::conditional_t<per_row, Vector<T>, Rows<T>>...>;
        using UpdatedLists =
            std::tuple<List<Rows<T>>, List<std::conditional_t<per_row, Vector<T>, Rows<T>>>...>;
        using Numbers = decltype(number_list<T, Inputs>(std::make_index_sequence<numbers>{}));
        for_index_types([&]<class I>() {
            // table, states; indices, grad; numbers
            const auto on_rows = [](bool ahead, const auto&... views) {
                const auto all = std::forward_as_tuple(views...);
                step_rows(step_of<Inputs, T>(ahead, all), static_cast<int>(entries), std::get<entries>(all),
                          std::get<entries + 1>(all));
            };
            using EntryRows = std::tuple<Vector<const I>, Rows<const T>>;
            Definition<Own, Updated, EntryRows, Numbers>::add(typed_name<T, I>(name + "_rows"),
                                                              [on_rows](const auto&... views) {
                                                                  if constexpr (nesterov) {
                                                                      on_rows(views...);
                                                                  } else {
                                                                      on_rows(false, views...);
                                                                  }
                                                              });
            for_index_types([&]<class O>() {
                // table, states; grad, ids, offsets, weights; numbers
                const auto on_bags = [](Combiner combiner, bool ahead, const auto&... views) {
                    const auto all = std::forward_as_tuple(views...);
                    step_bags(step_of<Inputs, T>(ahead, all), combiner, static_cast<int>(entries + 1),
                              std::get<entries>(all), std::get<entries + 1>(all), std::get<entries + 2>(all),
                              std::get<entries + 3>(all));
                };
                using EntryBags =
                    std::tuple<Rows<const T>, Vector<const I>, Vector<const O>, Optional<Vector<const T>>>;
                Definition<OfBags, Updated, EntryBags, Numbers>::add(
                    typed_name<T, I, O>(name + "_bags"), [on_bags](Combiner combiner, const auto&... views) {
                        if constexpr (nesterov) {
                            on_bags(combiner, views...);
                        } else {
                            on_bags(combiner, false, views...);
                        }
                    });
                // lists of them; grad, ids, offsets, weights; numbers
                const auto on_tables = [](Combiner combiner, bool ahead, const IntegerList& features,
                                          const auto&... views) {
                    const auto all = std::forward_as_tuple(views...);
                    step_tables(steps_of<Inputs, T>(ahead, all), combiner, features,
                                static_cast<int>(entries + 1), std::get<entries>(all),
                                std::get<entries + 1>(all), std::get<entries + 2>(all),
                                std::get<entries + 3>(all));
                };
                using EntryTables =
                    std::tuple<Rows<const T>, Vector<const I>, Table<const O>, Optional<Vector<const T>>>;
                Definition<OfTables, UpdatedLists, EntryTables, Numbers>::add(
                    typed_name<T, I, O>(name + "_grouped"),
                    [on_tables](Combiner combiner, const auto&... views) {
                        if constexpr (nesterov) {
                            on_tables(combiner, views...);
                        } else {
                            on_tables(combiner, false, views...);
                        }
                    });
            });
        });
    });
}

const Family family([] {
    define_rule<RowRule::sgd, 1, true, false>("sgd");
    define_rule<RowRule::momentum, 2, true, true, false>("momentum");
    define_rule<RowRule::adagrad, 2, true, false, false>("adagrad");
    define_rule<RowRule::row_wise_adagrad, 2, true, false, true>("row_wise_adagrad");
    define_rule<RowRule::adam, 4, true, false, false, false>("adam");
    define_rule<RowRule::row_wise_adam, 4, true, false, false, true>("row_wise_adam");
    define_rule<RowRule::counted_adam, 4, true, false, false, false, true>("counted_adam");
    define_rule<RowRule::row_wise_counted_adam, 4, true, false, false, true, true>("row_wise_counted_adam");
    define_rule<RowRule::rms_prop, 4, true, false, false, false>("rms_prop");
    define_rule<RowRule::ftrl, 4, false, false, false, false>("ftrl");
    for_types<float, double>([]<class T>() {
        for_index_types([]<class I>() {
            // table, last; indices, step, rate
            define<Rows<T>, Vector<std::int64_t>, Vector<const I>, Scalar<const std::int64_t>,
                   Scalar<const T>>(typed_name<T, I>("row_decay"),
                                    [](auto table, auto last, auto indices, const std::int64_t& step,
                                       const T& rate) { decay_rows(table, last, indices, step, rate); });
        });
    });
});

}  // namespace

}  // namespace gradbag
