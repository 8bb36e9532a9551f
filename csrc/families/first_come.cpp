#include "kernels/first_come.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

template <Index I, Index O>
void define_unique() {
    // x
    define<Vector<const I>>(typed_name<I, O>("unique_plan"), [](auto x) { return unique_plan<I, O>(x); });
    // plan; x; y, idx
    define<Plan, Vector<const I>, Vector<I>, Vector<O>>(
        typed_name<I, O>("unique"),
        [](const Plan& made, auto, auto... outputs) { unique<I, O>(made, outputs...); });
}

const Family family([] {
    for_index_types([]<class I>() { for_index_types([]<class O>() { define_unique<I, O>(); }); });
});

}  // namespace

}  // namespace gradbag
