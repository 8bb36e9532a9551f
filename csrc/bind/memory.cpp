#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bind/parts.hpp"
#include "core/block_cache.hpp"

namespace nb = nanobind;

namespace gradbag {

namespace {

using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Holds a block for as long as an array, or a view of it, lives.
struct Owner {
    explicit Owner(std::size_t bytes) : block(BlockCache::shared().take(bytes)) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() { BlockCache::shared().give(block); }

    Block block;
};

ByteArray empty_block(std::size_t bytes) {
    auto owner = std::make_unique<Owner>(bytes);
    void* const data = owner->block.data;
    const nb::capsule holder(owner.get(), [](void* held) noexcept { delete static_cast<Owner*>(held); });
    owner.release();
    return ByteArray(data, {bytes}, holder);
}

}  // namespace

void bind_memory(nb::module_& m) {
    m.def("empty_block", &empty_block, "Bytes with any content, from the cache if it has some that fit.");
    m.def("set_block_cache_limit", [](std::size_t bytes) { BlockCache::shared().set_limit(bytes); });
    m.def("get_block_cache_limit", [] { return BlockCache::shared().limit(); });
    m.def("block_cache_size", [] { return BlockCache::shared().size(); });
    m.def("clear_block_cache", [] { BlockCache::shared().clear(); });
}

}  // namespace gradbag
