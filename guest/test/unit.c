#include "unit.h"

int main(void) {
  const struct unit *suites[] = {frame_units, tlv_units, ring_units, loop_units, user_units};
  int count = 0;
  for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
    for (const struct unit *unit = suites[i]; unit->run; unit++, count++) {
      fprintf(stderr, "· %s\n", unit->sentence);
      unit->run();
    }
  }
  fprintf(stderr, "%d unit tests hold\n", count);
  return 0;
}
