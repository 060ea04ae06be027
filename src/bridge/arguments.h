// The arguments of a call, as a guest or a person spelled them.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "bridge/toolbox.h"
#include "json/value.h"

namespace casemate::bridge {

struct Arguments {
  std::string text;  // JSON: an object that the capability's schema allows
  json::Value value;
};

// Names that are spelled as Python does become the schema's. Errors: invalid, saying what would be right.
Result<Arguments> check_arguments(const Granted& granted, std::string text, Bytes most);

}  // namespace casemate::bridge
