#include "kernels/row_moves.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

using Int64 = std::int64_t;
using AnyInput = Items<const std::uint8_t, -1>;
using AnyOutput = Items<std::uint8_t, -1>;

template <class T, class Sum>
void define_counts() {
    for_index_types([]<class I>() {
        // numbers, weights; output. Unsigned sums wrap around where signed ones must not.
        define<Vector<const I>, Vector<const T>, Vector<T>>(
            typed_name<I, T>("count_numbers"), [](auto... views) { count_numbers<T, Sum, I>(views...); });
    });
}

const Family family([] {
    for_index_types([]<class I>() {
        // params, indices, sizes; output
        define<AnyInput, Table<const I>, Vector<const Int64>, AnyOutput>(
            typed_name<I>("gather_rows"), [](auto... views) { gather_rows<I>(views...); });
    });
    // count; partitions
    define<Setting<Int64>, Vector<const std::int32_t>>(
        "partition_rows_plan", [](auto... views) { return partition_rows_plan(views...); });
    // plan; data; outputs
    define<Plan, AnyInput, List<AnyOutput>>(
        "partition_rows",
        [](const Plan& made, auto data, const auto& outputs) { partition_rows(made, data, outputs); });
    // rows; indices, data; output
    define<Setting<Int64>, List<Vector<const std::int32_t>>, List<AnyInput>, AnyOutput>(
        "stitch_rows", [](auto rows, const auto& indices, const auto& data, auto output) {
            stitch_rows(rows, indices, data, output);
        });
    define_counts<float, double>();
    define_counts<double, double>();
    define_counts<std::int32_t, std::uint32_t>();
    define_counts<std::int64_t, std::uint64_t>();
});

}  // namespace

}  // namespace gradbag
