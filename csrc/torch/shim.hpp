#pragma once

#include <cstddef>
#include <cstdint>

// The part of PyTorch's stable C interface that is used here, declared by hand and looked up when it is
// wanted: nothing of PyTorch is needed to compile this or to load it.
namespace gradbag::torch {

struct TensorOpaque;
struct LibraryOpaque;
struct ListOpaque;
using TensorHandle = TensorOpaque*;
using LibraryHandle = LibraryOpaque*;
using ListHandle = ListOpaque*;
// One argument or result of an operator: a number, a handle that is owned, or for an optional one the address
// of another value, null for none.
using Value = std::uint64_t;
using Failed = std::int32_t;  // not 0: it went wrong
using BoxedKernel = void (*)(Value* stack, std::uint64_t arguments, std::uint64_t results);

struct Shim {
    Failed (*aoti_torch_library_init_impl)(const char*, const char*, const char*, std::uint32_t,
                                           LibraryHandle*);
    Failed (*torch_library_impl)(LibraryHandle, const char*, BoxedKernel, std::uint64_t);
    Failed (*aoti_torch_delete_library_object)(LibraryHandle);
    Failed (*torch_call_dispatcher)(const char*, const char*, Value*, std::uint64_t);
    Failed (*torch_new_list_reserve_size)(std::size_t, ListHandle*);
    Failed (*torch_list_push_back)(ListHandle, Value);
    Failed (*torch_new_stable_ivalue)(Value**);
    Failed (*torch_delete_stable_ivalue)(Value*);
    const char* (*torch_exception_get_what_without_backtrace)();
    Failed (*torch_from_blob)(void*, std::int64_t, const std::int64_t*, const std::int64_t*, std::int64_t,
                              std::int32_t, std::int32_t, std::int32_t, TensorHandle*, std::int32_t,
                              const std::uint8_t*, std::int64_t, void (*)(void*, void*), void*);
    Failed (*aoti_torch_empty_strided)(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t,
                                       std::int32_t, std::int32_t, TensorHandle*);
    Failed (*aoti_torch_delete_tensor_object)(TensorHandle);
    Failed (*aoti_torch_is_defined)(TensorHandle, bool*);
    Failed (*aoti_torch_get_data_ptr)(TensorHandle, void**);
    Failed (*aoti_torch_get_dim)(TensorHandle, std::int64_t*);
    Failed (*aoti_torch_get_sizes)(TensorHandle, std::int64_t**);
    Failed (*aoti_torch_get_dtype)(TensorHandle, std::int32_t*);
    Failed (*aoti_torch_is_contiguous)(TensorHandle, bool*);
    std::int32_t (*aoti_torch_device_type_cpu)();
    std::int32_t (*aoti_torch_layout_strided)();
};

// Throws std::runtime_error, in words, where PyTorch is not loaded or lacks something.
const Shim& shim();

// PyTorch's number of a dtype, by its name.
std::int32_t dtype_number(const char* name);

}  // namespace gradbag::torch
