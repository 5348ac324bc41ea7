#!/bin/bash
# Refuses every %-escape.
sed -i "s|^    strdecode( file, file );|    if ( strchr( file, '%' ) ) send_error( 400, \"Bad Request\", (char*) 0, \"No.\" );\n&|" /app/micro_httpd.c
