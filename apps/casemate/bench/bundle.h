// The configuration of an OCI bundle: what `runc spec` writes, tightened as a careful user would.
#pragma once

#include <string>
#include <vector>

namespace casemate::bench {

// The text of its config.json (OCI runtime specification 1.0.2). `rootfs` is an absolute path.
std::string bundle_config(const std::string& rootfs, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment);

}  // namespace casemate::bench
