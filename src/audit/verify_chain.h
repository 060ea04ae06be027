// One chain from end to end. Private to the library.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "audit/chain_check.h"
#include "audit/segment.h"
#include "audit/verify.h"
#include "base/result.h"
#include "sys/fd.h"

namespace casemate::audit {

// Called for every record that is right, with its place and the bytes of its line; may answer with a fault.
using Visit =
    std::function<std::optional<Fault>(const ChainCheck& check, const Place& place, std::size_t size)>;

ChainReport verify_chain(const sys::Fd& directory, const std::string& name, const Visit& visit);

}  // namespace casemate::audit
