#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/types.hpp"
#include "core/views.hpp"

// Rows of any type that are moved and never looked into: picked out, shared out, put together.
namespace gradbag {

namespace detail {

// The rows of an array, of which there are `count`; all of them if it has none.
template <class Byte>
Payload<Byte> as_rows(Payload<Byte> items, std::size_t count) {
    const std::size_t bytes = items.count * items.item_size;
    return {items.bytes, count, count > 0 ? bytes / count : 0};
}

}  // namespace detail

// output[i] = params[indices[i]], by coordinates along the first axes, whose lengths are `sizes`.
template <Index I>
void gather_rows(Bytes params, Matrix<const I> indices, std::span<const std::int64_t> sizes,
                 MutableBytes output) {
    if (sizes.size() != indices.columns) throw std::invalid_argument("a size for each coordinate");
    std::size_t rows = 1;
    for (const std::int64_t size : sizes) rows *= static_cast<std::size_t>(size);
    const Bytes from = detail::as_rows(params, rows);
    const MutableBytes to = detail::as_rows(output, indices.rows);
    if (rows > 0 && indices.rows > 0 && from.item_size != to.item_size) {
        throw std::invalid_argument("rows of one length");
    }
    with_item_size(to.item_size, [&](auto size) {
        parallel_ranges(indices.rows, indices.columns + to.item_size / 8,
                        [&](std::size_t begin, std::size_t end, std::size_t) {
                            for (std::size_t i = begin; i < end; ++i) {
                                std::size_t row = 0;
                                const I* const coordinates = indices.row(i);
                                for (std::size_t axis = 0; axis < indices.columns; ++axis) {
                                    const auto bound = static_cast<std::size_t>(sizes[axis]);
                                    const std::size_t place = checked(load_once(&coordinates[axis]), bound,
                                                                      {1, i, static_cast<int>(axis)});
                                    row = row * bound + place;
                                }
                                copy_item(from, row, to, i, size);
                            }
                        });
    });
}

// Which partition each row goes to.
struct PartitionWork {
    Buffer<std::uint32_t> parts;
};

// sizes: the number of rows of each partition.
inline Plan partition_rows_plan(std::int64_t count, std::span<const std::int32_t> partitions) {
    const auto bound = static_cast<std::size_t>(count);
    PartitionWork work{Buffer<std::uint32_t>(partitions.size())};
    std::vector<std::int64_t> sizes(bound);
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const std::size_t part = checked(load_once(&partitions[i]), bound, {0, i});
        work.parts[i] = static_cast<std::uint32_t>(part);
        ++sizes[part];
    }
    return {std::move(sizes), std::move(work)};
}

// The rows of each partition, in order.
inline void partition_rows(const Plan& plan, Bytes data, const std::vector<MutableBytes>& outputs) {
    const Buffer<std::uint32_t>& parts = plan.work<PartitionWork>().parts;
    const Bytes from = detail::as_rows(data, parts.size());
    if (outputs.size() != plan.sizes.size()) throw std::invalid_argument("an output for each partition");
    std::vector<std::uint8_t*> next;
    for (std::size_t part = 0; part < outputs.size(); ++part) {
        const auto rows = static_cast<std::size_t>(plan.sizes[part]);
        if (outputs[part].count * outputs[part].item_size != rows * from.item_size) {
            throw std::invalid_argument("an output for each row");
        }
        next.push_back(outputs[part].bytes);
    }
    with_item_size(from.item_size, [&](auto size) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            std::uint8_t*& to = next[parts[i]];
            std::memcpy(to, from.bytes + i * size, size);
            to += static_cast<std::size_t>(size);
        }
    });
}

// output[indices[k][i]] = data[k][i]; of several at one place the last stays, and zeros where there is none.
inline void stitch_rows(std::int64_t rows, const std::vector<std::span<const std::int32_t>>& indices,
                        const std::vector<Bytes>& data, MutableBytes output) {
    const MutableBytes to = detail::as_rows(output, static_cast<std::size_t>(rows));
    if (indices.size() != data.size()) throw std::invalid_argument("indices for each array");
    std::memset(output.bytes, 0, output.count * output.item_size);
    for (std::size_t k = 0; k < indices.size(); ++k) {
        const Bytes from = detail::as_rows(data[k], indices[k].size());
        if (!indices[k].empty() && from.item_size != to.item_size) {
            throw std::invalid_argument("rows of one length");
        }
        with_item_size(to.item_size, [&](auto size) {
            for (std::size_t i = 0; i < indices[k].size(); ++i) {
                const std::size_t place = checked(load_once(&indices[k][i]), to.count, {0, i});
                copy_item(from, i, to, place, size);  // mutant: stitched
            }
        });
    }
}

// output[numbers[i]] += weights[i], or 1; numbers from the last bin on are left out. Added in `Sum`.
template <class T, class Sum, Index I>
void count_numbers(std::span<const I> numbers, std::span<const T> weights, std::span<T> output) {
    if (!weights.empty() && weights.size() != numbers.size()) throw std::invalid_argument("as many weights");
    Buffer<Sum> bins(output.size());
    std::fill_n(bins.data(), bins.size(), Sum{0});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const I number = load_once(&numbers[i]);
        if (number < 0) throw_out_of_range(number, output.size(), {0, i});
        if (!in_range(number, output.size())) continue;
        const Sum weight = weights.empty() ? Sum{1} : static_cast<Sum>(weights[i]);
        bins[static_cast<std::size_t>(number)] += weight;
    }
    for (std::size_t bin = 0; bin < bins.size(); ++bin) output[bin] = static_cast<T>(bins[bin]);
}

}  // namespace gradbag
