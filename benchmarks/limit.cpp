// What nobody who computes these ops can leave out, as fast as the memory of this machine allows it: rows are
// gathered, results filled and ids read. Called from Python by way of ctypes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/parallel.hpp"

namespace {

constexpr std::size_t kLine = 64;

// So that the compiler does not leave out the reading.
void use(std::uint64_t sum) { asm volatile("" : : "r"(sum)); }

struct Rows {
    const std::uint8_t* table;
    std::size_t row_bytes;

    template <class Visit>
    [[gnu::always_inline]] void for_lines(std::size_t row, Visit visit) const {
        const std::uint8_t* const begin = table + row * row_bytes;
        for (std::size_t at = 0; at < row_bytes; at += kLine) visit(begin + at);
    }
};

// A byte of each cache line of these rows, which are asked for some rows ahead.
template <class Index>
void gather(const Rows& rows, const Index* ids, std::size_t count) {
    // Far enough for a trip to memory, and few enough that the core can wait for them all.
    const std::size_t distance = std::clamp<std::size_t>(4096 / rows.row_bytes, 8, 64);
    gradbag::parallel_ranges(count, rows.row_bytes / 4, [&](std::size_t begin, std::size_t end, std::size_t) {
        std::uint64_t sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t later = static_cast<std::size_t>(ids[std::min(i + distance, count - 1)]);
            rows.for_lines(later, [](const std::uint8_t* at) { __builtin_prefetch(at); });
            rows.for_lines(static_cast<std::size_t>(ids[i]), [&](const std::uint8_t* at) { sum += *at; });
        }
        use(sum);
    });
}

// The same, and the byte is written again.
void change(std::uint8_t* table, std::size_t row_bytes, const std::int64_t* ids, std::size_t count) {
    const std::size_t distance = std::clamp<std::size_t>(4096 / row_bytes, 8, 64);
    gradbag::parallel_ranges(count, row_bytes / 4, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint8_t* const later =
                table + static_cast<std::size_t>(ids[std::min(i + distance, count - 1)]) * row_bytes;
            volatile std::uint8_t* const row = table + static_cast<std::size_t>(ids[i]) * row_bytes;
            for (std::size_t at = 0; at < row_bytes; at += kLine) {
                __builtin_prefetch(later + at, 1);
                row[at] = row[at];
            }
        }
    });
}

void fill(std::uint8_t* to, std::size_t bytes, bool past_caches) {
#if defined(__SSE2__)
    if (past_caches) {
        for (std::size_t at = 0; at < bytes; at += sizeof(__m128i)) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_setzero_si128());
        }
        return _mm_sfence();
    }
#endif
    std::memset(to, 0, bytes);
}

}  // namespace

extern "C" {

void limit_set_threads(std::size_t count) { gradbag::set_num_threads(count); }

void limit_gather_32(const std::uint8_t* table, std::size_t row_bytes, const std::int32_t* ids,
                     std::size_t count) {
    gather(Rows{table, row_bytes}, ids, count);
}

void limit_gather_64(const std::uint8_t* table, std::size_t row_bytes, const std::int64_t* ids,
                     std::size_t count) {
    gather(Rows{table, row_bytes}, ids, count);
}

// Distinct rows.
void limit_change_64(std::uint8_t* table, std::size_t row_bytes, const std::int64_t* ids, std::size_t count) {
    change(table, row_bytes, ids, count);
}

// Whole lines of memory that begins with one.
void limit_fill(std::uint8_t* to, std::size_t bytes) {
    constexpr std::size_t cached = std::size_t{8} << 20;
    gradbag::parallel_ranges(bytes / kLine, kLine / 4, [&](std::size_t begin, std::size_t end, std::size_t) {
        fill(to + begin * kLine, (end - begin) * kLine, bytes > cached);
    });
}

void limit_read(const std::uint8_t* from, std::size_t bytes) {
    gradbag::parallel_ranges(bytes / 8, 2, [&](std::size_t begin, std::size_t end, std::size_t) {
        std::uint64_t sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
            std::uint64_t word;
            std::memcpy(&word, from + sizeof(word) * i, sizeof(word));
            sum += word;
        }
        use(sum);
    });
}

}  // extern "C"
