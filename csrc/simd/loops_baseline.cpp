#include "simd/all_loops.hpp"
#include "simd/entry_loops_impl.hpp"

namespace gradbag::simd {

namespace {

// What every CPU of the architecture has.
struct Baseline {
    template <class T>
    static constexpr std::size_t bytes_for = 16;
    template <class T, std::size_t Bytes>
    static constexpr bool converts = false;
    template <class T, std::size_t Bytes>
    static constexpr bool streams = false;
    static void fence() {}
    template <Index I>
    static EntryLoops<I> entries() {
        return entry_loops_of<PlainEntries<Baseline, I>, I>();
    }
    static constexpr auto copy_near_items = copy_no_items<Baseline>;
};

}  // namespace

AllLoops baseline_loops() { return all_loops<Baseline>(); }

}  // namespace gradbag::simd
