#!/bin/bash
set -eu
cd /app
python3 - <<'EOF'
path = "cJSON.c"
text = open(path).read()
start = text.index("static cJSON_bool parse_number(")
end = text.index("\n}\n", start)
body = text[start:end]


def swap(old, new, count=1):
    global body
    assert body.count(old) == count, old
    body = body.replace(old, new)


swap("    unsigned char number_c_string[64];\n", "    unsigned char *number_c_string = NULL;\n    size_t length = 0;\n")
first, last = body.index("    /* copy the number into"), body.index("    number = strtod(")
body = (
    body[:first]
    + """    while (can_access_at_index(input_buffer, length)
        && (buffer_at_offset(input_buffer)[length] != '\\0')
        && (strchr("0123456789+-eE.", buffer_at_offset(input_buffer)[length]) != NULL))
    {
        length++;
    }

    /* a copy that ends with '\\0' and has the decimal point of the current locale, for strtod */
    number_c_string = (unsigned char*)input_buffer->hooks.allocate(length + sizeof(""));
    if (number_c_string == NULL)
    {
        return false;
    }
    for (i = 0; i < length; i++)
    {
        const unsigned char character = buffer_at_offset(input_buffer)[i];
        number_c_string[i] = (character == '.') ? decimal_point : character;
    }
    number_c_string[length] = '\\0';

"""
    + body[last:]
)
swap("    if (number_c_string == after_end)\n    {\n", "    if (number_c_string == after_end)\n    {\n        input_buffer->hooks.deallocate(number_c_string);\n")
swap(
    "    input_buffer->offset += (size_t)(after_end - number_c_string);\n",
    "    input_buffer->offset += (size_t)(after_end - number_c_string);\n    input_buffer->hooks.deallocate(number_c_string);\n",
)
open(path, "w").write(text[:start] + body + text[end:])
EOF
gcc -std=c89 -Wall -Wextra -fsyntax-only cJSON.c
