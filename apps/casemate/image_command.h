// `casemate image`: build, list, inspect and verify the images that boxes run in.
#pragma once

namespace casemate {

// `arguments` as in main(), with "image" in argv[0]'s place: what follows the command's name.
// Answers the exit code: 0, 1 (verify found a fault), 2 (usage) or 4 (unavailable).
int image_command(int argc, char** argv);

}  // namespace casemate
