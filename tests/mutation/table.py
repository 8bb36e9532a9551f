"""What is broken in the sources: for each file, what stands there exactly once, what takes its place, what that breaks.

White space does not count when the original is looked for. A change that no caller could see (another table size, a
prefetch left out) is no mutant and does not belong here.

A header that several translation units include is compiled into the one that is named with it.
"""

Edits = list[tuple[str, str, str]]

# ------------------------------------------------------------------ for all C++ mutants
# A quarter of the types is a quarter of the compiling; the others fall back to the NumPy bodies. What stays is every
# lane type, a complex type, and the types of the examples and of `gradbag.testing.cases.USUAL`.
FEWER_TYPES: dict[str, list[tuple[str, str]]] = {
    "csrc/bind/for_types.hpp": [
        ("<std::int8_t, std::int16_t, std::int32_t, std::int64_t>", "<std::int8_t>"),
        ("<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>", "<std::uint64_t>"),
        (
            "<half, bfloat16, float, double, std::complex<float>, std::complex<double>>",
            "<half, bfloat16, float, double, std::complex<double>>",
        ),
    ],
    "csrc/bind/segment_types.hpp": [
        ("for_index_types([&]<class S>()", "for_types<std::int32_t>([&]<class S>()"),
    ],
}

# ------------------------------------------------------------------ C++: (file, translation unit) -> edits
NATIVE: dict[tuple[str, str], Edits] = {
    ("csrc/kernels/segment_reduce.hpp", "segment_reduce"): [
        ("kFirstDivided = 10", "kFirstDivided = 9", "nine rows are divided instead of multiplied by a reciprocal"),
        ("finish_(count, run)", "finish_(count + 1, run)", "a run counts one row too many"),
        ("sizeof(T), table_.rows}", "sizeof(T), table_.rows + 1}", "one index too many is allowed"),
        ("clear_rows(output, finished, segment);", ";", "rows of skipped segments are not cleared"),
        ("clear_rows(output, finished, output.rows);", ";", "rows after the last segment are not cleared"),
        (
            "[&] { reduce.look_up(begin + 1); }",
            "[] {}",
            "a bad segment id is told before a bad index of the same entry",
        ),
    ],
    ("csrc/kernels/segment_runs.hpp", "segment_reduce"): [
        (
            "static_cast<std::size_t>(id) < finished",
            "static_cast<std::size_t>(id) + 2 < finished",
            "ids may decrease by one",
        ),
        ("? count - 1 : count;", "? count : count;", "the first of several counts as alone"),
        ("edges_[taken_] <= begin", "edges_[taken_] < begin", "a run that was passed over comes again"),
    ],
    ("csrc/kernels/segment_grad.hpp", "segment_grad"): [
        ("clear_all(output, shares.parts());", "", "the output does not start from zeros"),
        (
            "counted = combiner != Combiner::sum",
            "counted = combiner == Combiner::mean",
            "sqrt_n is not counted if segments are not sorted",
        ),
        (
            "clear_all(output);\n        scatter_unsorted",
            "scatter_unsorted",
            "what was added before segments were found unsorted counts twice",
        ),
        (
            "std::size_t index) { return output.row(index)",
            "std::size_t index) { return output.row(0 * index)",
            "16-bit rows all go to the first",
        ),
    ],
    ("csrc/kernels/row_scatter.hpp", "segment_grad"): [
        ("output_.row(entry.index)", "output_.row(entry.segment)", "unsorted: rows go where their segment is"),
    ],
    ("csrc/kernels/sorted_scatter.hpp", "segment_grad"): [
        ("scale_(run_end_ - i)", "scale_(1)", "rows are not scaled"),
        ("id < id_ || ", "", "segments count as sorted, whatever they are"),
        ("sizeof(T), output_.rows}", "sizeof(T), output_.rows + 1}", "one index too many is allowed"),
        ("source_.row + k * grad_.columns", "source_.row", "segments of one entry all get the first row"),
    ],
    ("csrc/kernels/ranked_entries.hpp", "segment_grad_compact"): [
        ("count_ += static_cast<std::uint32_t>(std::popcount(occurs))", "count_ += 64", "absent indices have rows"),
    ],
    ("csrc/kernels/segment_grad_compact.hpp", "segment_grad_compact"): [
        ("static_cast<I>(index)", "static_cast<I>(group)", "unique indices are numbered through"),
        (
            "static_cast<std::size_t>(rows), segment_ids",
            "static_cast<std::size_t>(rows) + 1, segment_ids",
            "one index too many is allowed",
        ),
    ],
    ("csrc/kernels/segment_groups.hpp", "segment_grad_compact"): [
        ("scales_[i] = scale_of(payload)", "scales_[i] = scale_of(0)", "all rows get the first scale"),
        ("grad.row(scale_.segment(payload))", "grad.row(0 * payload)", "all rows are the first"),
    ],
    ("csrc/kernels/segment_scales.hpp", "segment_grad_compact"): [
        ("listed_[segment] = computed(segment)", "listed_[segment] = computed(0)", "long bags get the first scale"),
        ("counted = combiner != Combiner::sum", "counted = combiner == Combiner::mean", "sqrt_n is not counted"),
    ],
    ("csrc/kernels/segment_scales.hpp", "segment_grad"): [
        ("1.0 / divisor(", "0.5 / divisor(", "shares are half as large"),
        (
            "std::ranges::equal_range(far_, segment).size()",
            "far_.size()",
            "a segment with a large number is miscounted",
        ),
    ],
    ("csrc/kernels/segment_entries.hpp", "segment_grad"): [
        ("segment_bound_, {segment_input", "segment_bound_ + 1, {segment_input", "one segment too many is allowed"),
        ("index_bound_, {segment_input", "index_bound_ + 1, {segment_input", "one index too many is allowed"),
    ],
    ("csrc/kernels/segment_inputs.hpp", "segment_reduce"): [
        ("indices = 1", "indices = 2", "faults of indices are told about segment_ids"),
    ],
    ("csrc/kernels/combiner.hpp", "segment_grad"): [
        ("std::sqrt(static_cast<double>(count))", "static_cast<double>(count)", "sqrt_n is mean"),
    ],
    ("csrc/kernels/bag_begins.hpp", "bags"): [
        ("bag == 0 ? 1 : entries + 1", "bag == 0 ? 2 : entries + 1", "the first bag may begin with the second entry"),
        ("bag == 0 ? 1 : entries + 1", "bag == 0 ? 1 : entries", "no bag at the end may be empty"),
        ("if (begin < before)", "if (begin <= before && bag > 0)", "no bag may be empty"),
        ("most + 1) - 1;", "most + 1);", "the first of several counts as alone"),
    ],
    ("csrc/kernels/bag_weights.hpp", "bags"): [
        ("? weight * weight : weight;", "? weight : weight;", "weights are not squared"),
        ("by == A{0} ? A{0}", "by == A{0} ? widen(from[i])", "weights that cancel are not zero"),
    ],
    ("csrc/kernels/bag_reduce.hpp", "bags"): [
        ("clear_rows(output, bag, bag + 1);", ";", "empty bags are not cleared"),
        ("cancelled_ |= run.factor == A{0};", "", "what weights cancel is divided by zero"),
        ("divisor_ = WeightDivisor<A>(combiner_);", "", "a bag is divided by the weights of those before it, too"),
    ],
    ("csrc/kernels/bag_grad.hpp", "bags"): [
        ("static_cast<std::size_t>(bags_[entry])", "0 * entry", "all entries get the gradient of the first bag"),
        ("checked(load_once(&ids[i]), rows,", "checked(load_once(&ids[i]), rows + 1,", "one id too many is allowed"),
    ],
    ("csrc/kernels/bag_dot.hpp", "bags"): [
        ("while (bags.end(bag) <= i) ++bag;", "", "all entries belong to the first bag"),
        ("inputs{2, 3}", "inputs{1, 3}", "faults of ids are told about the table"),
    ],
    ("csrc/kernels/fill_empty_rows.hpp", "fill_empty_rows"): [
        ("{0, position, fault_column}", "{0, position, -1}", "faults do not name the column"),
    ],
    ("csrc/kernels/filled_rows.hpp", "fill_empty_rows"): [
        ("Bytes values; Bytes default_value;", "Bytes default_value; Bytes values;", "values and default are swapped"),
    ],
    ("csrc/kernels/fill_sorted_rows.hpp", "fill_empty_rows"): [
        ("indices[d] = 0;", ";", "columns of filled entries are not written"),
        ("std::memcpy(value, default_value, size);", "", "filled entries have no value"),
        ("+ (row == before ? 1 : 0)", "", "a further entry of a row is written over the one before"),
        ("empty_row_indicator[row] = false;", "", "rows with entries are marked as empty"),
        (
            "reverse_index_map[position] = static_cast<std::int64_t>(to)",
            "reverse_index_map[position] = static_cast<std::int64_t>(position)",
            "the map names the input entry",
        ),
        ("put_empty(next_row, part.end_row);", "", "empty rows after the last entry are not filled"),
    ],
    ("csrc/kernels/fill_unsorted_rows.hpp", "fill_empty_rows"): [
        (
            "static_cast<std::int64_t>(first_row + row)",
            "static_cast<std::int64_t>(row)",
            "rows count from their bucket",
        ),
        ("empty_row_indicator[row] = entries == 0", "empty_row_indicator[row] = true", "all rows are marked as empty"),
        ("went[i] = first_to + to;", "went[i] = to;", "the map counts from its bucket"),
        ("bytes + position * Size, Size", "bytes, Size", "all entries have the first value"),
        ("columns[d - 1] = from.indices", "columns[d - 1] = 0 * from.indices", "columns are lost"),
    ],
    ("csrc/kernels/fill_empty_rows_grad.hpp", "fill_empty_rows_grad"): [
        ("kSumBlock = 1024", "kSumBlock = 512", "the sum has another order"),
        ("static_cast<Bits>(bit == 0)", "static_cast<Bits>(bit != 0)", "the default gets the gradient of the entries"),
        ("if (count % 2 != 0) sums[count / 2] = sums[count - 1];", "", "an odd last block is forgotten"),
        ("{ words_[number_] = word_; number_", "{ number_", "an unsorted map forgets entries"),
        ("grad_values.rows, {0, i}", "grad_values.rows + 1, {0, i}", "one place too many is allowed"),
        ("grad_values.data + component", "grad_values.data", "the imaginary part is the real one"),
    ],
    ("csrc/kernels/slice.hpp", "slice"): [
        ("index >= start && offset <", "offset <", "an index far before the start wraps into the window"),
        ("offset < static_cast", "offset <= static_cast", "the window is one longer"),
        ("return size;", "return shape;", "the output shape is the tensor's"),
        ("static_cast<std::uint64_t>(start[d]));", "0u);", "indices are not counted from the start"),
        (
            "copy_item(values, begin + offsets[i], output.values",
            "copy_item(values, begin + i, output.values",
            "the first values are kept",
        ),
    ],
    ("csrc/kernels/slice_grad.hpp", "slice_grad"): [
        (
            "for (; row < end; ++row) clear_item(val_grad, row, item_size);",
            "",
            "the rest is not cleared",
        ),
        ("copy_item(backprop_val_grad, matched", "copy_item(backprop_val_grad, 0", "all get the first gradient"),
        (
            "if (matched < output_indices.rows) {",
            "if (matched > output_indices.rows) {",
            "an unmatched row is no fault",
        ),
        ("chain.matched += same ? 1 : 0;", "chain.matched += 1;", "of rows matched together all count as found"),
        ("if (matched[block].begin != sure) {", "if (false) {", "a wrong guess is not corrected"),
    ],
    ("csrc/core/checked.hpp", "fill_empty_rows"): [
        ("(value)) < bound", "(value)) <= bound", "every range is one longer"),
    ],
    ("csrc/core/radix_sort.hpp", "fill_empty_rows"): [
        (".key > moving.key", ".key >= moving.key", "sorting few entries is not stable"),
    ],
    ("csrc/core/radix_sort.hpp", "segment_grad_compact"): [
        ("shift = pass * digit_bits", "shift = 0 * pass * digit_bits", "sorting looks at the lowest digit only"),
    ],
    ("csrc/core/sorted_entries.hpp", "fill_empty_rows"): [
        ("if (!all.sorted) sort_unsorted", "if (all.sorted) sort_unsorted", "entries are not sorted"),
    ],
    ("csrc/core/key_steps.hpp", "fill_empty_rows"): [
        ("farthest <= std::numeric_limits<Step>::max() &&", "", "rows far apart are taken as near"),
        ("&& before < key_bound", "", "a row beyond the last is taken"),
        ("first < key_bound &&", "", "a negative row is taken"),
        ("changes += step != 0 ? 1 : 0;", "changes += 1;", "every entry is taken as a row of its own"),
        ("if (part > 0 && first_key(part) < last_key(part - 1)) return false;", "", "later parts may go back"),
    ],
    ("csrc/core/grouped_entries.hpp", "segment_grad_compact"): [
        ("if (all.sorted) return detail::group_sorted", "if (!all.sorted) return detail::group_sorted", "not sorted"),
    ],
    ("csrc/simd/entry_loops_impl.hpp", "loops_baseline"): [
        ("ids[i] != ids[i - 1]", "ids[i] == ids[i - 1]", "runs end where they do not"),
        ("<< (number % 64)) - 1", "<< (number % 64))", "ranks count nothing but themselves"),
        ("copied.sorted &= word >= before;", "", "copied entries are always sorted"),
        ("copied.fit &= in_range(", "copied.fit |= in_range(", "copied entries are never negative"),
        ("- static_cast<std::uint64_t>(ids[0]) == position", "- 0 >= position", "gaps between segments are overlooked"),
    ],
    ("csrc/simd/row_packs.hpp", "loops_baseline"): [
        ("return pack / factor;", "return pack * (1 / factor);", "a division is a product with the reciprocal"),
        (
            "pack + 1 < Packs ? pack * Lanes : tile.last",
            "pack * Lanes",
            "a last pack that reaches back lies behind the row",
        ),
    ],
    ("csrc/simd/row_sums_impl.hpp", "loops_baseline"): [
        ("sum[p] += block[p];", "sum[p] = block[p];", "only the last block counts"),
        (
            "T* const output = run.output + tile.column;",
            "T* const output = run.output;",
            "every tile of columns is written over the first",
        ),
        (
            "sum[p] += C::scaled(C::load(from + pack_offset<Packs, C::lanes>(tile, p)), by);",
            "sum[p] += C::load(from + pack_offset<Packs, C::lanes>(tile, p));",
            "rows of a compact gradient are not scaled",
        ),
        ("++row, output += columns", "++row", "bags of one are written over the first"),
    ],
    ("csrc/simd/row_dots_impl.hpp", "loops_baseline"): [
        ("std::memcpy(sum, lanes, sizeof(lanes));", "", "columns after the last sixteen are left out"),
    ],
    ("csrc/simd/row_scatter_impl.hpp", "loops_baseline"): [
        (
            "C::store(C::load(to) + product[p], to);",
            "C::store(product[p], to);",
            "only the last entry of a row counts",
        ),
        (
            "C::store(C::load(to) + C::load(row + p * C::lanes), to);",
            "C::store(C::load(row + p * C::lanes), to);",
            "only the last bag of one counts",
        ),
        ("C::store(last, target + back);", "", "columns after the last whole pack are not added"),
    ],
    ("csrc/core/half.hpp", "loops_baseline"): [
        ("0xfffu + odd", "0x1000u", "float16 rounds ties up"),
        ("smallest_normal = 113u << 23", "smallest_normal = 103u << 23", "subnormal float16 results are wrong"),
        (" + (infinite & rebase)", "", "an infinite float16 becomes a number"),
    ],
    ("csrc/core/bfloat16.hpp", "loops_baseline"): [
        ("0x7fffu + odd", "0x8000u", "bfloat16 rounds ties up"),
    ],
    ("csrc/core/types.hpp", "fill_empty_rows_grad"): [
        ("narrow<T>(round_to_odd(value))", "narrow<T>(static_cast<float>(value))", "16-bit sums are rounded twice"),
    ],
    ("csrc/core/constants.hpp", "slice"): [
        ("if (!found) visit(value);", "", "a rank without a case of its own is left out"),
    ],
    ("csrc/core/items.hpp", "slice_grad"): [
        ("position * size, 0, size)", "position * size, 0, 1)", "only one byte is cleared"),
        ("word &= mask;", "", "what does not match is copied, too"),
        ("offset += word_bytes) {", "offset += size) {", "of complex numbers only one half is copied"),
    ],
    ("csrc/bind/arrays.hpp", "segment_reduce"): [
        ("columns *= array.shape(axis)", "columns = array.shape(axis)", "only the last axis counts as columns"),
    ],
    ("csrc/bind/slice.cpp", "slice"): [
        ("slice_plan(indices, start, size)", "slice_plan(indices, size, start)", "start and size are swapped"),
    ],
    ("csrc/bind/fill_empty_rows.cpp", "fill_empty_rows"): [
        ("nrows, -1)", "nrows, 0)", "faults of a vector name a column"),
    ],
    ("csrc/bind/shortcut.cpp", "shortcut"): [
        ("sizes[two.first] == sizes[two.second]", "two.first < two.second", "a shortcut compares no sizes"),
        ("sizes[slot] >= 0", "sizes[slot] >= -1", "a shortcut lets a negative size through"),
        ("NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED", "NPY_ARRAY_ALIGNED", "a shortcut takes any strides"),
        ("NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED", "NPY_ARRAY_C_CONTIGUOUS", "a shortcut takes any address"),
        ("PyArray_CheckExact(value)) { PyArrayObject", "PyArray_Check(value)) { PyArrayObject", "subclasses are taken"),
        ("bytes > most - total", "bytes > most", "a shortcut counts every output by itself"),
        ("total += bytes", "total += 0", "a shortcut forgets what it has counted"),
    ],
}

