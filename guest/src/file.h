#ifndef VIV_FILE_H
#define VIV_FILE_H
#include <stdint.h>
#include "tlv.h"
void file_request(uint32_t id, struct bytes payload);
void file_procs(uint32_t id);
#endif
