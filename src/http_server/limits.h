// The bounds of the HTTP server that nobody chooses; those that an operator does are Options (options.h).
// docs/http.md has them all in one table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace casemate::http_server {

// RFC 9112, section 3, advises at least 8000.
inline constexpr std::size_t kRequestLineMax = 8192;
// The request line, the fields and the empty line behind them.
inline constexpr std::size_t kHeadMax = std::size_t{32} << 10;
inline constexpr std::size_t kHeadFieldsMax = 100;
inline constexpr std::size_t kMethodMax = 32;
inline constexpr std::size_t kHostMax = 255;
inline constexpr std::size_t kPathSegmentsMax = 32;
inline constexpr std::size_t kQueryItemsMax = 64;

// A chunk's size and extensions, without the line end.
inline constexpr std::size_t kChunkLineMax = 256;
// What the framing of a chunked body may take beyond as many bytes as the body itself has: a body of chunks
// of one byte each costs its reader many times what it carries.
inline constexpr std::uint64_t kChunkOverheadMax = std::uint64_t{64} << 10;

// What is taken from a socket at once.
inline constexpr std::size_t kReadMax = std::size_t{64} << 10;
// The rest of a body that is read for nothing after a refusal, so that the connection can be kept.
inline constexpr std::uint64_t kDiscardMax = std::uint64_t{64} << 10;
// What is read for nothing before a socket is closed, so that the last answer is not lost to a reset.
inline constexpr std::uint64_t kLingerBytesMax = std::uint64_t{256} << 10;

// What Options may ask for.
inline constexpr std::size_t kConnectionsMost = 8192;
inline constexpr std::size_t kListenBacklog = 1024;

inline constexpr std::size_t kAnswerFieldsMax = 64;
inline constexpr std::size_t kProblemDetailMax = 1024;
inline constexpr std::size_t kRoutesMax = 256;
inline constexpr std::size_t kKeysMax = 10'000;
inline constexpr std::size_t kTenantMax = 64;
// The id and the name of a server-sent event.
inline constexpr std::size_t kEventWordMax = 256;

}  // namespace casemate::http_server