# ------------------------------------------------------------------ Python: file -> edits
NUMPY: dict[str, Edits] = {
    "src/gradbag/ops/pooling.py": [
        ("DIVIDES_FROM = 10", "DIVIDES_FROM = 9", "nine rows are divided instead of multiplied by a reciprocal"),
        ("HEAD + 1, counts % HEAD)", "HEAD, counts % HEAD)", "a head of nine rows loses one"),
        ("np.sqrt(counts.astype(np.float64))", "counts.astype(np.float64)", "sqrt_n is mean"),
        ('if dtype.itemsize == 2 and dtype.kind not in "iu"', "if False", "16-bit floats add up in themselves"),
        ("(indices >= rows)", "(indices > rows)", "one index too many is allowed"),
        ("(segment_ids >= segments)", "(segment_ids > segments)", "one segment too many is allowed"),
        ("segment_ids[1:] < segment_ids[:-1]", "segment_ids[1:] <= segment_ids[:-1]", "ids must increase"),
        (
            "if bad_index[place]:",
            "if bad_index[place] and not bad_segment[place]:",
            "a bad segment id is told before a bad index of the same entry",
        ),
        ("if last >= limit:", "if last > limit:", "the largest id is allowed, and one more segment than it can name"),
        (
            "(1.0 / _divisor(counts, combiner)).astype(wide)",
            "1 / _divisor(counts, combiner).astype(wide)",
            "the scale of a gradient is not computed in float64",
        ),
    ],
    "src/gradbag/ops/filling.py": [
        ("BLOCK, LANES = 1024, 8", "BLOCK, LANES = 512, 8", "the sum has another order"),
        ('np.argsort(row_of, kind="stable")', "np.argsort(-row_of)[::-1]", "entries of a row lose their order"),
        ("np.maximum(counts, 1)", "counts", "empty rows get no entry"),
        (
            "filled_in[reverse_index_map] = False",
            "filled_in[reverse_index_map[:-1]] = False",
            "the last entry counts as filled in",
        ),
        (
            "(reverse_index_map >= len(grad_values))",
            "(reverse_index_map > len(grad_values))",
            "one place too many is allowed",
        ),
        ("if dtype != ml_dtypes.bfloat16:", "if True:", "bfloat16 sums are rounded twice"),
    ],
    "src/gradbag/ops/slice.py": [
        ("(indices[:, axis] <= last)", "(indices[:, axis] < last)", "the window is one shorter"),
        ("max(extent - first, 0)", "extent - first", "an output shape may be negative"),
        ("key == wanted[len(matched)]", "key in wanted", "the order of the kept entries does not count"),
        ("if len(matched) < len(wanted):", "if len(matched) < len(wanted) - 1:", "one unmatched row is no fault"),
        ("if elements > LARGEST:", "if elements > 4 * LARGEST:", "a shape may have more elements than int64 counts"),
    ],
}
