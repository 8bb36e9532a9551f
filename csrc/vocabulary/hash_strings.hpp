#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

// The hashes of strings that TensorFlow's buckets are made of; every bit of them is a contract.
namespace gradbag {

namespace detail {

template <class Word>
std::uint64_t fetch(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof(Word));
    if constexpr (std::endian::native == std::endian::big && sizeof(Word) > 1) {
        Word turned = 0;
        for (std::size_t byte = 0; byte < sizeof(Word); ++byte)
            turned = static_cast<Word>((turned << 8) | ((word >> (8 * byte)) & 0xff));
        word = turned;
    }
    return word;
}

inline std::uint64_t fetch64(const char* at) { return fetch<std::uint64_t>(at); }
inline std::uint64_t fetch32(const char* at) { return fetch<std::uint32_t>(at); }
inline std::uint64_t fetch8(const char* at) { return fetch<std::uint8_t>(at); }

}  // namespace detail

// ------------------------------------------------------------------ FarmHash
// Fingerprint64 of FarmHash, by Geoff Pike, copyright 2014 Google, Inc., under the MIT licence.
class FarmHash {
  public:
    static std::uint64_t fingerprint(std::string_view text) {
        const char* const s = text.data();
        const std::size_t size = text.size();
        if (size <= 32) return of_at_most_32(text);
        return size <= 64 ? up_to_64(s, size) : longer(s, size);
    }

    // The same for those that are known to be short, such as the digits of a number.
    static std::uint64_t of_at_most_32(std::string_view text) {
        const bool is_short = text.size() <= 16;
        return is_short ? up_to_16(text.data(), text.size()) : up_to_32(text.data(), text.size());
    }

  private:
    using Word = std::uint64_t;
    using Pair = std::pair<Word, Word>;

    static constexpr Word k0 = 0xc3a5c85c97cb3127;
    static constexpr Word k1 = 0xb492b66fbe98f273;
    static constexpr Word k2 = 0x9ae16a3b2f90404f;

    static Word at(const char* s) { return detail::fetch64(s); }
    static Word right(Word word, int bits) { return std::rotr(word, bits); }
    static Word mixed(Word word) { return word ^ (word >> 47); }
    static Word joined(Word u, Word v, Word factor) {
        return mixed((v ^ mixed((u ^ v) * factor)) * factor) * factor;
    }

    static Word up_to_16(const char* s, std::size_t size) {
        const Word factor = k2 + size * 2;
        if (size >= 8) {
            const Word a = at(s) + k2;
            const Word b = at(s + size - 8);
            return joined(right(b, 37) * factor + a, (right(a, 25) + b) * factor, factor);
        }
        if (size >= 4) return joined(size + (detail::fetch32(s) << 3), detail::fetch32(s + size - 4), factor);
        if (size == 0) return k2;
        const Word y = detail::fetch8(s) + (detail::fetch8(s + size / 2) << 8);
        const Word z = size + (detail::fetch8(s + size - 1) << 2);
        return mixed((y * k2) ^ (z * k0)) * k2;
    }

    static Word up_to_32(const char* s, std::size_t size) {
        const Word factor = k2 + size * 2;
        const Word a = at(s) * k1;
        const Word b = at(s + 8);
        const Word c = at(s + size - 8) * factor;
        const Word d = at(s + size - 16) * k2;
        return joined(right(a + b, 43) + right(c, 30) + d, a + right(b + k2, 18) + c, factor);
    }

    static Word up_to_64(const char* s, std::size_t size) {
        const Word factor = k2 + size * 2;
        const Word a = at(s) * k2;
        const Word b = at(s + 8);
        const Word c = at(s + size - 8) * factor;
        const Word d = at(s + size - 16) * k2;
        const Word y = right(a + b, 43) + right(c, 30) + d;
        const Word z = joined(y, a + right(b + k2, 18) + c, factor);
        const Word e = at(s + 16) * factor;
        const Word f = at(s + 24);
        const Word g = (y + at(s + size - 32)) * factor;
        const Word h = (z + at(s + size - 24)) * factor;
        return joined(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, factor);
    }

