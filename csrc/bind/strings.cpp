#include "bind/strings.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "bind/new_strings.hpp"
#include "bind/numpy.hpp"
#include "bind/parts.hpp"

namespace gradbag {

namespace {

template <class Struct>
Struct& inside(const nb::capsule& capsule, const char* name) {
    auto* const held = static_cast<Struct*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (held == nullptr) throw nb::python_error();
    if (held->release == nullptr) throw std::invalid_argument("was read before, and can be read once");
    return *held;
}

std::string at_place(std::size_t place, const std::string& text) {
    std::string told = "[";
    told += std::to_string(place);
    told += "] ";
    return told += text;
}

// Python's str as UTF-8. What is no text, but stands for a byte that could not be decoded, becomes that byte.
// The object keeps the text of ASCII; of any other a copy is made, which `made` holds.
std::string_view utf8(PyObject* text, std::size_t place, nb::object& made) {
    Py_ssize_t size = 0;
    if (const char* const found = PyUnicode_AsUTF8AndSize(text, &size))
        return {found, static_cast<std::size_t>(size)};
    PyErr_Clear();
    made = nb::steal(PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape"));
    if (!made.is_valid()) {
        PyErr_Clear();
        throw std::invalid_argument(at_place(place, "has a surrogate, which cannot be encoded as UTF-8"));
    }
    char* bytes = nullptr;
    if (PyBytes_AsStringAndSize(made.ptr(), &bytes, &size) != 0) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(size)};
}

std::string_view text_of(PyObject* item, std::size_t place, nb::object& made) {
    if (PyUnicode_Check(item)) return utf8(item, place, made);
    if (PyBytes_Check(item)) {
        char* bytes = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(item, &bytes, &size) != 0) throw nb::python_error();
        return {bytes, static_cast<std::size_t>(size)};
    }
    if (item == Py_None) return {};
    throw nb::type_error(at_place(place, "must be str or bytes; got " +
                                             nb::cast<std::string>(nb::type_name(nb::handle(item).type())))
                             .c_str());
}

// A code point of NumPy's str as UTF-8.
void encode(std::uint32_t point, std::size_t place, std::string& text) {
    const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xc0 | point >> 6);
        put(0x80 | (point & 0x3f));
    } else if (point >= 0xdc80 && point <= 0xdcff) {
        put(point - 0xdc00);  // it stands for a byte that could not be decoded
    } else if ((point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff) {
        throw std::invalid_argument(at_place(place, "has a surrogate, which cannot be encoded as UTF-8"));
    } else if (point < 0x10000) {
        put(0xe0 | point >> 12);
        put(0x80 | (point >> 6 & 0x3f));
        put(0x80 | (point & 0x3f));
    } else {
        put(0xf0 | point >> 18);
        put(0x80 | (point >> 12 & 0x3f));
        put(0x80 | (point >> 6 & 0x3f));
        put(0x80 | (point & 0x3f));
    }
}

// A string of a view column: short ones stand in the view itself, the others in one of several buffers.
std::string_view viewed(const ArrowArray& array, std::size_t place) {
    const auto* const view = static_cast<const char*>(array.buffers[1]) + place * 16;
    std::int32_t words[4];
    std::memcpy(words, view, sizeof(words));
    const auto [length, prefix, buffer, offset] = words;
    static_cast<void>(prefix);
    if (length < 0) throw std::invalid_argument("has a string of negative length");
    if (length <= 12) return {view + 4, static_cast<std::size_t>(length)};
    if (buffer < 0 || buffer >= array.n_buffers - 3 || offset < 0)
        throw std::invalid_argument("has a string outside of its buffers");
    return {static_cast<const char*>(array.buffers[2 + buffer]) + offset, static_cast<std::size_t>(length)};
}

}  // namespace

