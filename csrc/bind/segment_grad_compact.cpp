#include "kernels/segment_grad_compact.hpp"

#include "bind/families.hpp"
#include "bind/segment_types.hpp"

namespace gradbag {

namespace {

// Made here, where the type of the gradient is not known, so that one copy is compiled for all of them.
template <Index I, Index S>
auto planner(Combiner combiner, bool added_as_is) {
    return [combiner, added_as_is](RowSizes grad, std::span<const I> indices, std::span<const S> segment_ids,
                                   const std::int32_t& rows) {
        return segment_grad_compact_plan(combiner, GradRows{grad.rows, grad.row_bytes, added_as_is}, indices,
                                         segment_ids, rows);
    };
}

}  // namespace

void bind_segment_grad_compact(nb::module_& m) {
    for_segment_types([&]<class T, class I, class S>(Combiner combiner) {
        constexpr bool added_as_is = std::is_same_v<lane_of<T>, Accumulator<lane_of<T>>>;
        // grad, indices, segment_ids, dense_output_dim0
        define<AnyRows, Vector<const I>, Vector<const S>, Scalar<const std::int32_t>>(
            m, segment_name<T, I, S>(combiner, "_grad_v2_plan"), planner<I, S>(combiner, added_as_is));

        const auto fill = [combiner](const Plan& made, auto grad, auto, auto, auto, auto... outputs) {
            segment_grad_compact(made, combiner, grad, outputs...);
        };
        // plan; inputs as above; output, sorted_unique_indices
        define<Plan, Rows<const T>, Vector<const I>, Vector<const S>, Scalar<const std::int32_t>, Rows<T>,
               Vector<I>>(m, segment_name<T, I, S>(combiner, "_grad_v2"), fill);
    });
}

}  // namespace gradbag
