#pragma once

#include <cstdint>

// Arrow's C data interface, whose layout its specification promises to keep.
extern "C" {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    const char* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace gradbag {

// One of them, released at the end; it may have been taken out of where it was.
template <class Struct>
class Released {
  public:
    Released() : held_{} {}
    explicit Released(Struct& from) : held_(from) { from.release = nullptr; }
    Released(Released&& other) noexcept : Released(other.held_) {}
    Released& operator=(Released&&) = delete;
    ~Released() {
        if (held_.release != nullptr) held_.release(&held_);
    }

    Struct* get() { return &held_; }
    const Struct* operator->() const { return &held_; }

  private:
    Struct held_;
};

}  // namespace gradbag
