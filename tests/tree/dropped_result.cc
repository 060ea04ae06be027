// Compiled by the tests dropped_result_*: with DROP the compiler must complain.
#include "base/result.h"

casemate::Result<int> answer();
casemate::Result<int> answer() { return 42; }

int main() {
#ifdef DROP
  answer();
#endif
  return answer() ? 0 : 1;
}