    static Pair of_32_bytes(const char* s, Word a, Word b) {
        const Word last = at(s + 24);
        a += at(s);
        b = right(b + a + last, 21);
        const Word c = a;
        a += at(s + 8) + at(s + 16);
        b += right(a, 44);
        return {a + last, b + c};
    }

    static Word longer(const char* s, std::size_t size) {
        constexpr Word seed = 81;
        Word x = seed * k2 + at(s);
        Word y = seed * k1 + 113;
        Word z = mixed(y * k2 + 113) * k2;
        Pair v{0, 0};
        Pair w{0, 0};
        // A round of 64 bytes; the last one, which may overlap the one before it, differs in its factors.
        const auto round = [&](Word factor, Word nine) {
            x = right(x + y + v.first + at(s + 8), 37) * factor;
            y = right(y + v.second + at(s + 48), 42) * factor;
            x ^= w.second * nine;
            y += v.first * nine + at(s + 40);
            z = right(z + w.first, 33) * factor;
            v = of_32_bytes(s, v.second * factor, x + w.first);
            w = of_32_bytes(s + 32, z + w.second, y + at(s + 16));
            std::swap(z, x);
        };
        const std::size_t rest = (size - 1) % 64;
        const char* const end = s + (size - 1 - rest);
        for (; s != end; s += 64) round(k1, 1);
        s = end + rest - 63;
        w.first += rest;
        v.first += w.first;
        w.first += v.first;
        const Word factor = k1 + ((z & 0xff) << 1);
        round(factor, 9);
        return joined(joined(v.first, w.first, factor) + mixed(y) * k0 + z,
                      joined(v.second, w.second, factor) + x, factor);
    }
};

// ------------------------------------------------------------------ SipHash
// SipHash-2-4, by Jean-Philippe Aumasson and Daniel J. Bernstein.
class SipHash {
  public:
    using Key = std::array<std::uint64_t, 2>;

    static std::uint64_t hash(std::string_view text, const Key& key) {
        SipHash state(key);
        const char* s = text.data();
        std::size_t left = text.size();
        for (; left >= 8; left -= 8, s += 8) state.take(detail::fetch64(s));
        std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56;
        for (std::size_t byte = 0; byte < left; ++byte) last |= detail::fetch8(s + byte) << (8 * byte);
        state.take(last);
        state.c_ ^= 0xff;
        for (int round = 0; round < 4; ++round) state.round();
        return state.a_ ^ state.b_ ^ state.c_ ^ state.d_;
    }

  private:
    explicit SipHash(const Key& key)
        : a_(key[0] ^ 0x736f6d6570736575),
          b_(key[1] ^ 0x646f72616e646f6d),
          c_(key[0] ^ 0x6c7967656e657261),
          d_(key[1] ^ 0x7465646279746573) {}

    void take(std::uint64_t word) {
        d_ ^= word;
        round();
        round();
        a_ ^= word;
    }

    void round() {
        a_ += b_;
        c_ += d_;
        b_ = std::rotl(b_, 13) ^ a_;
        d_ = std::rotl(d_, 16) ^ c_;
        a_ = std::rotl(a_, 32) + d_;
        c_ += b_;
        d_ = std::rotl(d_, 21) ^ a_;
        b_ = std::rotl(b_, 17) ^ c_;
        c_ = std::rotl(c_, 32);
    }

    std::uint64_t a_, b_, c_, d_;
};

// ------------------------------------------------------------------ Murmur
// MurmurHash64A, by Austin Appleby, with TensorFlow's seed: its oldest buckets.
inline std::uint64_t murmur_hash(std::string_view text) {
    constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
    constexpr std::uint64_t seed = 0xDECAFCAFFE;
    const char* s = text.data();
    std::size_t left = text.size();
    std::uint64_t hash = seed ^ (left * factor);
    for (; left >= 8; left -= 8, s += 8) {
        std::uint64_t word = detail::fetch64(s) * factor;
        word = (word ^ (word >> 47)) * factor;
        hash = (hash ^ word) * factor;
    }
    if (left > 0) {
        for (std::size_t byte = 0; byte < left; ++byte) hash ^= detail::fetch8(s + byte) << (8 * byte);
        hash *= factor;
    }
    hash = (hash ^ (hash >> 47)) * factor;
    return hash ^ (hash >> 47);
}

}  // namespace gradbag
