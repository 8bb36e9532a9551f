#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include "core/types.hpp"

// What optimizers do with rows that have a gradient, compiled for several instruction sets. All give the same
// bits: every product, sum, root and quotient is rounded, in the order that row_rules.py tells.
namespace gradbag {

enum class RowRule {
    sgd,
    momentum,
    adagrad,
    row_wise_adagrad,
    adam,
    row_wise_adam,
    counted_adam,
    row_wise_counted_adam,
    rms_prop,
    ftrl
};
inline constexpr std::size_t kRowRules = 10;
inline constexpr std::size_t kMostStates = 3;
inline constexpr std::size_t kMostNumbers = 4;

// Rows of a table that move, each with its summed gradient.
template <std::floating_point T>
struct RuleRows {
    T* table;
    std::array<T*, kMostStates> states;  // a row or a number for each row of the table, as the rule says
    std::size_t columns;
    const std::size_t* rows;  // which rows, each once
    std::size_t count;
    T* grads;  // one after another; they may be overwritten
    std::array<T, kMostNumbers> numbers;
    // Zero if there is none.
    T l2;
    T decay;
    bool nesterov;
};

template <std::floating_point T>
using RuleLoops = std::array<void (*)(const RuleRows<T>& rows), kRowRules>;

// Those of the chosen level.
template <std::floating_point T>
const RuleLoops<T>& rule_loops();

}  // namespace gradbag
