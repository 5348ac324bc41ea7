"""Moves micro_httpd's check for `..` in front of the decoding of %-escapes. Fails where the source is not as expected."""

import sys

path = sys.argv[1]
with open(path, encoding="latin-1") as file:
    text = file.read()
decode = "    strdecode( file, file );\n"
length = "    len = strlen( file );\n"
check_start = text.index("    if ( file[0] == '/' || strcmp( file, \"..\" ) == 0")
check_end = text.index("    if ( stat( file, &sb ) < 0 )")
check = text[check_start:check_end]
if text.count(decode) != 1 or check.count("\n") != 2 or "Illegal filename" not in check:
    sys.exit(f"{path} is not the source that this was written for")
text = text.replace(check, "").replace(decode, length + check + decode)
with open(path, "w", encoding="latin-1") as file:
    file.write(text)
