#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "core/block_cache.hpp"
#include "core/thresholds.hpp"

namespace gradbag {

// Scratch that is written before it is read: unlike a std::vector it spends no pass on zeros. If it is large
// it comes from the cache of blocks, which spares it the faults of fresh pages.
template <class T>
    requires std::is_trivially_copyable_v<T>
class Buffer {
  public:
    explicit Buffer(std::size_t size) : size_(size) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
        if (size * sizeof(T) >= kLargeBytes) {
            block_ = BlockCache::shared().take(size * sizeof(T));
            items_ = static_cast<T*>(block_.data);
        } else {
            items_ = new T[size];
        }
    }
    Buffer(Buffer&& other) noexcept
        : items_(std::exchange(other.items_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          block_(std::exchange(other.block_, {})) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(block_, other.block_);
        return *this;
    }
    ~Buffer() {
        if (block_.data != nullptr) {
            BlockCache::shared().give(block_);
        } else {
            delete[] items_;
        }
    }

    std::size_t size() const { return size_; }
    T& operator[](std::size_t position) { return items_[position]; }
    const T& operator[](std::size_t position) const { return items_[position]; }
    T* data() { return items_; }
    const T* data() const { return items_; }

  private:
    T* items_;
    std::size_t size_;
    Block block_{nullptr, 0};
};

}  // namespace gradbag
