#include "simd/all_loops.hpp"
#include "simd/entry_loops_avx2.hpp"
#include "simd/near_items_avx2.hpp"
#include "simd/short_conversion.hpp"

namespace gradbag::simd {

namespace {

// 16-bit numbers are converted eight at a time, as with AVX2; all else is twice as wide. Indices are looked
// at as with AVX2.
struct Avx512 : ShortConversion<64> {
    template <Index I>
    static EntryLoops<I> entries() {
        return entry_loops_of<Avx2Entries<Avx512, I>, I>();
    }
    static constexpr auto copy_near_items = copy_near_items_avx2<Avx512>;
};

}  // namespace

AllLoops avx512_loops() { return all_loops<Avx512>(); }

}  // namespace gradbag::simd
