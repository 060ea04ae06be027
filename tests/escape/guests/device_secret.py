# guest: reads what is in the host's /dev
# source: runc CVE-2025-52565's kind (/dev of the host)
# attacks: devices and files below /dev
# walls: MinimalDev
# observer: secret_in_output
# oracle: a secret below the host's /dev comes out
# status: ok
# credit: ENOENT
from attack import attempt

attempt("open", lambda: print(open("/dev/decoy-secret").read()))
