#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/thresholds.hpp"
#include "simd/row_dots_impl.hpp"
#include "simd/row_packs.hpp"
#include "simd/rule_loops.hpp"

namespace gradbag::simd {

// A rule: which states are one number for each row, whether it needs the mean of squares of a row, and what
// happens to one column. `of_row` makes its numbers of those of the call, of the mean of squares and of the
// states of the row; `column` moves a number of the row with its states.
template <class T>
struct Sgd {
    static constexpr std::size_t states = 0;
    static constexpr std::array<bool, kMostStates> per_row{};
    static constexpr bool squares = false;
    T rate;

    [[gnu::always_inline]] Sgd(const RuleRows<T>& all, T, const std::array<T*, kMostStates>&)
        : rate(all.numbers[0]) {}
    [[gnu::always_inline]] void operator()(T g, T& w) const { w = w - rate * g; }
};

template <class T, bool nesterov>
struct Momentum {
    static constexpr std::size_t states = 1;
    static constexpr std::array<bool, kMostStates> per_row{};
    static constexpr bool squares = false;
    T rate;
    T momentum;

    [[gnu::always_inline]] Momentum(const RuleRows<T>& all, T, const std::array<T*, kMostStates>&)
        : rate(all.numbers[0]), momentum(all.numbers[1]) {}
    [[gnu::always_inline]] void operator()(T g, T& w, T& m) const {
        m = momentum * m + g;
        w = w - rate * (nesterov ? g + momentum * m : m);
    }
};

template <class T>
struct Adagrad {
    static constexpr std::size_t states = 1;
    static constexpr std::array<bool, kMostStates> per_row{};
    static constexpr bool squares = false;
    T rate;
    T epsilon;

    [[gnu::always_inline]] Adagrad(const RuleRows<T>& all, T, const std::array<T*, kMostStates>&)
        : rate(all.numbers[0]), epsilon(all.numbers[1]) {}
    [[gnu::always_inline]] void operator()(T g, T& w, T& a) const {
        a = a + g * g;
        w = w - (rate * g) / (root(a) + epsilon);  // mutant: adagrad
    }
};

template <class T>
struct RowWiseAdagrad {
    static constexpr std::size_t states = 1;
    static constexpr std::array<bool, kMostStates> per_row{true};
    static constexpr bool squares = true;
    T by;

    [[gnu::always_inline]] RowWiseAdagrad(const RuleRows<T>& all, T square,
                                          const std::array<T*, kMostStates>& state) {
        *state[0] = *state[0] + square;
        by = all.numbers[0] / (root(*state[0]) + all.numbers[1]);
    }
    [[gnu::always_inline]] void operator()(T g, T& w) const { w = w - by * g; }
};

template <class T, bool RowWise, bool Counted>
struct Adam {
    static constexpr std::size_t states = Counted ? 3 : 2;
    static constexpr std::array<bool, kMostStates> per_row{false, RowWise, true};
    static constexpr bool squares = RowWise;
    T rate;
    T rest1;
    T rest2;
    T epsilon;
    T divisor = 0;

    [[gnu::always_inline]] Adam(const RuleRows<T>& all, T square, const std::array<T*, kMostStates>& state)
        : rate(all.numbers[0]),
          rest1(T{1} - all.numbers[1]),
          rest2(T{1} - all.numbers[2]),
          epsilon(all.numbers[3]) {
        if constexpr (Counted) {
            // In double, and rounded once.
            const double steps = static_cast<double>(*state[2] = *state[2] + T{1});
            const double first = 1 - __builtin_pow(static_cast<double>(all.numbers[1]), steps);
            const double second = 1 - __builtin_pow(static_cast<double>(all.numbers[2]), steps);
            const double part = __builtin_sqrt(second);
            rate = static_cast<T>(static_cast<double>(rate) * part / first);  // mutant: bias
            epsilon = static_cast<T>(static_cast<double>(epsilon) * part);
        }
        if constexpr (RowWise) {
            *state[1] = *state[1] + rest2 * (square - *state[1]);
            divisor = root(*state[1]) + epsilon;
        }
    }
    [[gnu::always_inline]] void operator()(T g, T& w, T& m) const {
        m = m + rest1 * (g - m);
        w = w - (rate * m) / divisor;
    }
    [[gnu::always_inline]] void operator()(T g, T& w, T& m, T& v) const {
        m = m + rest1 * (g - m);
        v = v + rest2 * (g * g - v);
        w = w - (rate * m) / (root(v) + epsilon);
    }
};

template <class T>
struct RmsProp {
    static constexpr std::size_t states = 2;
    static constexpr std::array<bool, kMostStates> per_row{};
    static constexpr bool squares = false;
    T rate;
    T rho;
    T rest;
    T momentum;
    T epsilon;

