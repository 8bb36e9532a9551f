#include "kernels/sparse_places.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    using Places = Table<const std::int64_t>;
    using NewPlaces = Table<std::int64_t>;
    // indices, values; output_indices, output_values
    define<Places, InputItems, NewPlaces, OutputItems>("row_major_entries",
                                                       [](auto... views) { row_major_entries(views...); });
    // a_indices, b_indices
    define<Places, Places>("union_places_plan", [](auto... views) { return union_places_plan(views...); });
    // plan; a_indices, a_values, b_indices, b_values; places, first, second, both
    define<Plan, Places, InputItems, Places, InputItems, NewPlaces, OutputItems, OutputItems,
           Vector<std::uint8_t>>("union_places",
                                 [](const Plan& made, auto... views) { union_places(made, views...); });
});

}  // namespace

}  // namespace gradbag
