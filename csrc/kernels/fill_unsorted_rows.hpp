#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/bucketed_entries.hpp"
#include "core/buffer.hpp"
#include "core/constants.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "kernels/filled_rows.hpp"

// Rows that come in no order, in three passes, of which none leaves the caches: entries go into buckets, each
// bucket is sorted into the output, and the places that its entries got are read back in the order of the
// input.
namespace gradbag::detail {

// A small entry, carried whole: the input is read once, in order.
template <std::size_t Rank, std::size_t Size>
struct CarriedEntry {
    std::uint32_t row;
    std::array<std::uint8_t, Size> item;
    [[no_unique_address]] std::array<std::int64_t, Rank - 1> columns;

    void read(std::uint32_t checked_row, const RowEntries& from, std::size_t position) {
        row = checked_row;
        std::memcpy(item.data(), from.values.bytes + position * Size, Size);  // mutant: item
        for (std::size_t d = 1; d < Rank; ++d) columns[d - 1] = from.indices.data[position * Rank + d];
    }

    void prefetch(const RowEntries&) const {}

    void write(const RowEntries&, std::int64_t* indices, std::uint8_t* value) const {
        for (std::size_t d = 1; d < Rank; ++d) indices[d] = columns[d - 1];  // mutant: columns
        std::memcpy(value, item.data(), Size);
    }
};

// An entry of any size, of which only the position is carried.
struct NamedEntry {
    std::uint32_t row;
    std::uint32_t position;

    void read(std::uint32_t checked_row, const RowEntries&, std::size_t at) {
        row = checked_row;
        position = static_cast<std::uint32_t>(at);
    }

    void prefetch(const RowEntries& from) const {
        const Matrix<const std::uint8_t> items{from.values.bytes, from.values.count, from.values.item_size};
        RowPrefetch(from.indices).line(position);
        RowPrefetch(items).line(position);
    }

    void write(const RowEntries& from, std::int64_t* indices, std::uint8_t* value) const {
        const std::size_t rank = from.indices.columns;
        for (std::size_t d = 1; d < rank; ++d) indices[d] = from.indices.data[position * rank + d];
        std::memcpy(value, from.values.bytes + position * from.values.item_size, from.values.item_size);
    }
};

template <class Rank, class Size>
struct EntryOf {
    using type = NamedEntry;
};
template <std::size_t Rank, std::size_t Size>
struct EntryOf<Constant<Rank>, Constant<Size>> {
    using type = CarriedEntry<Rank, Size>;
};

// The outputs of a bucket, from its first one on.
struct BucketOutput {
    std::int64_t* indices;
    std::uint8_t* values;
    bool* empty_row_indicator;
};

template <class Entry>
void count_rows(const Entry* __restrict entries, std::size_t count, std::size_t first_row,
                const RowEntries& from, std::uint32_t* __restrict counts) {
    for (std::size_t i = 0; i < count; ++i) {
        entries[i].prefetch(from);
        ++counts[entries[i].row - first_row];
    }
}

// Counts become where each row begins, and there an empty entry is put, which the entries of the row will
// overwrite if it has any: who is empty cannot be guessed, so there is no branch. Returns the end.
template <class Rank, class Size>
std::uint32_t begin_rows(std::uint32_t* __restrict next, std::size_t begin, std::size_t end,
                         std::size_t first_row, std::uint32_t to, Bytes default_value, BucketOutput output,
                         Rank rank, Size size) {
    for (std::size_t row = begin; row < end; ++row) {
        const std::uint32_t entries = std::exchange(next[row], to);
        std::int64_t* const indices = output.indices + to * rank;
        indices[0] = static_cast<std::int64_t>(first_row + row);  // mutant: first row
        for (std::size_t d = 1; d < rank; ++d) indices[d] = 0;
        std::memcpy(output.values + to * size, default_value.bytes, size);
        output.empty_row_indicator[row] = entries == 0;  // mutant: empty
        to += std::max(entries, std::uint32_t{1});
    }
    return to;
}

// Notes where each entry went, counted from `first_to`.
template <class Entry, class Rank, class Size>
void place_entries(const Entry* entries, std::size_t count, std::size_t first_row, const RowEntries& from,
                   std::uint32_t* __restrict next, std::uint32_t first_to, BucketOutput output,
                   std::uint32_t* __restrict went, Rank rank, Size size) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t to = next[entries[i].row - first_row]++;
        std::int64_t* const indices = output.indices + to * rank;
        indices[0] = static_cast<std::int64_t>(entries[i].row);
        entries[i].write(from, indices, output.values + to * size);
        went[i] = first_to + to;  // mutant: first to
    }
}

