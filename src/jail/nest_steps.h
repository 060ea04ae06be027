// The steps that the inits of boxes, nests and slots have in common. What is said in child.h holds: nothing
// allocates, and a step that fails is told over the link and ends the process.
#pragma once

#include "jail/plan.h"

namespace casemate::jail {

// To the warden; with a descriptor unless `fd` is -1. A warden that is gone cannot be told.
void send_link(int link, const LinkMessage& message, int fd = -1);

// The descriptors of one request.
struct RequestFds {
  std::array<int, 16> fds{};
  std::size_t count = 0;
};
enum class Received : std::uint8_t { kRequest, kNothing, kEnd };
// One request from a seqpacket link. kEnd: the link closed or what came is none.
Received receive_request(int link, SlotRequest& request, RequestFds& fds);

// Moves this process into its v1 groups. 0 or the errno. See BoxGroups::open_task_files.
int attach_self(const Plan& plan);

// Waits for one word of the warden's: the ids are mapped, the v2 group is joined.
void wait_for_warden(const Plan& plan, Stage stage);

// Closes everything but the plan's descriptors. 0 or the errno.
// stops: what the warden has open, such as its engine's socket, its lock and the layers and groups of
// other boxes, from being held, and kept alive, by this process; and a killed warden from seeming alive
int close_inherited(const Plan& plan);

// The processors of the plan. 0 or the errno.
int set_affinity(const Plan& plan);

// What a tree needs beside its mounts: host name, loopback, processors, pipes; hands the layer out.
void finish_tree(const Plan& plan);

// SIGCHLD as a descriptor, made before there is a child; and undone in a child.
int block_child_signals(const Plan& plan);
void unblock_child_signals(int signals);

// Without privilege from here on: wait, report, exit.
void drop_init(const Plan& plan);

// Reaps until the main program is gone, tells how it ended, and exits: the kernel then ends the rest. The
// init of a slot has no main program (-1): the nest reaps that, and the warden ends this.
[[noreturn]] void reap(const Plan& plan, pid_t main_pid, int signals);

}  // namespace casemate::jail
