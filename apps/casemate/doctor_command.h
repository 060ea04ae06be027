// `casemate doctor`: what this host gives, promise by promise.
#pragma once

namespace casemate {

// Answers the exit code: 0 when every promise can be kept, 1 when one cannot, 2 for usage.
int doctor_command(int argc, char** argv);

}  // namespace casemate
