#include "torch/shim.hpp"

#include <stdexcept>
#include <string>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace gradbag::torch {

namespace {

// PyTorch's library, which the process has loaded already; it is never loaded from here.
void* library() {
#if defined(_WIN32)
    void* const found = reinterpret_cast<void*>(GetModuleHandleA("torch_cpu.dll"));
#elif defined(__APPLE__)
    void* const found = dlopen("libtorch_cpu.dylib", RTLD_LAZY | RTLD_NOLOAD);
#else
    void* const found = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
#endif
    if (found == nullptr) throw std::runtime_error("PyTorch is not loaded, or its library has another name");
    return found;
}

template <class Function>
void find(void* from, const char* name, Function& function) {
#if defined(_WIN32)
    void* const found = reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(from), name));
#else
    void* const found = dlsym(from, name);
#endif
    if (found == nullptr) throw std::runtime_error("this PyTorch has no " + std::string(name) + "; 2.13 has");
    function = reinterpret_cast<Function>(found);
}

Shim looked_up() {
    void* const from = library();
    Shim all{};
    find(from, "aoti_torch_library_init_impl", all.aoti_torch_library_init_impl);
    find(from, "torch_library_impl", all.torch_library_impl);
    find(from, "aoti_torch_delete_library_object", all.aoti_torch_delete_library_object);
    find(from, "torch_call_dispatcher", all.torch_call_dispatcher);
    find(from, "torch_new_list_reserve_size", all.torch_new_list_reserve_size);
    find(from, "torch_list_push_back", all.torch_list_push_back);
    find(from, "torch_new_stable_ivalue", all.torch_new_stable_ivalue);
    find(from, "torch_delete_stable_ivalue", all.torch_delete_stable_ivalue);
    find(from, "torch_exception_get_what_without_backtrace", all.torch_exception_get_what_without_backtrace);
    find(from, "torch_from_blob", all.torch_from_blob);
    find(from, "aoti_torch_empty_strided", all.aoti_torch_empty_strided);
    find(from, "aoti_torch_delete_tensor_object", all.aoti_torch_delete_tensor_object);
    find(from, "aoti_torch_is_defined", all.aoti_torch_is_defined);
    find(from, "aoti_torch_get_data_ptr", all.aoti_torch_get_data_ptr);
    find(from, "aoti_torch_get_dim", all.aoti_torch_get_dim);
    find(from, "aoti_torch_get_sizes", all.aoti_torch_get_sizes);
    find(from, "aoti_torch_get_dtype", all.aoti_torch_get_dtype);
    find(from, "aoti_torch_is_contiguous", all.aoti_torch_is_contiguous);
    find(from, "aoti_torch_device_type_cpu", all.aoti_torch_device_type_cpu);
    find(from, "aoti_torch_layout_strided", all.aoti_torch_layout_strided);
    return all;
}

}  // namespace

const Shim& shim() {
    static const Shim all = looked_up();
    return all;
}

std::int32_t dtype_number(const char* name) {
    std::int32_t (*number)() = nullptr;
    find(library(), ("aoti_torch_dtype_" + std::string(name)).c_str(), number);
    return number();
}

}  // namespace gradbag::torch
