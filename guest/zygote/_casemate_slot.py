"""In the guest tree of test builds: the module with hooks, under the name that the zygote imports."""

import sys

import _casemate_slot_test_hooks

sys.modules[__name__] = _casemate_slot_test_hooks
