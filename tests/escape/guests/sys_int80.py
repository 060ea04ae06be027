# guest: calls the kernel through the 32-bit entry, where numbers mean other calls
# source: moby's note on socketcall; CVE-2010-3301's kind
# attacks: the filter
# walls: Seccomp
# observer: own_word
# oracle: its own word: the call came back
# status: ok
# needs: 32_bit_entry
# credit: int 0x80: SIG(SYS|SEGV)
# note: SIGSEGV is the processor's, where the kernel has no such entry
import ctypes
import mmap
import os
import signal

from attack import tell

page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
enter = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
pid = os.fork()
if pid == 0:
    enter()
    os._exit(0)
_, status = os.waitpid(pid, 0)
tell("int 0x80", signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "ok reached")
