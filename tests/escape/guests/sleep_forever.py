# guest: sleeps past the end of its time
# source: ioi/isolate #72; andymai/brepjs PR #1380
# attacks: the slot that it occupies
# walls: WallClock
# observer: long_run
# oracle: the run lasted longer than granted
# status: limit
# credit: "name": "wall"
# options: --wall 500ms
import time

time.sleep(2.5)
