#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "call/abi.h"
#include "core/block_cache.hpp"
#include "torch/shim.hpp"

namespace gradbag::torch {

// Results from here on lie in blocks of the cache.
inline constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
// The version of the interface, as PyTorch packs it.
inline constexpr std::uint64_t kBuiltFor = (std::uint64_t{2} << 56) | (std::uint64_t{13} << 48);

// PyTorch has kept the words of what went wrong.
inline void require(Failed failed) {
    if (failed != 0) throw std::runtime_error(shim().torch_exception_get_what_without_backtrace());
}

// A tensor that is held until the end of its scope.
class Tensor {
  public:
    Tensor() = default;
    explicit Tensor(TensorHandle handle) : handle_(handle) {}
    explicit Tensor(Value value) { std::memcpy(&handle_, &value, sizeof handle_); }
    Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Tensor& operator=(Tensor&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Tensor() {
        if (handle_ != nullptr) shim().aoti_torch_delete_tensor_object(handle_);
    }

    explicit operator bool() const { return handle_ != nullptr; }

    // The tensor as an argument or a result, whose taker owns it.
    Value release() {
        Value value = 0;
        const TensorHandle handle = std::exchange(handle_, nullptr);
        std::memcpy(&value, &handle, sizeof handle);
        return value;
    }

    bool is_defined() const {
        bool answer = false;
        require(shim().aoti_torch_is_defined(handle_, &answer));
        return answer;
    }
    std::int32_t dtype() const {
        std::int32_t number = 0;
        require(shim().aoti_torch_get_dtype(handle_, &number));
        return number;
    }
    std::size_t axes() const {
        std::int64_t count = 0;
        require(shim().aoti_torch_get_dim(handle_, &count));
        return static_cast<std::size_t>(count);
    }
    const std::int64_t* sizes() const {
        std::int64_t* found = nullptr;
        require(shim().aoti_torch_get_sizes(handle_, &found));
        return found;
    }
    bool is_contiguous() const {
        bool answer = false;
        require(shim().aoti_torch_is_contiguous(handle_, &answer));
        return answer;
    }
    void* data() const {
        void* found = nullptr;
        require(shim().aoti_torch_get_data_ptr(handle_, &found));
        return found;
    }

    gradbag_array array(std::size_t item_size) const {
        static_assert(sizeof(std::int64_t) == sizeof(std::ptrdiff_t));
        return {data(), reinterpret_cast<const std::ptrdiff_t*>(sizes()), axes(), item_size};
    }

  private:
    TensorHandle handle_ = nullptr;
};

// A new tensor with any content; a large one lies in a block that comes back to the cache.
inline Tensor empty(std::initializer_list<std::int64_t> shape, std::int32_t dtype, std::size_t item_size) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t items = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        strides[axis] = items;
        items *= shape.begin()[axis];
    }
    const auto axes = static_cast<std::int64_t>(shape.size());
    const std::int32_t cpu = shim().aoti_torch_device_type_cpu();
    const std::size_t bytes = static_cast<std::size_t>(items) * item_size;
    TensorHandle made = nullptr;
    if (bytes < kBlockBytes) {
        require(shim().aoti_torch_empty_strided(axes, shape.begin(), strides.data(), dtype, cpu, 0, &made));
        return Tensor(made);
    }
    const Block block = BlockCache::shared().take(bytes);
    const auto capacity = reinterpret_cast<void*>(block.capacity);
    const auto give = [](void* data, void* size) {
        BlockCache::shared().give({data, reinterpret_cast<std::size_t>(size)});
    };
    const Failed failed =
        shim().torch_from_blob(block.data, axes, shape.begin(), strides.data(), 0, dtype, cpu, -1, &made,
                               shim().aoti_torch_layout_strided(), nullptr, 0, give, capacity);
    if (failed != 0) BlockCache::shared().give(block);
    require(failed);
    return Tensor(made);
}

// Calls an operator of PyTorch; it owns the arguments, and the results lie where they lay.
inline void call(const char* name, Value* stack) {
    require(shim().torch_call_dispatcher(name, "", stack, kBuiltFor));
}

}  // namespace gradbag::torch
