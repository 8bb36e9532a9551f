#pragma once

#include <cstddef>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "kernels/bag_begins.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_scales.hpp"

namespace gradbag::detail {

// The payload is the bag, whose gradient is divided among its entries.
template <class A>
class BagScales {
  public:
    BagScales(Combiner combiner, const BagBegins& bags)
        : scales_(combiner == Combiner::sum ? 0 : bags.size()) {
        const CountScales<A> of_count(combiner);
        parallel_ranges(scales_.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t bag = begin; bag < end; ++bag) {
                scales_[bag] = of_count(bags.end(bag) - bags.begin(bag));  // mutant: stepped share
            }
        });
    }

    A operator()(std::size_t) const { return A{1}; }
    static std::size_t segment(std::size_t payload) { return payload; }
    const A* listed() const { return scales_.size() > 0 ? scales_.data() : nullptr; }

  private:
    Buffer<A> scales_;
};

}  // namespace gradbag::detail