// `next` has room for each row of a bucket.
template <class Entry, class Rank, class Size>
void fill_bucket(const BucketedEntries& all, std::size_t bucket, const Entry* parted, const RowEntries& from,
                 const FilledRows& output, std::uint32_t* next, std::uint32_t* went, Rank rank, Size size) {
    const std::size_t begin = all.begins[bucket];
    const std::size_t count = all.begins[bucket + 1] - begin;
    const std::size_t first_row = bucket << all.shift;
    const std::size_t rows = std::min(all.key_bound - first_row, all.bucket_keys());
    const std::size_t first_to = begin + first_row - all.groups_before[bucket];
    const BucketOutput place{output.indices.data + first_to * rank, output.values.bytes + first_to * size,
                             output.empty_row_indicator.data() + first_row};
    std::fill_n(next, rows, std::uint32_t{0});
    in_parts(count, [&](std::size_t first, std::size_t last) {
        count_rows(parted + begin + first, last - first, first_row, from, next);
    });
    std::uint32_t to = 0;
    in_parts(rows, [&](std::size_t first, std::size_t last) {
        to = begin_rows(next, first, last, first_row, to, from.default_value, place, rank, size);
    });
    in_parts(count, [&](std::size_t first, std::size_t last) {
        place_entries(parted + begin + first, last - first, first_row, from, next,
                      static_cast<std::uint32_t>(first_to), place, went + begin + first, rank, size);
    });
}

template <class Rank, class Size>
void fill_unsorted(const BucketedEntries& all, const RowEntries& from, const FilledRows& output, Rank rank,
                   Size size) {
    using Entry = typename EntryOf<Rank, Size>::type;
    const std::size_t threads = threads_for(4 * output.values.count);
    Buffer<Entry> parted(all.size());
    parallel_for(all.parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::uint32_t* const rows = all.keys.data();
        Entry* const to = parted.data();
        const RowPrefetch prefetch(Matrix<Entry>{to, all.size(), 1});
        all.for_places(part, [=](std::size_t position, std::size_t place) {
            prefetch.line(place + kNextLine<Entry>);
            to[place].read(rows[position], from, position);
        });
    });
    Buffer<std::uint32_t> went(all.size());
    const std::size_t most_rows = std::min(all.bucket_keys(), all.key_bound);
    std::vector<std::uint32_t> next(threads * most_rows);
    parallel_for(all.buckets(), threads, [&](std::size_t bucket, std::size_t slot) {
        fill_bucket(all, bucket, parted.data(), from, output, next.data() + slot * most_rows, went.data(),
                    rank, size);
    });
    parallel_for(all.parts.count(), threads, [&](std::size_t part, std::size_t) {
        const std::uint32_t* const to = went.data();
        std::int64_t* const reverse_index_map = output.reverse_index_map.data();
        const RowPrefetch prefetch(Matrix<const std::uint32_t>{to, all.size(), 1});
        all.for_places(part, [=](std::size_t position, std::size_t place) {
            prefetch.line(place + kNextLine<std::uint32_t>);
            reverse_index_map[position] = static_cast<std::int64_t>(to[place]);
        });
    });
}

}  // namespace gradbag::detail
