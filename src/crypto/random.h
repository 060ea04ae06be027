// Unpredictable bytes from the kernel, for ids, tokens and canaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace casemate::crypto {

// getrandom(2). Thread-safe. Waits only while the kernel has not yet been seeded after boot. Aborts
// where the kernel has no getrandom: nothing that asks for unpredictable bytes can go on without.
void fill_random(std::span<std::uint8_t> bytes);

// Lower-case hex of `bytes` random bytes: 2 * bytes characters.
std::string random_hex(std::size_t bytes);

// An id that never occurs twice and cannot be guessed: 128 bits as 32 hex characters.
std::string random_id();

}  // namespace casemate::crypto