void Strings::Copies::add(std::string_view text) {
    const std::size_t place = offsets.size() - 1;
    if (place % 8 == 0) validity.push_back(0);
    if (text.data() != nullptr) validity.back() = static_cast<std::uint8_t>(validity.back() | 1 << place % 8);
    bytes.insert(bytes.end(), text.begin(), text.end());
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
}

Strings Strings::of_copies(Copies copies) {
    const auto kept = std::make_shared<Copies>(std::move(copies));
    Strings strings;
    strings.count_ = kept->offsets.size() - 1;
    strings.bytes_ = kept->bytes.data();
    strings.offsets_ = kept->offsets.data();
    strings.validity_ = {kept->validity.data(), 0};
    strings.owner_ = kept;
    return strings;
}

void Strings::copy_to(Copies& copies) const {
    visit([&](const auto& column) {
        for (std::size_t place = 0; place < column.size(); ++place) copies.add(column[place]);
    });
}

Strings Strings::of_chunk(const char* format, Released<ArrowArray> given) {
    const std::string_view kind = format;
    const auto kept = std::make_shared<Released<ArrowArray>>(std::move(given));
    const ArrowArray& chunk = *kept->get();
    const bool is_wide = kind == "U" || kind == "Z";
    const bool is_view = kind == "vu" || kind == "vz";
    const bool is_fit = chunk.length >= 0 && chunk.offset >= 0 &&
                        (is_view ? chunk.n_buffers >= 3 : chunk.n_buffers == 3) &&
                        chunk.dictionary == nullptr;
    if (!is_fit || !(is_wide || is_view || kind == "u" || kind == "z"))
        throw nb::type_error(("must be an Arrow column of strings; got one of format '" + std::string(kind) +
                              (chunk.dictionary == nullptr ? "'" : "' with a dictionary"))
                                 .c_str());
    const auto first = static_cast<std::size_t>(chunk.offset);
    const auto count = static_cast<std::size_t>(chunk.length);
    const Validity validity{static_cast<const std::uint8_t*>(chunk.buffers[0]), first};
    if (is_view) {
        Copies copies;
        for (std::size_t place = 0; place < count; ++place)
            copies.add(validity(place) ? viewed(chunk, first + place) : std::string_view{});
        return of_copies(std::move(copies));
    }
    Strings strings;
    strings.layout_ = is_wide ? Layout::wide : Layout::narrow;
    strings.count_ = chunk.buffers[1] == nullptr ? 0 : count;  // no offsets: there is nothing
    const std::size_t size = is_wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
    strings.offsets_ = static_cast<const char*>(chunk.buffers[1]) + first * size;
    strings.bytes_ = static_cast<const char*>(chunk.buffers[2]);
    strings.validity_ = validity;
    strings.owner_ = kept;
    return strings;
}

Strings Strings::of_arrow(const nb::capsule& schema, const nb::capsule& array) {
    const char* const format = inside<ArrowSchema>(schema, "arrow_schema").format;
    return of_chunk(format, Released(inside<ArrowArray>(array, "arrow_array")));
}

Strings Strings::of_arrow_stream(const nb::capsule& capsule) {
    Released stream(inside<ArrowArrayStream>(capsule, "arrow_array_stream"));
    const auto check = [&](int status) {
        if (status == 0) return;
        const char* const reason = stream->get_last_error(stream.get());
        throw std::invalid_argument(std::string("cannot be read: ") +
                                    (reason == nullptr ? "no reason given" : reason));
    };
    Released<ArrowSchema> schema;
    check(stream->get_schema(stream.get(), schema.get()));
    std::vector<Strings> chunks;
    for (;;) {
        Released<ArrowArray> chunk;
        check(stream->get_next(stream.get(), chunk.get()));
        if (chunk->release == nullptr) break;  // so Arrow says that it was the last
        chunks.push_back(of_chunk(schema->format, std::move(chunk)));
    }
    if (chunks.size() == 1) return std::move(chunks.front());
    Copies copies;
    for (const Strings& chunk : chunks) chunk.copy_to(copies);
    return of_copies(std::move(copies));
}