    [[gnu::always_inline]] RmsProp(const RuleRows<T>& all, T, const std::array<T*, kMostStates>&)
        : rate(all.numbers[0]),
          rho(all.numbers[1]),
          rest(T{1} - all.numbers[1]),
          momentum(all.numbers[2]),
          epsilon(all.numbers[3]) {}
    [[gnu::always_inline]] void operator()(T g, T& w, T& v, T& m) const {
        v = rho * v + rest * (g * g);
        m = momentum * m + (rate * g) / root(v + epsilon);
        w = w - m;
    }
};

template <class T>
struct Ftrl {
    static constexpr std::size_t states = 2;
    static constexpr std::array<bool, kMostStates> per_row{};
    static constexpr bool squares = false;
    T rate;
    T l1;
    T strength;
    T shrinkage;

    [[gnu::always_inline]] Ftrl(const RuleRows<T>& all, T, const std::array<T*, kMostStates>&)
        : rate(all.numbers[0]),
          l1(all.numbers[1]),
          strength(T{2} * all.numbers[2]),
          shrinkage(T{2} * all.numbers[3]) {}
    [[gnu::always_inline]] void operator()(T g, T& w, T& a, T& z) const {
        const T n = a + g * g;
        const T after = root(n);
        z = (z + (g + shrinkage * w)) - ((after - root(a)) / rate) * w;
        const T q = after / rate + strength;
        const T size = z < 0 ? -z : z;
        const T moved = ((z < 0 ? -l1 : l1) - z) / q;
        w = size > l1 ? moved : T{0};  // mutant: ftrl
        a = n;
    }
};

// The columns of one row, with those states that have columns.
template <class Rule, class T>
[[gnu::always_inline]] inline void move_row(const Rule& rule, std::size_t columns, const T* __restrict g,
                                            T* __restrict w, const std::array<T*, kMostStates>& state) {
    constexpr std::size_t wide =
        (Rule::states > 0 && !Rule::per_row[0] ? 1 : 0) + (Rule::states > 1 && !Rule::per_row[1] ? 1 : 0);
    if constexpr (wide == 0) {
        for (std::size_t c = 0; c < columns; ++c) rule(g[c], w[c]);
    } else if constexpr (wide == 1) {
        T* __restrict const first = state[0];
        for (std::size_t c = 0; c < columns; ++c) rule(g[c], w[c], first[c]);
    } else {
        T* __restrict const first = state[0];
        T* __restrict const second = state[1];
        for (std::size_t c = 0; c < columns; ++c) rule(g[c], w[c], first[c], second[c]);
    }
}

template <class Level, class Rule, class T>
[[gnu::flatten]] void move_rows(const RuleRows<T>& all) {
    const std::size_t columns = all.columns;
    for (std::size_t i = 0; i < all.count; ++i) {
        const std::size_t row = all.rows[i];
        T* __restrict const w = all.table + row * columns;
        T* __restrict const g = all.grads + i * columns;
        std::array<T*, kMostStates> state{};
#pragma GCC unroll 3
        for (std::size_t s = 0; s < Rule::states; ++s) {
            state[s] = all.states[s] + row * (Rule::per_row[s] ? 1 : columns);  // mutant: state row
        }
        if (all.l2 != 0) {
            for (std::size_t c = 0; c < columns; ++c) g[c] = g[c] + all.l2 * w[c];
        }
        if (all.decay != 0) {
            for (std::size_t c = 0; c < columns; ++c) w[c] = w[c] - all.decay * w[c];
        }
        T square = 0;
        if constexpr (Rule::squares) {
            const T* const pointer = g;
            dot_rows<Level, T>({&pointer, &pointer, 1, 0, columns, &square});
            square = square / static_cast<T>(columns > 0 ? columns : 1);
        }
        const Rule rule(all, square, state);
        move_row(rule, columns, g, w, state);
    }
}

template <class Level, class T>
void move_by_momentum(const RuleRows<T>& all) {
    all.nesterov ? move_rows<Level, Momentum<T, true>, T>(all) : move_rows<Level, Momentum<T, false>, T>(all);
}

template <class Level, class T>
[[gnu::always_inline]] inline RuleLoops<T> rule_loops_of() {
    return {move_rows<Level, Sgd<T>, T>,
            move_by_momentum<Level, T>,
            move_rows<Level, Adagrad<T>, T>,
            move_rows<Level, RowWiseAdagrad<T>, T>,
            move_rows<Level, Adam<T, false, false>, T>,
            move_rows<Level, Adam<T, true, false>, T>,
            move_rows<Level, Adam<T, false, true>, T>,
            move_rows<Level, Adam<T, true, true>, T>,
            move_rows<Level, RmsProp<T>, T>,
            move_rows<Level, Ftrl<T>, T>};
}

}  // namespace gradbag::simd
