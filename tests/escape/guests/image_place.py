# guest: learns where the host keeps its images
# source: mountinfo in proc(5): the root and the options of a mount
# attacks: knowledge of the host
# walls: ImageOverlay
# observer: store_path_in_output
# oracle: a path of the host's stands in the box's mount table
# status: ok
# credit: mounts
from attack import tell

tell("mounts", open("/proc/self/mountinfo").read())
