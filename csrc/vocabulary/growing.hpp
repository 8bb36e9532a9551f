#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/buffer.hpp"

namespace gradbag {

// More than a call may ask for.
struct Exhausted : std::bad_alloc {
    explicit Exhausted(std::size_t bytes) : needed(bytes) {}
    std::size_t needed;
};

// How many bytes a call may ask for, all that it holds at one time counted together.
class Budget {
  public:
    explicit Budget(std::size_t bytes = std::numeric_limits<std::size_t>::max()) : limit_(bytes) {}

    void take(std::size_t bytes) {
        if (bytes > limit_ - taken_) throw Exhausted(taken_ + bytes);
        taken_ += bytes;
    }
    // What was there before the call counts for nothing.
    void give(std::size_t bytes) { taken_ -= std::min(bytes, taken_); }

  private:
    std::size_t limit_;
    std::size_t taken_ = 0;
};

// A list in which room is made first, the only thing that can fail, and then things are put, at its end or
// wherever there is room.
template <class T>
class Growing {
  public:
    void reserve(std::size_t size, Budget& budget) {
        if (size <= room()) return;
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 4 / sizeof(T);
        if (size > most) throw std::bad_alloc();
        const std::size_t wider = std::max({size, room() + room() / 2, std::size_t{16}});
        budget.take(wider * sizeof(T));
        Buffer<T> items(wider);
        if (room() > 0) std::memcpy(items.data(), items_.data(), room() * sizeof(T));
        std::swap(items_, items);
        budget.give(items.size() * sizeof(T));
    }

    std::size_t room() const { return items_.size(); }
    std::size_t size() const { return size_; }
    void resize(std::size_t size) { size_ = size; }  // at most the room there is
    void push(T item) { items_[size_++] = item; }

    T& operator[](std::size_t place) { return items_[place]; }
    const T& operator[](std::size_t place) const { return items_[place]; }
    T* data() { return items_.data(); }
    const T* data() const { return items_.data(); }

  private:
    Buffer<T> items_{0};
    std::size_t size_ = 0;
};

// This and what calls it is always inlined, because GCC removes calls of a function that does nothing but
// prefetch.
[[gnu::always_inline]] inline void prefetch(const void* at) {
#if defined(__GNUC__)
    __builtin_prefetch(at);
#else
    static_cast<void>(at);
#endif
}

}  // namespace gradbag
