// Bytes in memory that nobody can change any more, as a descriptor.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::sys {

// Open for reading; the name is for /proc alone. Errors: system.
Result<Fd> sealed_bytes(const char* name, std::string_view bytes);
// Likewise, of what a file holds from its beginning to its end; it can be executed. Errors: also denied (not
// on this host).
Result<Fd> sealed_copy(const char* name, const std::string& path);

// So many bytes that whoever has the descriptor can write, until they are sealed. Errors: system.
Result<Fd> make_memory(const char* name, Bytes size);
// The same bytes for another reader, who shares no offset and no lock with the others. Errors: system.
Result<Fd> opened_again(const Fd& memory);
// From now on nobody can change them: open for reading. Errors: system (somebody has them mapped for
// writing).
Result<Fd> seal(Fd memory);

}  // namespace casemate::sys
