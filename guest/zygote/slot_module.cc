// _casemate_slot: what a zygote does between two forks, in C and not in Python, and the walls of a slot.
//
// serve() waits for a request of the warden's, which comes with a pidfd of a slot's init. A short-lived
// process that shares the zygote's memory (vfork) enters the namespaces of that init and forks there: the
// fork copies the memory once, and the guest's parent, when the short-lived one has ended, is the nest's
// init. The guest waits for the word that it has been moved into its groups, gives up everything, by the same
// code as the guest of a box that is made at once, and returns to Python. The fork is glibc's, so that the
// C library of the guest knows its thread's number and runs the handlers for it.
//
// Built for the limited API of Python 3.9, so that one file serves every image; and a second time, under
// another name, with the hooks of test builds, which only the guest tree of casemate-test has.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <poll.h>
#include <sched.h>
#include <sys/rseq.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "jail/child.h"
#include "jail/nest_steps.h"
#include "jail/plan.h"
#include "jail/step.h"
#include "zygote/shared.h"

namespace {

using namespace casemate;
using namespace casemate::jail;

constexpr std::size_t kTouchedStack = 96 << 10;
// Python's small objects: Include/internal/pycore_obmalloc.h.
constexpr std::size_t kSmallStep = 16;
constexpr std::size_t kSmallMax = 512;
constexpr std::size_t kTouchedOfEach = 8;
int guest_link = -1;  // of a guest, until it is parked

// The namespaces that a slot's init has and a zygote has not: in test builds not all.
int slot_namespaces(const Plan& plan) {
  int flags = CLONE_NEWNS;
  if (wall_on(plan, Wall::kPidNs)) flags |= CLONE_NEWPID;
  if (wall_on(plan, Wall::kNetNs)) flags |= CLONE_NEWNET;
  if (wall_on(plan, Wall::kIpcNs)) flags |= CLONE_NEWIPC;
  if (wall_on(plan, Wall::kUtsNs)) flags |= CLONE_NEWUTS;
  if (wall_on(plan, Wall::kCgroupNs)) flags |= CLONE_NEWCGROUP;
  return flags;
}

// Enters the slot and forks the guest there. In the guest returns 0; in the zygote 1, or -1 when the guest
// could not be made, which the warden has been told.
int fork_into(const SlotRequest& request, const int namespaces, int link, int init) {
  const pid_t between = ::vfork();
  if (between == 0) {
    LinkMessage message;
    message.kind = LinkMessage::Kind::kForked;
    message.token = request.token;
    if (::setns(init, namespaces) < 0) {
      message.errno_value = errno;
      send_link(link, message);
      ::_exit(0);
    }
    const pid_t guest = ::fork();
    if (guest == 0) return 0;
    message.pid = guest;
    message.errno_value = guest < 0 ? errno : 0;
    const int pidfd = guest < 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, guest, 0));
    send_link(link, message, pidfd);
    ::_exit(0);
  }
  if (between < 0) {
    LinkMessage message;
    message.kind = LinkMessage::Kind::kForked;
    message.token = request.token;
    message.errno_value = errno;
    send_link(link, message);
    return -1;
  }
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return 1;
}

// The kernel tells each thread on which processor it is, in memory that the C library registers for it once.
// The process between the zygote and its guest shared memory, for which the kernel forgets that: without this
// the guest's sched_getcpu() would say for ever where the zygote was.
void register_rseq() {
  constexpr unsigned kSizeMin = 32;  // of what is registered, whatever part of it is in use
  if (__rseq_size == 0) return;      // switched off
  char* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  (void)::syscall(SYS_rseq, area, std::max(__rseq_size, kSizeMin), 0, RSEQ_SIG);
}

// The guest, from the fork to a process that holds nothing but its four descriptors and the link.
void become_slot_guest(const Plan& plan) {
  step(plan, Stage::kAttach, [&] { return attach_self(plan); });
  wait_for_warden(plan, Stage::kMapped);
  // What a guest has from its parent, and this one not from the slot's init.
  step_if(plan, Wall::kCpuShare, Stage::kAffinity, [&] { return set_affinity(plan); });
  drop_to_guest(plan);
}

