#include "kernels/add_n.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    const auto define_sum = []<class T>() {
        // inputs; sum
        define<List<Elements<const T>>, Elements<T>>(
            typed_name<T>("add_n"), [](const auto& inputs, auto sum) { add_n(inputs, sum); });
    };
    for_integer_types(define_sum);
    for_fractional_types(define_sum);
});

}  // namespace

}  // namespace gradbag
