#!/bin/bash
set -eu
cd /app
python3 - <<'EOF'
path = "micro_httpd.c"
text = open(path, encoding="latin-1").read()
start = text.index("    len = strlen( file );\n")
end = text.index("    strdecode( file, file );\n")
text = text[:start] + text[end:]
decode = "    strdecode( file, file );\n"
empty = "    if ( file[0] == '\\0' )\n\tfile = \"./\";\n    len = strlen( file );\n"
assert text.count(decode) == 1 and text.count(empty) == 1
text = text.replace(empty, empty + '    if ( leads_out( file ) )\n\tsend_error( 400, "Bad Request", (char*) 0, "Illegal filename." );\n')
text = text.replace("/* Forwards. */\n", "/* Forwards. */\nstatic int leads_out( const char* file );\n")
text += """

/* Whether a decoded name is absolute or has a component "..". */
static int
leads_out( const char* file )
    {
    const char* cp = file;

    if ( file[0] == '/' )
	return 1;
    for (;;)
	{
	size_t n = strcspn( cp, "/" );
	if ( n == 2 && cp[0] == '.' && cp[1] == '.' )
	    return 1;
	if ( cp[n] == '\\0' )
	    return 0;
	cp += n + 1;
	}
    }
"""
open(path, "w", encoding="latin-1").write(text)
EOF
make -s micro_httpd && make -s clean
