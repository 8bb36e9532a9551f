#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "core/thresholds.hpp"

// Splits the work of a kernel into chunks, which several threads take one after another. The caller is one of
// them, and it waits only for chunks that others have begun, so a thread that never wakes costs nothing.
namespace gradbag {

// At least 1. Before the first call: GRADBAG_NUM_THREADS, or else the CPUs that this process may use.
std::size_t num_threads();
void set_num_threads(std::size_t count);

// The binding says here how to look for a signal such as Ctrl-C; it throws what the call shall end with. It
// is asked by the calling thread, every few milliseconds of a long call.
void set_interruption(void (*check)());

// For work that does not end soon and is not cut into chunks: ends this chunk when the call is to stop.
void checkpoint();

namespace detail {

// Calls body(context, chunk, slot) for each chunk.
void run_chunks(std::size_t chunks, std::size_t threads,
                void (*body)(void* context, std::size_t chunk, std::size_t slot), void* context);

}  // namespace detail

// How many threads `work` elements are worth.
std::size_t threads_for(std::size_t work);

// Calls body(chunk, slot) for every chunk in [0, chunks); no two chunks that run at the same time have the
// same slot, which is below `threads`. Chunks start in order. When some throw, the rest is left out and the
// exception of the first of them, in order, comes back to the caller: if chunks stand for consecutive parts
// of an input, its first fault is found, whatever the number of threads.
template <class Body>
void parallel_for(std::size_t chunks, std::size_t threads, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    detail::run_chunks(
        chunks, threads,
        [](void* context, std::size_t chunk, std::size_t slot) {
            (*static_cast<Plain*>(context))(chunk, slot);
        },
        const_cast<std::remove_const_t<Plain>*>(&body));
}

// A range of positions, cut into pieces of equal length.
struct Pieces {
    std::size_t size;
    std::size_t length;

    Pieces(std::size_t positions, std::size_t most) : size(positions), length(most > 0 ? most : 1) {}

    std::size_t count() const { return size / length + (size % length != 0 ? 1 : 0); }
    std::size_t begin(std::size_t piece) const { return piece * length; }
    std::size_t end(std::size_t piece) const {
        return size - piece * length < length ? size : (piece + 1) * length;
    }
};

// Calls body(begin, end, slot) for the pieces of [0, size); one position is `work` elements of work.
template <class Body>
void parallel_ranges(std::size_t size, std::size_t work, Body&& body) {
    const std::size_t position_work = work > 0 ? work : 1;
    const std::size_t total = size * position_work;
    const std::size_t threads = threads_for(total);
    const std::size_t piece_work =
        threads == 1 ? kLargestPiece
                     : std::clamp(total / (kPiecesOfThread * threads), kSmallestPiece, kLargestPiece);
    const Pieces pieces(size, piece_work / position_work);
    parallel_for(pieces.count(), threads, [&](std::size_t piece, std::size_t slot) {
        body(pieces.begin(piece), pieces.end(piece), slot);
    });
}

}  // namespace gradbag
