# guest: reads the name of its control group
# source: cgroup_namespaces(7); Docker's host paths in /proc/self/cgroup
# attacks: knowledge of the host: slots, instances, numbers
# walls: CgroupNs
# observer: group_name_in_output
# oracle: the group's name comes out
# status: ok
# credit: 0::/
from attack import tell

tell("groups", open("/proc/self/cgroup").read())
