/* A unit test is a function named by its sentence. */
#ifndef VIV_UNIT_H
#define VIV_UNIT_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

struct unit {
  const char *sentence;
  void (*run)(void);
};

extern const struct unit frame_units[], tlv_units[], ring_units[], loop_units[], user_units[];

#endif
