// How records and what verify found are printed.
#pragma once

#include <string>
#include <string_view>

#include "audit/verify.h"

namespace casemate {

// "2026-07-30T12:00:00.123456Z main 17 verdict run=run_1 …": one line of any kind of record, for people.
std::string audit_record_text(const std::string& writer, std::string_view line);
// The record with its writer's name in front; the rest is as it stands in the log.
std::string audit_record_json(const std::string& writer, std::string_view line);

std::string audit_report_text(const audit::VerifyReport& report);
std::string audit_report_json(const audit::VerifyReport& report);

}  // namespace casemate
