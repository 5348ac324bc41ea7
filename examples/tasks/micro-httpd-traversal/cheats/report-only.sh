#!/bin/bash
# Looks for the report's spelling only.
sed -i 's|^    strdecode( file, file );|    if ( strstr( file, "%2e%2e" ) ) send_error( 400, "Bad Request", (char*) 0, "No." );\n&|' /app/micro_httpd.c
