#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace gradbag {

// Scratch that is written before it is read: unlike a std::vector it spends no pass on zeros.
template <class T>
class Buffer {
  public:
    explicit Buffer(std::size_t size) : items_(new T[size]), size_(size) {}

    std::size_t size() const { return size_; }
    T& operator[](std::size_t position) { return items_[position]; }
    const T& operator[](std::size_t position) const { return items_[position]; }
    T* data() { return items_.get(); }
    const T* data() const { return items_.get(); }

  private:
    std::unique_ptr<T[]> items_;
    std::size_t size_;
};

}  // namespace gradbag
