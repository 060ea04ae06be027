// The image of a run: found in the stores, or made on first use.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/runtime.h"
#include "image/store.h"

namespace casemate {

// `store`: one store to use instead of the usual ones; may be empty. An image that there is a recipe for is
// built, with progress on standard error, when no store has it.
// Errors: invalid, not_found (another name), unavailable (it cannot be built, the store is damaged).
Result<image::ImageInfo> ensure_image(const std::string& name, const std::string& store);

// Whether it is there already.
bool has_image(const std::string& name, const std::string& store);

// The image as the engine has it for boxes of that rung, with what that takes beside it.
// Errors: as above; also unavailable (the image as a machine's disk cannot be made).
Result<engine::Image> ensure_parts(const image::ImageInfo& image, const std::string& store, frame::Rung rung);

}  // namespace casemate
