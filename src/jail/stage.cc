#include "jail/stage.h"

namespace casemate::jail {

const char* stage_text(std::uint32_t stage) {
  switch (static_cast<Stage>(stage)) {
#define X(name, text) \
  case Stage::name: return text;
    CASEMATE_STAGES(X)
#undef X
    case Stage::kNone:
    case Stage::kCount: break;
  }
  return "an unknown step";
}

}  // namespace casemate::jail
