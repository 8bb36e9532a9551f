#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/thresholds.hpp"
#include "core/views.hpp"
#include "simd/row_loops.hpp"

namespace gradbag {

// Asks the caches for rows that will be used soon.
class RowPrefetch {
  public:
    template <class T>
    explicit RowPrefetch(Matrix<T> matrix)
        : base_(reinterpret_cast<std::uintptr_t>(matrix.data)), row_bytes_(matrix.columns * sizeof(T)) {
        const bool worthwhile = matrix.size() * sizeof(T) > kCachedTable;
        wanted_bytes_ = worthwhile ? std::min(row_bytes_, kPrefetchedBytes) : 0;
    }

    bool worthwhile() const { return wanted_bytes_ > 0; }

    // The row number need not have been checked: a wrong address is computed without overflow and never used.
    // Always inlined, because GCC removes calls of a function that does nothing but prefetch.
#if defined(__GNUC__)
    [[gnu::always_inline]] void operator()(std::uint64_t row) const {
        if (wanted_bytes_ == 0) return;
        const std::uintptr_t begin = base_ + static_cast<std::uintptr_t>(row) * row_bytes_;
        const std::uintptr_t end = begin + wanted_bytes_;
        for (std::uintptr_t line = begin / kLineBytes * kLineBytes; line < end; line += kLineBytes) {
            __builtin_prefetch(reinterpret_cast<const void*>(line));
        }
    }

    // The same for a row whose place is known.
    [[gnu::always_inline]] void row(const void* at) const {
        const auto begin = reinterpret_cast<std::uintptr_t>(at);
        for (std::uintptr_t line = begin / kLineBytes * kLineBytes; line < begin + wanted_bytes_;
             line += kLineBytes) {
            __builtin_prefetch(reinterpret_cast<const void*>(line));
        }
    }

    // The same for rows of a few bytes, of which the first line is enough.
    [[gnu::always_inline]] void line(std::uint64_t row) const {
        __builtin_prefetch(
            reinterpret_cast<const void*>(base_ + static_cast<std::uintptr_t>(row) * row_bytes_));
    }
#else
    void operator()(std::uint64_t) const {}
    void row(const void*) const {}
    void line(std::uint64_t) const {}
#endif

  private:
    std::uintptr_t base_;
    std::size_t row_bytes_;
    std::size_t wanted_bytes_;
};

// How many places ahead the next line is.
template <class T>
inline constexpr std::size_t kNextLine = (kLineBytes + sizeof(T) - 1) / sizeof(T);

}  // namespace gradbag