PyObject* serve(PyObject*, PyObject* argument) {
  const long link = PyLong_AsLong(argument);
  if (link < 0) return nullptr;
  static SlotRequest request;
  for (;;) {
    RequestFds fds;
    const Received received = receive_request(static_cast<int>(link), request, fds);
    if (received == Received::kNothing) continue;
    Plan& plan = request.plan;
    if (received == Received::kEnd || fds.count != 6 + plan.task_file_count) ::_exit(0);
    plan.link = fds.fds[1];
    plan.stdin_fd = fds.fds[2];
    plan.stdout_fd = fds.fds[3];
    plan.stderr_fd = fds.fds[4];
    plan.control_fd = fds.fds[5];
    for (std::size_t i = 0; i < plan.task_file_count; ++i) plan.task_files[i] = fds.fds[6 + i];
    PyOS_BeforeFork();
    const int done = fork_into(request, slot_namespaces(plan), static_cast<int>(link), fds.fds[0]);
    if (done == 0) {
      guest_link = plan.link;
      become_slot_guest(plan);
      register_rseq();
      PyOS_AfterFork_Child();
      return Py_BuildValue("(iO)", 3, plan.rehearse ? Py_True : Py_False);
    }
    PyOS_AfterFork_Parent();
    for (std::size_t i = 0; i < fds.count; ++i) (void)::close(fds.fds[i]);
  }
}

PyObject* serve_shared(PyObject*, PyObject* arguments) {
  int link = -1;
  unsigned long long disk = 0;
  if (PyArg_ParseTuple(arguments, "iK", &link, &disk) == 0) return nullptr;
  const bool rehearse =
      guest::serve_shared(link, disk, {PyOS_BeforeFork, PyOS_AfterFork_Parent, PyOS_AfterFork_Child});
  return Py_BuildValue("(iO)", 3, rehearse ? Py_True : Py_False);
}

// stops: what an import printed from being written by a slot, whose output is a run's
PyObject* empty_buffers(PyObject*, PyObject*) {
  (void)std::fflush(nullptr);
  Py_RETURN_NONE;
}

PyObject* ready(PyObject*, PyObject* argument) {
  const long link = PyLong_AsLong(argument);
  if (link < 0) return nullptr;
  LinkMessage message;
  message.kind = LinkMessage::Kind::kZygoteReady;
  send_link(static_cast<int>(link), message);
  Py_RETURN_NONE;
}

PyObject* failed(PyObject*, PyObject* arguments) {
  int link = -1;
  const char* text = nullptr;
  if (PyArg_ParseTuple(arguments, "is", &link, &text) == 0) return nullptr;
  LinkMessage message;
  message.kind = LinkMessage::Kind::kZygoteFailed;
  frame::put_text(message.text, text);
  send_link(link, message);
  Py_RETURN_NONE;
}

PyObject* parked(PyObject*, PyObject*) {
  LinkMessage message;
  message.kind = LinkMessage::Kind::kParked;
  message.processor = ::sched_getcpu();
  send_link(guest_link, message);
  (void)::close(guest_link);
  guest_link = -1;
  Py_RETURN_NONE;
}

// What a program will write to first becomes this process's own before the program comes: its stack, and
// of each size of small objects the places that are next to be given out. A rehearsal that has ended leaves
// other places next than those that it wrote to.
PyObject* touch(PyObject*, PyObject*) {
  volatile char pages[kTouchedStack];
  for (std::size_t at = 0; at < sizeof(pages); at += 1024) pages[at] = 0;
  for (std::size_t size = kSmallStep; size <= kSmallMax; size += kSmallStep) {
    std::array<void*, kTouchedOfEach> places{};
    for (void*& place : places) place = PyObject_Malloc(size);
    for (void* place : places) PyObject_Free(place);
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"serve", serve, METH_O,
     "Forks a guest for each request; returns in each, with its control descriptor and whether it is to "
     "rehearse."},
    {"serve_shared", serve_shared, METH_VARARGS,
     "The same in a sandbox that runs share, of bytes of disk: a guest at a time. Returns in each."},
    {"empty_buffers", empty_buffers, METH_NOARGS, "Writes what the C library's streams hold."},
    {"ready", ready, METH_O, "Tells the warden that the zygote has loaded what it was asked to."},
    {"failed", failed, METH_VARARGS, "Tells the warden why it could not."},
    {"parked", parked, METH_NOARGS, "Tells the warden that this guest waits for its program."},
    {"touch", touch, METH_NOARGS, "Makes the pages that are written to first this process's own."},
    {nullptr, nullptr, 0, nullptr},
};
#ifdef CASEMATE_TEST_HOOKS
constexpr const char* kName = "_casemate_slot_test_hooks";
#define CASEMATE_SLOT_INIT PyInit__casemate_slot_test_hooks
#else
constexpr const char* kName = "_casemate_slot";
#define CASEMATE_SLOT_INIT PyInit__casemate_slot
#endif
PyModuleDef module = {PyModuleDef_HEAD_INIT, kName, nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* CASEMATE_SLOT_INIT() {
  return PyModule_Create(&module);
}
