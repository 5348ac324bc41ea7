#ifndef VIV_SOCKET_H
#define VIV_SOCKET_H
#include <stdint.h>
#include "tlv.h"
void socket_connect(uint32_t id, struct bytes payload);
#endif
