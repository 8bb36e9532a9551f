#include "simd/all_loops.hpp"
#include "simd/entry_loops_avx2.hpp"
#include "simd/near_items_avx2.hpp"
#include "simd/short_conversion.hpp"

namespace gradbag::simd {

namespace {

struct Avx2 : ShortConversion<32> {
    template <Index I>
    static EntryLoops<I> entries() {
        return entry_loops_of<Avx2Entries<Avx2, I>, I>();
    }
    static constexpr auto copy_near_items = copy_near_items_avx2<Avx2>;
};

}  // namespace

AllLoops avx2_loops() { return all_loops<Avx2>(); }

}  // namespace gradbag::simd
