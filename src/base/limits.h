// Every bound of casemate, in one place. A queue, buffer, list or recursion that has none is a bug.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace casemate {

// A program is text that a model wrote; more than this is data, and data goes in by --file.
inline constexpr Bytes kProgramMax = mib(8);
// One frame's payload. Larger things are sent as several frames.
inline constexpr std::size_t kFramePayloadMax = std::size_t{1} << 20;
// What a guest may send on its control channel in one run, all frames together.
inline constexpr Bytes kControlBytesMax = mib(16);
// Fields in one frame: enough for a report of 64 frames with 4 fields each, and its hints.
inline constexpr std::size_t kFieldsMax = 4096;

// A tools file, its schemas within it.
inline constexpr Bytes kToolsFileMax = mib(16);
// Capabilities that one request may be granted.
inline constexpr std::size_t kToolsMax = 10'000;
// Values in one result that are more than JSON says, each as a kind and a place.
inline constexpr std::size_t kTypedPlacesMax = 256;

inline constexpr std::size_t kArgumentsMax = 1024;
inline constexpr std::size_t kEnvironmentMax = 256;
inline constexpr std::size_t kInputFilesMax = 1024;
inline constexpr std::size_t kArtifactsMax = 256;
inline constexpr std::size_t kPathMax = 4096;
inline constexpr std::size_t kSummaryMax = 200;

// Output beyond its cap is dropped from the middle; beyond this many times the cap it ends the run.
inline constexpr std::uint64_t kOutputEndFactor = 64;
// Changes between stdout and stderr that are kept in order; later ones are merged and counted.
inline constexpr std::size_t kOutputSegmentsMax = 4096;

inline constexpr std::size_t kReportFramesMax = 64;
inline constexpr std::size_t kReportHintsMax = 16;
inline constexpr std::size_t kReportTextMax = std::size_t{16} << 10;

// Instances of casemate that may live at once on one machine for one user; each has its own range
// of outside user ids.
inline constexpr std::uint32_t kInstancesMax = 1024;
// Outside user ids that one instance may hand to boxes, the nest's own included, and so the boxes that it
// may have at once. An ordinary user's subordinate range has 65536 ids as a rule, for all instances together.
inline constexpr std::uint32_t kIdsPerInstance = 64;
inline constexpr std::uint32_t kIdsPerInstanceOfRoot = 2048;

// What one pool of slots may know at once; its configuration stays at or below these.
inline constexpr std::size_t kPoolClassesMax = 64;
inline constexpr std::size_t kPoolNestsMax = 64;
inline constexpr std::size_t kPoolSlotsMax = 2048;
// Hot slots of one class, and so the checkouts whose times a class remembers.
inline constexpr std::size_t kPoolTargetMax = 1024;
// Birth and death records kept for printing; the oldest goes first.
inline constexpr std::size_t kPoolRecordsMax = 256;
// Records that an engine keeps until they are taken.
inline constexpr std::size_t kBoxRecordsMax = 256;
inline constexpr std::size_t kPoolRowsMax = 64;  // of one record
inline constexpr std::size_t kPoolReasonMax = 512;
inline constexpr std::size_t kPoolKeyMax = 1024;
inline constexpr std::size_t kVolumeIdMax = 64;
// Volumes of destroyed slots that are remembered; the oldest is forgotten first.
inline constexpr std::size_t kDestroyedVolumesMax = 16384;
// How far into a program its import statements are looked for. They stand at its top.
inline constexpr std::size_t kImportScanMax = std::size_t{256} << 10;

// A policy file, and what one rule of it may be made of (docs/policy.md).
inline constexpr std::size_t kPolicyBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kPolicyRulesMax = 500;  // of each list and table
inline constexpr std::size_t kPolicyTestsMax = 500;
inline constexpr std::size_t kPolicyTestCallsMax = 20;  // that a test has made before its own
inline constexpr std::size_t kPatternMax = 4096;        // bytes of one pattern, condition or call
inline constexpr std::size_t kConditionTestsMax = 128;
inline constexpr std::size_t kConditionDepthMax = 32;
inline constexpr std::size_t kConditionListMax = 256;  // what one `in [...]` lists
inline constexpr std::size_t kGlobMax = 256;           // characters
inline constexpr std::size_t kArgumentPathMax = 16;    // steps
inline constexpr std::size_t kCapabilityNameMax = 128;
inline constexpr std::size_t kLabelMax = 64;  // bytes
// Labels of one run; a run that would have more is taken to have every label there is.
inline constexpr std::size_t kLabelsMax = 256;
inline constexpr std::size_t kDistinctMax = 10'000;     // values that a budget remembers
inline constexpr std::size_t kDistinctValueMax = 1024;  // bytes of one of them
inline constexpr std::size_t kTierOneAdvised = 15;      // first-class tools; more draw a warning
// One record of an audit log, its line end included. A verdict has some 700 bytes.
inline constexpr std::size_t kAuditRecordMax = std::size_t{64} << 10;
// A segment is closed before it would be larger. One that is read whole takes a second of verify.
inline constexpr Bytes kAuditSegmentUsual = mib(64);
inline constexpr Bytes kAuditSegmentMax = gib(1);              // what may be configured
inline constexpr std::uint32_t kAuditSegmentsMax = 1'000'000;  // of one log
inline constexpr std::size_t kAuditWritersMax = 4096;          // of one directory
// Callers that may wait for one log at once; and how many of them, and how many bytes, one write takes.
inline constexpr std::size_t kAuditWaitingMax = 4096;
inline constexpr std::size_t kAuditBatchMax = 1024;
inline constexpr Bytes kAuditBatchBytesMax = mib(1);
// In one record: a name or an id, a text for people, a list of names. Bytes, bytes, entries.
inline constexpr std::size_t kAuditIdMax = 256;
inline constexpr std::size_t kAuditTextMax = 1024;
inline constexpr std::size_t kAuditListMax = 64;
// Lines that `casemate audit tail` goes back, and heads that `verify` looks for.
inline constexpr std::size_t kAuditTailMax = 10'000;
inline constexpr std::size_t kAuditHeadsMax = 1024;

}  // namespace casemate
