/* The parsers alone: frame headers and every request's TLV list. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../src/address.h"
#include "../src/config.h"
#include "../src/file.h"
#include "../src/frame.h"
#include "../src/spawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct frame frame;
  uint8_t again[FRAME_HEADER];
  if (size >= FRAME_HEADER && !frame_decode(&frame, data)) {
    frame_encode(again, &frame);
    if (memcmp(again, data, FRAME_HEADER)) abort();
  }
  /* A copy of the exact size, so that one byte too many is seen. */
  uint8_t *copy = malloc(size ? size : 1);
  memcpy(copy, data, size);
  struct bytes list = {copy, (uint32_t)size};
  struct config config;
  struct spawn spawn;
  struct file file;
  struct address address;
  config_parse(list, &config);
  spawn_parse(list, &spawn);
  file_parse(list, &file);
  address_parse(list, size & 1, &address);
  free(copy);
  return 0;
}
