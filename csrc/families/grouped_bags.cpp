#include <cstdint>
#include <span>

#include "call/define.hpp"
#include "kernels/grouped_grad.hpp"
#include "kernels/grouped_reduce.hpp"

namespace gradbag {

namespace {

using Combining = Setting<Combiner>;
using Integers = Setting<IntegerList>;

// The type of the gradient is not known here, so that one copy is compiled for all of them.
template <Index I, Index O>
Plan planned(const IntegerList& shapes, Combiner, const IntegerList& features, RowSizes grad,
             std::span<const I> ids, Matrix<const O> offsets, Bytes weights) {
    return grouped_grad_compact_plan(shapes, features, ids, offsets, weights.count > 0,
                                     grad.rows * grad.row_bytes);
}

const Family family([] {
    for_float_types([]<class T>() {
        using Weights = Optional<Vector<const T>>;
        using Tables = List<Rows<const T>>;
        for_index_types([]<class O>() {
            for_index_types([]<class I>() {
                // combiner, feature_tables; tables, ids, offsets, weights; output
                define<Combining, Integers, Tables, Vector<const I>, Table<const O>, Weights, Rows<T>>(
                    typed_name<T, I, O>("grouped_reduce"),
                    [](const auto&... views) { grouped_reduce(views...); });
                // table_shapes, combiner, feature_tables; grad, ids, offsets, weights; output
                define<Integers, Combining, Integers, Rows<const T>, Vector<const I>, Table<const O>, Weights,
                       Vector<T>>(typed_name<T, I, O>("grouped_grad"),
                                  [](const auto&... views) { grouped_grad(views...); });
                define<Integers, Combining, Integers, AnyRows, Vector<const I>, Table<const O>,
                       Optional<InputItems>>(typed_name<T, I, O>("grouped_grad_compact_plan"), planned<I, O>);
                // the same and a plan; output, sorted_unique_indices, counts
                define<Integers, Combining, Integers, Plan, Rows<const T>, Vector<const I>, Table<const O>,
                       Weights, Vector<T>, Vector<I>, Vector<std::int64_t>>(
                    typed_name<T, I, O>("grouped_grad_compact"),
                    [](const IntegerList& shapes, Combiner combiner, const IntegerList&, const Plan& plan,
                       auto grad, auto, auto, auto weights, auto... outputs) {
                        grouped_grad_compact(plan, shapes, combiner, grad, weights, outputs...);
                    });
                // feature_tables; grad, tables, ids, offsets; output
                define<Integers, Rows<const T>, Tables, Vector<const I>, Table<const O>, Vector<T>>(
                    typed_name<T, I, O>("grouped_dot"), [](const auto&... views) { grouped_dot(views...); });
            });
        });
    });
});

}  // namespace

}  // namespace gradbag
