#include "simd/all_loops.hpp"
#include "simd/short_conversion.hpp"

namespace gradbag::simd {

namespace {

// 16-bit numbers are converted eight at a time, as with AVX2; all else is twice as wide.
struct Avx512 : ShortConversion<64> {};

}  // namespace

AllLoops avx512_loops() { return all_loops<Avx512>(); }

}  // namespace gradbag::simd
