#include "simd/all_loops.hpp"
#include "simd/short_conversion.hpp"

namespace gradbag::simd {

namespace {

struct Avx2 : ShortConversion<32> {};

}  // namespace

AllLoops avx2_loops() { return all_loops<Avx2>(); }

}  // namespace gradbag::simd
