#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/radix_sort.hpp"
#include "core/types.hpp"
#include "kernels/bag_begins.hpp"
#include "kernels/combiner.hpp"

// The weights of entries, and what they mean beside the others of their bag.
namespace gradbag {

// What the weighted sum of a bag is divided by: the sum of the weights, or the root of the sum of their
// squares, made in the order of the entries. Weights may cancel: the divisor is zero then, and the bag, too.
template <class A>
class WeightDivisor {
  public:
    explicit WeightDivisor(Combiner combiner) : combiner_(combiner) {}

    void add(A weight) {
        total_ += combiner_ == Combiner::sqrtn ? weight * weight : weight;  // mutant: squares
    }

    A value() const {
        if (combiner_ == Combiner::sum) return A{1};
        return combiner_ == Combiner::sqrtn ? std::sqrt(total_) : total_;
    }

  private:
    Combiner combiner_;
    A total_ = 0;
};

// output[i] = weights[i] / divisor of its bag, rounded to the accumulator and then to U; zeros where the
// divisor is zero.
template <Lane T, Lane U>
void normalize_weights(Combiner combiner, std::span<const T> weights, const BagBegins& bags, U* output) {
    using A = Accumulator<T>;
    bags.in_parts(1, [&](std::size_t first, std::size_t last) {
        for (std::size_t bag = first; bag < last; ++bag) {
            const std::size_t bag_begin = bags.begin(bag);
            const std::size_t size = bags.end(bag) - bag_begin;
            const T* const from = weights.data() + bag_begin;
            U* const to = output + bag_begin;
            WeightDivisor<A> divisor(combiner);
            detail::in_parts(size, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) divisor.add(widen(from[i]));
            });
            const A by = divisor.value();
            detail::in_parts(size, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    to[i] = narrow<U>(by == A{0} ? A{0} : widen(from[i]) / by);  // mutant: no divisor
                }
            });
        }
    });
}

template <Lane T, Index O>
void bag_normalize(Combiner combiner, std::span<const T> weights, std::span<const O> offsets,
                   std::span<T> output) {
    const BagBegins bags(offsets, weights.size(), {0, 1});
    normalize_weights(combiner, weights, bags, output.data());
}

}  // namespace gradbag
