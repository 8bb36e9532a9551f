#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/arrow.hpp"
#include "vocabulary/columns.hpp"

namespace nb = nanobind;

namespace gradbag {

// Strings as bytes, as Python has them: in place where they lie side by side already, otherwise copied.
class Strings {
  public:
    using Ends = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Text = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

    // What `__arrow_c_array__` and `__arrow_c_stream__` give.
    static Strings of_arrow(const nb::capsule& schema, const nb::capsule& array);
    static Strings of_arrow_stream(const nb::capsule& stream);
    // Contiguous arrays of NumPy: bytes of a fixed width, str of a fixed width, StringDType.
    static Strings of_array(const nb::object& array);
    // What lies in one text, each string from where the one before it ends.
    static Strings of_ends(const Ends& ends, const Text& text);
    // A sequence of str, bytes and None.
    static Strings of_objects(const nb::object& sequence);

    std::size_t size() const { return count_; }

    // Calls visit(column).
    template <class Visit>
    decltype(auto) visit(Visit visit) const {
        switch (layout_) {
            case Layout::fixed:
                return visit(FixedColumn{bytes_, width_, count_});
            case Layout::narrow:
                return visit(OffsetColumn<std::int32_t>{static_cast<const std::int32_t*>(offsets_), bytes_,
                                                        validity_, count_});
            default:
                return visit(OffsetColumn<std::int64_t>{static_cast<const std::int64_t*>(offsets_), bytes_,
                                                        validity_, count_});
        }
    }

  private:
    enum class Layout { fixed, narrow, wide };

    // Strings that were copied.
    struct Copies {
        std::vector<std::int64_t> offsets{0};
        std::vector<char> bytes;
        std::vector<std::uint8_t> validity;

        void add(std::string_view text);  // null if it has no address
    };

    static Strings of_copies(Copies copies);
    static Strings of_chunk(const char* format, Released<ArrowArray> chunk);
    void copy_to(Copies& copies) const;

    Layout layout_ = Layout::wide;
    std::size_t count_ = 0;
    std::size_t width_ = 0;
    const char* bytes_ = nullptr;
    const void* offsets_ = nullptr;
    Validity validity_{nullptr, 0};
    std::shared_ptr<void> owner_;  // of the memory, if it is not the array's
    nb::object array_;
};

}  // namespace gradbag