Strings Strings::of_ends(const Ends& ends, const Text& text) {
    Copies copies;
    copies.offsets.reserve(ends.shape(0) + 1);
    copies.bytes.reserve(text.shape(0));
    const auto* const bytes = reinterpret_cast<const char*>(text.data());
    for (std::size_t place = 0; place < ends.shape(0); ++place) {
        const std::size_t begin = copies.bytes.size();
        const auto end = static_cast<std::uint64_t>(ends.data()[place]);
        if (end < begin || end > text.shape(0)) throw std::invalid_argument("has ids outside of its text");
        copies.add({end == begin ? "" : bytes + begin, end - begin});
    }
    return of_copies(std::move(copies));
}

Strings Strings::of_objects(const nb::object& sequence) {
    Copies copies;
    // A copy: another thread may change the list.
    const nb::object items = nb::steal(PySequence_Tuple(sequence.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PyTuple_Size(items.ptr());
    copies.offsets.reserve(static_cast<std::size_t>(count) + 1);
    nb::object made;
    for (Py_ssize_t place = 0; place < count; ++place)
        copies.add(text_of(PyTuple_GetItem(items.ptr(), place), static_cast<std::size_t>(place), made));
    return of_copies(std::move(copies));
}

Strings Strings::of_array(const nb::object& value) {
    if (!PyArray_Check(value.ptr()) || !lies_ready(value.ptr()))
        throw nb::type_error("must lie side by side");
    PyArrayObject* const array = as_array(value.ptr());
    const auto count = static_cast<std::size_t>(PyArray_SIZE(array));
    const auto width = static_cast<std::size_t>(PyArray_ITEMSIZE(array));
    const auto* const bytes = static_cast<const char*>(PyArray_DATA(array));
    if (PyArray_TYPE(array) == NPY_STRING) {
        Strings strings;
        strings.layout_ = Layout::fixed;
        strings.count_ = count;
        strings.width_ = width;
        strings.bytes_ = bytes;
        strings.array_ = value;
        return strings;
    }
    Copies copies;
    copies.offsets.reserve(count + 1);
    if (PyArray_TYPE(array) == NPY_UNICODE) {
        std::string text;
        for (std::size_t place = 0; place < count; ++place) {
            const auto* const points = reinterpret_cast<const std::uint32_t*>(bytes + place * width);
            std::size_t length = width / sizeof(std::uint32_t);
            while (length > 0 && points[length - 1] == 0) --length;
            text.resize(length);
            std::uint32_t all = 0;
            for (std::size_t at = 0; at < length; ++at) {
                all |= points[at];
                text[at] = static_cast<char>(points[at]);
            }
            if (all >= 0x80) {  // not ASCII
                text.clear();
                for (std::size_t at = 0; at < length; ++at) encode(points[at], place, text);
            }
            copies.add(text);
        }
    } else if (PyArray_TYPE(array) == NPY_VSTRING) {
        each_new_string(value.ptr(), [&](std::string_view text) { copies.add(text); });
    } else {
        throw nb::type_error("must be of strings");
    }
    return of_copies(std::move(copies));
}

void bind_strings(nb::module_& m) {
    using nb::literals::operator""_a;
    nb::class_<Strings>(m, "Strings", "Strings as bytes, one after another.")
        .def_static("of_arrow", &Strings::of_arrow, "schema"_a, "array"_a)
        .def_static("of_arrow_stream", &Strings::of_arrow_stream, "stream"_a)
        .def_static("of_array", &Strings::of_array, "array"_a)
        .def_static("of_ends", &Strings::of_ends, "ends"_a.noconvert(), "text"_a.noconvert())
        .def_static("of_objects", &Strings::of_objects, "sequence"_a)
        .def("__len__", &Strings::size);
}

}  // namespace gradbag
