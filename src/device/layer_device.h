/* SPDX-License-Identifier: MIT
 *
 * What drivers tell a device. */
#ifndef TARE_DEVICE_LAYER_DEVICE_H
#define TARE_DEVICE_LAYER_DEVICE_H

#include <tare/device.h>

/* A layer is decoded by the CPU after all; `why` is static. */
void tare_device_leave(tare_device *device, const char *why);

#endif
